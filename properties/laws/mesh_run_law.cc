// Plans run on all devices of small meshes, at the types the checker gave: what the devices hold is
// the model's value, and of a plan that claims a gradient the gradient by dual numbers. Neither the
// algebra nor the adjoints of the rules have a part in it.
#include <gtest/gtest.h>

#include <filesystem>
#include <iostream>

#include "properties/generators/mesh_points.h"
#include "spec/check/one_device.h"
#include "spec/check/points.h"
#include "spec/check/refute.h"
#include "spec/denote/gradient.h"
#include "spec/denote/represent.h"

namespace shardproof {
namespace {

using Arrays = std::vector<denote::Array<double>>;
using Devices = std::vector<denote::Distributed<double>>;

/// A plan of a checked file on one mesh.
class MeshRun {
 public:
  MeshRun(const CheckedProgram& checked, size_t plan, const denote::Backwards& backwards,
          unsigned seed)
      : program_(checked.program()),
        plan_(plan),
        function_(program_.functions.at(plan)),
        backwards_(backwards),
        rng_(seed),
        sizes_(sizes_of(checked, rng_)),
        geometry_(program_, sizes_) {
    for (size_t f = 0; f < program_.functions.size(); ++f) types_.push_back(checked.types(f));
    for (Draw draw : {Draw::mixed, Draw::positive}) {  // a step's variances have roots
      whole_ = random_inputs(program_, function_, sizes_, seed, draw);
      claimed_ = claim();
      if (finite(claimed_)) break;
    }
  }

  /// What the plan claims, on one device.
  const Arrays& claimed() const { return claimed_; }

  /// What the devices of the mesh make of it, put together at the types of the results.
  std::vector<std::optional<denote::Array<double>>> results() {
    Devices inputs;
    for (size_t i = 0; i < whole_.size(); ++i)
      inputs.push_back(denote::distribute(geometry_, type(function_.params[i]), whole_[i], rng_));
    if (function_.after)
      for (auto& each : denote::saved_on_mesh<double>(program_, types_, plan_, sizes_,
                                                      primal(inputs), backwards_))
        inputs.push_back(std::move(each));
    const Devices held =
        denote::evaluate_on_mesh<double>(program_, types_, plan_, sizes_, inputs, backwards_);
    std::vector<std::optional<denote::Array<double>>> found;
    for (size_t r = 0; r < held.size(); ++r)
      found.push_back(denote::represented(geometry_, function_.results.at(r), held[r]));
    return found;
  }

  std::string text() const {
    std::string text = function_.name + " at";
    for (const auto& [axis, size] : sizes_.mesh) text += " " + axis + "=" + std::to_string(size);
    for (const auto& [dim, size] : sizes_.dims) text += " " + dim + "=" + std::to_string(size);
    return text;
  }

 private:
  Arrays claim() const {
    if (!function_.model)
      return denote::evaluate<double>(at_mesh_sizes(program_, sizes_), plan_, sizes_, whole_);
    const size_t model = *function_.model;
    if (!function_.implements_grad)
      return denote::evaluate<double>(program_, model, sizes_, whole_);
    return denote::numeric_gradient(program_, model, sizes_, primal(whole_), function_.wrt,
                                    {whole_.begin() + own(), whole_.end()});
  }
  static bool finite(const Arrays& arrays) {
    for (const auto& array : arrays)
      for (double x : array.data)
        if (!std::isfinite(x)) return false;
    return true;
  }
  static denote::Sizes sizes_of(const CheckedProgram& checked, std::mt19937_64& rng) {
    std::vector<Divisibility> conditions;
    for (const PlanReport& plan : checked.plans())
      conditions.insert(conditions.end(), plan.conditions.begin(), plan.conditions.end());
    const auto sizes = properties::mesh_sizes(checked.program(), conditions, rng);
    if (!sizes) throw denote::Unsupported("no small mesh meets its conditions");
    return *sizes;
  }
  const Type& type(ir::ValueId id) const { return types_[plan_].at(id); }
  std::ptrdiff_t own() const {
    return static_cast<std::ptrdiff_t>(program_.functions.at(*function_.model).params.size());
  }
  template <class T>
  std::vector<T> primal(const std::vector<T>& inputs) const {
    return {inputs.begin(), inputs.begin() + own()};
  }

