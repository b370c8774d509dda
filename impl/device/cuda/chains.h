#pragma once
// Pointwise chains on a GPU: a kernel of its own for each, compiled when a plan is made.
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

 private:
  struct Compiled;
  const std::string architecture_;
  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Compiled>> compiled_;  ///< by source
};

}  // namespace shardproof
