#include "impl/plan/passes/rows.h"

#include <algorithm>

#include "impl/plan/passes/place.h"
#include "kernels/row_phases.h"

namespace shardproof::plan {
namespace {

/// Builds the steps of a Rowwise with known inputs.
class Program {
 public:
  explicit Program(Rowwise& op) : op_(op) {}

  size_t constant(double value) {
    return add({{PointwiseFn::constant, true, {}, value, {}}, RowFn::none});
  }
  size_t apply(PointwiseFn fn, std::vector<size_t> arguments, bool real = true) {
    return add({{fn, real, std::move(arguments), 0, {}}, RowFn::none});
  }
  size_t along(RowFn fn, std::vector<size_t> arguments) {
    return add({{PointwiseFn::constant, true, std::move(arguments), 0, {}}, fn});
  }
  size_t mul(size_t a, size_t b) { return apply(PointwiseFn::mul, {a, b}); }
  size_t sub(size_t a, size_t b) { return apply(PointwiseFn::sub, {a, b}); }
  size_t mean(size_t x) {
    return apply(PointwiseFn::div, {along(RowFn::sum, {x}), constant(length())});
  }
  double length() const { return static_cast<double>(op_.length); }
  /// Returns the register of an equal existing step, or adds the step.
  size_t add(const RowStep& step) {
    for (size_t i = 0; i < op_.steps.size(); ++i) {
      const RowStep& known = op_.steps[i];
      if (known.along == step.along && known.step.fn == step.step.fn &&
          known.step.real == step.step.real && known.step.arguments == step.step.arguments &&
          known.step.value == step.step.value && known.step.tag == step.step.tag)
        return op_.inputs.size() + i;
    }
    op_.steps.push_back(step);
    return op_.inputs.size() + op_.steps.size() - 1;
  }

