// Ops on several threads. Red if a piece is left out or computed twice, if the cut depends on the
// number of threads, if an error in a piece is lost, if two ranks' pieces meet, if a rank that
// computes loses its core to another, or if one that waits keeps it.
#include "kernels/cpu/threads.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>
#include <random>
#include <set>
#include <stdexcept>
#include <thread>

#include "kernels/cpu/fused.h"
#include "kernels/cpu/kernels.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

class Threads : public testing::Test {
 protected:
  ~Threads() override { set_threads(1); }
};

TEST_F(Threads, EachPieceOnce) {
  for (int count : {1, 2, 3, 4})
    for (int64_t pieces : {0, 1, 2, 7, 1000}) {
      set_threads(count);
      std::vector<std::atomic<int>> done(static_cast<size_t>(pieces));
      in_pieces(pieces, [&](int64_t i) {
        ++done[static_cast<size_t>(i)];
        in_pieces(2, [](int64_t) {});  // in this thread
      });
      for (const std::atomic<int>& each : done) EXPECT_EQ(each, 1) << count << " " << pieces;
    }
}

/// The threads that work on pieces each of which waits until `count` are begun.
size_t meeting(int count) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  std::atomic<int> waiting{count};
  in_pieces(count, [&](int64_t) {
    {
      const std::lock_guard lock(mutex);
      seen.insert(std::this_thread::get_id());
    }
    --waiting;
    while (waiting > 0) std::this_thread::yield();
  });
  return seen.size();
}

TEST_F(Threads, SeveralOfThemWork) {
  set_threads(2);
  EXPECT_EQ(meeting(2), 2u);
}

TEST_F(Threads, AllHelpersWorkForTheOnlyRankWithWork) {
  set_threads(4, 2);
  EXPECT_EQ(meeting(3), 3u);
}

TEST_F(Threads, ARankThatWaitsLendsItsCore) {
  set_threads(2, 2);
  const Lent lent;
  EXPECT_EQ(meeting(2), 2u);
}

TEST_F(Threads, ARankThatComputesKeepsItsCore) {
  set_threads(3, 3);
  { const Lent lent; }
  std::set<std::thread::id> seen;
  in_pieces(1000, [&](int64_t) { seen.insert(std::this_thread::get_id()); });
  EXPECT_EQ(seen.size(), 1u);
}

