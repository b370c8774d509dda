// The text inside a string.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

std::string show(const std::vector<SplitExpr>& dims) {
  std::string text;
  for (const SplitExpr& split : dims) {
    std::string one = split.kind == SplitExpr::Kind::ellipsis ? "..."
                      : split.kind == SplitExpr::Kind::star   ? "*"
                                                              : "";
    for (size_t i = 0; i < split.names.size(); ++i) one += (i > 0 ? "." : "") + split.names[i];
    for (const Axis& axis : split.axes) one += "/" + axis;
    text += (text.empty() ? "" : " ") + (split.bracketed ? "<" + one + ">" : one);
  }
  return text;
}

std::string show(const OperandExpr& operand) {
  std::string text = operand.type_name.empty() ? "" : operand.type_name + ":";
  text += show(operand.dims);
  for (const MarkExpr& mark : operand.marks)
    text += std::string(mark.mark == Mark::U   ? " +"
                        : mark.mark == Mark::I ? " ="
                                               : " ^") +
            mark.axis;
  return "(" + text + ")";
}

// `(left)(left) -> (right) ; working`, groups with a point, brackets as <>.
std::string show(const std::string& text) {
  std::vector<Diagnostic> diagnostics;
  const auto pattern =
      parse_pattern(text, {3, 100, 100 + static_cast<uint32_t>(text.size())}, diagnostics);
  if (!pattern)
    return diagnostics.at(0).code + " at " + std::to_string(diagnostics.at(0).range.begin - 100);
  std::string result;
  for (const OperandExpr& operand : pattern->left) result += show(operand);
  if (pattern->right) result += " -> " + show(*pattern->right);
  if (pattern->has_working) result += " ; " + show(pattern->working);
  return result;
}

TEST(Pattern, Operands) {
  EXPECT_EQ(show("B L M/t, M/t F -> B L F {U_t}"), "(B L M/t)(M/t F) -> (B L F +t)");
  EXPECT_EQ(show("[V] M, B L -> B L M"), "(<V> M)(B L) -> (B L M)");
  EXPECT_EQ(show("B L (K D)/t -> B L K/t D"), "(B L K.D/t) -> (B L K/t D)");
  EXPECT_EQ(show("B/d L M {U_t I_d Max_p}"), "(B/d L M +t =d ^p)");
  EXPECT_EQ(show("B [L/c] -> B [L/c]"), "(B <L/c>) -> (B <L/c>)");
  EXPECT_EQ(show("[(K D)/t] M"), "(<K.D/t> M)");
  EXPECT_EQ(show("B/d L L 1 1"), "(B/d L L 1 1)");
  EXPECT_EQ(show("L/c"), "(L/c)");
  EXPECT_EQ(show("... S G D"), "(... S G D)");
}

TEST(Pattern, Working) {
  EXPECT_EQ(show("B S Q K D, B T K D; S T Q D"), "(B S Q K D)(B T K D) ; S T Q D");
  EXPECT_EQ(show("; K"), " ; K");
  EXPECT_EQ(show("; "), " ; ");
  EXPECT_EQ(show("B L; M/t ... *"), "(B L) ; M/t ... *");
  EXPECT_EQ(show("B L -> B; L"), "(B L) -> (B) ; L");
}

TEST(Pattern, Scalars) {
  EXPECT_EQ(show(""), "");
  EXPECT_EQ(show("{U_d U_t} -> "), "( +d +t) -> ()");
  EXPECT_EQ(show("-> {U_t}"), "() -> ( +t)");
  EXPECT_EQ(show("->"), "() -> ()");
  EXPECT_EQ(show("B, -> B"), "(B)() -> (B)");
  EXPECT_EQ(show("B L -> "), "(B L) -> ()");
}

TEST(Pattern, Records) {
  EXPECT_EQ(show("FfnShards -> Ffn"), "(FfnShards) -> (Ffn)");
  EXPECT_EQ(show("W{U_d} -> WShard"), "(W +d) -> (WShard)");
  EXPECT_EQ(show("LayerShards[N/p]{U_d} -> Layer[N]"), "(LayerShards:N/p +d) -> (Layer:N)");
  EXPECT_EQ(show("LayerShards[X N/p] -> Layer[X N]"), "(LayerShards:X N/p) -> (Layer:X N)");
  EXPECT_EQ(show("V [M] -> V"), "(V <M>) -> (V)");
  EXPECT_EQ(show("[V]M -> M"), "(<V> M) -> (M)");
  EXPECT_EQ(show("B[L] M -> M"), "(B <L> M) -> (M)");
}

TEST(Pattern, ErrorsPointIntoTheString) {
  EXPECT_EQ(show("B L M => B"), "E0006 at 6");
  EXPECT_EQ(show("B L {t} -> B"), "E0006 at 5");
  EXPECT_EQ(show("B # L"), "E0006 at 2");
  EXPECT_EQ(show("B 1.5"), "E0006 at 2");
  EXPECT_EQ(show("B [L M] -> B"), "E0006 at 5");
  EXPECT_EQ(show("B [L -> B"), "E0006 at 5");
  EXPECT_EQ(show("B -> L -> M"), "E0006 at 7");
  EXPECT_EQ(show("B -> L, M"), "E0006 at 6");
  EXPECT_EQ(show("B; L; M"), "E0006 at 4");
  EXPECT_EQ(show("B for"), "E0006 at 2");
  EXPECT_EQ(show("B (K"), "E0006 at 4");
  EXPECT_EQ(show("B * L"), "E0006 at 2");
}

}  // namespace
}  // namespace shardproof::syntax