  const ir::Program& program_;
  size_t plan_;
  const ir::Function& function_;
  const denote::Backwards& backwards_;
  std::mt19937_64 rng_;
  denote::Sizes sizes_;
  denote::Geometry geometry_;
  denote::Types types_;
  Arrays whole_, claimed_;
};

/// Empty where they agree.
std::string difference(const denote::Array<double>& got, const denote::Array<double>& wanted) {
  if (got.shape != wanted.shape) return "another shape";
  double scale = 1;
  for (double x : wanted.data) scale = std::max(scale, std::abs(x));
  for (size_t k = 0; k < wanted.data.size(); ++k)
    if (!(std::abs(got.data[k] - wanted.data[k]) <= 1e-8 * scale))
      return "entry " + std::to_string(k) + " is " + std::to_string(got.data[k]) + ", not " +
             std::to_string(wanted.data[k]);
  return "";
}

/// Gradients of a plan by its hand-written backward.
denote::Backwards written_backwards(const ir::Program& program) {
  denote::Backwards backwards;
  for (size_t f = 0; f < program.functions.size(); ++f)
    if (const ir::Function& function = program.functions[f]; function.after)
      backwards[{*function.after, function.wrt}] = f;
  return backwards;
}

/// The first difference of a plan from its claim, on three meshes; empty where there is none.
/// Meshes whose sizes the plan cannot have (too few entries for a top_k) are drawn again.
std::string first_difference(const CheckedProgram& checked, size_t plan,
                             const denote::Backwards& backwards) {
  int runs = 0;
  for (unsigned seed = 1; runs < 3; ++seed) try {
      MeshRun run(checked, plan, backwards, seed);
      const auto results = run.results();
      for (size_t r = 0; r < run.claimed().size(); ++r) {
        const std::string found = results.at(r) ? difference(*results[r], run.claimed()[r])
                                                : "the devices hold no value of its type";
        if (!found.empty()) return run.text() + ", result " + std::to_string(r) + ": " + found;
      }
      ++runs;
    } catch (const denote::OutOfRange&) {
      if (seed > 20) throw;
    }
  return "";
}

/// Proved, or not decided because of its gradient alone.
bool accepted(const PlanReport& plan) {
  return std::all_of(plan.diagnostics.begin(), plan.diagnostics.end(), [](const Diagnostic& each) {
    return each.severity != Severity::error || each.code == "U0002";
  });
}

struct Tally {
  int plans = 0, gradients = 0;
  std::vector<std::string> left;  ///< what cannot be run, and why
};

void run_file(const CheckedProgram& checked, Tally& tally) {
  const denote::Backwards backwards = written_backwards(checked.program());
  for (const PlanReport& plan : checked.plans()) {
    const ir::Function& function = checked.program().functions.at(plan.function);
    if (function.imported || function.trusted || !accepted(plan)) continue;
    try {
      EXPECT_EQ(first_difference(checked, plan.function, backwards), "");
      ++(function.implements_grad ? tally.gradients : tally.plans);
    } catch (const denote::Error& error) {
      tally.left.push_back(function.name + ": " + error.what());
    }
  }
}

/// Not the files that cannot be read as programs.
std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/spec/models", "/spec/tests"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(SHARDPROOF_SOURCE_DIR + std::string(folder)))
      if (const std::string path = entry.path().string();
          entry.path().extension() == ".shard" && path.find("/syntax/") == std::string::npos &&
          path.find("/impossible/") == std::string::npos)
        paths.push_back(path);
  std::sort(paths.begin(), paths.end());
  return paths;
}

CheckedProgram checked_file(const std::string& path, const FileReader& reader) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  return check(sources, path, reader, options);
}

TEST(MeshRuns, GiveTheModelsValuesAndGradients) {
  Tally tally;
  for (const std::string& path : files()) {
    SCOPED_TRACE(path);
    run_file(checked_file(path, disk_reader()), tally);
  }
  std::cout << "    " << tally.plans << " plans and " << tally.gradients
            << " gradients on three meshes each; not run:\n";
  for (const std::string& each : tally.left) std::cout << "      " << each << "\n";
  EXPECT_GT(tally.plans, 100);
  EXPECT_GE(tally.gradients, 6);
  EXPECT_LE(tally.left.size(), 12u);
}

/// What refutes a claim of a gradient or a step has nothing to say of the models'.
TEST(OneDevice, RefutesNoGradientAndNoStepOfTheModels) {
  int claims = 0;
  for (const char* file : {"data_parallel", "llama_backward", "llama_train", "pairwise_ffn"}) {
    const CheckedProgram checked = checked_file(
        SHARDPROOF_SOURCE_DIR "/spec/models/" + std::string(file) + ".shard", disk_reader());
    for (const PlanReport& plan : checked.plans()) {
      const ir::Function& function = checked.program().functions.at(plan.function);
      if (function.imported || !function.uses_gradients) continue;
      std::string why;
      EXPECT_FALSE(refute(checked.program(), plan.function, &why)) << function.name;
      EXPECT_EQ(why, "") << function.name;
      ++claims;
    }
  }
  EXPECT_GE(claims, 12);
}

/// The law is not empty: a wrong gradient is seen, whatever its types.
TEST(MeshRuns, SeeAWrongGradient) {
  const std::string path = SHARDPROOF_SOURCE_DIR "/spec/models/pairwise_ffn.shard";
  const auto differences = [&](const std::string& from, const std::string& to) {
    const CheckedProgram checked =
        checked_file(path, [&](const std::string& wanted) -> std::optional<std::string> {
          std::string text = disk_reader()(wanted).value();
          if (wanted == path) text.replace(text.find(from), from.size(), to);
          return text;
        });
    int found = 0;
    for (const PlanReport& plan : checked.plans())
      if (checked.program().functions[plan.function].implements_grad)
        found += !first_difference(checked, plan.function, {}).empty();
    return found;
  };
  EXPECT_EQ(differences("relu_grad(g_h, z)", "relu_grad(g_h, z)"), 0);
  EXPECT_EQ(differences("relu_grad(g_h, z)", "relu_grad(g_h, h * 2 - 1)"), 1);
  EXPECT_EQ(differences("h, g)", "z, g)"), 1);
}

}  // namespace
}  // namespace shardproof
