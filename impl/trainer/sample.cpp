#include "impl/trainer/sample.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof {
namespace {

/// Every sequence is the text, then zeros.
class Prompt : public Batches {
 public:
  Prompt(std::vector<uint32_t> text, uint32_t document)
      : text_(std::move(text)), document_(document) {}

  std::vector<Name> names() const override { return {"ids", "starts"}; }
  void fill(const Name& name, const Placement& placement, Tensor& to) override {
    const int64_t first = placement.first(to.type.dims.back()), length = to.extents.back();
    for (int64_t i = 0; i < to.count(); ++i) {
      const auto at = static_cast<size_t>(first + i % length);
      const uint32_t token = at < text_.size() ? text_[at] : 0;
      set_number(to.element, to.buffer.data(), i,
                 name == "starts" ? at < text_.size() && token == document_ : token);
    }
  }

 private:
  std::vector<uint32_t> text_;
  uint32_t document_;
};

/// The logits at a position of the first sequence, on every rank: each gives what it has of them.
std::vector<double> row(Trainer& trainer, const Tensor& logits, int64_t position) {
  const Placement& placement = trainer.placement();
  const std::vector<Split>& dims = logits.type.dims;
  const Split &positions = dims[dims.size() - 2], &entries = dims.back();
  const int64_t first = placement.first(entries), count = logits.extents.back();
  std::vector<double> own(static_cast<size_t>(placement.size(entries.dim)),
                          -std::numeric_limits<double>::infinity());
  const int64_t at = position - placement.first(positions);
  bool has = at >= 0 && at < logits.extents[dims.size() - 2];
  for (size_t d = 0; d + 2 < dims.size(); ++d) has = has && placement.first(dims[d]) == 0;
  for (int64_t i = 0; has && i < count; ++i)
    own[static_cast<size_t>(first + i)] =
        number_at(logits.element, logits.buffer.data(), at * count + i);
  Communicator& ranks = trainer.communicator();
  std::vector<int> everyone(static_cast<size_t>(ranks.size()));
  for (size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  std::vector<double> whole(own.size());
  ranks.all_reduce(ranks.group(everyone), own.data(), whole.data(), own.size(), Element::f64,
                   Reduction::max, "logits of a sample");
  return whole;
}

uint32_t draw(std::vector<double> logits, double temperature, double uniform) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (temperature <= 0) return static_cast<uint32_t>(best - logits.begin());
  const double largest = *best;
  double sum = 0;
  for (double& x : logits) sum += x = std::exp((x - largest) / temperature);
  double left = uniform * sum;
  for (size_t i = 0; i < logits.size(); ++i)
    if ((left -= logits[i]) < 0) return static_cast<uint32_t>(i);
  return static_cast<uint32_t>(best - logits.begin());
}

/// The length of the sequences that the plan takes.
int64_t length_of(const Trainer& trainer, const ir::Function& plan) {
  for (ir::ValueId id : plan.params)
    if (const ir::Value& value = plan.values.at(id); value.name == "ids")
      return trainer.placement().size(value.type.dims.at(value.type.dims.size() - 1).dim);
  throw TrainError(plan.name + " takes no ids");
}

bool gives_logits(const ir::Function& plan, const std::vector<Name>& state) {
  const std::vector<Split>* ids = nullptr;
  for (const auto& [name, count] : plan.param_groups) {
    const bool known = name == "ids" || name == "starts" ||
                       std::find(state.begin(), state.end(), name) != state.end();
    if (!known) return false;
  }
  for (ir::ValueId id : plan.params)
    if (plan.values.at(id).name == "ids") ids = &plan.values.at(id).type.dims;
  if (!ids || ids->empty() || plan.results.size() != 1 || !is_float(plan.results[0].dtype))
    return false;
  const std::vector<Split>& dims = plan.results[0].dims;
  return dims.size() == ids->size() + 1 && std::equal(ids->begin(), ids->end(), dims.begin()) &&
         plan.results[0].marks.empty();
}

}  // namespace

std::optional<Name> logits_plan(const Program& program, const StepRoles& roles) {
  const ir::Program& resolved = program.checked().program();
  std::vector<Name> state;
  for (const StateGroup& group : roles.state) state.push_back(group.name);
  for (size_t called : called_by(resolved, roles.step))
    if (const ir::Function& plan = resolved.functions.at(called);
        plan.kind == ir::Function::Kind::plan && gives_logits(plan, state))
      return plan.name;
  return std::nullopt;
}

std::vector<uint32_t> sample(Trainer& trainer, const Name& plan, const SampleOptions& options) {
  const ir::Program& program = trainer.placement().program();
  const auto function = std::find_if(program.functions.begin(), program.functions.end(),
                                     [&](const ir::Function& each) { return each.name == plan; });
  if (function == program.functions.end()) throw PlanError("there is no plan " + plan);
  const auto length = static_cast<size_t>(length_of(trainer, *function));
  std::vector<uint32_t> text = options.prompt, drawn;
  if (text.empty()) text.push_back(options.document);
  const uint64_t key = philox_fold(options.seed, "sample");
  for (int64_t i = 0; i < options.count; ++i) {
    if (text.size() > length) text.erase(text.begin(), text.end() - static_cast<ptrdiff_t>(length));
    Prompt prompt(text, options.document);
    const std::vector<Tensor> results = trainer.run(plan, prompt);
    drawn.push_back(draw(row(trainer, results.at(0), static_cast<int64_t>(text.size()) - 1),
                         options.temperature, philox_uniform(key, static_cast<uint64_t>(i))));
    text.push_back(drawn.back());
  }
  return drawn;
}

}  // namespace shardproof
