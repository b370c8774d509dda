#include "impl/device/graph/attention_call.h"

#include <algorithm>
#include <utility>

namespace shardproof {
namespace {

constexpr size_t alignment = 256;

size_t rounded(size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// The inputs of the op that the graph reads. The mask is known or becomes a bias; log-sum-exps are
/// converted.
std::vector<size_t> inputs_of(bool is_gradient) {
  return is_gradient ? std::vector<size_t>{0, 1, 2, 3, 5} : std::vector<size_t>{0, 1, 2};
}

bool is_aligned(const void* array) { return reinterpret_cast<uintptr_t>(array) % 16 == 0; }

}  // namespace

std::optional<AttentionCall> AttentionCall::of(const FusedOp& op, bool ordered) {
  if (const auto* forward = std::get_if<Attention>(&op))
    if (auto graph = attention_graph(*forward))
      return AttentionCall(std::move(*graph), *forward, false, ordered);
  if (const auto* gradient = std::get_if<AttentionGrad>(&op))
    if (auto graph = attention_graph(*gradient, ordered))
      return AttentionCall(std::move(*graph), *gradient, true, ordered);
  return std::nullopt;
}

size_t AttentionCall::usual_workspace() const {
  size_t bytes = alignment;
  const auto tiles = [](int64_t count, int64_t tile) { return (count + tile - 1) / tile * tile; };
  if (is_gradient_ && shape_.group > 1)
    bytes += static_cast<size_t>(4 * shape_.batches() * shape_.rows() * shape_.width);
  if (is_gradient_ && ordered_)
    bytes += static_cast<size_t>(2 * shape_.batches() * shape_.group * tiles(shape_.queries, 64) *
                                 tiles(shape_.keys, 128));
  return bytes;
}

size_t AttentionCall::scratch(size_t workspace) const {
  size_t bytes = rounded(log_sum_exp_bytes(shape_)) + rounded(workspace);
  for (const AttentionGraph::Scratch& each : own_.scratch) bytes += rounded(each.bytes);
  if (own_.bias) bytes += rounded(own_.bias->bytes(shape_));
  return bytes;
}

AttentionCall::Arrays AttentionCall::arrays(std::span<void* const> outputs,
                                            std::span<const void* const> inputs) const {
  Arrays made;
  made.tensors.resize(own_.graph.tensors.size());
  const std::vector<size_t> read = inputs_of(is_gradient_);
  for (size_t i = 0; i < read.size(); ++i)
    made.tensors[own_.inputs[i]] = const_cast<void*>(inputs[read[i]]);
  for (size_t i = 0; i < own_.outputs.size(); ++i) made.tensors[own_.outputs[i]] = outputs[i];
  made.stats = static_cast<float*>(is_gradient_ ? const_cast<void*>(inputs[6])
                                                : outputs[own_.outputs.size()]);

  auto* next = static_cast<std::byte*>(outputs[scratch_output()]);
  const auto take = [&](size_t bytes) { return std::exchange(next, next + rounded(bytes)); };
  made.log_sum_exps = reinterpret_cast<float*>(take(log_sum_exp_bytes(shape_)));
  made.tensors[own_.log_sum_exps] = made.log_sum_exps;
  for (const AttentionGraph::Scratch& each : own_.scratch) {
    std::byte* memory = take(each.bytes);
    made.tensors[each.tensor] = memory;
    if (each.zeroed) made.zeroed.push_back({memory, each.bytes});
  }
  if (own_.bias) {
    made.mask = static_cast<const uint8_t*>(inputs[is_gradient_ ? 4 : 3]);
    made.tensors[own_.bias->tensor] = take(own_.bias->bytes(shape_));
    made.bias = static_cast<uint16_t*>(made.tensors[own_.bias->tensor]);
  }
  made.workspace = next;
  return made;
}

bool AttentionCall::takes(std::span<void* const> outputs,
                          std::span<const void* const> inputs) const {
  const std::vector<size_t> read = inputs_of(is_gradient_);
  return std::all_of(read.begin(), read.end(), [&](size_t i) { return is_aligned(inputs[i]); }) &&
         std::all_of(outputs.begin(),
                     outputs.begin() + static_cast<std::ptrdiff_t>(own_.outputs.size()),
                     is_aligned);
}

std::vector<size_t> usual_scratch(const FusedOp& op, bool ordered) {
  std::vector<size_t> bytes = scratch_bytes(op);
  if (const auto call = AttentionCall::of(op, ordered))
    bytes.push_back(call->scratch(call->usual_workspace()));
  return bytes;
}

}  // namespace shardproof