TEST_F(Threads, AnErrorArrivesAndTheNextOpRuns) {
  set_threads(3);
  for (int time = 0; time < 50; ++time) {
    EXPECT_THROW(in_pieces(20,
                           [](int64_t i) {
                             if (i % 7 == 3) throw std::domain_error("piece");
                           }),
                 std::domain_error);
    std::atomic<int> sum{0};
    in_pieces(20, [&](int64_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(sum, 190);
  }
}

TEST_F(Threads, RanksHaveTheirOwn) {
  set_threads(2);
  std::vector<std::thread> ranks;
  std::array<std::atomic<int64_t>, 3> sums{};
  for (size_t rank = 0; rank < sums.size(); ++rank)
    ranks.emplace_back([&, rank] {
      for (int time = 0; time < 200; ++time) in_pieces(16, [&](int64_t i) { sums[rank] += i; });
    });
  for (std::thread& each : ranks) each.join();
  for (const auto& sum : sums) EXPECT_EQ(sum, 200 * 120);
}

std::vector<std::byte> drawn(Element element, int64_t count, unsigned seed) {
  std::vector<std::byte> data(static_cast<size_t>(count) * size_of(element));
  std::mt19937 rng(seed);
  std::uniform_real_distribution<double> number(0.1, 1);
  for (int64_t i = 0; i < count; ++i) set_number(element, data.data(), i, number(rng));
  return data;
}

/// `run` returns the bytes of its results.
template <class Run>
void expect_same_bits(Run run, const char* what) {
  set_threads(1);
  const std::vector<std::byte> alone = run();
  for (int count : {2, 3, 5}) {
    set_threads(count);
    EXPECT_TRUE(run() == alone) << what << " on " << count << " threads";
  }
}

/// The last row of each product of the batch, whose factors are positive, against sums in double.
void expect_last_rows(const Matmul& op, const std::vector<std::byte>& c,
                      const std::vector<std::byte>& a, const std::vector<std::byte>& b) {
  const auto [to, left, right] = op.elements;
  const double bound = to == Element::bf16 ? 0x1p-8 : 1e-5;
  const std::vector<int64_t>* strides = op.batch.strides.data();
  for (int64_t product = 0; product < op.batch.count(); ++product)
    for (int64_t j = 0; j < op.n; ++j) {
      double sum = 0;
      for (int64_t p = 0; p < op.k; ++p)
        sum += number_at(left, a.data(),
                         product * strides[1][0] + (op.m - 1) * op.a.row + p * op.a.column) *
               number_at(right, b.data(), product * strides[2][0] + p * op.b.row + j * op.b.column);
      const double made = number_at(
          to, c.data(), product * strides[0][0] + (op.m - 1) * op.c.row + j * op.c.column);
      ASSERT_NEAR(made, sum, bound * sum) << "product " << product << ", column " << j;
    }
}

TEST_F(Threads, ProductsHaveTheSameBits) {
  struct Case {
    int64_t m, n, k, batch;
    bool flipped;
  };
  for (const auto& [m, n, k, batch, flipped] :
       {Case{128, 3001, 400, 1, false}, Case{200, 1777, 401, 1, true}, Case{70, 65, 64, 9, false},
        Case{160, 1601, 530, 2, false}})
    for (Element element : {Element::f32, Element::bf16}) {
      Matmul op{m,
                n,
                k,
                {k, 1},
                {n, 1},
                flipped ? MatrixStrides{1, m} : MatrixStrides{n, 1},
                {{batch}, {{m * n}, {0}, {k * n}}},
                {element, element, element}};
      const auto a = drawn(element, m * k, 1), b = drawn(element, batch * k * n, 2);
      const auto entries = static_cast<size_t>(batch * m * n);
      expect_same_bits(
          [&] {
            std::vector<std::byte> c(entries * size_of(element));
            const void* inputs[] = {a.data(), b.data()};
            cpu::run(op, c.data(), inputs);
            expect_last_rows(op, c, a, b);
            return c;
          },
          "product");
    }
}

TEST_F(Threads, PointwiseOpsHaveTheSameBits) {
  for (const bool rows : {true, false}) {
    Pointwise op;
    const int64_t lines = rows ? 301 : 1, length = rows ? 401 : 120001;
    op.inputs = {Element::bf16, Element::f32};
    op.output = Element::f32;
    op.nest.extents = rows ? std::vector<int64_t>{lines, length} : std::vector<int64_t>{length};
    const std::vector<int64_t> all =
        rows ? std::vector<int64_t>{length, 1} : std::vector<int64_t>{1};
    op.nest.strides = {all, all, rows ? std::vector<int64_t>{0, 1} : all};
    op.steps.push_back({PointwiseFn::mul, true, {0, 1}, 0, {}});
    op.steps.push_back({PointwiseFn::exp, true, {2}, 0, {}});
    const auto x = drawn(Element::bf16, lines * length, 1), y = drawn(Element::f32, length, 2);
    expect_same_bits(
        [&] {
          std::vector<std::byte> out(static_cast<size_t>(lines * length) * sizeof(float));
          const void* inputs[] = {x.data(), y.data()};
          cpu::run(op, out.data(), inputs);
          return out;
        },
        "pointwise op");
  }
}

/// The op's results, without its scratch; operands are f32 unless given.
std::vector<std::byte> results_of(const FusedOp& op, std::vector<int64_t> results,
                                  const std::vector<std::vector<std::byte>>& operands) {
  std::vector<std::vector<std::byte>> memory;
  for (const int64_t count : results) memory.emplace_back(static_cast<size_t>(count) * 4);
  for (const size_t bytes : fused_scratch(op)) memory.emplace_back(bytes);
  std::vector<void*> outputs;
  for (auto& each : memory) outputs.push_back(each.data());
  std::vector<const void*> inputs;
  for (const auto& each : operands) inputs.push_back(each.data());
  inputs.push_back(nullptr);  // a scalar that is no input
  cpu::run(op, outputs.data(), inputs.data());
  std::vector<std::byte> all;
  for (size_t i = 0; i < results.size(); ++i)
    all.insert(all.end(), memory[i].begin(), memory[i].end());
  return all;
}

TEST_F(Threads, RowsHaveTheSameBits) {
  constexpr int64_t rows = 301, length = 401, all = rows * length;
  const Scalar eps{1e-5f, false};
  if (!has_fused(LayerNorm{})) GTEST_SKIP() << "no such kernel on this processor";
  const auto wide = drawn(Element::f32, all, 1), narrow = drawn(Element::bf16, all, 2),
             g = drawn(Element::f32, rows, 3);
  std::vector<std::byte> targets(rows * sizeof(int32_t));
  for (int64_t i = 0; i < rows; ++i)
    set_number(Element::i32, targets.data(), i, static_cast<double>(i * 7 % length));
  const auto same = [](const char* what, const FusedOp& op, int64_t count,
                       const std::vector<std::vector<std::byte>>& operands) {
    expect_same_bits([&] { return results_of(op, {count}, operands); }, what);
  };
  for (const Element element : {Element::f32, Element::bf16}) {
    const auto& x = element == Element::f32 ? wide : narrow;
    same("rms_norm", RmsNorm{rows, length, element, eps}, all, {x});
    same("rms_norm_grad", RmsNormGrad{rows, length, element, eps}, all, {wide, x});
    same("layer_norm", LayerNorm{rows, length, element, eps}, all, {x});
    same("layer_norm_grad", LayerNormGrad{rows, length, element, eps}, all, {wide, x});
    for (const int64_t count : {all, int64_t{1} << 16})
      same("sum_squares", SumSquares{count, element}, 1, {x});
  }
  same("sum_squares", SumSquares{900'001, Element::f32}, 1, {drawn(Element::f32, 900'001, 4)});
  same("cross_entropy", CrossEntropy{rows, length}, rows, {wide, targets});
  same("cross_entropy_grad", CrossEntropyGrad{rows, length}, all, {g, wide, targets});
}

TEST_F(Threads, AttentionHasTheSameBits) {
  constexpr int64_t heads = 5, positions = 70, width = 16, all = heads * positions * width;
  const HeadStrides strides{{0, 0, positions * width}, width, 0};
  const auto shaped = [&](AttentionShape& op) {
    op.batch[2] = heads;
    op.queries = op.keys = positions;
    op.width = width;
    op.q = op.k = op.v = strides;
    op.mask_kind = MaskKind::causal;
    op.scale = {0.25f, false};
  };
  Attention forward;
  shaped(forward), forward.o = strides;
  AttentionGrad backward;
  shaped(backward), backward.g = backward.g_q = backward.g_k = backward.g_v = strides;
  if (!has_fused(forward)) GTEST_SKIP() << "no such kernel on this processor";
  const auto g = drawn(Element::f32, all, 1), q = drawn(Element::f32, all, 2),
             k = drawn(Element::f32, all, 3), v = drawn(Element::f32, all, 4);
  const std::vector<std::byte> mask(1);
  expect_same_bits([&] { return results_of(forward, {all}, {q, k, v, mask}); }, "attention");
  expect_same_bits(
      [&] {
        return results_of(backward, {all, all, all}, {g, q, k, v, mask});
      },
      "attention_grad");
}

TEST_F(Threads, TheOptimizerHasTheSameBits) {
  AdamW op;
  op.count = 300001;
  op.gradient = Element::bf16;
  op.step = {3, false}, op.lr = {0, true}, op.decay = {0.1f, false};
  op.b1 = {0.9f, false}, op.b2 = {0.99f, false}, op.eps = {1e-8f, false}, op.scale = {0, true};
  if (!has_fused(op)) GTEST_SKIP() << "no such kernel on this processor";
  const auto g = drawn(Element::bf16, op.count, 4);
  const float lr = 0.01f, scale = 0.5f;
  /// In place, by calls for `each` entries, whole vectors.
  const auto updated = [&](int64_t each) {
    std::vector<std::byte> made = drawn(Element::f32, 3 * op.count, 5);
    auto* w = reinterpret_cast<float*>(made.data());
    float *m = w + op.count, *v = m + op.count;
    for (int64_t first = 0; first < op.count; first += each) {
      AdamW some = op;
      some.count = std::min(each, op.count - first);
      const void* inputs[] = {w + first, g.data() + 2 * first, m + first, v + first, &lr, &scale};
      void* outputs[] = {w + first, m + first, v + first};
      cpu::run(some, outputs, inputs);
    }
    return made;
  };
  expect_same_bits([&] { return updated(op.count); }, "adamw");
  EXPECT_TRUE(updated(op.count) == updated(7680)) << "adamw in one call and in several";
}

}  // namespace
}  // namespace shardproof::cpu
