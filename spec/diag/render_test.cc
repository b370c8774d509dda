#include "spec/diag/render.h"

#include <gtest/gtest.h>

#include <fstream>

#include "spec/diag/origin.h"

namespace shardproof {
namespace {

const char mlp[] =
    "mesh t\n"
    "dim B L M F\n"
    "\n"
    "fn mlp(x: f32[B L M], a: f32[M F]) -> f32[B L F] {\n"
    "    return gelu(einsum(\"B L M, M F -> B L F\", x, a))\n"
    "}\n"
    "\n"
    "# The plan splits M, so that h is a sum over t.\n"
    "plan mlp_bad implements mlp(x: f32[B L M/t], a: f32[M/t F])\n"
    "    -> f32[B L F] {\n"
    "    h = einsum(\"B L M/t, M/t F -> B L F {U_t}\", x, a)\n"
    "    y = gelu(h)\n"
    "    return y\n"
    "}\n";

class Render : public ::testing::Test {
 protected:
  /// The `nth` occurrence of `text` in the last file added.
  SourceRange find(const std::string& text, int nth = 1) const {
    const std::string& all = sources.file(file).text;
    size_t at = all.find(text);
    while (--nth > 0) at = all.find(text, at + 1);
    EXPECT_NE(at, std::string::npos) << text;
    return {file, static_cast<uint32_t>(at), static_cast<uint32_t>(at + text.size())};
  }
  void open(const std::string& path, const std::string& text) { file = sources.add(path, text); }
  std::string shown(const Diagnostic& diagnostic, RenderOptions options = {}) const {
    return "\n" + render(diagnostic, sources, options);
  }
  static Diagnostic at(SourceRange range, std::string message, std::string label = "") {
    Diagnostic d;
    d.code = "E0002";
    d.range = range;
    d.message = std::move(message);
    d.label = std::move(label);
    return d;
  }

