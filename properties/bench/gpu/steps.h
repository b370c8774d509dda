#pragma once
#include <nlohmann/json.hpp>

#include "impl/device/device.h"
#include "impl/program.h"
#include "properties/bench/gpu/ceiling.h"

namespace shardproof::bench {

/// The training step of a model of spec/models on one rank.
struct StepCase {
  std::string config;
  int64_t length = 1024;  ///< of a sequence; a batch has as many tokens as the config's
};

/// {"tokens_per_s", "tflops", "share_of_matmul", "bytes", ..}: forward, backward and AdamW, weights
/// drawn by the model's init, tokens at random. FLOPs: those of the plan's products, and of
/// attention the half that a causal mask leaves. `used`: the bytes of the device that the plan and
/// what it keeps have taken, asked while they are there. `profile`: the time of each op, of a run
/// that waits for every one, and "gaps": where it is furthest above the ceiling.
nlohmann::json step(const Program& program, const StepCase& one,
                    const std::shared_ptr<Device>& device, const Speed& peak, bool profile,
                    const std::function<size_t()>& used);

/// The same plan's ceiling(), "plan_bytes" and "tokens_per_s" at best: it is made for a GPU that
/// need not be there.
nlohmann::json planned_step(const Program& program, const StepCase& one, const Speed& peak);

}  // namespace shardproof::bench
