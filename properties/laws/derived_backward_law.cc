// Derived backwards and the steps that use them, run on all devices of small meshes: they give the
// gradient by dual numbers. The derivation, its collectives and the types are tested here by
// numbers alone.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "properties/generators/mesh_run.h"
#include "spec/check/walk.h"
#include "spec/grad/backward.h"

namespace shardproof {
namespace {

const std::string root = SHARDPROOF_SOURCE_DIR;

/// Not the files that cannot be read as programs.
std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/spec/models", "/spec/tests"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(root + folder))
      if (const std::string path = entry.path().string();
          entry.path().extension() == ".shard" && path.find("/syntax/") == std::string::npos &&
          path.find("/impossible/") == std::string::npos)
        paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// A checked file. `compare`: with the algebra, so that it is known which plans are right.
struct File {
  std::string path;
  Sources sources;
  CheckedProgram checked;

  File(const std::string& p, const FileReader& reader, bool compare)
      : path(p), checked(read(reader, compare)) {}
  CheckedProgram read(const FileReader& reader, bool compare) {
    CheckOptions options;
    options.fixes = false;
    options.compare = compare;
    return check(sources, path, reader, options);
  }
  const ir::Program& program() const { return checked.program(); }
};

std::optional<size_t> find(const ir::Program& program, const Name& name) {
  for (size_t f = 0; f < program.functions.size(); ++f)
    if (program.functions[f].name == name) return f;
  return std::nullopt;
}

/// The backward of a plan of this file.
DerivedBackward derive(const File& file, const Name& plan, const std::vector<size_t>& wrt) {
  std::vector<std::vector<Type>> types;
  for (size_t f = 0; f < file.program().functions.size(); ++f)
    types.push_back(file.checked.types(f));
  return derive_backward(file.program(), types, find(file.program(), plan).value(), wrt);
}

/// The file at `path` with a text at its end; all others as they are.
FileReader with_text(const std::string& path, const std::string& text) {
  return [=](const std::string& wanted) -> std::optional<std::string> {
    auto found = disk_reader()(wanted);
    return wanted == path && found ? *found + "\n" + text : found;
  };
}

bool well_typed(const PlanReport& plan) {
  return std::all_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& each) {
    return each.severity != Severity::error || info(each.code).verdict == Verdict::unknown;
  });
}

bool forward(const ir::Function& function) {
  return !function.imported && !function.trusted && !function.implements_grad &&
         !function.uses_gradients;
}

struct Tally {
  int run = 0;
  std::map<std::string, int> left;
};

void run_backward(const File& file, const Name& plan, Tally& tally) try {
  const DerivedBackward backward = derive(file, plan, {});
  if (backward.refused) return (void)++tally.left[backward.refused->message];
  const File with(file.path, with_text(file.path, backward.text), false);
  const size_t at = find(with.program(), backward.name).value();
  for (const PlanReport& report : with.checked.plans())
    EXPECT_TRUE(report.function != at || well_typed(report)) << backward.text;
  EXPECT_EQ(properties::first_difference(with.checked, at, {}), "") << backward.text;
  ++tally.run;
} catch (const denote::Error& error) {
  ++tally.left[error.what()];
}

TEST(DerivedBackward, GivesTheGradientOnMeshes) {
  Tally tally;
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    const File file(path, disk_reader(), true);
    for (const PlanReport& plan : file.checked.plans())
      if (forward(file.program().functions.at(plan.function)) && well_typed(plan))
        run_backward(file, plan.name, tally);
  }
  std::cout << "    " << tally.run << " derived backwards on three meshes each; not run:\n";
  for (const auto& [why, times] : tally.left) std::cout << "      " << times << " " << why << "\n";
  EXPECT_GT(tally.run, 50);
}

/// A file with the backward of every plan that it differentiates written at the end of the plan's
/// own file, and imported.
class WithBackwards {
 public:
  explicit WithBackwards(const File& file) : texts_{{file.path, text_of(file.path)}} {
    for (const ir::Function& function : file.program().functions)
      if (function.kind == ir::Function::Kind::plan)
        for_each_instr(function.body, [&](const ir::Instr& instr) {
          if (auto* op = std::get_if<ir::Grad>(&instr.op)) add(file, *op);
        });
  }
  FileReader reader() const {
    return [this](const std::string& path) -> std::optional<std::string> {
      auto found = texts_.find(path);
      return found == texts_.end() ? disk_reader()(path) : found->second;
    };
  }
  denote::Backwards in(const File& file) const {
    denote::Backwards backwards;
    for (const auto& [of, name] : names_)
      backwards[{find(file.program(), of.first).value(), of.second}] =
          find(file.program(), name).value();
    return backwards;
  }

 private:
  static std::string text_of(const std::string& path) { return disk_reader()(path).value(); }
  void add(const File& file, const ir::Grad& op) {
    const ir::Function& plan = file.program().functions.at(op.function);
    Name& name = names_[{plan.name, op.wrt}];
    if (!name.empty()) return;
    const std::string path = file.sources.file(plan.source).path;
    const File own(path, disk_reader(), false);
    const DerivedBackward backward = derive(own, plan.name, op.wrt);
    if (backward.refused) return (void)names_.erase({plan.name, op.wrt});
    name = backward.name;
    std::string& text = texts_.try_emplace(path, text_of(path)).first->second;
    text += "\n" + backward.text;
    if (path != file.path) texts_[file.path] += "\nimport " + name + " from \"" + path + "\"\n";
  }

  std::map<std::string, std::string> texts_;
  std::map<std::pair<Name, std::vector<size_t>>, Name> names_;
};

TEST(DerivedBackward, GivesTheStepsOnMeshes) {
  int run = 0;
  std::map<std::string, int> left;
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    const File bare(path, disk_reader(), true);
    const auto uses = [&](const PlanReport& plan) {
      const ir::Function& function = bare.program().functions.at(plan.function);
      return !function.imported && function.uses_gradients && !function.implements_grad &&
             well_typed(plan);
    };
    const auto& plans = bare.checked.plans();
    if (std::none_of(plans.begin(), plans.end(), uses)) continue;
    const WithBackwards with(bare);
    const File file(path, with.reader(), false);
    for (const PlanReport& plan : plans) try {
        if (!uses(plan)) continue;
        const size_t at = find(file.program(), plan.name).value();
        EXPECT_EQ(properties::first_difference(file.checked, at, with.in(file)), "");
        ++run;
      } catch (const denote::Error& error) {
        ++left[error.what()];
      }
  }
  std::cout << "    " << run << " steps on three meshes each; not run:\n";
  for (const auto& [why, times] : left) std::cout << "      " << times << " " << why << "\n";
  EXPECT_GE(run, 7);
}

}  // namespace
}  // namespace shardproof
