// Every error of a golden file has a fix or a help. Every fix with an edit does what it says: with
// the edit applied the file has fewer errors, and one that is marked as checked leaves its plan
// proved.
#include "spec/check/fixes.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "spec/check/check.h"

namespace shardproof {
namespace {

/// The golden files that expect such a code.
std::vector<std::string> files_with(const std::string& code) {
  std::vector<std::string> paths;
  const std::string folder = SHARDPROOF_SOURCE_DIR "/spec/tests";
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() != ".shard") continue;
    const auto text = disk_reader()(entry.path().string());
    if (text && text->find("# expect " + code) != std::string::npos)
      paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// An error with the name of its plan; of the file: "".
using Told = std::pair<Name, Diagnostic>;

std::vector<Told> errors_of(const CheckedProgram& checked) {
  std::vector<Told> errors;
  const auto add = [&](const Name& plan, const std::vector<Diagnostic>& diagnostics) {
    for (const Diagnostic& each : diagnostics)
      if (each.severity == Severity::error) errors.push_back({plan, each});
  };
  add("", checked.diagnostics());
  for (const PlanReport& plan : checked.plans()) add(plan.name, plan.diagnostics);
  return errors;
}

size_t errors_of_syntax(const std::vector<Told>& errors) {
  return static_cast<size_t>(std::count_if(errors.begin(), errors.end(), [](const Told& each) {
    return each.second.code.starts_with("E00");
  }));
}

/// Without those that say of the edited plan that it rests on another, which is wrong.
size_t own_errors(const std::vector<Told>& errors, const Name& plan) {
  return static_cast<size_t>(std::count_if(errors.begin(), errors.end(), [&](const Told& each) {
    return plan.empty() || each.first != plan || each.second.code != "U0005";
  }));
}

Verdict verdict_of(const CheckedProgram& checked, const Name& plan) {
  for (const PlanReport& report : checked.plans())
    if (report.name == plan) return report.verdict;
  return checked.verdict();
}

class Fixes : public testing::TestWithParam<std::string> {};

TEST_P(Fixes, ClearTheirError) {
  Sources sources;
  const CheckedProgram checked = check(sources, GetParam(), disk_reader());
  const std::vector<Told> errors = errors_of(checked);
  CheckOptions plain;
  plain.fixes = false;
  for (const auto& [plan, error] : errors) {
    EXPECT_FALSE(error.fixes.empty())
        << "neither a fix nor a help: " << error.code << " " << error.message;
    EXPECT_EQ(error.label.find("\\_"), std::string::npos)
        << "a function of an index is written out: " << error.label;
    for (const Fix& fix : error.fixes) {
      EXPECT_TRUE(!fix.edits.empty() || (!fix.checked && fix.cost.empty())) << fix.message;
      if (fix.edits.empty()) continue;
      const SourceFile& file = sources.file(fix.edits[0].range.file);
      const std::string text = apply_edits(file.text, fix.edits[0].range.file, fix.edits);
      const FileReader reader = [&](const std::string& path) {
        return path == file.path ? std::optional(text) : disk_reader()(path);
      };
      Sources edited;
      const CheckedProgram after = check(edited, GetParam(), reader, plain);
      const std::vector<Told> left = errors_of(after);
      const std::string shown =
          error.code + " " + error.message + "\nfix: " + fix.message + "\n" + text;
      EXPECT_TRUE(!fix.checked || verdict_of(after, plan) == Verdict::proved) << shown;
      EXPECT_TRUE(own_errors(left, plan) < own_errors(errors, plan) ||
                  errors_of_syntax(left) < errors_of_syntax(errors))
          << shown << (left.empty() ? "" : "left: " + left[0].second.message);
    }
  }
}

/// The fix of the error that the file is about.
std::string first_fix(const std::string& file, const std::string& message) {
  Sources sources;
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/tests/codes/" + file;
  const CheckedProgram checked = check(sources, path, disk_reader());
  for (const auto& [plan, error] : errors_of(checked)) {
    EXPECT_EQ(error.message, message);
    if (error.fixes.empty() || !error.fixes[0].checked) return "";
    const SourceRange& range = error.fixes[0].edits.at(0).range;
    const std::string text =
        apply_edits(sources.file(range.file).text, range.file, error.fixes[0].edits);
    const size_t begin = text.rfind('\n', range.begin) + 1;
    return text.substr(begin, text.find(')', range.begin) - begin);
  }
  return "";
}

TEST(FixOfAStep, ReducesTheGradientBeforeTheOptimizer) {
  EXPECT_EQ(first_fix("e0201_gradient_to_optimizer.shard", "sgd of `g`, which is unreduced over d"),
            "    return sgd(w, all_reduce(\"M F {U_d} -> M F\", g");
  EXPECT_EQ(
      first_fix("e0201_expression_to_optimizer.shard", "sgd of a value that is unreduced over d"),
      "    return sgd(w, all_reduce(\"M F {U_d} -> M F\", einsum(\"B/d M, B/d F -> M F {U_d}\", "
      "x, g");
  EXPECT_EQ(first_fix("e0201_record_to_optimizer.shard", "sgd of `g.a`, which is unreduced over d"),
            "    return each sgd(w, all_reduce(\"-> Shards\", g");
}

/// Each plan of the file: the first fix of its first error.
std::vector<Fix> first_fixes(const std::string& file) {
  Sources sources;
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/tests/codes/" + file;
  std::vector<Fix> fixes;
  Name last;
  for (const auto& [plan, error] : errors_of(check(sources, path, disk_reader()))) {
    if (plan != last || fixes.empty())
      fixes.push_back(error.fixes.empty() ? Fix{} : error.fixes[0]);
    last = plan;
  }
  return fixes;
}

/// Mistakes whose fix is on another line, or in another pattern, than the refused one.
TEST(FixOfAMistake, ProvesThePlan) {
  const std::pair<const char*, const char*> files[] = {
      {"e0202_gradient_in_norm.shard", "reduce `gu` where it is computed"},
      {"e0201_plain_carry.shard", "keep the carry `s` unreduced, and reduce it after the loop"},
      {"e0201_reduced_in_loop.shard", "remove the all_reduce: the sum is reduced later"},
      {"e0201_layers_to_optimizer.shard", "reduce it before sgd"},
      {"e0203_reduced_to_copy.shard", "reduce it to a copy that is used alike, {I_t}"},
      {"e0203_stored_as_copy.shard", "store `w.g` as f32[M]{I_t}: its gradient is then summed too"},
      {"e0205_alike.shard", "reduce over the unreduced axes only"},
      {"e0209_slice_of_sum.shard", "psum_scatter instead of slice"},
      {"e0302_loss_of_step.shard", "all_reduce first"},
      {"e0302_result_of_pattern.shard", "state the dims of its type in the pattern, `-> B/d F`"},
      {"e0305_alias_of_operand.shard", ""},
      {"e0303_layer_of_shards.shard", "all_gather first"},
      {"e0401_stopped.shard", "remove the stop_grad"},
      {"e0401_call_left_out.shard", ""},
      {"e0401_other_operand.shard", "compute it as `shares` does"},
      {"e0401_softmax_over_queries.shard", "compute it as `f` does"},
      {"e0401_results_exchanged.shard", ""},
      {"../rings/not_rescaled_broken.shard", ""},
      {"../rings/sum_of_devices_broken.shard", ""},
      {"e0103_without_wrt.shard", "name the parameters whose gradients you want"},
      {"e0402_gradient_mean.shard", "write it without `/ |d|`"},
      {"e0402_scaled_record.shard", ""},
      {"e0103_gradients.shard", ""},
      {"../syntax/wrt_without_comma.shard", "insert the comma"},
      {"../syntax/thick_arrow.shard", "the result stands after `->`"},
      {"../syntax/pipeline_without_schedule.shard", "name a schedule: `by gpipe`"},
      {"e0305_group_order.shard", ""},
  };
  for (const auto& [file, message] : files) {
    const std::vector<Fix> fixes = first_fixes(file);
    EXPECT_FALSE(fixes.empty()) << file;
    for (const Fix& fix : fixes) {
      EXPECT_TRUE(fix.checked) << file << ": " << fix.message;
      EXPECT_TRUE(!*message || fix.message == message) << file << ": " << fix.message;
    }
  }
}

TEST(Unknown, SaysWhatWasCheckedAndWhatToWriteMeanwhile) {
  size_t seen = 0;
  for (const char* code : {"U0001", "U0002", "U0003", "U0006", "U0009", "U0010", "U0011", "U0012"})
    for (const std::string& path : files_with(code)) {
      Sources sources;
      const CheckedProgram checked = check(sources, path, disk_reader());
      for (const auto& plan : checked.plans())
        for (const Diagnostic& each : plan.diagnostics) {
          if (each.code != std::string(code)) continue;
          std::string said;
          for (const std::string& detail : each.details) said += detail + "\n";
          for (const char* words : {"checked: ", "Not decided: "})
            EXPECT_NE(said.find(words), std::string::npos) << path << ": " << each.message << said;
          EXPECT_FALSE(each.fixes.empty()) << path << ": " << each.message << said;
          ++seen;
        }
    }
  EXPECT_GE(seen, 10u);
}

TEST(Unknown, AGradientThatIsNotSupportedIsNoRefutation) {
  Sources sources;
  const CheckedProgram checked =
      check(sources, SHARDPROOF_SOURCE_DIR "/spec/tests/codes/e0217_step.shard", disk_reader());
  EXPECT_EQ(verdict_of(checked, "twice"), Verdict::unknown);
  EXPECT_EQ(checked.verdict(), Verdict::unknown);
}

INSTANTIATE_TEST_SUITE_P(Files, Fixes, testing::ValuesIn(files_with("E")),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace shardproof
