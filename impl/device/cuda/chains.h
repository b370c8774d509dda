#pragma once
// Fused chains of ops on a GPU, pointwise or row-wise: one kernel each, compiled when a plan is
// prepared.
#include <map>
#include <memory>
#include <mutex>

#include "impl/device/device.h"

namespace shardproof {

/// The kernels compiled for one GPU. Equal chains are compiled once.
class Chains {
 public:
  /// "sm_90"
  explicit Chains(std::string architecture) : architecture_(std::move(architecture)) {}
  /// Throws DeviceError if NVRTC is missing or rejects the text.
  Launch prepare(const Pointwise& op);
  /// The same; empty if the op does not fit.
  Launch prepare(const Rowwise& op);

 private:
  struct Compiled;
  using CompiledPtr = std::shared_ptr<const Compiled>;
  /// The kernels of the text by name; `wide_name` may be empty.
  CompiledPtr compiled(const std::string& source, const std::string& name,
                       const std::string& wide_name);

  const std::string architecture_;
  std::mutex mutex_;
  std::map<std::string, CompiledPtr> compiled_;  ///< by source
};

}  // namespace shardproof
