// Row-wise fused ops in the emulator, which interprets their steps. A GPU runs the kernels of
// generate_rows.h, with the same loops.
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/fused/row_kernel.h"
#include "kernels/cuda/row_launch.h"
#include "kernels/cuda/step.h"

namespace shardproof::emulated {
namespace {

constexpr int most_registers = Rowwise::most_inputs + Rowwise::most_steps;
constexpr int most_sums = static_cast<int>(row_phases::most_reductions);

/// Each reduction of a level has two accumulators, in step order.
struct JoinReductions {
  int count;
  RowFn fns[most_sums];

  using Sums = Floats<2 * most_sums>;
  Sums nothing() const {
    Sums sums{};
    for (int k = 0; k < count; ++k) with(fns[k], [&](auto fn) { fn.nothing(sums.at + 2 * k); });
    return sums;
  }
  Sums operator()(Sums a, const Sums& b) const {
    for (int k = 0; k < count; ++k)
      with(fns[k], [&](auto fn) { fn.join(a.at + 2 * k, b.at + 2 * k); });
    return a;
  }
  template <class Body>
  static void with(RowFn fn, Body body) {
    if (fn == RowFn::sum)
      body(RowSum{});
    else if (fn == RowFn::maximum)
      body(RowMaximum{});
    else
      body(RowLogSumExp{});
  }
};

/// Registers are numbered as in the op.
struct WalkedSteps {
  struct Operand {
    Element element;
    Per per;
    uint16_t from;  ///< an output's register
  };
  struct Place {
    RowFn along;
    Reach reach;
    bool needed;
    uint8_t level;
    uint16_t loops;
  };
  struct Kept {
    Register<float> registers[most_registers];
    bool by_zero;
  };
  template <class Level>
  using Sums = JoinReductions::Sums;

  int64_t rows, length;
  int columns, levels, read, steps, written;
  bool in_shared;
  Operand inputs[Rowwise::most_inputs], outputs[Rowwise::most_outputs];
  Place places[most_registers];
  WalkedStep each[Rowwise::most_steps];
  JoinReductions joins[row_phases::most_levels + 1];

  template <class Body>
  void each_level(Body body) const {
    for (int level = 1; level <= levels; ++level) body(level);
  }
  Sums<int> nothing(int level) const { return joins[level].nothing(); }
  const JoinReductions& join(int level) const { return joins[level]; }

  void once(const RowOperands& operands, Kept& kept) const {
    compute(operands, kept, 0, [](const Place& place) { return place.reach == Reach::all; });
  }
  void begin(const RowOperands& operands, int64_t row, Kept& kept) const {
    of_row(0, operands, row, kept);
  }

  template <int n>
  void terms(int level, const RowOperands& operands, int64_t i, int64_t at, Kept& kept,
             Sums<int>& sums) const {
    float terms[most_sums][n];
    for (int j = 0; j < n; ++j) {
      of_entry(level, operands, i + j, at + j, kept);
      int k = 0;
      each_reduction(level, [&](int, const WalkedStep& step) {
        terms[k++][j] = kept.registers[step.arguments[0]].real;
      });
    }
    for (int k = 0; k < joins[level].count; ++k)
      JoinReductions::with(joins[level].fns[k],
                           [&](auto fn) { fn.template add<n>(sums.at + 2 * k, terms[k]); });
  }

  void end(int level, const RowOperands& operands, int64_t row, const Sums<int>& sums,
           Kept& kept) const {
    int k = 0;
    each_reduction(level, [&](int to, const WalkedStep&) {
      JoinReductions::with(places[to].along,
                           [&](auto fn) { kept.registers[to].real = fn.result(sums.at + 2 * k); });
      ++k;
    });
    of_row(level, operands, row, kept);
  }

  template <int n>
  void entries(const RowOperands& operands, int64_t i, int64_t at, Kept& kept,
               const RowColumns& columns_at) const {
    Register<float> made[Rowwise::most_outputs][n];
    for (int j = 0; j < n; ++j) {
      of_entry(0, operands, i + j, at + j, kept);
      for (int o = 0; o < written; ++o) made[o][j] = kept.registers[outputs[o].from];
    }
    int column = 0;
    for (int o = 0; o < written; ++o) {
      if (outputs[o].per == Per::entry)
        for (int j = 0; j < n; ++j) write(operands, o, at + j, made[o][j]);
      if (outputs[o].per != Per::column) continue;
      float terms[n];
      for (int j = 0; j < n; ++j) terms[j] = made[o][j].real;
      columns_at.template add<n>(column++, i, terms);
    }
  }
  void row_outputs(const RowOperands& operands, int64_t row, const Kept& kept) const {
    for (int o = 0; o < written; ++o)
      if (outputs[o].per == Per::row) write(operands, o, row, kept.registers[outputs[o].from]);
  }

