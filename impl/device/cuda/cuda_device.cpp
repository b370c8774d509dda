#include "impl/device/cuda/cuda_device.h"

#include "impl/device/cuda/attentions.h"
#include "impl/device/cuda/chains.h"
#include "impl/device/cuda/products.h"
#include "impl/device/cuda/queue.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/kernels.h"

namespace shardproof {
namespace {

constexpr size_t workspace_bytes = 32 << 20;  ///< what cuBLAS's documentation asks for on Hopper

class CudaGraph : public Graph {
 public:
  explicit CudaGraph(cudaGraph_t graph) : graph_(graph) {
    check_cuda(cudaGraphInstantiate(&executable_, graph_, 0), "a graph of the step");
  }
  ~CudaGraph() override {
    cudaGraphExecDestroy(executable_);
    cudaGraphDestroy(graph_);
  }
  void run(Queue& queue) override {
    check_cuda(cudaGraphLaunch(executable_, static_cast<StreamQueue&>(queue).launch_on().handle),
               "launching the step");
  }

 private:
  cudaGraph_t graph_;
  cudaGraphExec_t executable_ = nullptr;
};

class CudaDevice : public Device {
 public:
  CudaDevice(int ordinal, AttentionOf attention, bool records, ProductsBy products)
      : ordinal_(ordinal),
        records_(records),
        properties_(cuda_properties(ordinal)),
        name_("cuda:" + std::to_string(ordinal) + " " + properties_.name),
        chains_("sm_" + std::to_string(properties_.major) + std::to_string(properties_.minor)),
        attentions_(std::make_unique<Attentions>(ordinal, attention)) {
    activate();
    products_ = std::make_unique<Products>(workspace_bytes, products == ProductsBy::clock);
  }

  std::string name() const override { return name_; }

  Buffer allocate(size_t bytes) override {
    activate();
    return device_memory(bytes, "allocating " + std::to_string(bytes) + " bytes of " + name_);
  }

  std::unique_ptr<Queue> queue() override {
    auto queue = std::make_unique<StreamQueue>(ordinal_, events_);
    queue->set_workspace(allocate(workspace_bytes));
    return queue;
  }

  void copy_from_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    move(queue, to, from, bytes, cudaMemcpyHostToDevice);
  }
  void copy_to_host(Queue& queue, void* to, const void* from, size_t bytes) override {
    move(queue, to, from, bytes, cudaMemcpyDeviceToHost);
    queue.finish();
  }

  void copy(Queue& queue, void* to, const void* from, size_t bytes) override {
    move(queue, to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void reduce_ranks(Queue& queue, Element element, Reduction reduction, const void* const* sources,
                    int n, void* out, size_t count) override {
    cuda::reduce_ranks(static_cast<StreamQueue&>(queue).launch_on(), element, reduction, sources, n,
                       out, count);
  }
  bool multiplies(Element c, Element a, Element b) const override {
    return gpu_multiplies(c, a, b);
  }

  Launch prepare(const KernelOp& op) override {
    activate();
    if (const auto* product = std::get_if<Matmul>(&op)) return products_->prepare(*product);
    if (const auto* chain = std::get_if<Pointwise>(&op)) return chains_.prepare(*chain);
    return std::visit([](const auto& kernel) { return launch_of(kernel); }, op);
  }

  Launch prepare_fused(const FusedOp& op) const override {
    if (!on_gpus(op)) return {};
    if (const auto* product = std::get_if<BiasedProduct>(&op)) {
      activate();
      return products_->prepare(*product);
    }
    if (const auto* rowwise = std::get_if<Rowwise>(&op)) {
      activate();
      return chains_.prepare(*rowwise);
    }
    const Launch own = [op](Queue& queue, std::span<void* const> outputs,
                            std::span<const void* const> inputs) {
      cuda::run(static_cast<StreamQueue&>(queue).launch_on(), op, outputs.data(), inputs.data());
    };
    const Launch library = attentions_->prepare(op, own);
    return library ? library : own;
  }
  bool has_fused(const FusedOp& op) const override {
    return std::holds_alternative<Rowwise>(op) ? on_gpus(op) : bool(prepare_fused(op));
  }
  std::vector<size_t> fused_scratch(const FusedOp& op) const override {
    std::vector<size_t> bytes = scratch_bytes(op);
    if (const auto more = attentions_->scratch(op)) bytes.push_back(*more);
    return bytes;
  }
  std::string notes() const override { return attentions_->notes(); }

  std::unique_ptr<Graph> record(Queue& queue, const std::function<void()>& work) override {
    if (!records_) return nullptr;
    const cudaStream_t stream = static_cast<StreamQueue&>(queue).launch_on().handle;
    // Relaxed: libraries load kernels at their first launch, which would otherwise invalidate the
    // capture.
    check_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), "recording a step");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      if (cudaStreamEndCapture(stream, &graph) == cudaSuccess) cudaGraphDestroy(graph);
      cudaGetLastError();
      throw;
    }
    check_cuda(cudaStreamEndCapture(stream, &graph), "recording a step");
    return std::make_unique<CudaGraph>(graph);
  }

 private:
  void activate() const { check_cuda(cudaSetDevice(ordinal_), "GPU " + std::to_string(ordinal_)); }

  /// For pageable host memory, CUDA has finished reading it when this returns.
  static void move(Queue& queue, void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
    if (bytes == 0) return;
    check_cuda(
        cudaMemcpyAsync(to, from, bytes, kind, static_cast<StreamQueue&>(queue).launch_on().handle),
        "copying " + std::to_string(bytes) + " bytes");
  }

  template <class Op>
  static Launch launch_of(const Op& op) {
    if constexpr (std::is_same_v<Op, Matmul> || std::is_same_v<Op, Pointwise>) {
      throw std::logic_error("products are cuBLASLt's, and chains are compiled");
    } else {
      return
          [op](Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
            cuda::run(static_cast<StreamQueue&>(queue).launch_on(), op, outputs[0], inputs.data());
          };
    }
  }

  const int ordinal_;
  const bool records_;
  const CudaProperties properties_;
  const std::string name_;
  mutable Chains chains_;  ///< caches compiled kernels
  const std::unique_ptr<Attentions> attentions_;
  std::shared_ptr<EventPool> events_ = std::make_shared<EventPool>();
  std::unique_ptr<Products> products_;
};

}  // namespace

int cuda_device_count(std::string* why) {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess) return count;
  cudaGetLastError();
  if (why) *why = cudaGetErrorString(error);
  return 0;
}

CudaProperties cuda_properties(int ordinal) {
  cudaDeviceProp found{};
  check_cuda(cudaGetDeviceProperties(&found, ordinal), "GPU " + std::to_string(ordinal));
  CudaProperties properties{
      found.name, found.major, found.minor, found.multiProcessorCount, found.totalGlobalMem, 0, 0};
  check_cuda(cudaDriverGetVersion(&properties.driver), "the driver's version");
  check_cuda(cudaRuntimeGetVersion(&properties.runtime), "CUDA's version");
  return properties;
}

size_t cuda_free_bytes(int ordinal) {
  size_t free = 0, all = 0;
  check_cuda(cudaSetDevice(ordinal), "GPU " + std::to_string(ordinal));
  check_cuda(cudaMemGetInfo(&free, &all), "the memory of GPU " + std::to_string(ordinal));
  return free;
}

std::shared_ptr<Device> cuda_device(int ordinal, AttentionOf attention, bool records,
                                    ProductsBy products) {
  return std::make_shared<CudaDevice>(ordinal, attention, records, products);
}

}  // namespace shardproof
