// Attention at every level of instructions that this machine has, against its definition in double.
// Red if a tile of rows is left out or added twice, a mask or a range of keys is off by one, a row
// that sees nothing is not the mean, or the memory grows with queries times keys.
#include "kernels/cpu/attention.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "kernels/cpu/attention_rows.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

enum class Seen { causal, packed, any };

struct Case {
  int64_t queries, keys, group, width;
  Seen seen;
  Element element = Element::f32;
};

constexpr int64_t heads = 2;

/// Arrays [positions, heads, group, width] in double, and as the op has them.
struct Operand {
  int64_t group, width;
  Element element;
  std::vector<double> numbers;
  std::vector<std::byte> bytes;

  Operand(int64_t positions, int64_t group, const Case& of)
      : group(group), width(of.width), element(of.element) {
    numbers.resize(static_cast<size_t>(positions * heads * group * width));
    bytes.resize(numbers.size() * size_of(element));
  }
  Operand& drawn(unsigned seed) {
    std::mt19937 rng(seed);
    std::normal_distribution<double> normal;
    for (size_t i = 0; i < numbers.size(); ++i)
      set_number(element, bytes.data(), static_cast<int64_t>(i), normal(rng));
    return read();
  }
  Operand& read() {
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = number_at(element, bytes.data(), static_cast<int64_t>(i));
    return *this;
  }
  double* at(int64_t position, int64_t head, int64_t member) {
    return numbers.data() + ((position * heads + head) * group + member) * width;
  }
  HeadStrides strides() const { return {{0, 0, group * width}, heads * group * width, width}; }
};

double dot(const double* a, const double* b, int64_t n) {
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += a[i] * b[i];
  return sum;
}

void add(double* to, const double* from, double factor, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] += factor * from[i];
}

class Attended {
 public:
  explicit Attended(const Case& of)
      : of_(of),
        q_(of.queries, of.group, of),
        k_(of.keys, 1, of),
        v_(of.keys, 1, of),
        g_(of.queries, of.group, of),
        mask_(static_cast<size_t>(of.queries * of.keys)) {
    q_.drawn(1), k_.drawn(2), v_.drawn(3), g_.drawn(4);
    std::mt19937 rng(5);
    for (int64_t s = 0; s < of.queries; ++s)
      for (int64_t t = 0; t < of.keys; ++t)
        mask_[static_cast<size_t>(s * of.keys + t)] = of.seen == Seen::causal ? t <= s
                                                      : of.seen == Seen::packed
                                                          ? t <= s && s / 50 == t / 50
                                                          : s % 7 != 3 && rng() % 3 == 0;
    shape_.batch[2] = heads;
    shape_.queries = of.queries, shape_.keys = of.keys;
    shape_.group = of.group, shape_.width = of.width, shape_.element = of.element;
    shape_.q = q_.strides(), shape_.k = k_.strides(), shape_.v = v_.strides();
    shape_.mask = {{}, of.keys, 0, 1};
    shape_.mask_kind = of.seen == Seen::causal   ? MaskKind::causal
                       : of.seen == Seen::packed ? MaskKind::segments
                                                 : MaskKind::any;
    shape_.scale = {static_cast<float>(1 / std::sqrt(static_cast<double>(of.width))), false};
  }

  void expect() {
    Operand o(of_.queries, of_.group, of_), g_q = o, g_k(of_.keys, 1, of_), g_v = g_k;
    const std::vector<Operand> made = ran(o, g_q, g_k, g_v);
    define(o, g_q, g_k, g_v);
    const Operand* wanted[] = {&o, &g_q, &g_k, &g_v};
    for (size_t r = 0; r < made.size(); ++r) {
      double most = 0, off = 0;
      for (size_t i = 0; i < made[r].numbers.size(); ++i) {
        most = std::max(most, std::abs(wanted[r]->numbers[i]));
        const double distance = std::abs(made[r].numbers[i] - wanted[r]->numbers[i]);
        off = std::isnan(distance) ? distance : std::max(off, distance);
      }
      EXPECT_LE(off, most * (of_.element == Element::bf16 ? 0.02 : 1e-5)) << "result " << r;
    }
  }

 private:
  std::vector<Operand> ran(Operand o, Operand g_q, Operand g_k, Operand g_v) {
    Attention op;
    AttentionGrad grad;
    static_cast<AttentionShape&>(op) = static_cast<AttentionShape&>(grad) = shape_;
    op.o = grad.g = grad.g_q = q_.strides();
    grad.g_k = grad.g_v = k_.strides();
    std::vector<std::byte> stats(shape_.stats_bytes()), memory(attention_memory(shape_, false)),
        more(attention_memory(shape_, true));
    const void* inputs[] = {g_.bytes.data(), q_.bytes.data(), k_.bytes.data(),
                            v_.bytes.data(), mask_.data(),    nullptr};
    void* outputs[] = {o.bytes.data(), stats.data(), memory.data()};
    run(op, outputs, inputs + 1);
    void* gradients[] = {g_q.bytes.data(), g_k.bytes.data(), g_v.bytes.data(), more.data()};
    run(grad, gradients, inputs);
    return {o.read(), g_q.read(), g_k.read(), g_v.read()};
  }

