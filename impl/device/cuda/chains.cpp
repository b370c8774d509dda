#include "impl/device/cuda/chains.h"

#include <algorithm>

#include "impl/device/cuda/queue.h"
#include "kernels/cuda/fused/kernels.h"
#include "kernels/cuda/generate.h"
#include "kernels/cuda/generate_rows.h"
#include "kernels/cuda/nvrtc.h"
#include "kernels/cuda/row_launch.h"

namespace shardproof {
namespace {

/// Enough blocks to fill any GPU; the blocks divide the items.
constexpr int64_t most_chain_blocks = 4096;

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

void launch_chain(cudaKernel_t kernel, int64_t blocks, int64_t threads, size_t shared_bytes,
                  void** arguments, cudaStream_t stream) {
  check_cuda(
      cudaLaunchKernel(reinterpret_cast<const void*>(kernel), dim3(static_cast<unsigned>(blocks)),
                       dim3(static_cast<unsigned>(threads)), arguments, shared_bytes, stream),
      "launching a chain");
}

}  // namespace

struct Chains::Compiled {
  std::string cubin;
  cudaLibrary_t library = nullptr;
  cudaKernel_t any = nullptr, wide = nullptr;
  ~Compiled() { cudaLibraryUnload(library); }
};

Chains::CompiledPtr Chains::compiled(const std::string& source, const std::string& name,
                                     const std::string& wide_name) {
  const std::lock_guard lock(mutex_);
  CompiledPtr& known = compiled_[source];
  if (known) return known;
  auto made = std::make_shared<Compiled>();
  try {
    made->cubin = nvrtc_compile(source, architecture_);
  } catch (const std::exception& error) {
    throw DeviceError(error.what());
  }
  check_cuda(cudaLibraryLoadData(&made->library, made->cubin.data(), nullptr, nullptr, 0, nullptr,
                                 nullptr, 0),
             "loading a compiled chain");
  check_cuda(cudaLibraryGetKernel(&made->any, made->library, name.c_str()), name);
  if (!wide_name.empty())
    check_cuda(cudaLibraryGetKernel(&made->wide, made->library, wide_name.c_str()), wide_name);
  known = std::move(made);
  return known;
}

Launch Chains::prepare(const Pointwise& op) {
  const Generated text = generate(op);
  if (text.items == 0) return [](Queue&, std::span<void* const>, std::span<const void* const>) {};
  const CompiledPtr kernels = compiled(text.source, text.name, text.wide_name);
  return [kernels, items = text.items, wide_items = text.wide_items](
             Queue& queue, std::span<void* const> outputs, std::span<const void* const> inputs) {
    const auto stream = static_cast<StreamQueue&>(queue).launch_on();
    const bool wide = kernels->wide && is_aligned(outputs[0]) &&
                      std::all_of(inputs.begin(), inputs.end(), is_aligned);
    void* out = outputs[0];
    std::vector<const void*> pointers(inputs.begin(), inputs.end());
    std::vector<void*> arguments{&out};
    for (const void*& pointer : pointers) arguments.push_back(&pointer);
    Fault* fault = stream.fault;
    int64_t step = stream.step;
    arguments.push_back(&fault);
    arguments.push_back(&step);
    const int64_t count = wide ? wide_items : items;
    const int64_t blocks =
        std::min((count + Generated::threads - 1) / Generated::threads, most_chain_blocks);
    launch_chain(wide ? kernels->wide : kernels->any, blocks, Generated::threads, 0,
                 arguments.data(), stream.handle);
  };
}

Launch Chains::prepare(const Rowwise& op) {
  if (!fits(op)) return {};
  const GeneratedRows text = generate(op);
  const CompiledPtr kernels = compiled(text.source, text.name, text.wide_name);
  return [kernels, op, shape = text.shape](Queue& queue, std::span<void* const> outputs,
                                           std::span<const void* const> inputs) {
    const auto stream = static_cast<StreamQueue&>(queue).launch_on();
    cuda::RowOperands operands =
        cuda::row_operands(stream, op, shape, outputs.data(), inputs.data());
    const bool wide = cuda::takes_wide(op, shape, operands);
    void* arguments[] = {&operands};
    launch_chain(wide ? kernels->wide : kernels->any, shape.blocks_of(wide ? shape.wide : 1),
                 RowShape::threads, shape.shared_bytes(), arguments, stream.handle);
    if (shape.columns) cuda::sum_columns(stream, op, shape, outputs.data());
  };
}

}  // namespace shardproof
