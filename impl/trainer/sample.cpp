#include "impl/trainer/sample.h"

#include <algorithm>
#include <chrono>

#include "impl/trainer/draw.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

/// Fills every sequence with the text, followed by zeros.
class Prompt : public Batches {
 public:
  Prompt(std::vector<uint32_t> text, uint32_t document)
      : text_(std::move(text)), document_(document) {}

  std::vector<Name> names() const override { return {"ids", "starts"}; }
  void fill(const Name& name, const Placement& placement, LocalTensor& to) override {
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

/// The sequence length that the plan takes.
int64_t length_of(const Trainer& trainer, const ir::Function& plan) {
  for (ir::ValueId id : plan.params)
    if (const ir::Value& value = plan.values.at(id); value.name == "ids")
      return trainer.placement().size(value.type.dims.at(value.type.dims.size() - 1).dim);
  throw TrainError(plan.name + " has no parameter of token ids");
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
  if (!ids || ids->empty() || plan.results.empty() || !is_float(plan.results[0].dtype))
    return false;
  const std::vector<Split>& dims = plan.results[0].dims;
  const auto& marks = plan.results[0].marks;
  return dims.size() == ids->size() + 1 && std::equal(ids->begin(), ids->end(), dims.begin()) &&
         std::all_of(marks.begin(), marks.end(),
                     [](const auto& each) { return each.second == Mark::I; });
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
  std::vector<Name> own;
  for (const ir::Function& each : resolved.functions)
    if (each.kind == ir::Function::Kind::plan && !each.imported && !each.made_for_pads &&
        gives_logits(each, state) && takes_state(each, resolved.functions.at(roles.step), roles))
      own.push_back(each.name);
  return own.size() == 1 ? std::optional(own[0]) : std::nullopt;
}

Sample sample(Trainer& trainer, const Name& plan, const SampleOptions& options) {
  const ir::Program& program = trainer.placement().program();
  const size_t function = trainer.program().plan(plan).function;
  const int64_t length = length_of(trainer, program.functions.at(function));
  std::vector<uint32_t> text = first_text(options, length);
  Sample result;
  const auto begin = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < options.count; ++i) {
    if (static_cast<int64_t>(text.size()) > length) text.erase(text.begin());
    Prompt prompt(text, options.document);
    const std::vector<LocalTensor> results = trainer.run(plan, prompt);
    result.tokens.push_back(draw(logits_at(trainer.communicator(), trainer.placement(),
                                           results.at(0), static_cast<int64_t>(text.size()) - 1),
                                 options, i));
    text.push_back(result.tokens.back());
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    (i == 0 ? result.prompt_seconds : result.seconds) = spent.count();
  }
  return result;
}

}  // namespace shardproof
