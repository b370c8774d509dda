// The equations of --latex say all that the notation says: what is read back is the program.
// A swapped operand, a lost axis, an index that is not summed: each makes a file differ.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "spec/check/check.h"
#include "spec/cli/latex_reader_test.h"
#include "spec/cli/report.h"
#include "spec/syntax/parser.h"
#include "spec/syntax/printer.h"

namespace shardproof::cli {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A pattern in one spelling; what is none stays.
std::string one_spelling(const std::string& text) {
  using namespace syntax;
  std::vector<Diagnostic> unused;
  const auto pattern = parse_pattern(text, {}, unused);
  if (!pattern) return text;
  const auto operand = [](const OperandExpr& each) {
    const std::string dims = print_dims(each.dims), marks = print_marks(each.marks);
    return each.type_name.empty() ? dims + marks : each.type_name + "[" + dims + "]" + marks;
  };
  std::string result;
  for (const OperandExpr& each : pattern->left) result += operand(each) + ",";
  if (pattern->right) result += "->" + operand(*pattern->right);
  if (pattern->has_working) result += ";" + print_dims(pattern->working);
  return result;
}

std::string spelled(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t open = text.find('"', at);
    if (open == std::string::npos) return result + text.substr(at);
    const size_t close = text.find('"', open + 1);
    result += text.substr(at, open + 1 - at) +
              one_spelling(text.substr(open + 1, close - open - 1)) + "\"";
    at = close + 1;
  }
  return result;
}

/// What the equations print of a file, in the canonical form.
std::string printed(const std::string& text, std::string* problem = nullptr) {
  using namespace syntax;
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  File file = parse(sources, sources.add("text", text), diagnostics);
  if (problem && !diagnostics.empty())
    *problem = std::to_string(sources.locate(0, diagnostics[0].range.begin).line) + ": " +
               diagnostics[0].message;
  std::erase_if(file.declarations, [](const Declaration& each) {
    return std::holds_alternative<ImportDecl>(each) || std::holds_alternative<ConfigDecl>(each) ||
           std::holds_alternative<ScheduleDecl>(each);
  });
  return spelled(print(file));
}

FileReport typed(const std::string& path) {
  FileReport report;
  report.path = path;
  CheckOptions options;
  options.compare = false;
  options.fixes = false;
  report.checked = check(*report.sources, path, read, options);
  return report;
}

std::string equations_of(const FileReport& report) {
  std::ostringstream out;
  print_latex(report, out);
  return out.str();
}

/// The named values of all plans with their shapes.
std::set<std::string> shapes_of(const FileReport& report) {
  std::set<std::string> result;
  for (const PlanReport& plan : report.checked->plans()) {
    const ir::Function& function = report.checked->program().functions.at(plan.function);
    const auto& types = report.checked->types(plan.function);
    for (size_t i = 0; i < types.size() && i < function.values.size(); ++i) {
      std::string type = to_string(types[i]);
      // A second ring's block `W` is W.2 inside.
      for (size_t at; (at = type.find('.')) != std::string::npos;)
        type.erase(at, type.find_first_not_of("0123456789", at + 1) - at);
      result.insert(function.values[i].name + type.substr(type.find('[')));
    }
  }
  return result;
}

/// What differs between a program and its equations; nothing where they say the same.
std::string difference(const std::string& path, const std::string& equations,
                       const std::set<std::string>& shapes) {
  ReadBack back;
  try {
    back = read_latex(equations);
  } catch (const std::runtime_error& problem) {
    return problem.what();
  }
  std::string problem;
  const std::string from = printed(*read(path)), to = printed(back.text, &problem);
  if (!problem.empty()) return problem + "\n" + back.text;
  std::istringstream a(from), b(to);
  for (std::string x, y; std::getline(a, x) || std::getline(b, y);) {
    std::getline(b, y);
    if (x != y) return x + "\nis read back as\n" + y;
  }
  for (const std::string& shape : back.shapes)
    if (!shapes.count(shape)) return "no value has the type " + shape;
  return "";
}

