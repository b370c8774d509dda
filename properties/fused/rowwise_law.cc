// Chains along rows are what their steps say, at random programs and sizes; and those of a training
// step are what the formulas say.
#include <gtest/gtest.h>

#include <cmath>

#include "impl/plan/op_text.h"
#include "kernels/cuda/laws/named_rows.h"
#include "kernels/cuda/laws/rowwise.h"
#include "kernels/number.h"
#include "properties/fused/emulated_fn.h"
#include "spec/laws/holds.h"

namespace shardproof::properties {
namespace {

using laws::dice_words;
using laws::holds;
using laws::RowwiseCase;

/// Memory and launches of the device under test.
class Machine {
 public:
  std::string broken(const RowwiseCase& given) {
    return laws::broken_rowwise(memory(), run(), given);
  }
  /// The bytes of all arrays.
  std::vector<std::vector<unsigned char>> after(const RowwiseCase& given) {
    return laws::rowwise_on(memory(), run(), given);
  }

 private:
  laws::KernelMachine memory() {
    laws::KernelMachine machine;
    machine.allocate = [this](size_t bytes) -> void* {
      Buffer buffer = device_->allocate(bytes);
      void* data = buffer.data();
      buffers_.emplace(data, std::move(buffer));
      return data;
    };
    machine.release = [this](void* data) { buffers_.erase(data); };
    machine.to_machine = [this](void* to, const void* from, size_t bytes) {
      device_->copy_from_host(*queue_, to, from, bytes);
    };
    machine.from_machine = [this](void* to, const void* from, size_t bytes) {
      device_->copy_to_host(*queue_, to, from, bytes);
    };
    return machine;
  }
  laws::RunRowwise run() {
    return [this](const Rowwise& op, void* const* outputs, const void* const* inputs) {
      const size_t scratch = device_->fused_scratch(op).size();
      device_->prepare_fused(op)(*queue_, {outputs, op.outputs.size() + scratch},
                                 {inputs, op.inputs.size()});
      queue_->finish();
      return Fault{};
    };
  }

