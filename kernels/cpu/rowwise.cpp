#include "kernels/cpu/rowwise.h"

#include <algorithm>
#include <map>

#include "kernels/cpu/block.h"
#include "kernels/cpu/row_code.h"
#include "kernels/cpu/threads.h"
#include "kernels/row_phases.h"

namespace shardproof::cpu {
namespace {

int64_t pieces_of(int64_t piece, int64_t all) { return (all + piece - 1) / piece; }

/// Rows of a piece for a thread. Few pieces where each has sums per column.
int64_t rows_of_piece(const Rowwise& op, const RowShape& shape) {
  constexpr int64_t entries = 1 << 15, most_with_columns = 32;
  const int64_t rows = std::max<int64_t>(entries / shape.length, 1);
  return shape.columns ? std::max(rows, pieces_of(most_with_columns, op.rows)) : rows;
}

/// What one pass over a row's entries computes, or what there is to compute of the row as a whole.
struct Stage {
  /// Where an operand of the code is: an input or output of the op, a register that holds a value
  /// of the row or the sum of one, the sums per column.
  enum class At : uint8_t { input, output, value, sum, column };
  struct Operand {
    At at;
    size_t index;
  };
  RowChain chain;
  std::vector<Operand> operands;
  RowCode code = nullptr;

  bool is_empty() const { return chain.results.empty(); }
};

/// The chain of some registers of an op.
class Assembly {
 public:
  Assembly(const Rowwise& op, const RowPhases& phases) : op_(op), phases_(phases) {}

  /// `at`: a register. Steps that `is_here` accepts are computed; the others' values are there.
  template <class IsHere>
  void add(size_t at, RowChain::To to, Element element, Stage::Operand operand, IsHere is_here) {
    find_inputs(at, is_here);
    results_.push_back({at, to, element});
    operands_.push_back(operand);
  }

  Stage finished() {
    for (RowChain::Result each : results_) {
      each.value = value(each.value);
      stage_.chain.results.push_back(each);
    }
    stage_.operands.insert(stage_.operands.end(), operands_.begin(), operands_.end());
    stage_.code = stage_.is_empty() ? nullptr : row_code(stage_.chain);
    return std::move(stage_);
  }

 private:
  const RowStep& step(size_t at) const { return op_.steps[at - op_.inputs.size()]; }

  /// Inputs are the first values, so all of them are found before the steps.
  template <class IsHere>
  void find_inputs(size_t at, const IsHere& is_here) {
    const bool given = at < op_.inputs.size();
    if (!given && is_here(at)) {
      for (size_t argument : step(at).step.arguments) find_inputs(argument, is_here);
    } else if (values_.emplace(at, stage_.operands.size()).second) {
      const RowPhases::Register& own = phases_.registers[at];
      // The values of a row are floats: a chain that reads another one has no code.
      const Element element = given      ? op_.inputs[at].element
                              : own.real ? Element::f32
                                         : Element::u64;
      stage_.chain.inputs.push_back({element, own.reach != Reach::entry});
      stage_.operands.push_back({given ? Stage::At::input : Stage::At::value, at});
    }
  }
  size_t value(size_t at) {
    if (const auto known = values_.find(at); known != values_.end()) return known->second;
    PointwiseStep made = step(at).step;
    for (size_t& argument : made.arguments) argument = value(argument);
    stage_.chain.steps.push_back(std::move(made));
    return values_[at] = stage_.chain.inputs.size() + stage_.chain.steps.size() - 1;
  }

  const Rowwise& op_;
  const RowPhases& phases_;
  std::vector<RowChain::Result> results_;  ///< of registers
  std::vector<Stage::Operand> operands_;   ///< of these
  Stage stage_;
  std::map<size_t, size_t> values_;  ///< by register
};

class Stages : public RowProgram {
 public:
  explicit Stages(const Rowwise& of) : op(of), phases(phases_of(op)), shape(shape_of(op, phases)) {
    once = values(Reach::all, 0);
    for (size_t level = 0; level <= phases.levels; ++level) {
      sums.push_back(level > 0 ? sums_of(level) : Stage{});
      per_row.push_back(values(Reach::row, level));
    }
    outputs = outputs_of([](Per per) { return per != Per::row; });
    row_outputs = outputs_of([](Per per) { return per == Per::row; });
  }

  bool has_code() const {
    for (size_t at = op.inputs.size(); at < phases.registers.size(); ++at)
      if (row_phases::reduces(step(at)) && step(at).along != RowFn::sum) return false;
    const auto has = [](const Stage& stage) { return stage.is_empty() || stage.code; };
    return has(once) && has(outputs) && has(row_outputs) &&
           std::all_of(sums.begin(), sums.end(), has) &&
           std::all_of(per_row.begin(), per_row.end(), has);
  }

