#include "impl/device/cuda/attentions.h"

#include <bit>

#include "impl/device/cuda/queue.h"
#include "kernels/cuda/fused/kernels.h"
#ifdef WITH_CUDNN
#include "impl/device/cudnn/library.h"
#include "impl/device/cudnn/plan.h"
#endif

namespace shardproof {

#ifdef WITH_CUDNN

/// Its stream is set for one launch at a time.
struct Attentions::Handle {
  explicit Handle(int ordinal) {
    check_cuda(cudaSetDevice(ordinal), "GPU " + std::to_string(ordinal));
    cudnn::check(cudnn::library().create(&handle), "cuDNN");
  }
  ~Handle() {
    if (handle) cudnn::library().destroy(handle);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  cudnnHandle_t handle = nullptr;
  std::mutex mutex;
};

struct Attentions::Compiled {
  Compiled(std::shared_ptr<Handle> of, const TensorGraph& graph)
      : handle(std::move(of)), plan(graph, {.handle = handle->handle}) {}
  std::shared_ptr<Handle> handle;  ///< outlives the plan
  cudnn::Plan plan;
};

namespace {

/// Equal for equal graphs.
std::vector<int64_t> key_of(const TensorGraph& graph) {
  std::vector<int64_t> key;
  for (const GraphTensor& each : graph.tensors) {
    key.push_back(static_cast<int64_t>(each.kind) << 8 | static_cast<int64_t>(each.element));
    key.insert(key.end(), each.extents.begin(), each.extents.end());
    key.insert(key.end(), each.strides.begin(), each.strides.end());
    key.push_back(std::bit_cast<int32_t>(each.number));
  }
  for (const GraphOp& op : graph.ops) {
    key.push_back(static_cast<int64_t>(op.fn) << 8 | op.axis);
    key.insert(key.end(), op.arguments.begin(), op.arguments.end());
    key.push_back(static_cast<int64_t>(op.result));
  }
  return key;
}

}  // namespace

Attentions::Attentions(int ordinal, AttentionOf whose)
    : ordered_(whose != AttentionOf::library_unordered) {
  if (whose == AttentionOf::own) {
    missing_ = "no library was asked for";
    return;
  }
  missing_ = cudnn::library().missing;
  if (!missing_.empty()) return;
  try {
    handle_ = std::make_shared<Handle>(ordinal);
  } catch (const DeviceError& error) {  // found, and unfit: of another CUDA, or a part of it lacks
    missing_ = error.what();
  }
}

std::shared_ptr<const Attentions::Compiled> Attentions::compiled(const AttentionCall& call) {
  if (!handle_) return nullptr;
  const std::lock_guard lock(mutex_);
  const auto [entry, is_new] = compiled_.try_emplace(key_of(call.graph()));
  if (!is_new) return entry->second;
  try {
    entry->second = std::make_shared<const Compiled>(handle_, call.graph());
  } catch (const DeviceError& error) {
    refused_ = error.what();
  }
  return entry->second;
}

Launch Attentions::prepare(const FusedOp& op, const Launch& own) {
  const std::optional<AttentionCall> found = AttentionCall::of(op, ordered_);
  if (!found) return {};
  const std::shared_ptr<const Compiled> made = compiled(*found);
  if (!made) return {};
  return [made, call = *found, own](Queue& queue, std::span<void* const> outputs,
                                    std::span<const void* const> inputs) {
    if (!call.takes(outputs, inputs)) return own(queue, outputs, inputs);
    const AttentionCall::Arrays arrays = call.arrays(outputs, inputs);
    const cuda::Stream stream = static_cast<StreamQueue&>(queue).launch_on();
    for (const std::span<std::byte> each : arrays.zeroed)
      check_cuda(cudaMemsetAsync(each.data(), 0, each.size(), stream.handle), "a sum's zeros");
    if (const auto& bias = call.bias())
      cuda::to_bias(stream, call.shape(), bias->batch, bias->stride, arrays.mask, arrays.bias);
    if (call.is_gradient()) cuda::to_logs(stream, call.shape(), arrays.stats, arrays.log_sum_exps);
    {
      const std::lock_guard lock(made->handle->mutex);
      cudnn::check(cudnn::library().set_stream(made->handle->handle, stream.handle), "a stream");
      made->plan.execute(made->handle->handle, arrays.tensors, arrays.workspace);
    }
    if (!call.is_gradient())
      cuda::from_logs(stream, call.shape(), arrays.log_sum_exps, arrays.stats);
  };
}

std::optional<size_t> Attentions::scratch(const FusedOp& op) {
  const std::optional<AttentionCall> call = AttentionCall::of(op, ordered_);
  const std::shared_ptr<const Compiled> made = call ? compiled(*call) : nullptr;
  if (!made) return std::nullopt;
  return call->scratch(made->plan.workspace());
}

std::string Attentions::notes() const {
  const std::lock_guard lock(mutex_);
  if (!handle_) return "attention: own kernels (" + missing_ + ")";
  const std::string refused = refused_.empty() ? "" : "; cuDNN refused one: " + refused_;
  return "attention: " + cudnn::described() + (ordered_ ? "" : " in any order") +
         " for bf16 under a causal mask, of segments too, else own kernels" + refused;
}

#else

struct Attentions::Handle {};
struct Attentions::Compiled {};

Attentions::Attentions(int, AttentionOf) : ordered_(true), missing_("built without cuDNN") {}
std::shared_ptr<const Attentions::Compiled> Attentions::compiled(const AttentionCall&) {
  return nullptr;
}
Launch Attentions::prepare(const FusedOp&, const Launch&) { return {}; }
std::optional<size_t> Attentions::scratch(const FusedOp&) { return std::nullopt; }
std::string Attentions::notes() const { return "attention: own kernels (" + missing_ + ")"; }

#endif

Attentions::~Attentions() = default;

}  // namespace shardproof
