// Golden files of the passes: golden/NAME.shard names a pass, and golden/NAME.txt has the plan
// before and after it. SHARDPROOF_WRITE_GOLDEN=1 writes the .txt files anew.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "impl/compile/compile_plan.h"
#include "impl/device/forwarding.h"
#include "impl/device/planned.h"

namespace shardproof {
namespace {

namespace fs = std::filesystem;

const fs::path folder = SHARDPROOF_SOURCE_DIR "/impl/compile/golden";

std::string read(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// A processor with tiles, and without other fused kernels.
class WithTiles : public ForwardingDevice {
 public:
  WithTiles() : ForwardingDevice(cpu_device()) {}
  bool has_fused(const FusedOp& op) const override {
    return std::holds_alternative<RoundedProduct>(op);
  }
  Launch prepare_fused(const FusedOp&) const override { return {}; }
};

/// The value of `key: value` in the first line; empty where it is not there.
std::string setting(const std::string& text, const std::string& key) {
  std::istringstream words(text.substr(0, text.find('\n')));
  for (std::string word; words >> word;)
    if (word == key + ":" && words >> word) return word;
  return "";
}

struct Passed {
  std::string pass, before, after;
};

Passed passed(const std::string& text) {
  Passed made{setting(text, "pass"), "", ""};
  const std::vector<std::string> stages = plan_stages();
  const auto own = std::find(stages.begin() + 1, stages.end(), made.pass);
  if (own == stages.end()) throw std::runtime_error("no such pass: " + made.pass);
  PlanOptions options;
  options.overlap = setting(text, "overlap") == "yes";
  if (setting(text, "device") == "gpu")
    options.device = planned_device();
  else if (setting(text, "device") == "tiles")
    options.device = std::make_shared<WithTiles>();
  else
    options.fuse = false;  // what a processor fuses depends on its instructions
  options.watch = [&](const std::string& stage, const std::string& at_stage) {
    if (stage == own[-1]) made.before = at_stage;
    if (stage == *own) made.after = at_stage;
  };
  const Program program = Program::from_text(text);
  if (!program.checked().readable()) throw std::runtime_error(program.report());
  if (const Name constant = setting(text, "constant"); !constant.empty()) {
    const ir::Function& plan = program.checked().program().functions.back();
    for (size_t i = 0; i < plan.params.size(); ++i)
      if (plan.values.at(plan.params[i]).name == constant) options.constant.push_back(i);
  }
  compile_plan(program, "p", Mesh::parse(setting(text, "mesh")), {}, 0, options);
  return made;
}

std::vector<fs::path> cases() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".shard") paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

TEST(Passes, TurnEachGoldenPlanIntoTheExpectedOne) {
  std::set<std::string> changed;
  for (const fs::path& path : cases()) {
    SCOPED_TRACE(path.filename());
    const Passed made = passed(read(path));
    const std::string same = made.before == made.after ? "the same\n" : made.after;
    const std::string text =
        "before " + made.pass + "\n" + made.before + "\nafter " + made.pass + "\n" + same;
    const fs::path expected = fs::path(path).replace_extension(".txt");
    if (std::getenv("SHARDPROOF_WRITE_GOLDEN")) std::ofstream(expected) << text;
    EXPECT_EQ(text, read(expected));
    if (made.before != made.after) changed.insert(made.pass);
  }
  for (const std::string& stage : plan_stages())
    EXPECT_TRUE(stage == "compile" || changed.contains(stage))
        << "no golden file in which " << stage << " changes the plan";
}

}  // namespace
}  // namespace shardproof
