#include "impl/device/graph/attention_graph.h"

#include <gtest/gtest.h>

#include <functional>

#include "impl/device/graph/attention_shapes.h"

namespace shardproof {
namespace {

struct NearMiss {
  const char* what;
  std::function<void(AttentionGrad&)> make;
  bool forward_too = true;
};

TEST(AttentionGraph, IsOfWhatALibraryHasAlone) {
  const AttentionGrad whole = causal_attention(2, 24, 4, 2, 16);
  EXPECT_TRUE(attention_graph(whole).has_value());
  EXPECT_TRUE(attention_graph(forward_of(whole)).has_value());
  const NearMiss misses[] = {
      {"an unknown mask", [](auto& op) { op.mask_kind = MaskKind::any; }},
      {"f32", [](auto& op) { op.element = Element::f32; }},
      {"a scale that is data", [](auto& op) { op.scale.is_input = true; }},
      {"a width of half a vector", [](auto& op) { op.width = 12; }},
      {"more keys", [](auto& op) { op.keys = 32; }},
      {"one query", [](auto& op) { op.queries = op.keys = 1; }},
      {"the group outside", [](auto& op) { std::swap(op.q.group, op.q.batch[2]); }},
      {"an odd stride", [](auto& op) { op.v.position += 4; }},
      {"keys for all of the batch", [](auto& op) { op.k.batch[1] = 0; }},
      {"three batch dims", [](auto& op) { op.batch[0] = 2; }},
      {"no forward", [](auto& op) { op.after_forward = false; }, false},
      {"an odd gradient", [](auto& op) { op.g.position += 4; }, false}};
  for (const NearMiss& miss : misses) {
    AttentionGrad op = whole;
    miss.make(op);
    EXPECT_FALSE(attention_graph(op).has_value()) << miss.what;
    EXPECT_NE(attention_graph(forward_of(op)).has_value(), miss.forward_too) << miss.what;
  }
}

// Positions of one sequence or all, and the same for each of its heads.
TEST(AttentionGraph, AddsABiasForSegments) {
  AttentionGrad op = causal_attention(3, 24, 4, 2, 16);
  op.mask_kind = MaskKind::segments;
  const auto batch = [&]() -> std::optional<int64_t> {
    const auto made = attention_graph(op), forward = attention_graph(forward_of(op));
    if (made.has_value() != forward.has_value()) return -1;
    if (!made) return std::nullopt;
    EXPECT_EQ(made->bias->batch, forward->bias->batch);
    return made->bias->batch;
  };
  op.mask = {{0, 24 * 24, 0}, 24, 0, 1};
  EXPECT_EQ(batch(), 3);
  op.mask.batch[1] = 0;
  EXPECT_EQ(batch(), 1);
  op.mask.batch[2] = 24 * 24;
  EXPECT_EQ(batch(), std::nullopt);
  op.mask.batch[2] = 0;
  op.mask.group = 1;
  EXPECT_EQ(batch(), std::nullopt);
}

// One batch dim is heads or batch, depending on the queries' strides: the arrays are the same.
TEST(AttentionGraph, ADimOfOneEntryIsNoDim) {
  const Four by_head = {1, 8, 24, 16}, by_batch = {4, 2, 24, 16};
  AttentionGrad heads = causal_attention(1, 24, 4, 2, 16),
                batch = causal_attention(4, 24, 1, 2, 16);
  std::swap(batch.batch[0], batch.batch[1]);
  for (HeadStrides* each : {&batch.q, &batch.k, &batch.v, &batch.o})
    std::swap(each->batch[0], each->batch[1]);
  const auto extents = [](const Attention& op) {
    const auto made = attention_graph(op);
    return made ? made->graph.tensors[made->inputs[0]].extents : Four{};
  };
  EXPECT_EQ(extents(forward_of(heads)), by_head);
  EXPECT_EQ(extents(forward_of(batch)), by_batch);
}

}  // namespace
}  // namespace shardproof
