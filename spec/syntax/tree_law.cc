// parse(print(tree)) == tree, and whatever the bytes: a tree or a diagnostic, never a crash.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "spec/laws/dice.h"
#include "spec/laws/holds.h"
#include "spec/syntax/test_files.h"
#include "spec/syntax/test_support.h"

namespace shardproof::syntax {
namespace {

File parsed(Sources& sources, const std::string& text, std::vector<Diagnostic>& diagnostics) {
  return parse(sources, sources.add("law.shard", text), diagnostics);
}

RC_GTEST_PROP(TreeLaw, ATreeReadsBackFromItsText, ()) {
  const auto tree = *rc::gen::exec([] { return std::make_shared<File>(FileMaker().file()); });
  const std::string text = print(*tree);
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const File again = parsed(sources, text, diagnostics);
  RC_LOG(text + (diagnostics.empty() ? "" : diagnostics[0].message));
  RC_ASSERT(diagnostics.empty());
  RC_ASSERT(same(*tree, again));
  RC_ASSERT(print(again) == text);
}

// Two trees that differ are not the same: each text has one tree.
RC_GTEST_PROP(TreeLaw, TheSameTextIsTheSameTree, ()) {
  const auto a = *rc::gen::exec([] { return std::make_shared<File>(FileMaker().file()); });
  const auto b = *rc::gen::exec([] { return std::make_shared<File>(FileMaker().file()); });
  RC_ASSERT(same(*a, *b) == (print(*a) == print(*b)));
}

// What every diagnostic owes its reader, whatever was read.
bool is_sound(const Diagnostic& diagnostic, size_t size) {
  const auto inside = [&](const SourceRange& range) {
    return range.file == 0 && range.begin <= range.end && range.end <= size;
  };
  bool sound = inside(diagnostic.range) && !diagnostic.message.empty();
  for (const Label& note : diagnostic.notes) sound = sound && inside(note.range);
  for (const Fix& fix : diagnostic.fixes)
    for (const Edit& edit : fix.edits) sound = sound && inside(edit.range);
  return sound && info(diagnostic.code).verdict == Verdict::invalid;
}

void check_any_bytes(const std::string& text) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const File file = parsed(sources, text, diagnostics);
  RC_ASSERT(diagnostics.size() <= 21u);
  for (const Diagnostic& diagnostic : diagnostics) RC_ASSERT(is_sound(diagnostic, text.size()));
  if (!diagnostics.empty()) return;
  const std::string printed = print(file);
  const File again = parsed(sources, printed, diagnostics);
  RC_LOG(printed);
  RC_ASSERT(diagnostics.empty());
  RC_ASSERT(same(file, again));
  PatternReader(diagnostics).read(file);
  for (const Diagnostic& diagnostic : diagnostics) RC_ASSERT(is_sound(diagnostic, text.size()));
}

std::vector<std::string> seeds() {
  std::vector<std::string> result;
  for (const char* folder : {"spec/lib", "spec/models", "spec/tests/syntax"})
    for (const auto& path : files_in(folder)) result.push_back(read(path));
  return result;
}

// Bytes that are likely to hit the grammar, and any others.
void edit(std::string& text, laws::Dice& random) {
  static const std::vector<std::string> pieces = {"(",
                                                  ")",
                                                  "[",
                                                  "]",
                                                  "{",
                                                  "}",
                                                  "\"",
                                                  "->",
                                                  ",",
                                                  ";",
                                                  ":",
                                                  "=",
                                                  "..",
                                                  "...",
                                                  "|",
                                                  "/",
                                                  "-",
                                                  "\n",
                                                  " ",
                                                  "#",
                                                  "next ",
                                                  "scan ",
                                                  "stages ",
                                                  "dim ",
                                                  "fn ",
                                                  "U_t",
                                                  "f32[",
                                                  "1",
                                                  ".",
                                                  "e",
                                                  "\xe2\x86\x92",
                                                  "each "};
  const size_t at = text.empty() ? 0 : random() % text.size();
  switch (random() % 4) {
    case 0:
      text.erase(at, 1 + random() % 8);
      break;
    case 1:
      text.insert(at, pieces[random() % pieces.size()]);
      break;
    case 2:
      text.insert(at, 1, static_cast<char>(random() % 256));
      break;
    default:
      text.insert(at, text.substr(random() % (text.size() + 1), random() % 40));
      break;
  }
}

// A text that `make` writes; RapidCheck makes it smaller by leaving out pieces.
template <class Make>
rc::Gen<std::string> texts(Make make) {
  return [=](rc::Random random, int) {
    return rc::shrinkable::shrinkRecur(
        make(laws::Dice(random.next())),
        [](const std::string& text) { return rc::shrink::removeChunks(text); });
  };
}

std::string edited_file(laws::Dice random) {
  static const std::vector<std::string> files = seeds();
  std::string text = files[random() % files.size()];
  const size_t edits = 1 + random() % 6;
  for (size_t i = 0; i < edits; ++i) edit(text, random);
  return text;
}

TEST(ByteLaw, EditedFilesNeverCrash) {
  EXPECT_TRUE(laws::holds("an edited file gives a tree or a diagnostic", 2'000, 40'000, [] {
    const std::string text = *texts(edited_file);
    RC_LOG(text);
    check_any_bytes(text);
  }));
}

RC_GTEST_PROP(ByteLaw, AnyBytes, (const std::string& text)) { check_any_bytes(text); }

// Cut anywhere: what an editor holds while its user types.
std::string cut_file(laws::Dice random) {
  static const std::vector<std::string> files = seeds();
  const std::string& text = files[random() % files.size()];
  return text.substr(0, random() % (text.size() + 1));
}

TEST(ByteLaw, CutFiles) {
  EXPECT_TRUE(laws::holds("a cut file gives a tree or a diagnostic", 100, 2'000, [] {
    const std::string text = *texts(cut_file);
    RC_LOG(text);
    check_any_bytes(text);
  }));
}

RC_GTEST_PROP(ByteLaw, AnyPattern, (const std::string& text)) {
  std::vector<Diagnostic> diagnostics;
  const SourceRange range = {0, 7, 7 + static_cast<uint32_t>(text.size())};
  const auto pattern = parse_pattern(text, range, diagnostics);
  RC_ASSERT(pattern.has_value() == diagnostics.empty());
  for (const Diagnostic& diagnostic : diagnostics) {
    RC_ASSERT(diagnostic.code == "E0006");
    RC_ASSERT(diagnostic.range.begin >= range.begin && diagnostic.range.end <= range.end);
  }
}

}  // namespace
}  // namespace shardproof::syntax
