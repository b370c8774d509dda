// Where work is kept, every evaluation gives what it gives without.
#include "oracle/kept_work.h"

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace kept_work_test {

constexpr const char* text = R"(
dim A B
fn f(x y: f32[A B]) -> f32[] {
    return sum("A -> ", einsum("A B, A B -> A", x, y) * einsum("A B, A B -> A", x, x))
}
fn g(x y: f32[A B]) -> f32[] { return sum("A B -> ", x * x * y) }
)";

Tensor numbered(const Sizes& sizes, double first) {
  Tensor x = filled({sizes.dims.at("A"), sizes.dims.at("B")}, 0);
  for (double& each : x.data) each = first++;
  return x;
}

struct Asked {
  Name function;
  Sizes sizes;
  double first;  ///< of the numbers
  std::vector<size_t> wrt;
};

/// A gradient that differs from the last one in its function, sizes, inputs or `wrt` alone.
const Asked asked[] = {
    {"f", {{{"A", 2}, {"B", 3}}, {}}, 1, {0}},    {"f", {{{"A", 2}, {"B", 3}}, {}}, 1, {0}},
    {"f", {{{"A", 2}, {"B", 3}}, {}}, 1, {1}},    {"f", {{{"A", 2}, {"B", 3}}, {}}, 2, {1}},
    {"f", {{{"A", 3}, {"B", 2}}, {}}, 2, {1}},    {"g", {{{"A", 3}, {"B", 2}}, {}}, 2, {1}},
    {"g", {{{"A", 3}, {"B", 2}}, {}}, 2, {0, 1}}, {"f", {{{"A", 3}, {"B", 2}}, {}}, 2, {0, 1}},
};

Differentiated answer(const ir::Program& program, size_t function, const Asked& at) {
  return value_and_gradient(program, function, at.sizes,
                            {numbered(at.sizes, at.first), numbered(at.sizes, -at.first)}, at.wrt);
}

TEST(KeptWork, GivesTheGradientThatIsAskedFor) {
  const auto loaded = load_text(text);
  const auto ask = [&](const Asked& each) {
    return answer(loaded->program(), loaded->find(each.function), each);
  };
  std::vector<Differentiated> wanted;
  for (const Asked& each : asked) wanted.push_back(ask(each));
  KeptReadings readings(loaded->program());
  const KeptWork kept(readings);
  for (size_t i = 0; i < wanted.size(); ++i) {
    const Differentiated got = ask(asked[i]);
    EXPECT_EQ(got.gradients, wanted[i].gradients) << i;
    EXPECT_EQ(got.results, wanted[i].results) << i;
  }
}

TEST(KeptWork, TakesMinusZeroForAnotherNumberThanZero) {
  const auto loaded =
      load_text("dim A\nfn f(x y: f32[A]) -> f32[] { return sum(\"A -> \", atan2(x, y)) }\n");
  KeptReadings readings(loaded->program());
  const KeptWork kept(readings);
  const auto value_at = [&](double x) {
    return value_and_gradient(loaded->program(), loaded->find("f"), {{{"A", 1}}, {}},
                              {tensor({1}, {x}), tensor({1}, {-1})}, {0})
        .results.at(0)
        .data.at(0);
  };
  EXPECT_GT(value_at(0.0), 3);
  EXPECT_LT(value_at(-0.0), -3);
}

/// Readings outlive the work of one plan; those of another program at the same time stay apart.
TEST(KeptWork, ReadsPatternsOfSeveralProgramsAtSeveralSizes) {
  const auto own = load_text(text), other = load_text(text);
  KeptReadings readings(own->program());
  for (const Asked& each : asked) {
    const KeptWork kept(readings);
    const size_t function = own->find(each.function);
    EXPECT_EQ(answer(own->program(), function, each).gradients,
              answer(other->program(), function, each).gradients);
  }
}

}  // namespace kept_work_test
}  // namespace shardproof::oracle
