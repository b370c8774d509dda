// The text of a compiled plan.
#include "impl/plan/text.h"
#include "impl/run/plan_state.h"

namespace shardproof {
namespace {

std::vector<plan::Names::Given> named(const std::vector<Slot>& slots,
                                      const std::vector<plan::BufferId>& buffers) {
  std::vector<plan::Names::Given> all;
  for (size_t i = 0; i < slots.size(); ++i)
    all.push_back({buffers.at(i), slots[i].name, to_string(slots[i].type), slots[i].element,
                   slots[i].extents});
  return all;
}

plan::Names names_of(const Plan::State& state) {
  plan::Names names;
  const std::string on = state.mesh.text().empty() ? "one rank" : state.mesh.text();
  names.title = state.name + " on " + on + ", rank " + std::to_string(state.rank) + ", " +
                state.device->name();
  names.groups = state.groups;
  names.in = named(state.inputs, state.input_buffers);
  names.out = named(state.outputs, state.output_buffers);
  if (state.arena_bytes) names.arena = state.arena_bytes;
  names.same = state.same;
  names.first = state.first;
  return names;
}

}  // namespace

std::string Plan::State::text() const { return plan::text_of(steps, pieces, names_of(*this)); }

std::string Plan::text() const { return state_->text(); }

std::string Plan::commands_text() const {
  return plan::text_of_commands(state_->steps, state_->pieces, names_of(*state_));
}

}  // namespace shardproof
