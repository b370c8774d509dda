// Each kernel on the emulator against its definition, kernels/cpu.
#include "kernels/cuda/kernels.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cpu/kernels.h"
#include "kernels/cuda/laws/host_machine.h"

namespace shardproof::laws {
namespace {

KernelMachine emulated_machine(bool scratch) {
  return host_machine([scratch](const KernelOp& op, void* out, const void* const* inputs) {
    Fault fault;
    static std::vector<double> room(emulated::scratch_bytes / sizeof(double));
    const emulated::Stream stream{nullptr, &fault, 7, scratch ? room.data() : nullptr};
    std::visit(
        [&](const auto& each) {
          if constexpr (!std::is_same_v<std::decay_t<decltype(each)>, Matmul>)
            emulated::run(stream, each, out, inputs);
        },
        op);
    return fault;
  });
}

class EachOp : public testing::TestWithParam<OpKind> {};

TEST_P(EachOp, ComputesWhatTheCpuDoes) {
  const KernelMachine with = emulated_machine(true), without = emulated_machine(false);
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
  const KernelMachine machine = emulated_machine(true);
  for (uint64_t seed = 0; seed < 80; ++seed) ASSERT_EQ(unnoticed(machine, seed), "");
}

TEST(Kernels, AFaultIsReadFromItsMessage) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const FaultyCase given = faulty_case(seed);
    Fault fault;
    fault.taken = 1;
    fault.kind = given.kind;
    fault.value = given.value;
    fault.extent = fault.kind == Fault::division ? 0 : 17;
    const Fault told = fault_told("a.shard:12 in f, index 3: " + text(fault));
    EXPECT_EQ(text(told), text(fault));
    EXPECT_EQ(told.value, given.value);
  }
  EXPECT_EQ(fault_told("a kernel failed: cudaErrorIllegalAddress").taken, 0u);
}

/// As long as chains get: where() of three expressions.
TEST(Kernels, ComputeLongChains) {
  Pointwise op;
  op.inputs.assign(75, Element::f32);
  for (size_t i = 0; i < 250; ++i)
    op.steps.push_back({PointwiseFn::sub, true, {i % 75, i == 0 ? 1 : 74 + i}, 0, {}});
  op.nest = {{40}, std::vector<std::vector<int64_t>>(76, {1})};
  std::vector<std::vector<float>> data(75, std::vector<float>(40));
  std::vector<const void*> inputs;
  for (size_t k = 0; k < data.size(); ++k) {
    for (size_t i = 0; i < 40; ++i) data[k][i] = static_cast<float>(k * i % 17) / 3;
    inputs.push_back(data[k].data());
  }
  std::vector<float> expected(40), found(40);
  cpu::run(op, expected.data(), inputs.data());
  emulated::run(emulated::Stream{}, op, found.data(), inputs.data());
  EXPECT_EQ(found, expected);
  op.steps.insert(op.steps.end(), 10, op.steps.back());
  EXPECT_THROW(emulated::run(emulated::Stream{}, op, found.data(), inputs.data()),
               std::length_error);
}

/// An embedding's gradient: more terms than are sorted at once, half of them of one id.
TEST(Kernels, AddUpManyTermsInTheirOrder) {
  constexpr int64_t terms = 70'000, rows = 100'000, width = 3;
  IndexAdd op;
  op.window = {0, rows, width, false};
  op.count = rows * width;
  op.nest = {{terms, width}, {{0, 1}, {1, 0}, {width, 1}}};
  std::vector<int32_t> ids(terms);
  std::vector<float> x(terms * width), expected(rows * width), found(rows * width, 1);
  for (int64_t i = 0; i < terms; ++i)
    ids[i] = static_cast<int32_t>(i % 2 ? 17 : i * 2654435761 % rows);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 1 / static_cast<float>(i + 3);
  const void* inputs[] = {ids.data(), x.data()};
  cpu::run(op, expected.data(), inputs);
  std::vector<double> room(emulated::scratch_bytes / sizeof(double));
  Fault fault;
  emulated::run({nullptr, &fault, 0, room.data()}, op, found.data(), inputs);
  EXPECT_EQ(found, expected);
  EXPECT_FALSE(fault.taken);
}

TEST(Kernels, JoinRanksAsTheCpuDoes) {
  const KernelMachine machine = emulated_machine(true);
  const ReduceRanks reduce = [](Element element, Reduction reduction, const void* const* sources,
                                int n, void* out, size_t count) {
    emulated::reduce_ranks({}, element, reduction, sources, n, out, count);
  };
  for (uint64_t seed = 0; seed < 400; ++seed) ASSERT_EQ(broken_ranks(machine, reduce, seed), "");
}

}  // namespace
}  // namespace shardproof::laws
