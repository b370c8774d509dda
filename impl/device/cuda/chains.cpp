#include "impl/device/cuda/chains.h"

#include <algorithm>

#include "impl/device/cuda/queue.h"
#include "kernels/cuda/generate.h"
#include "kernels/cuda/nvrtc.h"

namespace shardproof {
namespace {

/// Enough blocks to fill any GPU; each shares out its items.
constexpr int64_t most_blocks = 4096;

bool is_aligned(const void* pointer) { return reinterpret_cast<uintptr_t>(pointer) % 16 == 0; }

}  // namespace

struct Chains::Compiled {
  std::string cubin;
  cudaLibrary_t library = nullptr;
  cudaKernel_t any = nullptr, wide = nullptr;
  ~Compiled() { cudaLibraryUnload(library); }
};

Launch Chains::prepare(const Pointwise& op) {
  const Generated text = generate(op);
  if (text.items == 0) return [](Queue&, std::span<void* const>, std::span<const void* const>) {};
  std::shared_ptr<const Compiled> kernels;
  {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<const Compiled>& known = compiled_[text.source];
    if (!known) {
      auto made = std::make_shared<Compiled>();
      try {
        made->cubin = nvrtc_compile(text.source, architecture_);
      } catch (const std::exception& error) {
        throw DeviceError(error.what());
      }
      check_cuda(cudaLibraryLoadData(&made->library, made->cubin.data(), nullptr, nullptr, 0,
                                     nullptr, nullptr, 0),
                 "loading a compiled chain");
      check_cuda(cudaLibraryGetKernel(&made->any, made->library, text.name.c_str()), text.name);
      if (!text.wide_name.empty())
        check_cuda(cudaLibraryGetKernel(&made->wide, made->library, text.wide_name.c_str()),
                   text.wide_name);
      known = std::move(made);
    }
    kernels = known;
  }
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
    const auto blocks = static_cast<unsigned>(
        std::min<int64_t>((count + Generated::threads - 1) / Generated::threads, most_blocks));
    check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(wide ? kernels->wide : kernels->any),
                                dim3(blocks), dim3(Generated::threads), arguments.data(), 0,
                                stream.handle),
               "launching a chain");
  };
}

}  // namespace shardproof
