// How an expression is grouped, where it ends, and how it is printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

// Fully bracketed, so that the grouping shows.
std::string tree(const Expr& expr) {
  std::string text = expr.text;
  for (const Expr& arg : expr.args) text += " " + tree(arg);
  return expr.args.empty() ? text : "(" + text + ")";
}

struct Read {
  File file;
  std::string text;
  std::vector<Diagnostic> diagnostics;
};

Read read_const(const std::string& expr) {
  Read result;
  result.text = "const c = " + expr;
  Sources sources;
  result.file = parse(sources, sources.add("e.shard", result.text), result.diagnostics);
  return result;
}

const Expr& value(const Read& read) {
  return std::get<ConstDecl>(read.file.declarations.at(0)).value;
}

std::string grouped(const std::string& expr) {
  const Read read = read_const(expr);
  return read.diagnostics.empty() ? tree(value(read)) : read.diagnostics[0].message;
}

std::string printed(const std::string& expr) { return print(value(read_const(expr))); }

std::string ranged(const std::string& expr) {
  const Read read = read_const(expr);
  const SourceRange range = value(read).range;
  return read.text.substr(range.begin, range.end - range.begin);
}

TEST(Expression, Precedence) {
  EXPECT_EQ(grouped("a or b and not c == d + e * -f"),
            "(or a (and b (not (== c (+ d (* e (- f)))))))");
  EXPECT_EQ(grouped("a - b - c"), "(- (- a b) c)");
  EXPECT_EQ(grouped("a // b % c / d"), "(/ (% (// a b) c) d)");
  EXPECT_EQ(grouped("-x.y[n]"), grouped("-(x.y[n])"));
  EXPECT_EQ(grouped("a - -b"), "(- a (- b))");
}

TEST(Expression, EndsWhereNothingContinuesIt) {
  EXPECT_EQ(grouped("a\n  - b"), "(- a b)");
  EXPECT_EQ(grouped("a\nconst d = b"), "a");
}

TEST(Expression, PrintsFewParentheses) {
  for (const char* text : {"a - (b - c)",
                           "(a + b) * c",
                           "-(a + b)",
                           "not (a and b)",
                           "(not a) == b",
                           "(a < b) == c",
                           "(a or b) and c",
                           "x.y[n, m].z",
                           "(-x).y",
                           "(a + b)[n]",
                           "f32(x, grad=f32)",
                           "a - -b",
                           "each f(x, by=1)",
                           "value_and_grad(f wrt a, b)(x)",
                           "zeros(W[N/p]{U_d})",
                           "(2).x",
                           "einsum(\"B, B -> B\", a, b, to=f32)",
                           "|M| / |t|",
                           "r with { a.b = x + y, c = z }.d",
                           "(a + b) with { c = d } with { e = f }"})
    EXPECT_EQ(printed(text), text);
  EXPECT_EQ(printed("((a)) + ((b * c))"), "a + b * c");
}

TEST(Expression, RangesCoverWhatIsWritten) {
  for (const char* text : {"a", "(a + b) * c", "-x", "f(x, y)", "each f(x)", "a.b[n]", "grad(f)(x)",
                           "|M|", "zeros(f32[])", "\"text\"", "((a))", "r with { a.b = x }"})
    EXPECT_EQ(ranged(text), text);
}

TEST(Expression, AFixSaysWhatToWrite) {
  const Read equal = read_const("a = b");
  ASSERT_EQ(equal.diagnostics.size(), 1u);
  ASSERT_EQ(equal.diagnostics[0].fixes.size(), 1u);
  EXPECT_EQ(equal.diagnostics[0].fixes[0].edits.at(0).text, "==");
  const Read open = read_const("f(a");
  ASSERT_EQ(open.diagnostics.size(), 1u);
  EXPECT_EQ(open.diagnostics[0].fixes.at(0).edits.at(0).text, ")");
  EXPECT_EQ(open.diagnostics[0].fixes.at(0).edits.at(0).range.begin, open.text.size());
}

}  // namespace
}  // namespace shardproof::syntax
