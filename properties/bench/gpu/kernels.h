#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "impl/device/device.h"

namespace shardproof::bench {

/// What everything else is a share of, as this GPU does it: {"matmul_tflops", "copy_tb_per_s"}. A
/// product of 8192 by 8192 bf16 matrices of random entries; a copy of 2 GiB, read and written.
nlohmann::json peaks(Device& device);

/// Fused kernels and compiled chains as shares of the copy's bandwidth, attention in TFLOP/s: all
/// rows so far to `save`, after each.
void kernels(Device& device, const nlohmann::json& peaks,
             const std::function<void(const nlohmann::json&)>& save);

}  // namespace shardproof::bench