  void run(void* const* to, const void* const* from) const override;

  const Rowwise op;
  const RowPhases phases;
  const RowShape shape;
  Stage once, outputs, row_outputs;
  std::vector<Stage> sums, per_row;  ///< by level of reductions

 private:
  const RowStep& step(size_t at) const { return op.steps[at - op.inputs.size()]; }
  bool is_constant(size_t at) const {
    return step(at).along == RowFn::none && step(at).step.fn == PointwiseFn::constant;
  }
  auto is_here(Reach reach, size_t level) const {
    return [=, this](size_t at) {
      const RowPhases::Register& own = phases.registers[at];
      return is_constant(at) ||
             (step(at).along == RowFn::none && own.reach == reach && own.level == level);
    };
  }
  auto is_of_entries() const {
    return [this](size_t at) {
      return is_constant(at) ||
             (step(at).along == RowFn::none && phases.registers[at].reach == Reach::entry);
    };
  }

  Stage values(Reach reach, size_t level) const {
    Assembly all(op, phases);
    for (size_t at = op.inputs.size(); at < phases.registers.size(); ++at)
      if (phases.registers[at].needed && !is_constant(at) && is_here(reach, level)(at))
        all.add(at, RowChain::To::one, Element::f32, {Stage::At::value, at}, is_here(reach, level));
    return all.finished();
  }
  Stage sums_of(size_t level) const {
    Assembly all(op, phases);
    for (size_t at = op.inputs.size(); at < phases.registers.size(); ++at)
      if (row_phases::reduces(step(at)) && phases.registers[at].needed &&
          phases.registers[at].level == level)
        all.add(step(at).step.arguments[0], RowChain::To::sum, Element::f32, {Stage::At::sum, at},
                is_of_entries());
    return all.finished();
  }
  template <class Wanted>
  Stage outputs_of(Wanted wanted) const {
    Assembly all(op, phases);
    size_t column = 0;
    for (size_t o = 0; o < op.outputs.size(); ++o) {
      const auto& [from, element, per] = op.outputs[o];
      if (!wanted(per)) continue;
      if (per == Per::column)
        all.add(from, RowChain::To::columns, Element::f64, {Stage::At::column, column++},
                is_of_entries());
      else
        all.add(from, RowChain::To::entries, element, {Stage::At::output, o}, is_of_entries());
    }
    return all.finished();
  }
};

/// Computes rows, one after the other.
class RowRun {
 public:
  /// `columns`: the sums of this run, by column, for each output that has them.
  RowRun(const Stages& stages, void* const* outputs, const void* const* inputs, double* columns)
      : stages_(stages),
        values_(stages.phases.registers.size()),
        totals_(values_.size()),
        once_(placed(stages.once, outputs, inputs, columns)),
        outputs_(placed(stages.outputs, outputs, inputs, columns)),
        row_outputs_(placed(stages.row_outputs, outputs, inputs, columns)) {
    for (const Stage& each : stages.sums) sums_.push_back(placed(each, outputs, inputs, columns));
    for (const Stage& each : stages.per_row)
      per_row_.push_back(placed(each, outputs, inputs, columns));
    once_.run(0, 0, 1);
  }
  RowRun(const RowRun&) = delete;

  /// Entries first .. last - 1; all of them where something is summed.
  void row(int64_t row, int64_t first, int64_t last) {
    per_row_[0].run(row, 0, 1);
    for (size_t level = 1; level < sums_.size(); ++level) {
      sum(level, row);
      per_row_[level].run(row, 0, 1);
    }
    row_outputs_.run(row, 0, 1);
    outputs_.run(row, first, last - first);
  }

 private:
  /// A stage with the addresses of its operands.
  struct Placed {
    struct Array {
      char* first;
      int64_t per_row, per_entry;  ///< bytes
    };
    RowCode code;
    std::vector<Array> arrays;
    std::vector<void*> at;

    void run(int64_t row, int64_t first_entry, int64_t n) {
      if (!code) return;
      for (size_t k = 0; k < at.size(); ++k)
        at[k] = arrays[k].first + row * arrays[k].per_row + first_entry * arrays[k].per_entry;
      code(at.data(), n);
    }
  };

