#pragma once
// Attention by cuDNN, if it is installed and supports the op.
#include <map>
#include <mutex>

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/graph/attention_call.h"

namespace shardproof {

/// The graphs that cuDNN has compiled for one GPU; equal graphs are compiled once.
class Attentions {
 public:
  Attentions(int ordinal, AttentionOf whose);
  ~Attentions();
  /// Empty if cuDNN does not support the op. Launches `own` if an array is not aligned.
  Launch prepare(const FusedOp& op, const Launch& own);
  /// Bytes of scratch in addition to the op's own; none if cuDNN does not support the op.
  std::optional<size_t> scratch(const FusedOp& op);
  /// Which implementation computes attention, and why.
  std::string notes() const;

 private:
  struct Handle;
  struct Compiled;
  std::shared_ptr<const Compiled> compiled(const AttentionCall& call);

  const bool ordered_;
  std::shared_ptr<Handle> handle_;
  std::string missing_;  ///< why there is no handle
  mutable std::mutex mutex_;
  std::map<std::vector<int64_t>, std::shared_ptr<const Compiled>> compiled_;  ///< null: it cannot
  std::string refused_;  ///< cuDNN's message for the last unsupported graph
};

}  // namespace shardproof
