#pragma once
// When each register of a row-wise fused op is computed, and how its kernel divides the work. Every
// implementation of Rowwise uses it.
#include <algorithm>

#include "kernels/rowwise.h"

namespace shardproof {

/// The scope in which a register is constant: everywhere, along a row, or nowhere.
enum class Reach : uint8_t { all, row, entry };

/// A row is traversed once per level of reductions (level 1 depends on no other reduction), and
/// once more for the outputs.
struct RowPhases {
  struct Register {
    bool real = true, needed = false;
    Reach reach = Reach::all;
    size_t level = 0;    ///< of the reductions that it depends on, or is
    uint32_t loops = 0;  ///< for Reach::entry, bit l: reductions of level l need it; bit 0: outputs
    bool in(size_t loop) const { return loops >> loop & 1; }
  };
  std::vector<Register> registers;
  size_t levels = 0;
  bool has_columns = false;  ///< has an output per column
};

namespace row_phases {

using Registers = std::vector<RowPhases::Register>;

inline bool reduces(const RowStep& step) {
  return step.along != RowFn::none && step.along != RowFn::column;
}

inline RowPhases::Register of_step(const RowStep& step, const Registers& before) {
  RowPhases::Register made;
  made.real = step.along == RowFn::none ? gives_real(step.step) : reduces(step);
  if (step.along == RowFn::column) made.reach = Reach::entry;
  for (size_t argument : step.step.arguments) {
    made.reach = std::max(made.reach, before[argument].reach);
    made.level = std::max(made.level, before[argument].level);
  }
  if (reduces(step)) {
    made.reach = Reach::row;
    ++made.level;
  }
  return made;
}

/// Marks `at` and everything on which it depends.
inline void need(const Rowwise& op, Registers& registers, size_t at, size_t loop) {
  RowPhases::Register& own = registers[at];
  const bool varies = own.reach == Reach::entry;
  if (own.needed && (!varies || own.in(loop))) return;
  own.needed = true;
  if (varies) own.loops |= 1u << loop;
  if (at < op.inputs.size()) return;
  const RowStep& step = op.steps[at - op.inputs.size()];
  for (size_t argument : step.step.arguments)
    need(op, registers, argument, reduces(step) ? own.level : loop);
}

}  // namespace row_phases

/// Requires that arguments are earlier registers.
inline RowPhases phases_of(const Rowwise& op) {
  RowPhases phases;
  row_phases::Registers& registers = phases.registers;
  for (const Rowwise::Input& input : op.inputs) {
    RowPhases::Register made;
    made.real = is_real(input.element);
    if (input.per != Per::all) made.reach = input.per == Per::row ? Reach::row : Reach::entry;
    registers.push_back(made);
  }
  for (const RowStep& step : op.steps) registers.push_back(row_phases::of_step(step, registers));
  for (const Rowwise::Output& output : op.outputs) {
    row_phases::need(op, registers, output.from, 0);
    phases.has_columns |= output.per == Per::column;
  }
  for (const RowPhases::Register& each : registers)
    if (each.needed) phases.levels = std::max(phases.levels, each.level);
  return phases;
}

/// How a kernel divides its rows. Does not depend on how many blocks a GPU runs at once, so sums
/// are the same on all GPUs.
struct RowShape {
  static constexpr int64_t threads = 256, short_row = 1024, most_blocks = int64_t{1} << 20;
  static constexpr size_t join_bytes = 1024, most_shared = 48 << 10;

