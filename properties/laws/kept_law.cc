// State that one plan makes where another keeps it is what came through the host before.
#include <gtest/gtest.h>

#include <cstring>

#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/compile/compile_plan.h"
#include "impl/device/rehearsal/rehearsal.h"
#include "impl/train_step/on_gpu.h"

namespace shardproof {
namespace {

DimSizes sizes_of(const Program& program, const Name& config) {
  DimSizes sizes;
  for (const auto& [name, number] : program.checked().program().configs.at(config).numbers)
    sizes[name] = std::stoll(number);
  return sizes;
}

bool same_bytes(const LocalTensor& a, const LocalTensor& b) {
  return a.extents == b.extents && a.buffer.bytes() == b.buffer.bytes() &&
         std::memcmp(a.buffer.data(), b.buffer.data(), a.buffer.bytes()) == 0;
}

TEST(KeptState, IsMadeWhereItIsKept) {
  const Program program =
      Program::load(std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/llama_train.shard");
  const StepRoles roles = roles_of(program);
  const InitRoles init = init_of(program, roles);
  const DimSizes sizes = sizes_of(program, "tiny");
  const auto name_of = [&](size_t function) {
    return program.checked().program().functions.at(function).name;
  };
  const std::shared_ptr<Device> device = rehearsal_device(3);
  run_on_virtual_ranks(*device, 1, [&](Communicator& communicator) {
    const PlanOptions options{.device = device};
    Plan step =
        compile_plan(program, name_of(roles.step), Mesh(), sizes, 0, on_gpu(options, &roles));
    Plan other = compile_plan(program, name_of(init.plan), Mesh(), sizes, 0, options);
    Plan plain = compile_plan(program, name_of(init.plan), Mesh(), sizes, 0, options);
    LocalTensor key = plain.input(0);
    *key.data<uint64_t>() = 17;
    const std::vector<LocalTensor> wanted =
        plain.run(communicator, std::vector<const LocalTensor*>{&key});
    const StateGroup& weights = roles.state.at(init.groups.at(0));
    for (size_t i = 0; i < weights.count; ++i) other.make_kept(i, step, weights.param + i);
    other.keep(0, key);
    other.run_kept(communicator);
    other.finish();
    for (size_t i = 0; i < weights.count; ++i) {
      LocalTensor kept = step.input(weights.param + i);
      step.fetch_kept(weights.param + i, kept);
      EXPECT_TRUE(same_bytes(kept, wanted.at(i))) << step.inputs()[weights.param + i].name;
    }
    const size_t moment = roles.state.at(1).param;
    step.keep_zeros(moment);
    LocalTensor zeros = step.input(moment), kept = step.input(moment);
    std::memset(zeros.buffer.data(), 0, zeros.buffer.bytes());
    step.fetch_kept(moment, kept);
    EXPECT_TRUE(same_bytes(kept, zeros));
    EXPECT_THROW(plain.make_kept(0, step, weights.param), PlanError) << "it has run";
    EXPECT_THROW(other.make_kept(1, step, weights.param), PlanError);
  });
}

}  // namespace
}  // namespace shardproof