  Sources sources;
  int32_t file = -1;
};

TEST_F(Render, TheRefusalOfTheNotation) {
  open("mlp_bad.shard", mlp);
  Diagnostic d = at(find("gelu(h)"), "gelu of a value that is unreduced over t",
                    "gelu(p0 + p1) is not gelu(p0) + gelu(p1)");
  d.code = "E0207";
  const SourceRange product = find("einsum(\"B L M/t, M/t F -> B L F {U_t}\", x, a)");
  d.notes = {{product, "h is {U_t}: M is contracted here and split over t"}};
  d.types = {"f32[B L F]{U_t}"};
  d.counterexample = Counterexample{
      "t=2", "B=1 L=1 M=2 F=1", {"h on t=0: [1]", "h on t=1: [-2]", "y: 0.68, should be -0.16"}};
  d.fixes = {{"reduce before gelu",
              {{find("h", 8), "all_reduce(\"B L F {U_t} -> B L F\", h)"}},
              true,
              "all_reduce of 4*|B|*|L|*|F| bytes"},
             {"split F instead of M, as Megatron does", {}, false, ""}};
  d.fixes[0].edits[0].range = find("gelu(h)");
  d.fixes[0].edits[0].text = "gelu(all_reduce(\"B L F {U_t} -> B L F\", h))";
  EXPECT_EQ(shown(d), R"(
error[E0207]: gelu of a value that is unreduced over t
  --> mlp_bad.shard:12:9
   |
11 |     h = einsum("B L M/t, M/t F -> B L F {U_t}", x, a)
   |         --------------------------------------------- h is {U_t}: M is contracted here and split over t
12 |     y = gelu(h)
   |         ^^^^^^^ gelu(p0 + p1) is not gelu(p0) + gelu(p1)
   = types: f32[B L F]{U_t}
   = smallest counterexample: t=2, B=1 L=1 M=2 F=1
       h on t=0: [1]
       h on t=1: [-2]
       y: 0.68, should be -0.16
   = fix: reduce before gelu; all_reduce of 4*|B|*|L|*|F| bytes (checked)
12 +     y = gelu(all_reduce("B L F {U_t} -> B L F", h))
   = help: split F instead of M, as Megatron does
)");
}

TEST_F(Render, NotesFarAwayAndOneLineApart) {
  open("a.shard", "one\ntwo\nthree\nfour\nfive\nsix\nseven\n");
  Diagnostic d = at(find("five"), "message", "here");
  d.notes = {{find("seven"), "two below"}, {find("one"), "far above"}};
  EXPECT_EQ(shown(d), R"(
error[E0002]: message
 --> a.shard:5:1
  |
1 | one
  | --- far above
...
5 | five
  | ^^^^ here
6 | six
7 | seven
  | ----- two below
)");
}

TEST_F(Render, SeveralMarksOnOneLine) {
  open("a.shard", "alpha beta gamma\n");
  Diagnostic d = at(find("beta"), "message", "the middle");
  d.notes = {{find("alpha"), "first"}, {find("gamma"), "last"}, {find("beta gamma"), "both"}};
  EXPECT_EQ(shown(d), R"(
error[E0002]: message
 --> a.shard:1:7
  |
1 | alpha beta gamma
  | ----- ^^^^ ----- last
  | |     the middle
  | first
  |       ---------- both
)");
}

TEST_F(Render, NotesInAnotherFile) {
  open("lib.shard", "fn f\nfn softmax\n");
  const SourceRange inner = find("softmax");
  open("main.shard", "y = softmax(x)\n");
  Diagnostic d = at(find("softmax(x)"), "max over a split dim");
  d.notes = {{inner, "max is taken here"}};
  EXPECT_EQ(shown(d), R"(
error[E0002]: max over a split dim
 --> main.shard:1:5
  |
1 | y = softmax(x)
  |     ^^^^^^^^^^
 ::: lib.shard:2:4
  |
2 | fn softmax
  |    ------- max is taken here
)");
}

TEST_F(Render, TabsAndBytesThatAreNoText) {
  open("a.shard", "\tx =\ty\xff\x01 \xc3\xa9 z\n");
  EXPECT_EQ(shown(at(find("z"), "m", "z")), R"(
error[E0002]: m
 --> a.shard:1:13
  |
1 |     x = y\xff\x01 é z
  |                     ^ z
)");
}

TEST_F(Render, ALongLineIsClippedAroundItsRange) {
  open("a.shard", std::string(150, 'a') + " middle " + std::string(150, 'b') + "\n");
  RenderOptions options;
  options.width = 40;
  EXPECT_EQ(shown(at(find("middle"), "m", "here"), options), R"(
error[E0002]: m
 --> a.shard:1:152
  |
1 | ...aaaaaaaaaaaaaaaa middle bbbbbbbbbbbbbbbb...
  |                     ^^^^^^ here
)");
}

/// Of a line of 200,000 bytes only a part is read, and it is the right one.
TEST_F(Render, AVeryLongLineIsClippedAroundItsRange) {
  open("a.shard", std::string(100'000, 'a') + " middle " + std::string(100'000, 'b') + "\n");
  RenderOptions options;
  options.width = 40;
  EXPECT_EQ(shown(at(find("middle"), "m", "here"), options), R"(
error[E0002]: m
 --> a.shard:1:100002
  |
1 | ...aaaaaaaaaaaaaaaa middle bbbbbbbbbbbbbbbb...
  |                     ^^^^^^ here
)");
}

TEST_F(Render, ARangeLongerThanTheWindow) {
  open("a.shard", "x" + std::string(150, 'a') + "\n");
  RenderOptions options;
  options.width = 30;
  EXPECT_EQ(shown(at(find("x" + std::string(100, 'a')), "m", "long"), options), R"(
error[E0002]: m
 --> a.shard:1:1
  |
1 | xaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...
  | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ long
)");
}

TEST_F(Render, ARangeOfSeveralLines) {
  open("a.shard", "f(a,\n  b,\n  c,\n  d)\ng\n");
  EXPECT_EQ(shown(at(find("(a,\n  b,\n  c,\n  d)"), "m", "four arguments")), R"(
error[E0002]: m
 --> a.shard:1:2
  |
1 | f(a,
  |  ^^^
...
4 |   d)
  |   ^^ four arguments
)");
  EXPECT_EQ(shown(at(find("(a,\n"), "m", "no end")), R"(
error[E0002]: m
 --> a.shard:1:2
  |
1 | f(a,
  |  ^^^ no end
)");
}

TEST_F(Render, TheEndOfTheFile) {
  open("a.shard", "plan p {");
  EXPECT_EQ(shown(at({file, 8, 8}, "the file ends inside a block", "expected }")), R"(
error[E0002]: the file ends inside a block
 --> a.shard:1:9
  |
1 | plan p {
  |         ^ expected }
)");
  open("b.shard", "");
  EXPECT_EQ(shown(at({file, 0, 0}, "empty")), R"(
error[E0002]: empty
 --> b.shard:1:1
  |
1 |
  | ^
)");
  open("c.shard", "x\n");
  EXPECT_EQ(shown(at({file, 900, 1000}, "outside")), R"(
error[E0002]: outside
 --> c.shard:2:1
  |
2 |
  | ^
)");
}

TEST_F(Render, WithoutAPlace) {
  Diagnostic d = at({}, "built in C++", "the label");
  d.notes = {{{7, 0, 3}, "a note without a file"}};
  d.details = {"two\nlines"};
  EXPECT_EQ(shown(d), R"(
error[E0002]: built in C++
  = the label
  = a note without a file
  = two
    lines
)");
}

TEST_F(Render, AFixOfSeveralLines) {
  open("a.shard", "a\nb\nc\nd\n");
  Diagnostic d = at(find("b"), "m");
  d.severity = Severity::warning;
  d.fixes = {{"two edits", {{find("d"), "D"}, {find("b"), "b1\n  b2"}}, false, "no communication"}};
  EXPECT_EQ(shown(d), R"(
warning[E0002]: m
 --> a.shard:2:1
  |
2 | b
  | ^
  = fix: two edits; no communication
2 + b1
3 +   b2
4 + D
)");
}

TEST_F(Render, Colour) {
  open("a.shard", "x\n");
  RenderOptions options;
  options.colour = true;
  const std::string text = shown(at(find("x"), "m", "l"), options);
  EXPECT_NE(text.find("\033[1;31merror[E0002]\033[0m"), std::string::npos);
  EXPECT_NE(text.find("\033[1;31m^\033[0m \033[1;31ml\033[0m"), std::string::npos);
}

TEST_F(Render, AGeneratedLineShowsTheLineThatItComesFrom) {
  const std::string folder = ::testing::TempDir();
  std::ofstream(folder + "model.py") << "def f(x):\n    return g(x) + 1\n";
  open(folder + "a.shard", "v1 = g(x)  #@ model.py:2:12-2:16\nv2 = h(v1)  #@ gone.py:7:3\n");
  Diagnostic d = at(find("g(x)"), "m", "l");
  d.notes = {{find("h(v1)"), "n"}};
  const std::string shard = folder + "a.shard";
  EXPECT_EQ(shown(d), R"(
error[E0002]: m
 --> model.py:2:12
  |
2 |     return g(x) + 1
  |            ^^^^ l
 ::: gone.py:7:3
 --> )" + shard + R"(:1:6
  |
1 | v1 = g(x)  #@ model.py:2:12-2:16
  |      ^^^^ l
2 | v2 = h(v1)  #@ gone.py:7:3
  |      ----- n
)");
}

TEST(Origin, OnlyWholePlacesAreRead) {
  for (const char* line : {"x", "x #@ ", "x #@ a.py", "x #@ a.py:1", "x #@ :1:2", "x #@ a.py:0:1",
                           "x #@ a.py:1:2-3", "x #@ a.py:1:99999999999", "# @ a.py:1:2"})
    if (const auto origin = origin_of(line)) ADD_FAILURE() << line << ": " << origin->path;
  const auto origin = origin_of("x  #@ C:/my-dir/a b.py:12:3-14:5 \r");
  ASSERT_TRUE(origin);
  EXPECT_EQ(origin->path, "C:/my-dir/a b.py");
  EXPECT_EQ(origin->line, 12);
  EXPECT_EQ(origin->column, 3);
  EXPECT_EQ(origin->end_line, 14);
  EXPECT_EQ(origin->end_column, 5);
}

/// Every range of a small file with everything in it is rendered, and no mark is lost.
TEST_F(Render, AnyRange) {
  open("a.shard", "\tab\r\n\n \xe2\x82 long line of text\nlast\t");
  const auto size = static_cast<uint32_t>(sources.file(file).text.size());
  for (int width : {20, 100})
    for (uint32_t begin = 0; begin <= size; ++begin)
      for (uint32_t end = begin; end <= size + 2; ++end) {
        RenderOptions options;
        options.width = width;
        EXPECT_NE(shown(at({file, begin, end}, "m"), options).find('^'), std::string::npos);
      }
}

}  // namespace
}  // namespace shardproof