  Placed placed(const Stage& stage, void* const* outputs, const void* const* inputs,
                double* columns) {
    Placed made{stage.code, {}, std::vector<void*>(stage.operands.size())};
    const Rowwise& op = stages_.op;
    for (const auto& [at, index] : stage.operands) switch (at) {
        case Stage::At::input:
          made.arrays.push_back(array(const_cast<void*>(inputs[index]), op.inputs[index].element,
                                      op.inputs[index].per));
          break;
        case Stage::At::output:
          made.arrays.push_back(
              array(outputs[index], op.outputs[index].element, op.outputs[index].per));
          break;
        case Stage::At::value:
          made.arrays.push_back({reinterpret_cast<char*>(&values_[index]), 0, 0});
          break;
        case Stage::At::sum:
          made.arrays.push_back({reinterpret_cast<char*>(&totals_[index]), 0, 0});
          break;
        case Stage::At::column:
          made.arrays.push_back(array(columns + static_cast<int64_t>(index) * stages_.shape.length,
                                      Element::f64, Per::column));
          break;
      }
    return made;
  }
  Placed::Array array(void* first, Element element, Per per) const {
    const auto size = static_cast<int64_t>(size_of(element));
    const int64_t row = per == Per::entry ? stages_.shape.length : per == Per::row ? 1 : 0;
    const bool has_entries = per == Per::entry || per == Per::column;
    return {static_cast<char*>(first), row * size, has_entries ? size : 0};
  }

  void sum(size_t level, int64_t row) {
    const std::vector<Stage::Operand>& operands = stages_.sums[level].operands;
    const auto first_sum =
        operands.begin() + static_cast<std::ptrdiff_t>(stages_.sums[level].chain.inputs.size());
    for (auto each = first_sum; each != operands.end(); ++each) totals_[each->index] = 0;
    constexpr int64_t block = 512;
    for (int64_t first = 0; first < stages_.shape.length; first += block)
      sums_[level].run(row, first, std::min(block, stages_.shape.length - first));
    for (auto each = first_sum; each != operands.end(); ++each)
      values_[each->index] = static_cast<float>(totals_[each->index]);
  }

  const Stages& stages_;
  std::vector<float> values_;   ///< of the row, by register
  std::vector<double> totals_;  ///< of the row's sums, by register
  Placed once_, outputs_, row_outputs_;
  std::vector<Placed> sums_, per_row_;  ///< by level
};

/// The pieces' sums are added in their order.
void store_columns(const Stages& program, int64_t pieces, const double* columns,
                   void* const* outputs) {
  const int64_t length = program.shape.length, all = program.shape.columns * length;
  for (size_t o = 0; o < program.op.outputs.size(); ++o) {
    const auto& [from, element, per] = program.op.outputs[o];
    if (per != Per::column) continue;
    for (int64_t first = 0; first < length; first += block_size) {
      const int64_t n = std::min(block_size, length - first);
      Block<double> total{};
      for (int64_t piece = 0; piece < pieces; ++piece)
        for (int64_t i = 0; i < n; ++i) total.real[i] += columns[piece * all + first + i];
      store(outputs[o], element, first, 1, total, n);
    }
    columns += length;
  }
}

void Stages::run(void* const* to, const void* const* from) const {
  if (shape.flat && shape.rows == 1) {
    constexpr int64_t entries = 1 << 15;
    return in_pieces(pieces_of(entries, shape.length), [&](int64_t piece) {
      const int64_t first = piece * entries;
      RowRun(*this, to, from, nullptr).row(0, first, std::min(shape.length, first + entries));
    });
  }
  const int64_t rows = rows_of_piece(op, shape), pieces = pieces_of(rows, shape.rows);
  const int64_t sums_of_piece = shape.columns * shape.length;
  auto* const columns = shape.columns ? static_cast<double*>(to[op.outputs.size()]) : nullptr;
  in_pieces(pieces, [&](int64_t piece) {
    double* const own = columns ? columns + piece * sums_of_piece : nullptr;
    std::fill_n(own, sums_of_piece, 0.0);
    RowRun some(*this, to, from, own);
    for (int64_t row = piece * rows; row < std::min(shape.rows, (piece + 1) * rows); ++row)
      some.row(row, 0, shape.length);
  });
  if (columns) store_columns(*this, pieces, columns, to);
}

}  // namespace

std::shared_ptr<const RowProgram> row_program(const Rowwise& op) {
  if (!fits(op)) return nullptr;
  auto program = std::make_shared<const Stages>(op);
  return program->has_code() ? program : nullptr;
}

bool is_worth_fusing(const Rowwise& op) {
  constexpr int64_t shortest_row = 64, fewest = 1 << 13;
  if (row_phases::depends_on_rows(op) ? op.length < shortest_row : op.rows * op.length < fewest)
    return false;
  return row_program(op) != nullptr;
}

size_t scratch_bytes(const Rowwise& op) {
  const RowShape shape = shape_of(op);
  return static_cast<size_t>(pieces_of(rows_of_piece(op, shape), op.rows) * shape.columns *
                             shape.length) *
         sizeof(double);
}

}  // namespace shardproof::cpu
