#include <algorithm>

#include "impl/plan/passes/chain.h"
#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"

namespace shardproof::plan {
namespace {

bool adds_to_zeros(const Step& step) {
  const auto* op = step.kernel ? std::get_if<IndexAdd>(&step.kernel->op) : nullptr;
  return op && !op->into;
}

class LookUps {
 public:
  LookUps(const std::vector<Step>& all, const std::vector<Piece>& pieces,
          const std::vector<BufferId>& given)
      : pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& body) {
    for (Step& step : body)
      if (step.is_loop) walk(step.body);
    for (size_t i = 0; i < body.size(); ++i)
      if (const size_t sum = sum_of(body, i); sum < body.size()) join(body, i, sum);
  }

 private:
  /// The step that adds the index_add at `i` to another array, if it can be moved there; else the
  /// end.
  size_t sum_of(const std::vector<Step>& body, size_t i) const {
    if (!adds_to_zeros(body[i])) return body.size();
    const Ref& made = body[i].kernel->out;
    if (has(given_, made.buffer) || uses_.reads_of(made.buffer) != 1 ||
        uses_.writes_of(made.buffer) != 1 || !is_whole(made, pieces_.at(made.buffer)))
      return body.size();
    size_t j = i + 1;
    while (j < body.size() && !reads(body[j], made.buffer)) ++j;
    return j < body.size() && adds(body[j], made) && stays(body, i, j) ? j : body.size();
  }

  /// Whether the step adds two arrays; a bf16 summand of an f32 sum may count as f32.
  static bool adds_two(Step step) {
    auto* const chain = step.kernel ? std::get_if<Pointwise>(&step.kernel->op) : nullptr;
    if (!chain || chain->inputs.size() != 2) return false;
    if (chain->output == Element::f32)
      std::replace(chain->inputs.begin(), chain->inputs.end(), Element::bf16, Element::f32);
    return adds_all(step);
  }
  static bool adds(const Step& step, const Ref& made) {
    if (!adds_two(step) || step.kernel->out.element != made.element) return false;
    const std::vector<Ref>& inputs = step.kernel->inputs;
    return (inputs[0].buffer == made.buffer) != (inputs[1].buffer == made.buffer) &&
           std::all_of(inputs.begin(), inputs.end(), [&](const Ref& input) {
             return input.count() == made.count() &&
                    (input.buffer != made.buffer ||
                     (input.element == made.element && input.offset == 0 && input.terms.empty()));
           });
  }

  /// Whether no step writes what the index_add at `i` reads before `j` has written.
  static bool stays(const std::vector<Step>& body, size_t i, size_t j) {
    for (BufferId read : body[i].reads)
      for (size_t k = i + 1; k <= j; ++k)
        if (writes(body[k], read)) return false;
    return true;
  }

  /// The copy of the other summand and the index_add take the place of the sum.
  void join(std::vector<Step>& body, size_t i, size_t j) {
    Step &lookup = body[i], &sum = body[j];
    uses_.remove(lookup);
    uses_.remove(sum);
    const Ref out = sum.kernel->out;
    const size_t x = sum.kernel->inputs[0].buffer == lookup.kernel->out.buffer ? 1 : 0;
    Step copy = sum;
    copy.op = "copy";
    copy.kernel->inputs = {sum.kernel->inputs[x]};
    const Nest nest{{out.count()}, {{1}, {1}}};
    if (const Element from = copy.kernel->inputs[0].element; from == out.element)
      copy.kernel->op = Copy{nest, size_of(out.element)};
    else
      copy.kernel->op = Pointwise{{from}, {}, out.element, false, nest};
    copy.reads = {copy.kernel->inputs[0].buffer};
    std::get<IndexAdd>(lookup.kernel->op).into = true;
    lookup.kernel->out = out;
    lookup.writes = {out.buffer};
    lookup.reads.push_back(out.buffer);
    sum = std::move(lookup);
    const auto begin = body.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(i), begin + static_cast<std::ptrdiff_t>(i) + 1,
                begin + static_cast<std::ptrdiff_t>(j));
    body[j - 1] = std::move(copy);
    uses_.add(body[j - 1]);
    uses_.add(body[j]);
  }

  const std::vector<Piece>& pieces_;
  const std::vector<BufferId>& given_;
  BufferUses uses_;
};

}  // namespace

void add_into(std::vector<Step>& steps, const std::vector<Piece>& pieces,
              const std::vector<BufferId>& given) {
  if (any_step(steps, adds_to_zeros)) LookUps(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