 private:
  Rowwise& op_;
};

Ref flat(const Ref& view, int64_t count) {
  Ref ref = view;
  ref.extents = {count};
  ref.strides = {1};
  return ref;
}

/// The strides of a packed array.
std::vector<int64_t> natural(const std::vector<int64_t>& extents, size_t first, size_t last) {
  std::vector<int64_t> strides(last - first);
  int64_t next = 1;
  for (size_t d = last; d-- > first; next *= extents[d]) strides[d - first] = next;
  return strides;
}

/// How an operand of a nest relates to rows that consist of the last `inner` loops.
std::optional<Per> per_of(const Nest& nest, size_t operand, size_t inner) {
  const std::vector<int64_t>& strides = nest.strides[operand];
  const size_t loops = nest.extents.size(), split = loops - inner;
  const auto is = [&](size_t first, size_t last, const std::vector<int64_t>& wanted) {
    return std::equal(wanted.begin(), wanted.end(), strides.begin() + static_cast<long>(first),
                      strides.begin() + static_cast<long>(last));
  };
  const std::vector<int64_t> none(loops, 0), before(split, 0), behind(inner, 0);
  if (is(0, loops, natural(nest.extents, 0, loops))) return Per::entry;
  if (is(0, loops, none)) return Per::all;
  if (is(0, split, before) && is(split, loops, natural(nest.extents, split, loops)))
    return Per::column;
  if (is(split, loops, behind) && is(0, split, natural(nest.extents, 0, split))) return Per::row;
  return std::nullopt;
}

int64_t product(const std::vector<int64_t>& extents, size_t first, size_t last) {
  int64_t count = 1;
  for (size_t d = first; d < last; ++d) count *= extents[d];
  return count;
}

/// Rows for which every operand is per entry, row or column (or scalar), and the output per entry.
std::optional<Rows> along_nest(const Nest& all, const Ref& out, const std::vector<Ref>& inputs) {
  const Nest nest = coalesced(all);
  const size_t loops = nest.extents.size();
  if (nest.count() == 0 || per_of(nest, 0, 0) != Per::entry) return std::nullopt;
  for (size_t inner = 0; inner <= loops; ++inner) {
    Rows rows;
    rows.op.rows = product(nest.extents, 0, loops - inner);
    rows.op.length = product(nest.extents, loops - inner, loops);
    for (size_t k = 0; k < inputs.size(); ++k) {
      const auto per = per_of(nest, k + 1, inner);
      if (!per) break;
      rows.op.inputs.push_back({inputs[k].element, *per});
      rows.inputs.push_back(flat(inputs[k], rows.count(*per)));
    }
    if (rows.inputs.size() != inputs.size()) continue;
    rows.op.outputs.push_back({0, out.element, Per::entry});
    rows.outputs.push_back(flat(out, nest.count()));
    return rows;
  }
  return std::nullopt;
}

/// Keys and doubles.
bool is_wide(Element element) { return element == Element::u64 || element == Element::f64; }

std::optional<Rows> of(const Pointwise& chain, const Kernel& kernel) {
  const auto is_fault = [](const PointwiseStep& step) {
    return !step.real && (step.fn == PointwiseFn::floordiv || step.fn == PointwiseFn::mod);
  };
  if (chain.f64 || is_wide(chain.output) ||
      std::any_of(chain.inputs.begin(), chain.inputs.end(), is_wide) ||
      std::any_of(chain.steps.begin(), chain.steps.end(), is_fault))
    return std::nullopt;
  auto rows = along_nest(chain.nest, kernel.out, kernel.inputs);
  if (!rows) return std::nullopt;
  for (const PointwiseStep& step : chain.steps) rows->op.steps.push_back({step, RowFn::none});
  rows->op.outputs[0].from = chain.result();
  return rows;
}

std::optional<Rows> of(const Copy& copy, const Kernel& kernel) {
  if (copy.moving || !is_real(kernel.out.element) || is_wide(kernel.out.element) ||
      kernel.inputs.size() != 1 || kernel.inputs[0].element != kernel.out.element)
    return std::nullopt;
  return along_nest(copy.nest, kernel.out, kernel.inputs);
}

/// A sum of entries, or of products of entries, along rows or over rows.
std::optional<Rows> of(const Reduce& reduce, const Kernel& kernel) {
  if (reduce.fn != Reduction::sum || reduce.output != Element::f32 || reduce.inputs.empty() ||
      reduce.kept.count() <= 1 || reduce.reduced.count() == 0 ||
      !std::all_of(reduce.inputs.begin(), reduce.inputs.end(),
                   [](Element each) { return each == Element::f32 || each == Element::bf16; }))
    return std::nullopt;
  // A nest over the loops of both, rows outside. Operand 0 is a packed stand-in for the result.
  for (const bool down : {true, false}) {
    const Nest &outer = down ? reduce.reduced : reduce.kept,
               &inner = down ? reduce.kept : reduce.reduced;
    Nest all{outer.extents, {}};
    all.extents.insert(all.extents.end(), inner.extents.begin(), inner.extents.end());
    all.strides.push_back(natural(all.extents, 0, all.extents.size()));
    for (size_t k = 0; k < reduce.inputs.size(); ++k) {
      std::vector<int64_t> strides = down ? outer.strides[k] : outer.strides[k + 1];
      const std::vector<int64_t>& more = down ? inner.strides[k + 1] : inner.strides[k];
      strides.insert(strides.end(), more.begin(), more.end());
      all.strides.push_back(std::move(strides));
    }
    const Nest kept = coalesced({reduce.kept.extents, {reduce.kept.strides[0]}});
    if (per_of(kept, 0, 0) != Per::entry) return std::nullopt;
    auto rows = along_nest(all, kernel.out, kernel.inputs);
    if (!rows) continue;
    Program program(rows->op);
    rows->op.length = inner.count();
    rows->op.rows = outer.count();
    if (!std::all_of(rows->op.inputs.begin(), rows->op.inputs.end(),
                     [](const auto& input) { return input.per == Per::entry; }))
      return std::nullopt;
    size_t from = 0;
    for (size_t k = 1; k < reduce.inputs.size(); ++k) from = program.mul(from, k);
    if (!down) from = program.along(RowFn::sum, {from});
    rows->op.outputs[0] = {from, reduce.output, down ? Per::column : Per::row};
    rows->outputs[0] = flat(kernel.out, reduce.kept.count());
    return rows;
  }
  return std::nullopt;
}

template <class Op>
std::optional<Rows> of(const Op&, const Kernel&) {
  return std::nullopt;
}

/// Operands per entry in the op's order, then its scalars.
Rows whole(const FusedKernel& kernel, int64_t rows, int64_t length, const std::vector<Per>& pers) {
  Rows result;
  result.op.rows = rows;
  result.op.length = length;
  for (size_t k = 0; k < kernel.inputs.size(); ++k) {
    const Per per = k < pers.size() ? pers[k] : Per::all;
    result.op.inputs.push_back({kernel.inputs[k].element, per});
    result.inputs.push_back(flat(kernel.inputs[k], result.count(per)));
  }
  result.op.outputs.push_back({0, kernel.outputs.at(0).element, Per::entry});
  result.outputs.push_back(flat(kernel.outputs[0], rows * length));
  return result;
}

size_t scalar(Program& program, const Scalar& scalar, size_t input) {
  return scalar.is_input ? input : program.constant(scalar.value);
}

/// 1 / sqrt(mean of x^2 + eps); eps is constant or input `next`.
size_t scale_of(Program& program, size_t x, const Scalar& eps, size_t next) {
  const size_t squares = program.mean(program.mul(x, x));
  return program.apply(PointwiseFn::rsqrt,
                       {program.apply(PointwiseFn::add, {squares, scalar(program, eps, next)})});
}

/// g r - x c with c = r^3 mean(g x): the gradient of x r.
size_t scaled_grad(Program& program, size_t g, size_t x, size_t r) {
  const size_t cube = program.mul(program.mul(r, r), r);
  const size_t c = program.mul(program.mean(program.mul(g, x)), cube);
  return program.sub(program.mul(g, r), program.mul(x, c));
}

std::optional<Rows> of(const RmsNorm& op, const FusedKernel& kernel) {
  Rows rows = whole(kernel, op.rows, op.length, {Per::entry});
  Program program(rows.op);
  rows.op.outputs[0].from = program.mul(0, scale_of(program, 0, op.eps, 1));
  return rows;
}

std::optional<Rows> of(const RmsNormGrad& op, const FusedKernel& kernel) {
  Rows rows = whole(kernel, op.rows, op.length, {Per::entry, Per::entry});
  Program program(rows.op);
  rows.op.outputs[0].from = scaled_grad(program, 0, 1, scale_of(program, 1, op.eps, 2));
  return rows;
}

std::optional<Rows> of(const LayerNorm& op, const FusedKernel& kernel) {
  Rows rows = whole(kernel, op.rows, op.length, {Per::entry});
  Program program(rows.op);
  const size_t d = program.sub(0, program.mean(0));
  rows.op.outputs[0].from = program.mul(d, scale_of(program, d, op.eps, 1));
  return rows;
}

/// The gradient of d r, minus its mean.
std::optional<Rows> of(const LayerNormGrad& op, const FusedKernel& kernel) {
  Rows rows = whole(kernel, op.rows, op.length, {Per::entry, Per::entry});
  Program program(rows.op);
  const size_t d = program.sub(1, program.mean(1));
  const size_t h = scaled_grad(program, 0, d, scale_of(program, d, op.eps, 2));
  rows.op.outputs[0].from = program.sub(h, program.mean(h));
  return rows;
}

/// (exp(x - log sum exp x) - [column is the target]) g.
std::optional<Rows> of(const CrossEntropyGrad& op, const FusedKernel& kernel) {
  using enum PointwiseFn;
  Rows rows = whole(kernel, op.rows, op.length, {Per::row, Per::entry, Per::row});
  Program program(rows.op);
  const size_t probability =
      program.apply(exp, {program.sub(1, program.along(RowFn::log_sum_exp, {1}))});
  const size_t hit = program.apply(eq, {program.along(RowFn::column, {}), 2}, false);
  const size_t less =
      program.apply(where, {hit, program.sub(probability, program.constant(1)), probability});
  rows.op.outputs[0].from = program.mul(less, 0);
  return rows;
}

template <class Op>
std::optional<Rows> of(const Op&, const FusedKernel&) {
  return std::nullopt;
}

/// Whether no operand and no step depends on row boundaries.
bool is_flat(const Rowwise& op) {
  const auto plain = [](const auto& each) {
    return each.per == Per::entry || each.per == Per::all;
  };
  return std::all_of(op.inputs.begin(), op.inputs.end(), plain) &&
         std::all_of(op.outputs.begin(), op.outputs.end(), plain) &&
         std::all_of(op.steps.begin(), op.steps.end(),
                     [](const RowStep& each) { return each.along == RowFn::none; });
}

/// Combines the steps of several chains.
class Assembly {
 public:
  Rows rows;

