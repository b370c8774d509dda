#pragma once
// Attention by cuDNN, where it is found and has the op.
#include <map>
#include <mutex>

#include "impl/device/cuda/cuda_device.h"
#include "impl/device/graph/attention_call.h"

namespace shardproof {

/// The graphs of one GPU that cuDNN has compiled for it; the same graph is compiled once.
class Attentions {
 public:
  Attentions(int ordinal, AttentionOf whose);
  ~Attentions();
  /// Empty where cuDNN does not have the op. `own` is launched where an array is not aligned.
  Launch prepare(const FusedOp& op, const Launch& own);
  /// Bytes of scratch after the op's own; none where cuDNN does not have the op.
  std::optional<size_t> scratch(const FusedOp& op);
  /// Which attention is whose, and why.
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
  std::string refused_;  ///< what cuDNN said of the last graph that it cannot
};

}  // namespace shardproof
