// What no file of a person contains: a megabyte of one thing, too much nesting, too many errors,
// noise.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "spec/syntax/parser.h"

namespace shardproof::syntax {
namespace {

struct Outcome {
  File file;
  std::vector<Diagnostic> diagnostics;
};

Outcome parsed(const std::string& text) {
  Sources sources;
  Outcome result;
  result.file = parse(sources, sources.add("limits.shard", text), result.diagnostics);
  return result;
}

std::string repeated(const std::string& piece, size_t bytes) {
  std::string text;
  while (text.size() < bytes) text += piece;
  return text;
}

bool has(const Outcome& outcome, const std::string& code) {
  for (const Diagnostic& diagnostic : outcome.diagnostics)
    if (diagnostic.code == code) return true;
  return false;
}

const std::string head = "fn f(x: f32[]) -> f32[] {\n    y = ";

// Anything quadratic would take hours here, and the test program's time limit ends it.
TEST(Limits, MuchOfOneThingEnds) {
  for (const char* piece :
       {"(",   "[",  "{",  "-",       "not ",   "not (",    "|",         ".a",
        "...", "x[", "f(", "each f(", "zeros(", "grad(f)(", ",",         "\"",
        "=",   "a<", "\n", "# ",      "fn ",    "M/",       "dim a = (", "U_t "}) {
    for (const std::string& before :
         {std::string(), head, std::string("fn f(x: f32["), std::string("schedule s {")})
      EXPECT_FALSE(parsed(before + repeated(piece, 1 << 17)).diagnostics.empty() && before != "")
          << piece;
  }
  for (const char* piece : {"(", "[", "{", "f(", "-"})
    EXPECT_FALSE(parsed(head + repeated(piece, 1 << 20)).diagnostics.empty()) << piece;
}

TEST(Limits, NamesAreBounded) {
  EXPECT_FALSE(has(parsed("dim " + std::string(200, 'A') + "\n"), "E0007"));
  EXPECT_TRUE(has(parsed("dim " + std::string(201, 'A') + "\n"), "E0007"));
}

TEST(Limits, NestingIsBounded) {
  for (const char* piece :
       {"(", "-(", "not (", "f(", "bf16(x, ", "grad(f wrt x)(", "x * (", "each f(x, "})
    EXPECT_TRUE(has(parsed(head + repeated(piece, 1 << 14)), "E0007")) << piece;
  EXPECT_TRUE(has(parsed("fn f() -> f32[] {" + repeated("x = scan n in N {", 1 << 14)), "E0007"));
  EXPECT_TRUE(has(parsed("schedule s {" + repeated("for n in N .. M {", 1 << 14)), "E0007"));
}

TEST(Limits, ChainsAreBoundedTooForTheTreeIsAsHighAsTheyAreLong) {
  for (const char* piece : {" + x", " * x", " and x", ".a", "[n]"})
    EXPECT_TRUE(has(parsed(head + "x" + repeated(piece, 1 << 14)), "E0007")) << piece;
}

TEST(Limits, WhatIsLongButFlatIsRead) {
  EXPECT_TRUE(parsed(head + "f(" + repeated("x, ", 1 << 16) + "x)\n}").diagnostics.empty());
  EXPECT_TRUE(parsed("dim" + repeated(" M", 1 << 16)).diagnostics.empty());
  EXPECT_TRUE(parsed("fn f() -> f32[] {" + repeated("x = y\n", 1 << 16) + "}").diagnostics.empty());
}

TEST(Limits, TwentyErrorsAndANote) {
  const Outcome many = parsed("fn f() -> f32[] {\n" + repeated("x = ]\n", 1 << 16) + "}");
  ASSERT_EQ(many.diagnostics.size(), 21u);
  EXPECT_EQ(many.diagnostics.back().severity, Severity::note);
  const Outcome noise = parsed(repeated("\xff\x01 a ", 1 << 16));
  ASSERT_EQ(noise.diagnostics.size(), 21u);
  EXPECT_EQ(noise.diagnostics.front().code, "E0005");
  const Outcome exactly = parsed("fn f() -> f32[] {\n" + repeated("x = ]\n", 6 * 20) + "}");
  ASSERT_EQ(exactly.diagnostics.size(), 20u);
  EXPECT_EQ(exactly.diagnostics.back().severity, Severity::error);
}

TEST(Limits, ARunOfNoiseIsOneError) {
  const Outcome zeros = parsed(std::string(1 << 20, '\0'));
  ASSERT_EQ(zeros.diagnostics.size(), 1u);
  EXPECT_EQ(zeros.diagnostics[0].code, "E0005");
  EXPECT_EQ(zeros.diagnostics[0].range.end, 1u << 20);
}

TEST(Limits, AFileOfManyMegabytesIsNotRead) {
  const Outcome outcome = parsed(std::string(9 << 20, ' '));
  ASSERT_EQ(outcome.diagnostics.size(), 1u);
  EXPECT_EQ(outcome.diagnostics[0].code, "E0001");
}

TEST(Limits, ErrorsComeInTheOrderOfTheText) {
  const Outcome outcome = parsed("const a = ]\nconst b = 1e999\nconst c = ]\nconst d = 2.\n");
  ASSERT_EQ(outcome.diagnostics.size(), 4u);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_LT(outcome.diagnostics[i - 1].range.begin, outcome.diagnostics[i].range.begin);
}

}  // namespace
}  // namespace shardproof::syntax
