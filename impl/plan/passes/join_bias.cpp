#include <algorithm>

#include "impl/plan/passes/chain.h"
#include "impl/plan/passes/passes.h"

namespace shardproof::plan {
namespace {

bool is_product(const Step& step) {
  return step.kernel && std::holds_alternative<Matmul>(step.kernel->op);
}

bool is_plain(const Ref& ref) { return ref.offset == 0 && ref.terms.empty(); }

/// Whether the chain only adds its two inputs; rounding by its output's element is allowed.
bool only_adds(const Pointwise& chain) {
  const size_t inputs = chain.inputs.size();
  if (inputs != 2 || chain.steps.empty() || chain.f64) return false;
  const auto step = [&](size_t at) -> const PointwiseStep* {
    return at < inputs ? nullptr : &chain.steps[at - inputs];
  };
  const PointwiseStep* last = &chain.steps.back();
  if (chain.output == Element::bf16) {
    if (last->fn != PointwiseFn::round_bf16) return false;
    last = step(last->arguments[0]);
  }
  if (!last || last->fn != PointwiseFn::add || !last->real) return false;
  return last->arguments[0] + last->arguments[1] == 1;
}

/// The product with the chain's addition, if the chain traverses the product by rows and columns,
/// and the vector along one of them.
std::optional<BiasedProduct> biased(const Matmul& product, const Pointwise& chain, size_t x,
                                    Element vector) {
  const Nest& nest = chain.nest;
  if (product.elements[0] != Element::f32 || !only_adds(chain) || product.batch.count() != 1 ||
      nest.extents.size() != 2)
    return {};
  const std::vector<int64_t>&to = nest.strides[0], &from = nest.strides[1 + x],
        &bias = nest.strides[2 - x];
  for (size_t row : {0, 1}) {
    const size_t column = 1 - row;
    if (nest.extents[row] != product.m || nest.extents[column] != product.n ||
        from[row] != product.c.row || from[column] != product.c.column)
      continue;
    BiasedProduct op{product, bias[row] == 1, vector};
    if (bias[op.by_row ? row : column] != 1 || bias[op.by_row ? column : row] != 0) continue;
    op.product.c = {to[row], to[column]};
    op.product.elements[0] = chain.output;
    if (op.fits()) return op;
  }
  return {};
}

class Joining {
 public:
  Joining(const std::vector<Step>& steps, const std::vector<BufferId>& given, const Device& device)
      : given_(given), device_(device), uses_(steps) {}

  size_t walk(std::vector<Step>& steps) {
    size_t joined = 0;
    for (size_t i = 0; i < steps.size(); ++i) {
      joined += walk(steps[i].body);
      const size_t reader = reader_of(steps, i);
      if (reader == steps.size() || !join(steps, i, reader)) continue;
      steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(i--));
      ++joined;
    }
    return joined;
  }

 private:
  /// The only reader of the product at i, if nothing overwrites the product's operands before it.
  size_t reader_of(const std::vector<Step>& steps, size_t i) const {
    if (!is_product(steps[i])) return steps.size();
    const BufferId made = steps[i].kernel->out.buffer;
    if (has(given_, made) || uses_.reads_of(made) != 1 || uses_.writes_of(made) != 1)
      return steps.size();
    for (size_t j = i + 1; j < steps.size(); ++j) {
      if (!steps[j].is_loop && has(steps[j].reads, made)) return j;
      const std::vector<BufferId> written = access_of(steps[j]).writes;
      for (BufferId read : steps[i].reads)
        if (std::binary_search(written.begin(), written.end(), read)) return steps.size();
    }
    return steps.size();
  }

  /// The bf16 vector from which a step before `end` computed `vector` by a cast; else `vector`
  /// itself.
  Ref before_cast(const std::vector<Step>& steps, size_t end, const Ref& vector) const {
    for (size_t i = 0; i < end; ++i) {
      const Step& step = steps[i];
      const auto* cast = step.kernel ? std::get_if<Pointwise>(&step.kernel->op) : nullptr;
      if (!cast || step.kernel->out.buffer != vector.buffer || step.kernel->inputs.size() != 1)
        continue;
      const Ref& from = step.kernel->inputs[0];
      const bool stays = uses_.writes_of(from.buffer) <= 1;
      const bool same = cast->output == Element::f32 && from.element == Element::bf16 &&
                        cast->result() == 0 &&
                        cast->nest.strides == std::vector<std::vector<int64_t>>{{1}, {1}} &&
                        cast->nest.count() == vector.count();
      if (stays && same && uses_.writes_of(vector.buffer) == 1 && is_plain(vector)) return from;
    }
    return vector;
  }

  bool join(std::vector<Step>& steps, size_t i, size_t j) const {
    const Step& product = steps[i];
    Step& reader = steps[j];
    if (!reader.kernel || !is_plain(product.kernel->out)) return false;
    const auto* chain = std::get_if<Pointwise>(&reader.kernel->op);
    const std::vector<Ref>& inputs = reader.kernel->inputs;
    if (!chain || inputs.size() != 2) return false;
    const BufferId made = product.kernel->out.buffer;
    const size_t x = inputs[0].buffer == made ? 0 : 1;
    if (inputs[1 - x].buffer == made || !is_plain(inputs[x])) return false;
    const Ref bias =
        chain->output == Element::bf16 ? before_cast(steps, j, inputs[1 - x]) : inputs[1 - x];
    const auto op = biased(std::get<Matmul>(product.kernel->op), *chain, x, bias.element);
    if (!op || !device_.has_fused(*op)) return false;
    FusedKernel fused{*op, {reader.kernel->out}, product.kernel->inputs};
    fused.inputs.push_back(bias);
    reader.op = product.op + "+bias";
    reader.reads = product.reads;
    reader.reads.push_back(fused.inputs.back().buffer);
    reader.kernel.reset();
    reader.fused = std::move(fused);
    return true;
  }

  const std::vector<BufferId>& given_;
  const Device& device_;
  const BufferUses uses_;
};

}  // namespace

size_t join_bias(std::vector<Step>& steps, const std::vector<BufferId>& given,
                 const Device& device) {
  return any_step(steps, is_product) ? Joining(steps, given, device).walk(steps) : 0;
}

}  // namespace shardproof::plan