  void define(Operand& o, Operand& g_q, Operand& g_k, Operand& g_v) {
    const int64_t d = of_.width;
    const double scale = shape_.scale.value;
    for (int64_t h = 0; h < heads; ++h)
      for (int64_t row = 0; row < shape_.rows(); ++row) {
        const int64_t s = row / of_.group, member = row % of_.group;
        std::vector<double> p, g_p;
        double sum = 0, delta = 0;
        for (int64_t t = 0; t < of_.keys; ++t)
          p.push_back(allowed(s, t) ? scale * dot(q_.at(s, h, member), k_.at(t, h, 0), d) : -1e10);
        const double most = *std::max_element(p.begin(), p.end());
        for (double& each : p) sum += each = std::exp(each - most);
        for (double& each : p) each /= sum;
        for (int64_t t = 0; t < of_.keys; ++t) {
          g_p.push_back(dot(g_.at(s, h, member), v_.at(t, h, 0), d));
          delta += p[static_cast<size_t>(t)] * g_p.back();
        }
        for (int64_t t = 0; t < of_.keys; ++t) {
          const auto i = static_cast<size_t>(t);
          const double g_l = allowed(s, t) ? p[i] * (g_p[i] - delta) * scale : 0;
          add(o.at(s, h, member), v_.at(t, h, 0), p[i], d);
          add(g_q.at(s, h, member), k_.at(t, h, 0), g_l, d);
          add(g_k.at(t, h, 0), q_.at(s, h, member), g_l, d);
          add(g_v.at(t, h, 0), g_.at(s, h, member), p[i], d);
        }
      }
  }
  bool allowed(int64_t s, int64_t t) const {
    return mask_[static_cast<size_t>(s * of_.keys + t)] != 0;
  }

  Case of_;
  Operand q_, k_, v_, g_;
  std::vector<uint8_t> mask_;
  AttentionShape shape_;
};

TEST(CpuAttention, IsItsDefinitionAtEveryLevel) {
  for (Isa isa : machine_levels()) {
    if (!attention_rows(isa)) continue;
    limit_isa(isa);
    for (Element element : {Element::f32, Element::bf16})
      for (Seen seen : {Seen::causal, Seen::packed, Seen::any})
        for (const auto& [queries, keys, group, width] : {std::array<int64_t, 4>{1, 1, 1, 3},
                                                          {70, 70, 1, 16},
                                                          {33, 90, 3, 40},
                                                          {130, 70, 2, 64},
                                                          {128, 128, 1, 128}}) {
          SCOPED_TRACE(testing::Message() << name_of(isa) << " " << queries << " " << keys << " "
                                          << static_cast<int>(seen) << static_cast<int>(element));
          Attended({queries, keys, group, width, seen, element}).expect();
        }
  }
  limit_isa(Isa::amx);
}

// Red if a weight is beyond its bound, a logit far below the largest does not weigh 0, an entry of
// the span is left out, one outside counts or keeps its weight, or a NaN is lost.
TEST(CpuAttention, WeightsAreWithinTwoUlp) {
  std::mt19937 rng(3);
  std::uniform_real_distribution<float> logit(-110, 0), small(-1, 0);
  for (Isa isa : machine_levels()) {
    if (!attention_rows(isa)) continue;
    for (size_t length = 1; length < 3000; length += length < 70 ? 1 : 577) {
      const size_t first = rng() % 40, last = first + length;
      std::vector<float> logits(last + rng() % 40, std::nanf(""));
      for (size_t i = first; i < last; ++i) logits[i] = rng() % 2 ? logit(rng) : small(rng);
      logits[first] = 0;
      if (length > 2) logits[first + 1] = -std::numeric_limits<float>::infinity();
      const auto weighed = [&](std::vector<float>& x) {
        const auto keys = static_cast<int64_t>(x.size());
        return attention_rows(isa)->weigh(
            x.data(), {static_cast<int64_t>(first), static_cast<int64_t>(last), keys}, 1.0f,
            nullptr, nullptr);
      };
      std::vector<float> weights = logits;
      const RowStats stats = weighed(weights);
      double sum = 0;
      for (size_t i = 0; i < logits.size(); ++i) {
        const bool counts = i >= first && i < last && logits[i] >= -87.3f;
        const double wanted = counts ? std::exp(static_cast<double>(logits[i])) : 0;
        ASSERT_NEAR(weights[i], wanted, 0x1p-22 * wanted) << name_of(isa) << " of " << logits[i];
        sum += wanted;
      }
      ASSERT_NEAR(stats.sum, sum, 1e-6 * sum);
      weights = logits;
      weights[first + length / 2] = std::nanf("");
      ASSERT_TRUE(std::isnan(weighed(weights).sum)) << name_of(isa) << " " << length;
    }
  }
}

TEST(CpuAttention, MemoryDoesNotGrowWithQueriesTimesKeys) {
  const auto bytes = [](int64_t length, bool gradient) {
    AttentionShape shape;
    shape.queries = shape.keys = length;
    shape.width = 64;
    return static_cast<double>(attention_memory(shape, gradient));
  };
  for (bool gradient : {false, true}) EXPECT_LT(bytes(8192, gradient), 8.1 * bytes(1024, gradient));
}

}  // namespace
}  // namespace shardproof::cpu
