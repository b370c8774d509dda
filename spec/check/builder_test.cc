#include "spec/check/builder.h"

#include <gtest/gtest.h>

namespace shardproof {
namespace {

/// ReLU feed-forward, columns then rows of t; `reduce` leaves the all_reduce out when false.
Builder feed_forward(bool reduce) {
  Builder file;
  file.mesh("t").dim("B M F");
  file.fn("ffn", {{"x", "f32[B M]"}, {"a", "f32[M F]"}, {"b", "f32[F M]"}}, "f32[B M]",
          [](Body& body, const std::vector<Term>& p) {
            const Term h =
                body.bind("h", call("relu", "", {call("einsum", "B M, M F -> B F", {p[0], p[1]})}));
            body.returns({call("einsum", "B F, F M -> B M", {h, p[2]})});
          });
  file.plan("ffn_sharded", "ffn", {{"x", "f32[B M]"}, {"a", "f32[M F/t]"}, {"b", "f32[F/t M]"}},
            "f32[B M]", [&](Body& body, const std::vector<Term>& p) {
              const Term h = body.bind(
                  "h", call("relu", "", {call("einsum", "B M, M F/t -> B F/t", {p[0], p[1]})}));
              const Term y = body.bind("y", call("einsum", "B F/t, F/t M -> B M {U_t}", {h, p[2]}));
              body.returns({reduce ? call("all_reduce", "B M {U_t} -> B M", {y}) : y});
            });
  return file;
}

TEST(Builder, BuildsAPlanThatIsProved) {
  Sources sources;
  const CheckedProgram checked = check(sources, feed_forward(true));
  ASSERT_EQ(checked.plans().size(), 1u);
  EXPECT_EQ(checked.plans()[0].verdict, Verdict::proved) << feed_forward(true).text();
}

TEST(Builder, ADroppedReductionIsRefusedAtItsLine) {
  Sources sources;
  const CheckedProgram checked = check(sources, feed_forward(false));
  ASSERT_EQ(checked.plans().size(), 1u);
  EXPECT_EQ(checked.plans()[0].verdict, Verdict::refuted);
  ASSERT_FALSE(checked.plans()[0].diagnostics.empty());
  EXPECT_EQ(checked.plans()[0].diagnostics[0].code, "E0302");
}

}  // namespace
}  // namespace shardproof