  /// The register of the operand; operands with equal views share one.
  size_t input(const Ref& ref, const Rowwise::Input& input) {
    for (size_t k = 0; k < rows.inputs.size(); ++k)
      if (same_place(rows.inputs[k], ref) && rows.op.inputs[k].per == input.per) return k;
    rows.inputs.push_back(ref);
    rows.op.inputs.push_back(input);
    return rows.inputs.size() - 1;
  }

  /// Adds the steps of `from` with its inputs in these registers; returns all of its registers.
  std::vector<size_t> steps(const Rowwise& from, std::vector<size_t> registers) {
    Program program(rows.op);
    for (RowStep step : from.steps) {
      for (size_t& argument : step.step.arguments) argument = registers[argument];
      registers.push_back(program.add(step));
    }
    return registers;
  }

  /// The value that a reader of the stored output sees.
  size_t stored(size_t from, Element element) {
    if (element != Element::bf16) return from;
    const size_t inputs = rows.op.inputs.size();
    if (from < inputs && rows.op.inputs[from].element == Element::bf16) return from;
    if (from >= inputs && rows.op.steps[from - inputs].along == RowFn::none &&
        rows.op.steps[from - inputs].step.fn == PointwiseFn::round_bf16)
      return from;
    return Program(rows.op).apply(PointwiseFn::round_bf16, {from});
  }
};

/// The output of `first` that this input of `second` reads.
std::optional<size_t> output_for(const Rows& first, const Rows& second, size_t input) {
  for (size_t k = 0; k < first.outputs.size(); ++k)
    if (same_place(first.outputs[k], second.inputs[input]) &&
        first.op.outputs[k].per == second.op.inputs[input].per)
      return k;
  return std::nullopt;
}

/// Whether `second` reads nothing that `first` writes, except its outputs as a whole.
bool reads_outputs_alone(const Rows& first, const Rows& second) {
  for (size_t k = 0; k < second.inputs.size(); ++k)
    for (const Ref& made : first.outputs)
      if (made.buffer == second.inputs[k].buffer && !output_for(first, second, k)) return false;
  return true;
}

/// Whether each output that shares memory with an input has the same entries in the same order.
bool is_safe(const Rows& rows) {
  for (size_t o = 0; o < rows.outputs.size(); ++o) {
    for (size_t i = 0; i < rows.inputs.size(); ++i)
      if (rows.inputs[i].buffer == rows.outputs[o].buffer &&
          !(same_place(rows.inputs[i], rows.outputs[o]) && rows.op.inputs[i].per == Per::entry &&
            rows.op.outputs[o].per == Per::entry))
        return false;
    for (size_t other = 0; other < o; ++other)
      if (rows.outputs[other].buffer == rows.outputs[o].buffer) return false;
  }
  return true;
}

}  // namespace

int64_t Rows::count(Per per) const {
  switch (per) {
    case Per::entry:
      return op.rows * op.length;
    case Per::row:
      return op.rows;
    case Per::column:
      return op.length;
    case Per::all:
      return 1;
  }
  return 0;
}

double Rows::bytes(const Rowwise::Input& input) const {
  return static_cast<double>(count(input.per)) * static_cast<double>(size_of(input.element));
}
double Rows::bytes(const Rowwise::Output& output) const {
  return static_cast<double>(count(output.per)) * static_cast<double>(size_of(output.element));
}

bool same_place(const Ref& a, const Ref& b) {
  return a.buffer == b.buffer && a.element == b.element && a.offset == b.offset && same_terms(a, b);
}

std::optional<Rows> rows_of(const Step& step) {
  std::optional<Rows> rows;
  if (step.kernel)
    rows = std::visit([&](const auto& op) { return of(op, *step.kernel); }, step.kernel->op);
  if (step.fused)
    rows = std::visit([&](const auto& op) { return of(op, *step.fused); }, step.fused->op);
  return rows && is_safe(*rows) ? rows : std::nullopt;
}

std::optional<Rows> joined(const Rows& first, const Rows& second, const std::vector<bool>& keeps) {
  const bool first_is_flat = is_flat(first.op), second_is_flat = is_flat(second.op);
  const bool same = first.op.rows == second.op.rows && first.op.length == second.op.length;
  if (!same && !((first_is_flat || second_is_flat) &&
                 first.op.rows * first.op.length == second.op.rows * second.op.length))
    return std::nullopt;
  if (!reads_outputs_alone(first, second)) return std::nullopt;
  Assembly joining;
  Rows& rows = joining.rows;
  rows.op.rows = first_is_flat ? second.op.rows : first.op.rows;
  rows.op.length = first_is_flat ? second.op.length : first.op.length;
  std::vector<size_t> own, others(second.inputs.size());
  for (size_t k = 0; k < first.inputs.size(); ++k)
    own.push_back(joining.input(first.inputs[k], first.op.inputs[k]));
  for (size_t k = 0; k < second.inputs.size(); ++k)
    if (!output_for(first, second, k))
      others[k] = joining.input(second.inputs[k], second.op.inputs[k]);
  own = joining.steps(first.op, own);
  for (size_t k = 0; k < second.inputs.size(); ++k)
    if (const auto made = output_for(first, second, k)) {
      const Rowwise::Output& output = first.op.outputs[*made];
      if (output.per == Per::column || !is_real(output.element)) return std::nullopt;
      others[k] = joining.stored(own[output.from], output.element);
    }
  others = joining.steps(second.op, others);
  const auto add_output = [&](const Rows& from, size_t k, const std::vector<size_t>& registers) {
    Rowwise::Output output = from.op.outputs[k];
    output.from = registers[output.from];
    rows.op.outputs.push_back(output);
    rows.outputs.push_back(from.outputs[k]);
  };
  for (size_t k = 0; k < first.outputs.size(); ++k)
    if (keeps.at(k)) add_output(first, k, own);
  for (size_t k = 0; k < second.outputs.size(); ++k) add_output(second, k, others);
  return fits(rows.op) && is_safe(rows) ? std::optional(rows) : std::nullopt;
}

}  // namespace shardproof::plan
