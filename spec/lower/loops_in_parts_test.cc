// Loops as loops over parts of their dim: each function keeps its values, and those that only look
// alike are not proved.
#include "spec/lower/loops_in_parts.h"

#include <gtest/gtest.h>

#include <random>

#include "spec/denote/evaluate.h"
#include "spec/lower/lower.h"
#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace {

using Arrays = std::vector<denote::Array<double>>;

Resolved read(const std::string& file) {
  Sources sources;
  std::vector<Diagnostic> errors;
  Resolved result =
      resolve(sources, SHARDPROOF_SOURCE_DIR "/spec/tests/" + file, disk_reader(), errors);
  for (const Diagnostic& each : errors) ADD_FAILURE() << each.message;
  return result;
}

Arrays drawn(const ir::Program& program, size_t function, const denote::Sizes& sizes) {
  std::mt19937 bits(7);
  std::uniform_real_distribution<double> uniform(-1, 1);
  Arrays result;
  const ir::Function& f = program.functions.at(function);
  for (ir::ValueId param : f.params) {
    denote::Array<double> array;
    size_t count = 1;
    for (const Split& split : f.values.at(param).type.dims) {
      array.shape.push_back(program.size(split.dim, sizes.dims));
      count *= static_cast<size_t>(array.shape.back());
    }
    for (size_t i = 0; i < count; ++i) array.data.push_back(uniform(bits));
    result.push_back(std::move(array));
  }
  return result;
}

/// The number of comparisons.
int compare_values(const std::string& name, size_t order, const denote::Sizes& sizes) {
  const Resolved file = read("equal/" + name + ".shard");
  int compared = 0;
  for (size_t plan : file.plans) {
    const auto split = with_loops_in_parts(file.program, plan, order);
    if (!split) continue;
    for (size_t f : {plan, file.program.functions.at(plan).model.value()}) {
      const Arrays inputs = drawn(file.program, f, sizes);
      const Arrays wanted = denote::evaluate<double>(file.program, f, sizes, inputs);
      const Arrays found = denote::evaluate<double>(split->program, f, sizes, inputs);
      EXPECT_EQ(wanted.size(), found.size());
      for (size_t r = 0; r < wanted.size(); ++r) {
        EXPECT_EQ(wanted[r].shape, found[r].shape);
        for (size_t i = 0; i < wanted[r].data.size(); ++i)
          EXPECT_NEAR(wanted[r].data[i], found[r].data.at(i), 1e-12)
              << file.program.functions.at(f).name;
      }
      ++compared;
    }
  }
  return compared;
}

TEST(LoopsInParts, KeepValues) {
  int compared = 0;
  for (const std::string name : {"loops_in_parts", "steps_at_both_ends", "steps_in_blocks"})
    for (size_t order : {0, 1, 2})
      for (int64_t more : {0, 1}) {
        std::map<Name, int64_t> dims = {{"B", 1}, {"M", 2}, {"J", 3}, {"K", 2},
                                        {"P", 2}, {"Q", 3}, {"D", 2}, {"E", 1}};
        dims["I"] = 2 + more, dims["N"] = 4 + 2 * more;
        compared += compare_values(name, order, {{}, dims});
      }
  EXPECT_GT(compared, 160);
}

/// Without numbers, which would refute them first.
TEST(LoopsInParts, DoNotProveOtherLoops) {
  for (const std::string name : {"loops_in_parts_broken", "online_softmax_broken",
                                 "steps_written_out_broken", "steps_in_blocks_broken"}) {
    const Resolved file = read("values/" + name + ".shard");
    for (size_t plan : file.plans) {
      const ir::Function& f = file.program.functions.at(plan);
      EXPECT_FALSE(compare_functions(file.program, plan, *f.model, {}).equal) << f.name;
    }
  }
}

}  // namespace
}  // namespace shardproof::lower
