// The rehearsal of each kernel against its definition, kernels/cpu.
#include "kernels/cuda/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cuda/laws/host_machine.h"

namespace shardproof::laws {
namespace {

KernelMachine rehearsal_machine(bool scratch) {
  return host_machine([scratch](const KernelOp& op, void* out, const void* const* inputs) {
    Fault fault;
    static std::vector<double> room(rehearsal::scratch_bytes / sizeof(double));
    const rehearsal::Stream stream{nullptr, &fault, 7, scratch ? room.data() : nullptr};
    std::visit(
        [&](const auto& each) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, Matmul>)
            rehearsal::run(stream, each, out, inputs);
        },
        op);
    return fault;
  });
}

class EachOp : public testing::TestWithParam<OpKind> {};

TEST_P(EachOp, ComputesWhatTheCpuDoes) {
  const KernelMachine with = rehearsal_machine(true), without = rehearsal_machine(false);
  const uint64_t seeds = std::getenv("SHARDPROOF_FULL") ? 1200 : 300;
  for (uint64_t seed = 0; seed < seeds; ++seed)
    ASSERT_EQ(broken(seed % 2 ? with : without, GetParam(), seed), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, EachOp, testing::ValuesIn(all_kinds), [](const auto& info) {
  std::string name = name_of(info.param);
  if (const size_t space = name.find(' '); space != std::string::npos) name[space] = '_';
  return name;
});

TEST(Kernels, SayWhatIsWrongInTheirData) {
  const KernelMachine machine = rehearsal_machine(true);
  for (uint64_t seed = 0; seed < 80; ++seed) ASSERT_EQ(unnoticed(machine, seed), "");
}

TEST(Kernels, JoinRanksAsTheCpuDoes) {
  const KernelMachine machine = rehearsal_machine(true);
  const ReduceRanks reduce = [](Element element, Reduction reduction, const void* const* sources,
                                int n, void* out, size_t count) {
    rehearsal::reduce_ranks({}, element, reduction, sources, n, out, count);
  };
  for (uint64_t seed = 0; seed < 400; ++seed) ASSERT_EQ(broken_ranks(machine, reduce, seed), "");
}

}  // namespace
}  // namespace shardproof::laws
