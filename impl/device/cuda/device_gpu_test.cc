// A GPU computes what this processor does: every op over random shapes, products of every kind, and
// a recorded step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/emulated/matmul.h"
#include "kernels/cuda/laws/laws.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

/// Memory of the device with what is in `data`.
class Held {
 public:
  Held(Device& device, Queue& queue, const std::vector<std::byte>& data)
      : memory_(device.allocate(data.size())) {
    device.copy_from_host(queue, memory_.data(), data.data(), data.size());
  }
  void* data() const { return memory_.data(); }
  std::vector<std::byte> get(Device& device, Queue& queue) const {
    std::vector<std::byte> data(memory_.bytes());
    device.copy_to_host(queue, data.data(), memory_.data(), data.size());
    return data;
  }

 private:
  Buffer memory_;
};

laws::KernelMachine machine(Device& device, Queue& queue, std::map<void*, Buffer>& memory) {
  laws::KernelMachine made;
  made.allocate = [&](size_t bytes) -> void* {
    Buffer buffer = device.allocate(std::max<size_t>(bytes, 1));
    void* data = buffer.data();
    memory.emplace(data, std::move(buffer));
    return data;
  };
  made.release = [&](void* data) { memory.erase(data); };
  made.to_machine = [&](void* to, const void* from, size_t bytes) {
    device.copy_from_host(queue, to, from, bytes);
  };
  made.from_machine = [&](void* to, const void* from, size_t bytes) {
    device.copy_to_host(queue, to, from, bytes);
  };
  made.run = [&](const KernelOp& op, void* out, const void* const* inputs) -> Fault {
    const size_t count = input_count(op);
    device.prepare(op)(queue, {&out, 1}, {inputs, count});
    try {
      queue.finish();
    } catch (const DeviceError& error) {
      const Fault fault = laws::fault_told(error.what());
      if (!fault.taken) throw;  // CUDA's own
      return fault;
    }
    return {};
  };
  return made;
}

/// The number of cases; fewer under tools that make them slow.
uint64_t at_most(uint64_t usual) {
  const char* wanted = std::getenv("SHARDPROOF_CASES");
  return wanted ? std::min<uint64_t>(usual, std::strtoull(wanted, nullptr, 10)) : usual;
}

class Gpu : public testing::Test {
 protected:
  std::shared_ptr<Device> device = cuda_device();
  std::unique_ptr<Queue> queue = device->queue();
  std::map<void*, Buffer> memory;
};

TEST_F(Gpu, ComputesEveryOpAsTheCpuDoes) {
  const laws::KernelMachine on_gpu = machine(*device, *queue, memory);
  for (const laws::OpKind kind : laws::all_kinds)
    for (uint64_t seed = 0; seed < at_most(150); ++seed)
      ASSERT_EQ(laws::broken(on_gpu, kind, seed), "") << static_cast<int>(kind) << " " << seed;
}

