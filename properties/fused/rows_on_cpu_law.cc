// Rows on this processor are what their steps say, at random programs and sizes, beside a plain
// evaluation in double; and with the same bits for every number of threads.
#include <gtest/gtest.h>

#include "impl/plan/op_text.h"
#include "kernels/cpu/rowwise.h"
#include "kernels/cpu/threads.h"
#include "kernels/cuda/laws/named_rows.h"
#include "kernels/cuda/laws/rowwise.h"

namespace shardproof::properties {
namespace {

using laws::RowwiseCase;

laws::KernelMachine host() {
  laws::KernelMachine machine;
  machine.allocate = [](size_t bytes) -> void* { return new unsigned char[bytes]; };
  machine.release = [](void* data) { delete[] static_cast<unsigned char*>(data); };
  machine.to_machine = [](void* to, const void* from, size_t bytes) {
    std::copy_n(static_cast<const char*>(from), bytes, static_cast<char*>(to));
  };
  machine.from_machine = machine.to_machine;
  return machine;
}

Fault run_here(const Rowwise& op, void* const* outputs, const void* const* inputs) {
  std::vector<void*> all(outputs, outputs + op.outputs.size());
  std::vector<double> scratch(cpu::scratch_bytes(op) / sizeof(double), 7.0);
  all.push_back(scratch.data());
  cpu::row_program(op)->run(all.data(), inputs);
  return Fault{};
}

std::string text_of(const Rowwise& op) {
  std::vector<std::string> names;
  for (size_t k = 0; k < op.inputs.size(); ++k) names.push_back("x" + std::to_string(k));
  return plan::text_of(FusedOp(op), names);
}

void expect_holds(const RowwiseCase& given) {
  EXPECT_EQ(laws::broken_rowwise(host(), run_here, given), "") << text_of(given.op);
}

bool has_code() { return cpu::row_program(laws::rms_norm_rows(3, 40)) != nullptr; }

TEST(RowsOnCpu, RandomPrograms) {
  if (!has_code()) GTEST_SKIP() << "no machine code on this processor";
  constexpr int draws = 3'000;
  int with_code = 0;
  for (uint64_t seed = 1; seed <= draws && !HasFailure(); ++seed) {
    laws::Dice dice(seed);
    Rowwise op = laws::random_rows(dice);
    if (!cpu::row_program(op)) continue;
    ++with_code;
    expect_holds(laws::rowwise_case(std::move(op), dice));
  }
  EXPECT_GT(with_code, draws / 20);
}

TEST(RowsOnCpu, NormsAndSwiglu) {
  if (!has_code()) GTEST_SKIP() << "no machine code on this processor";
  laws::Dice dice(3);
  for (const auto& [rows, length] :
       {std::pair{17000, 3}, {400, 72}, {300, 1032}, {6, 12040}, {1, 1}, {2, 15}, {3, 17}}) {
    expect_holds(laws::rowwise_case(laws::rms_norm_rows(rows, length), dice));
    expect_holds(laws::rowwise_case(laws::rms_norm_backward_rows(rows, length), dice));
    expect_holds(laws::rowwise_case(laws::swiglu_backward_rows(rows, length), dice));
  }
}

TEST(RowsOnCpu, OutputsInTheirInputsMemory) {
  if (!has_code()) GTEST_SKIP() << "no machine code on this processor";
  for (const RowwiseCase& given : laws::rows_in_place()) expect_holds(given);
}

TEST(RowsOnCpu, HaveTheSameBitsForEveryNumberOfThreads) {
  if (!has_code()) GTEST_SKIP() << "no machine code on this processor";
  laws::Dice dice(4);
  const RowwiseCase given = laws::rowwise_case(laws::rms_norm_backward_rows(700, 1032), dice);
  cpu::set_threads(1);
  const auto alone = laws::rowwise_on(host(), run_here, given);
  cpu::set_threads(3);
  EXPECT_EQ(laws::rowwise_on(host(), run_here, given), alone);
  cpu::set_threads(1);
}

}  // namespace
}  // namespace shardproof::properties
