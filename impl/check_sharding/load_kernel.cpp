#include "impl/check_sharding/load_kernel.h"

#include <dlfcn.h>

#include <cstring>

#include "impl/check_sharding/fenced.h"
#include "impl/check_sharding/kernel.h"
#include "kernels/element.h"

namespace shardproof::check_sharding {
namespace {

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

size_t bytes_of(const LocalTensor& tensor) {
  return static_cast<size_t>(tensor.count()) * size_of(tensor.element);
}

/// "its output 1" if that is where the address is, or beside it.
std::string place_of(const void* address, const std::vector<Fenced>& outputs,
                     const std::vector<Fenced>& inputs) {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].holds(address)) return " beside its output " + std::to_string(i);
  for (size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].holds(address)) return " beside its input " + std::to_string(i);
  return " that is not of its tensors";
}

Stop call(shardproof_kernel* kernel, const Mesh& mesh, int64_t rank,
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
  return run_until_signal([&] {
    return kernel(&place, out.data(), static_cast<int32_t>(out.size()), in.data(),
                  static_cast<int32_t>(in.size()));
  });
}

void run_kernel(shardproof_kernel* kernel, const Mesh& mesh, int64_t rank,
                const std::vector<LocalTensor>& inputs, std::vector<LocalTensor>& outputs) {
  std::vector<Fenced> given, made;
  std::vector<Seen> seen_inputs, seen_outputs;
  for (const LocalTensor& each : inputs) {
    given.emplace_back(bytes_of(each));
    std::memcpy(given.back().data(), each.buffer.data(), bytes_of(each));
    seen_inputs.emplace_back(each, given.back().data());
  }
  for (const LocalTensor& each : outputs) {
    made.emplace_back(bytes_of(each));
    seen_outputs.emplace_back(each, made.back().data());
  }
  const Stop stop = call(kernel, mesh, rank, seen_outputs, seen_inputs);
  if (stop.of_memory())
    throw beside::KernelFault("the kernel reads or writes memory" +
                              place_of(stop.address, made, given));
  if (stop.signal != 0)
    throw beside::KernelFault(std::string("the kernel is stopped: ") + strsignal(stop.signal));
  if (stop.code != 0) throw beside::KernelFault("the kernel returns " + std::to_string(stop.code));
  for (size_t i = 0; i < inputs.size(); ++i)
    if (std::memcmp(given[i].data(), inputs[i].buffer.data(), bytes_of(inputs[i])) != 0)
      throw beside::KernelFault("the kernel changes its input " + std::to_string(i));
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (made[i].written_beside())
      throw beside::KernelFault("the kernel writes outside its output " + std::to_string(i));
    std::memcpy(outputs[i].buffer.data(), made[i].data(), bytes_of(outputs[i]));
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