  /// No reductions: divides entries without regard to rows.
  bool flat = false;
  int64_t rows = 1, length = 0;
  int64_t wide = 4;        ///< entries per access, if arrays are aligned
  int64_t team = threads;  ///< threads per row
  int64_t columns = 0;     ///< number of outputs per column
  bool in_shared = false;  ///< sums per column are in shared memory; else in the scratch
  int64_t blocks = 1;      ///< if not flat
  int64_t teams() const { return threads / team; }
  size_t column_bytes() const { return static_cast<size_t>(columns * length) * sizeof(float); }
  size_t shared_bytes() const {
    return join_bytes + (in_shared ? static_cast<size_t>(teams()) * column_bytes() : 0);
  }
  /// The number of blocks if a thread takes n contiguous entries at a time.
  int64_t blocks_of(int64_t n) const {
    return flat ? std::min((rows * length / n + threads - 1) / threads, int64_t{1} << 16) : blocks;
  }
  /// f32[columns, blocks, length]
  size_t scratch_bytes() const { return static_cast<size_t>(blocks) * column_bytes(); }
};

namespace row_phases {

/// Whether a result depends on the row's start.
inline bool depends_on_rows(const Rowwise& op) {
  const auto depends = [](Per per) { return per == Per::row || per == Per::column; };
  for (const Rowwise::Input& input : op.inputs)
    if (depends(input.per)) return true;
  for (const Rowwise::Output& output : op.outputs)
    if (depends(output.per)) return true;
  return std::any_of(op.steps.begin(), op.steps.end(),
                     [](const RowStep& step) { return step.along != RowFn::none; });
}

}  // namespace row_phases

inline RowShape shape_of(const Rowwise& op, const RowPhases& phases) {
  constexpr int64_t warp = 32, rows_of_team = 4, most_with_columns = 528;
  RowShape shape;
  shape.rows = op.rows;
  shape.length = op.length;
  shape.flat = phases.levels == 0 && !phases.has_columns;
  if (shape.flat && !row_phases::depends_on_rows(op)) {
    shape.rows = 1;
    shape.length *= op.rows;
  }
  // Neighbouring threads take neighbouring words of the widest array of entries.
  size_t widest = 0;
  for (const Rowwise::Input& input : op.inputs)
    if (input.per == Per::entry) widest = std::max(widest, size_of(input.element));
  for (const Rowwise::Output& output : op.outputs)
    if (output.per == Per::entry) widest = std::max(widest, size_of(output.element));
  shape.wide = widest && widest < 4 ? 8 : 4;
  for (const Rowwise::Output& output : op.outputs) shape.columns += output.per == Per::column;
  const auto fits = [&] { return shape.shared_bytes() <= RowShape::most_shared; };
  shape.in_shared = shape.columns > 0;
  shape.team = op.length <= RowShape::short_row ? warp : RowShape::threads;
  if (!fits()) shape.team = RowShape::threads;
  if (!fits()) shape.in_shared = false;
  const auto among = [&](int64_t rows) { return (op.rows + rows - 1) / rows; };
  shape.blocks = shape.columns ? std::min(most_with_columns, among(shape.teams() * rows_of_team))
                               : std::min(RowShape::most_blocks, among(shape.teams()));
  return shape;
}
/// Whether the arrays' alignment allows accesses of `wide` contiguous entries. `partials`: null if
/// there are none.
inline bool takes_wide(const Rowwise& op, const RowShape& shape, void* const* outputs,
                       const void* const* inputs, const void* partials) {
  const auto aligned = [](const void* array) {
    return reinterpret_cast<uintptr_t>(array) % 16 == 0;
  };
  if (shape.length % shape.wide != 0 || !aligned(partials)) return false;
  for (size_t k = 0; k < op.inputs.size(); ++k)
    if ((op.inputs[k].per == Per::entry || op.inputs[k].per == Per::column) && !aligned(inputs[k]))
      return false;
  for (size_t k = 0; k < op.outputs.size(); ++k)
    if (op.outputs[k].per == Per::entry && !aligned(outputs[k])) return false;
  return true;
}

inline RowShape shape_of(const Rowwise& op) { return shape_of(op, phases_of(op)); }

namespace row_phases {

constexpr size_t most_levels = 8, most_reductions = 16;

inline bool has(const Element element) { return element != Element::f64; }

inline bool arguments_fit(const Rowwise& op) {
  for (size_t s = 0; s < op.steps.size(); ++s) {
    const RowStep& step = op.steps[s];
    for (size_t argument : step.step.arguments)
      if (argument >= op.inputs.size() + s) return false;
    if (reduces(step) && step.step.arguments.size() != 1) return false;
    if (step.along == RowFn::column && !step.step.arguments.empty()) return false;
  }
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](const Rowwise::Output& output) {
    return output.from < op.inputs.size() + op.steps.size();
  });
}

inline bool is_made(const Rowwise::Output& output, const RowPhases::Register& from) {
  if (!has(output.element) || from.real != is_real(output.element)) return false;
  switch (output.per) {
    case Per::entry:
      return true;
    case Per::row:
      return from.reach != Reach::entry;
    case Per::column:
      return from.real;
    case Per::all:
      return false;
  }
  return false;
}

}  // namespace row_phases

/// Whether kernels support the op: at least one entry, existing registers of the right kind, no
/// f64, no output per Per::all, and no more of anything than the kernels have room for.
inline bool fits(const Rowwise& op) {
  using namespace row_phases;
  if (op.rows < 1 || op.length < 1 || op.inputs.size() > Rowwise::most_inputs ||
      op.steps.size() > Rowwise::most_steps || op.outputs.empty() ||
      op.outputs.size() > Rowwise::most_outputs || !arguments_fit(op))
    return false;
  for (const Rowwise::Input& input : op.inputs)
    if (!has(input.element)) return false;
  const RowPhases phases = phases_of(op);
  size_t reductions = 0;
  for (const RowStep& step : op.steps) {
    reductions += reduces(step);
    if (reduces(step) && !phases.registers[step.step.arguments[0]].real) return false;
  }
  if (reductions > most_reductions || phases.levels > most_levels) return false;
  return std::all_of(op.outputs.begin(), op.outputs.end(), [&](const Rowwise::Output& output) {
    return is_made(output, phases.registers[output.from]);
  });
}

}  // namespace shardproof