  const std::shared_ptr<Device> device_ = law_device();
  const std::unique_ptr<Queue> queue_ = device_->queue();
  std::map<void*, Buffer> buffers_;
};

void expect_holds(const RowwiseCase& given) {
  ASSERT_TRUE(fits(given.op));
  EXPECT_EQ(Machine().broken(given), "") << given.op.rows << " rows of " << given.op.length;
}

struct DrawnRows {
  Rowwise op;
};
/// What RapidCheck prints of the smallest failure.
void showValue(const DrawnRows& drawn, std::ostream& out) {
  std::vector<std::string> names;
  for (const Rowwise::Input& each : drawn.op.inputs)
    names.push_back("x" + std::to_string(names.size()) + ":" + name_of(each.element));
  out << "\n" << plan::text_of(FusedOp(drawn.op), names);
}
rc::Gen<DrawnRows> drawn_rows() {
  return rc::gen::map(dice_words(200), [](std::vector<uint64_t> words) {
    laws::Dice dice(std::move(words));
    return DrawnRows{laws::random_rows(dice)};
  });
}

TEST(Rowwise, RandomPrograms) {
  EXPECT_TRUE(holds("row-wise programs", 120, 2'000, [] {
    const DrawnRows drawn = *drawn_rows();
    RC_PRE(fits(drawn.op));
    laws::Dice entries(1);
    RC_ASSERT(Machine().broken(laws::rowwise_case(drawn.op, entries)) == "");
  }));
}

/// Many blocks, whose sums per column are joined; teams of warps and of blocks.
TEST(Rowwise, ManyRows) {
  laws::Dice dice(3);
  for (const auto& [rows, length] : {std::pair{17000, 3}, {400, 72}, {300, 1032}})
    expect_holds(laws::rowwise_case(laws::rms_norm_backward_rows(rows, length), dice));
}

TEST(Rowwise, HasTheSameBitsInEveryRun) {
  laws::Dice dice(4);
  const RowwiseCase given = laws::rowwise_case(laws::rms_norm_backward_rows(300, 1032), dice);
  EXPECT_EQ(Machine().after(given), Machine().after(given));
}

/// Rows whose sums per column shared memory does not hold, and one where it does; in two blocks.
TEST(Rowwise, LongRows) {
  laws::Dice dice(5);
  for (int64_t length : {12032, 12040, 32767, 32768})
    expect_holds(laws::rowwise_case(laws::rms_norm_backward_rows(6, length), dice));
}

/// Every output in the memory of an input; the last two want the same.
TEST(Rowwise, OutputsInTheirInputsMemory) {
  for (const RowwiseCase& given : laws::rows_in_place()) expect_holds(given);
}

/// One entry, of the double that the op is evaluated in: `own` is the formula.
void expect_formula(const RowwiseCase& given, size_t output, size_t at, double own) {
  const laws::Bounded made = laws::evaluated(given)[output][at];
  EXPECT_NEAR(made.value, own, 1e-6 * (1 + std::abs(own)) + made.off / 8);
}

double entry(const RowwiseCase& given, size_t input, int64_t at) {
  const laws::Array& array = given.arrays[given.inputs[input]];
  return number_at(array.element, array.bytes.data() + array.offset, at);
}

constexpr int64_t few = 3, some = 40, one = 57;  ///< rows, entries of a row, an entry of row 1

TEST(RowwiseFormulas, RmsNorm) {
  laws::Dice dice(7);
  const RowwiseCase given = laws::rowwise_case(laws::rms_norm_rows(few, some), dice);
  double squares = 0;
  for (int64_t i = 0; i < some; ++i) squares += std::pow(entry(given, 0, some + i), 2);
  const double r = 1 / std::sqrt(squares / some + entry(given, 2, 0));
  expect_formula(given, 0, one, entry(given, 0, one) * r * entry(given, 1, one - some));
  expect_holds(given);
}

/// By differences of the function itself.
TEST(RowwiseFormulas, RmsNormBackward) {
  laws::Dice dice(8);
  const RowwiseCase given = laws::rowwise_case(laws::rms_norm_backward_rows(few, some), dice);
  const double eps = entry(given, 4, 0);
  const auto along_g = [&](int64_t row, double by) {  // x[row, one - some] is moved
    double squares = 0, sum = 0;
    const auto x = [&](int64_t i) {
      return entry(given, 1, row * some + i) + (i == one - some) * by;
    };
    for (int64_t i = 0; i < some; ++i) squares += x(i) * x(i);
    const double r = 1 / std::sqrt(squares / some + eps);
    for (int64_t i = 0; i < some; ++i)
      sum += entry(given, 0, row * some + i) * x(i) * r * entry(given, 3, i);
    return sum;
  };
  const double small = 1e-5, slope = (along_g(1, small) - along_g(1, -small)) / (2 * small);
  expect_formula(given, 0, one, slope + entry(given, 2, one));
  double by_weight = 0;
  for (int64_t row = 0; row < few; ++row) {
    double squares = 0;
    for (int64_t i = 0; i < some; ++i) squares += std::pow(entry(given, 1, row * some + i), 2);
    const int64_t at = row * some + 5;
    by_weight += entry(given, 0, at) * entry(given, 1, at) / std::sqrt(squares / some + eps);
  }
  expect_formula(given, 1, 5, by_weight);
  expect_holds(given);
}

TEST(RowwiseFormulas, SwigluBackward) {
  laws::Dice dice(9);
  const RowwiseCase given = laws::rowwise_case(laws::swiglu_backward_rows(few, some), dice);
  const double g = entry(given, 0, one), gate = entry(given, 1, one), up = entry(given, 2, one);
  const auto silu = [](double x) { return x / (1 + std::exp(-x)); };
  expect_formula(given, 0, one, silu(gate) * up);
  expect_formula(given, 1, one, g * up * (silu(gate + 1e-5) - silu(gate - 1e-5)) / 2e-5);
  expect_formula(given, 2, one, g * silu(gate));
  expect_holds(given);
}

TEST(RowwiseFormulas, CrossEntropyBackward) {
  laws::Dice dice(10);
  RowwiseCase given = laws::rowwise_case(laws::cross_entropy_backward_rows(few, some), dice);
  laws::Array& targets = given.arrays[given.inputs[2]];
  for (int64_t row = 0; row < few; ++row)  // row 1 hits `one`, row 2 nothing
    set_number(targets.element, targets.bytes.data() + targets.offset, row,
               static_cast<double>(row == 1 ? one - some : row * some));
  double sum = 0;
  for (int64_t i = 0; i < some; ++i) sum += std::exp(entry(given, 1, some + i));
  const auto probability = [&](int64_t at) { return std::exp(entry(given, 1, at)) / sum; };
  const double g = entry(given, 0, 1);
  expect_formula(given, 0, one, (probability(one) - 1) * g);
  expect_formula(given, 0, one + 1, probability(one + 1) * g);
  expect_formula(given, 1, 1, std::log(sum) - entry(given, 1, one));
  expect_holds(given);
}

/// An integer that is divided by 0 in a reduction's loop, and nowhere else.
TEST(Rowwise, ReportsADivisionByZero) {
  laws::Dice dice(11);
  Rowwise op;
  op.rows = 3;
  op.length = 50;
  op.inputs = {{Element::i32, Per::entry}};
  op.steps = {{{PointwiseFn::mod, false, {0, 0}, 0, {}}},
              {{PointwiseFn::to_real, true, {1}, 0, {}}},
              {{PointwiseFn::constant, true, {2}, 0, {}}, RowFn::sum}};
  op.outputs = {{3, Element::f32, Per::row}};
  RowwiseCase given = laws::rowwise_case(op, dice);
  laws::Array& x = given.arrays[0];
  for (int64_t i = 0; i < x.entries(); ++i) set_number(x.element, x.bytes.data(), i, 1);
  EXPECT_NO_THROW(Machine().after(given));
  set_number(x.element, x.bytes.data() + x.offset, 149, 0);
  EXPECT_THROW(Machine().after(given), DeviceError);
}

TEST(Rowwise, NoDeviceTakesWhatDoesNotFit) {
  const Rowwise good = laws::rms_norm_backward_rows(3, 40);
  const auto refuses = [&](const std::function<void(Rowwise&)>& spoil) {
    Rowwise op = good;
    spoil(op);
    return !fits(op) && !law_device()->prepare_fused(op);
  };
  EXPECT_FALSE(refuses([](Rowwise&) {}));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.rows = 0; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.inputs[0].element = Element::f64; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.outputs[0].per = Per::row; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.outputs[0].per = Per::all; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.outputs[0].element = Element::i32; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.outputs[1].from = 1000; }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.steps[0].step.arguments[0] = op.inputs.size(); }));
  EXPECT_TRUE(
      refuses([](Rowwise& op) { op.outputs.resize(Rowwise::most_outputs + 1, op.outputs[0]); }));
  EXPECT_TRUE(refuses([](Rowwise& op) { op.steps.resize(Rowwise::most_steps + 1, op.steps[0]); }));
}

}  // namespace
}  // namespace shardproof::properties
