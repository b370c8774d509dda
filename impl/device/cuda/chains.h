#pragma once
// Chains of ops on a GPU, pointwise or along rows: a kernel of its own for each, compiled when a
// plan is made.
#include <map>
#include <memory>
#include <mutex>

#include "impl/device/device.h"

namespace shardproof {

/// The kernels of one GPU that were compiled for it. The same chain is compiled once.
class Chains {
 public:
  /// "sm_90"
  explicit Chains(std::string architecture) : architecture_(std::move(architecture)) {}
  /// Throws DeviceError where NVRTC is missing or refuses the text.
  Launch prepare(const Pointwise& op);
  /// The same; empty where the op does not fit.
  Launch prepare(const Rowwise& op);

 private:
  struct Compiled;
  using CompiledPtr = std::shared_ptr<const Compiled>;
  /// Kernels of the text by their names; `wide_name` may be empty.
  CompiledPtr compiled(const std::string& source, const std::string& name,
                       const std::string& wide_name);

  const std::string architecture_;
  std::mutex mutex_;
  std::map<std::string, CompiledPtr> compiled_;  ///< by source
};

}  // namespace shardproof