/// All signs, exponents and upper mantissas, with what lies on both sides of a tie below them; in
/// memory, and between the steps of a chain.
TEST_F(Gpu, RoundsToBf16AsTheCpuDoes) {
  std::vector<uint32_t> bits;
  for (uint32_t upper = 0; upper < 0x10000; ++upper)
    for (const uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      bits.push_back(upper << 16 | lower);
  const auto count = static_cast<int64_t>(bits.size());
  std::vector<std::byte> data(bits.size() * 4);
  std::memcpy(data.data(), bits.data(), data.size());
  const Held from(*device, *queue, data), narrow(*device, *queue, data),
      wide(*device, *queue, data);
  Pointwise cast;
  cast.inputs = {Element::f32};
  cast.output = Element::bf16;
  cast.nest = {{count}, {{1}, {1}}};
  Pointwise round = cast;
  round.output = Element::f32;
  round.steps = {{PointwiseFn::round_bf16, true, {0}, 0, {}}};
  const void* input = from.data();
  for (const auto& [op, to] : {std::pair(&cast, narrow.data()), std::pair(&round, wide.data())}) {
    void* out = to;
    device->prepare (*op)(*queue, {&out, 1}, {&input, 1});
  }
  const std::vector<std::byte> in_memory = narrow.get(*device, *queue),
                               in_chain = wide.get(*device, *queue);
  for (int64_t i = 0; i < count; ++i) {
    float value;
    std::memcpy(&value, &bits[static_cast<size_t>(i)], sizeof value);
    const float expected = rounded_to_bf16(value);
    for (const double got : {number_at(Element::bf16, in_memory.data(), i),
                             number_at(Element::f32, in_chain.data(), i)})
      ASSERT_TRUE(std::isnan(expected)
                      ? std::isnan(got)
                      : got == expected && std::signbit(got) == std::signbit(expected))
          << std::hexfloat << value << " became " << got << ", not " << expected;
  }
}

TEST_F(Gpu, SaysWhatIsWrongInData) {
  const laws::KernelMachine on_gpu = machine(*device, *queue, memory);
  for (uint64_t seed = 0; seed < at_most(100); ++seed)
    ASSERT_EQ(laws::unnoticed(on_gpu, seed), "") << seed;
}

TEST_F(Gpu, ReducesOverRanksInTheirOrder) {
  const laws::KernelMachine on_gpu = machine(*device, *queue, memory);
  const laws::ReduceRanks reduce = [&](Element element, Reduction reduction,
                                       const void* const* sources, int n, void* out, size_t count) {
    device->reduce_ranks(*queue, element, reduction, sources, n, out, count);
    queue->finish();
  };
  for (uint64_t seed = 0; seed < at_most(100); ++seed)
    ASSERT_EQ(laws::broken_ranks(on_gpu, reduce, seed), "") << seed;
}

/// A product of random shape and layout, of entries that are small whole numbers: exact.
struct Product {
  Matmul op;
  std::vector<std::byte> a, b, c;
};

Product drawn(std::mt19937_64& rng, Element inputs, Element output) {
  const auto below = [&](int64_t n) {
    return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
  };
  Product product;
  Matmul& op = product.op;
  op.elements = {output, inputs, inputs};
  op.m = 1 + below(40);
  op.n = 1 + below(40);
  op.k = 1 + below(40);
  const auto layout = [&](int64_t rows, int64_t columns) {
    const int64_t gap = below(3);
    return below(2) ? MatrixStrides{columns + gap, 1} : MatrixStrides{1, rows + gap};
  };
  op.a = layout(op.m, op.k);
  op.b = layout(op.k, op.n);
  op.c = layout(op.m, op.n);
  const auto span = [](int64_t rows, int64_t columns, const MatrixStrides& s) {
    return (rows - 1) * s.row + (columns - 1) * s.column + 1;
  };
  int64_t count_c = span(op.m, op.n, op.c), count_a = span(op.m, op.k, op.a),
          count_b = span(op.k, op.n, op.b);
  op.batch.strides.resize(3);
  for (int64_t loops = below(3); loops > 0; --loops) {
    const int64_t times = 1 + below(3);
    op.batch.extents.push_back(times);
    op.batch.strides[0].push_back(count_c);
    op.batch.strides[1].push_back(count_a);
    op.batch.strides[2].push_back(below(3) ? count_b : 0);
    count_c *= times;
    count_a *= times;
    if (op.batch.strides[2].back()) count_b *= times;
  }
  const auto fill = [&](std::vector<std::byte>& data, Element element, int64_t count, bool zero) {
    data.resize(static_cast<size_t>(count) * size_of(element));
    for (int64_t i = 0; i < count; ++i)
      set_number(element, data.data(), i, zero ? 0 : static_cast<double>(below(7)) - 3);
  };
  fill(product.a, inputs, count_a, false);
  fill(product.b, inputs, count_b, false);
  fill(product.c, output, count_c, true);
  return product;
}

/// The first entry that is another number, or "": -0 is 0, which a product of one term may give.
std::string first_difference(Element element, const std::vector<std::byte>& got,
                             const std::vector<std::byte>& want) {
  for (size_t i = 0; i < want.size() / size_of(element); ++i) {
    const auto at = static_cast<int64_t>(i);
    const double x = number_at(element, got.data(), at), y = number_at(element, want.data(), at);
    if (x != y)
      return "entry " + std::to_string(i) + " is " + std::to_string(x) + ", not " +
             std::to_string(y);
  }
  return "";
}

TEST_F(Gpu, MultipliesAsTheCpuDoes) {
  std::mt19937_64 rng(1);
  const std::pair<Element, Element> kinds[] = {{Element::f32, Element::f32},
                                               {Element::f64, Element::f64},
                                               {Element::bf16, Element::f32},
                                               {Element::bf16, Element::bf16}};
  for (const auto& [inputs, output] : kinds)
    for (uint64_t i = 0; i < at_most(100); ++i) {
      Product product = drawn(rng, inputs, output);
      const Held a(*device, *queue, product.a), b(*device, *queue, product.b),
          c(*device, *queue, product.c);
      void* out = c.data();
      const void* operands[] = {a.data(), b.data()};
      device->prepare(product.op)(*queue, {&out, 1}, operands);
      const void* on_host[] = {product.a.data(), product.b.data()};
      emulate(product.op, product.c.data(), on_host);
      const Matmul& op = product.op;
      ASSERT_EQ(first_difference(output, c.get(*device, *queue), product.c), "")
          << name_of(inputs) << " " << i << ": " << op.m << " by " << op.k << " by " << op.n
          << ", strides of c " << op.c.row << " " << op.c.column << ", of a " << op.a.row << " "
          << op.a.column << ", of b " << op.b.row << " " << op.b.column << ", batch "
          << op.batch.count();
    }
}

TEST_F(Gpu, DoesARecordedStepAgain) {
  const std::unique_ptr<Queue> other = device->queue();
  const size_t count = 1000;
  std::vector<float> ones(count, 1);
  Buffer from = device->allocate(count * sizeof(float)),
         to = device->allocate(count * sizeof(float));
  device->copy_from_host(*queue, from.data(), ones.data(), count * sizeof(float));
  device->copy_from_host(*queue, to.data(), ones.data(), count * sizeof(float));
  Pointwise sum;
  sum.inputs = {Element::f32, Element::f32};
  sum.steps = {{PointwiseFn::add, true, {0, 1}, 0, {}}};
  sum.nest = {{static_cast<int64_t>(count)}, {{1}, {1}, {1}}};
  const Launch add = device->prepare(sum);
  void* out = to.data();
  const void* inputs[] = {to.data(), from.data()};
  const std::unique_ptr<Graph> graph = device->record(*queue, [&] {
    other->wait(*queue->record());
    add(*other, {&out, 1}, inputs);
    queue->wait(*other->record());
    add(*queue, {&out, 1}, inputs);
  });
  ASSERT_TRUE(graph);
  for (int i = 0; i < 3; ++i) graph->run(*queue);
  device->copy_to_host(*queue, ones.data(), to.data(), count * sizeof(float));
  EXPECT_EQ(ones, std::vector<float>(count, 7));
}

}  // namespace
}  // namespace shardproof