 private:
  void of_row(int level, const RowOperands& operands, int64_t row, Kept& kept) const {
    compute(operands, kept, row,
            [&](const Place& place) { return place.reach == Reach::row && place.level == level; });
  }
  void of_entry(int loop, const RowOperands& operands, int64_t i, int64_t at, Kept& kept) const {
    const auto takes = [&](const Place& place) { return place.loops >> loop & 1; };
    for (int k = 0; k < read; ++k)
      if (takes(places[k]))
        load(operands, k, inputs[k].per == Per::column ? i : at, kept.registers[k]);
    for (int s = 0; s < steps; ++s)
      if (!takes(places[read + s]))
        continue;
      else if (places[read + s].along == RowFn::column)
        kept.registers[read + s].integer = i;
      else
        step(s, kept);
  }

  /// Registers that are constant along a row.
  template <class Takes>
  void compute(const RowOperands& operands, Kept& kept, int64_t row, Takes takes) const {
    for (int k = 0; k < read; ++k)
      if (places[k].needed && takes(places[k]))
        load(operands, k, inputs[k].per == Per::row ? row : 0, kept.registers[k]);
    for (int s = 0; s < steps; ++s) {
      const Place& place = places[read + s];
      if (place.needed && place.along == RowFn::none && takes(place)) step(s, kept);
    }
  }
  void step(int s, Kept& kept) const {
    kept.registers[read + s] = Interpreter<float>::result(each[s], kept.registers, kept.by_zero);
  }

  /// Calls body(register, step) for the steps of the level.
  template <class Body>
  void each_reduction(int level, Body body) const {
    for (int s = 0; s < steps; ++s) {
      const Place& place = places[read + s];
      const bool reduces = place.along != RowFn::none && place.along != RowFn::column;
      if (reduces && place.needed && place.level == level) body(read + s, each[s]);
    }
  }

  void load(const RowOperands& operands, int k, int64_t at, Register<float>& to) const {
    if (is_real(inputs[k].element))
      to.real = load_real<float>(inputs[k].element, operands.inputs[k], at);
    else
      to.integer = load_integer(inputs[k].element, operands.inputs[k], at);
  }
  void write(const RowOperands& operands, int o, int64_t at, const Register<float>& from) const {
    if (is_real(outputs[o].element))
      store_real(outputs[o].element, operands.outputs[o], at, from.real);
    else
      store_integer(outputs[o].element, operands.outputs[o], at, from.integer);
  }
};

WalkedSteps walked(const Rowwise& op, const RowPhases& phases, const RowShape& shape) {
  WalkedSteps made{};
  made.rows = shape.rows;
  made.length = shape.length;
  made.columns = static_cast<int>(shape.columns);
  made.in_shared = shape.in_shared;
  made.levels = static_cast<int>(phases.levels);
  made.read = static_cast<int>(op.inputs.size());
  made.steps = static_cast<int>(op.steps.size());
  made.written = static_cast<int>(op.outputs.size());
  for (size_t k = 0; k < op.inputs.size(); ++k)
    made.inputs[k] = {op.inputs[k].element, op.inputs[k].per, 0};
  for (size_t o = 0; o < op.outputs.size(); ++o)
    made.outputs[o] = {op.outputs[o].element, op.outputs[o].per,
                       static_cast<uint16_t>(op.outputs[o].from)};
  for (size_t r = 0; r < phases.registers.size(); ++r) {
    const RowPhases::Register& from = phases.registers[r];
    made.places[r] = {RowFn::none, from.reach, from.needed, static_cast<uint8_t>(from.level),
                      static_cast<uint16_t>(from.loops)};
  }
  for (size_t s = 0; s < op.steps.size(); ++s) {
    made.each[s] = step_of(op.steps[s].step);
    WalkedSteps::Place& place = made.places[op.inputs.size() + s];
    place.along = op.steps[s].along;
    JoinReductions& join = made.joins[place.level];
    if (place.needed && row_phases::reduces(op.steps[s])) join.fns[join.count++] = place.along;
  }
  return made;
}

template <int n>
void launch_walked(const Stream& stream, const RowShape& shape, const WalkedSteps& program,
                   const RowOperands& operands) {
  if (shape.flat)
    launch<row_threads>(stream, shape.blocks_of(n),
                        FlatRowKernel<WalkedSteps, n>{program, operands});
  else if (shape.team == warp_threads)
    launch<row_threads>(stream, shape.blocks,
                        RowKernel<WalkedSteps, n, warp_threads>{program, operands},
                        shape.shared_bytes());
  else
    launch<row_threads>(stream, shape.blocks,
                        RowKernel<WalkedSteps, n, row_threads>{program, operands},
                        shape.shared_bytes());
}

}  // namespace

void run(const Stream& stream, const Rowwise& op, Outputs outputs, Inputs inputs) {
  if (!fits(op)) throw std::logic_error("no kernel has this chain along rows");
  const RowPhases phases = phases_of(op);
  const RowShape shape = shape_of(op, phases);
  const RowOperands operands = row_operands(stream, op, shape, outputs, inputs);
  const WalkedSteps program = walked(op, phases, shape);
  if (!takes_wide(op, shape, operands))
    launch_walked<1>(stream, shape, program, operands);
  else if (shape.wide == 4)
    launch_walked<4>(stream, shape, program, operands);
  else
    launch_walked<8>(stream, shape, program, operands);
  if (shape.columns) sum_columns(stream, op, shape, outputs);
}

}  // namespace shardproof::emulated
