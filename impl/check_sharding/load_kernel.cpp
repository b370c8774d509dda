#include "impl/check_sharding/load_kernel.h"

#include <dlfcn.h>

#include <cstring>

#include "impl/check_sharding/kernel.h"
#include "kernels/element.h"

namespace shardproof::check_sharding {
namespace {

constexpr size_t guard = 64;                 ///< bytes before and after an output
constexpr auto unwritten = std::byte{0xff};  ///< NaN in f64, f32 and bf16

/// A tensor in the C interface; refers to the bytes.
struct Seen {
  std::vector<int64_t> extents, strides;
  shardproof_tensor tensor;

  Seen(const LocalTensor& of, std::byte* bytes)
      : extents(of.extents), strides(row_major(of.extents)) {
    tensor = {bytes, name_of(of.element), static_cast<int32_t>(extents.size()), extents.data(),
              strides.data()};
  }
  Seen(Seen&& other) noexcept
      : extents(std::move(other.extents)), strides(std::move(other.strides)), tensor(other.tensor) {
    tensor.extents = extents.data(), tensor.strides = strides.data();
  }
};

std::vector<std::byte> bytes_of(const LocalTensor& tensor) {
  const size_t size = static_cast<size_t>(tensor.count()) * size_of(tensor.element);
  return {tensor.buffer.data(), tensor.buffer.data() + size};
}

void call(shardproof_kernel* kernel, const Mesh& mesh, int64_t rank,
          const std::vector<Seen>& outputs, const std::vector<Seen>& inputs) {
  std::vector<const char*> names;
  std::vector<int64_t> sizes, index;
  for (const auto& [axis, size] : mesh.axes()) {
    names.push_back(axis.c_str());
    sizes.push_back(size);
    index.push_back(mesh.digit(rank, axis));
  }
  std::vector<shardproof_tensor> out, in;
  for (const Seen& each : outputs) out.push_back(each.tensor);
  for (const Seen& each : inputs) in.push_back(each.tensor);
  const shardproof_rank place{static_cast<int32_t>(names.size()), names.data(), sizes.data(),
                              index.data()};
  const int code = kernel(&place, out.data(), static_cast<int32_t>(out.size()), in.data(),
                          static_cast<int32_t>(in.size()));
  if (code != 0) throw beside::KernelFault("the kernel returns " + std::to_string(code));
}

void run_kernel(shardproof_kernel* kernel, const Mesh& mesh, int64_t rank,
                const std::vector<LocalTensor>& inputs, std::vector<LocalTensor>& outputs) {
  std::vector<std::vector<std::byte>> given, made;
  std::vector<Seen> seen_inputs, seen_outputs;
  for (const LocalTensor& each : inputs) given.push_back(bytes_of(each));
  for (size_t i = 0; i < inputs.size(); ++i) seen_inputs.emplace_back(inputs[i], given[i].data());
  for (const LocalTensor& each : outputs)
    made.emplace_back(bytes_of(each).size() + 2 * guard, unwritten);
  for (size_t i = 0; i < outputs.size(); ++i)
    seen_outputs.emplace_back(outputs[i], made[i].data() + guard);
  call(kernel, mesh, rank, seen_outputs, seen_inputs);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (given[i] != bytes_of(inputs[i]))
      throw beside::KernelFault("the kernel changes its input " + std::to_string(i));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const size_t size = made[i].size() - 2 * guard;
    for (size_t k = 0; k < guard; ++k)
      if (made[i][k] != unwritten || made[i][guard + size + k] != unwritten)
        throw beside::KernelFault("the kernel writes outside its output " + std::to_string(i));
    std::memcpy(outputs[i].buffer.data(), made[i].data() + guard, size);
  }
}

}  // namespace

beside::Kernel load_kernel(const std::string& name, const std::string& path) {
  // A path without a slash would be searched in the system's folders.
  const std::string from = path.find('/') == std::string::npos ? "./" + path : path;
  void* library = dlopen(from.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw std::runtime_error(dlerror());
  void* symbol = dlsym(library, name.c_str());
  if (!symbol) throw std::runtime_error(path + " has no function " + name);
  auto* kernel = reinterpret_cast<shardproof_kernel*>(symbol);
  return [kernel](const Mesh& mesh, int64_t rank, const std::vector<LocalTensor>& inputs,
                  std::vector<LocalTensor>& outputs) {
    run_kernel(kernel, mesh, rank, inputs, outputs);
  };
}

}  // namespace shardproof::check_sharding