std::vector<std::string> programs() {
  std::vector<std::string> result;
  for (const char* folder : {"models", "tests/equal", "tests/rings", "tests/pipelines"})
    for (const auto& entry :
         fs::directory_iterator(fs::path(SHARDPROOF_SOURCE_DIR) / "spec" / folder))
      if (entry.path().extension() == ".shard") result.push_back(entry.path().string());
  std::sort(result.begin(), result.end());
  if (std::getenv("SHARDPROOF_FULL")) return result;
  // Of the many small ones, one in three.
  size_t count = 0;
  std::erase_if(result, [&](const std::string& path) {
    return path.find("/equal/") != std::string::npos && count++ % 3 != 0;
  });
  return result;
}

TEST(Latex, IsReadBackAsTheProgram) {
  size_t shapes = 0;
  for (const std::string& path : programs()) {
    const FileReport report = typed(path);
    const std::string equations = equations_of(report);
    EXPECT_EQ(difference(path, equations, shapes_of(report)), "") << path;
    shapes += read_latex(equations).shapes.size();
  }
  EXPECT_GT(shapes, 1000u);
}

/// Each change of one equation is seen.
TEST(Latex, WhatIsPrintedWronglyIsSeen) {
  const std::string path = std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/ffn.shard";
  const FileReport report = typed(path);
  const std::string equations = equations_of(report);
  const auto shapes = shapes_of(report);
  ASSERT_EQ(difference(path, equations, shapes), "");
  const std::pair<const char*, const char*> faults[] = {
      {R"(nx[B_d,L,M]\,wg[M,F_t])", R"(wg[M,F_t]\,nx[B_d,L,M])"},  // swapped arguments
      {R"(\text{silu}(gate) \odot up)", R"(\text{silu}(up) \odot gate)"},
      {R"(\text{AllGather}_{[M_{t,d}] \to [M]})", R"(\text{AllGather}_{[M_t] \to [M]})"},
      {R"(\text{AllGather}_{[M_{t,d}] \to [M]})", R"(\text{AllGather}_{[M_{d,t}] \to [M]})"},
      {R"(\text{ReduceScatter}_{[B_d,L,M]\{U_t\})", R"(\text{ReduceScatter}_{[B_d,L,M]\{U_d\})"},
      {R"(\sum_{M} nx)", R"(\sum_{L} nx)"},               // the name of a reduced dim
      {R"(gate[B_d,L,F_t] =)", R"(gate[B_d,L,F] =)"},     // a lost axis
      {R"(out[B_d,L,M]\{U_t\} =)", R"(out[B_d,L,M] =)"},  // a lost mark
      {R"(x + \text{ReduceScatter})", R"(x - \text{ReduceScatter})"},
      {R"(w.w\_up)", R"(w.w\_gate)"},
  };
  for (const auto& [right, wrong] : faults) {
    std::string changed = equations;
    const size_t at = changed.find(right);
    ASSERT_NE(at, std::string::npos) << right << "\n" << equations;
    changed.replace(at, std::string(right).size(), wrong);
    EXPECT_NE(difference(path, changed, shapes), "") << right << " -> " << wrong;
  }
}

/// A program with an error is printed as far as it was read.
TEST(Latex, AProductOfMatricesIsPrintedThoughItIsRefused) {
  const std::string text =
      "dim B M F\nfn f(x: f32[B M], w: f32[M F]) -> f32[B F] {\n    y = x @ w\n    return y\n}\n";
  FileReport report;
  report.path = "a.shard";
  report.checked =
      check(*report.sources, report.path, [&](const std::string&) { return std::optional(text); });
  EXPECT_NE(report.checked->diagnostics().size(), 0u);
  EXPECT_NE(equations_of(report).find("y = x w"), std::string::npos) << equations_of(report);
}

}  // namespace
}  // namespace shardproof::cli
