// Hand-written backwards against the derivative of their models: those that are right, and each of
// them with one mistake.
#include <gtest/gtest.h>

#include "spec/lower/lower.h"
#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace {

Resolved read(const std::string& path, const FileReader& reader) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved r = resolve(sources, path, reader, diagnostics);
  for (const Diagnostic& d : diagnostics) ADD_FAILURE() << path << ": " << d.message;
  return r;
}

std::string why(const Comparison& c) {
  return c.unsupported.value_or("") + (c.difference ? c.difference->text : "") + "\n" + c.residue +
         (c.budget_ended ? "\nthe budget ended" : "");
}

Comparison compare_plan(const Resolved& r, size_t plan, const Options& options) {
  return compare_functions(r.program, plan, r.program.functions.at(plan).model.value(), options);
}

/// Every gradient claimed in a file of spec/models.
void check_models(const std::string& file) {
  const std::string path = std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/" + file;
  const Resolved r = read(path, disk_reader());
  for (size_t plan : r.plans) {
    const ir::Function& f = r.program.functions[plan];
    if (!f.implements_grad || f.uses_gradients) continue;
    for (bool use_models : {true, false}) {
      const std::vector<bool> proved(r.program.functions.size(), true);
      const Comparison c = compare_plan(r, plan, {{}, use_models, &proved});
      EXPECT_TRUE(c.equal) << f.name << " result " << c.result << ": " << why(c);
      EXPECT_EQ(c.limit, 1) << f.name;
    }
  }
}

TEST(Gradient, PairwiseFeedForward) { check_models("pairwise_ffn.shard"); }
TEST(Gradient, LlamaLayer) { check_models("llama_backward.shard"); }

}  // namespace
}  // namespace shardproof::lower
