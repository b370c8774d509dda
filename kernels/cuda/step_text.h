#pragma once
// Steps of a fused pointwise op as text over kernels/cuda/pointwise_fns.h.
#include <functional>
#include <string>

#include "kernels/ops.h"

namespace shardproof {

/// "uint16_t" for bf16
const char* entry_type(Element element);
/// "0x2aull"
std::string hex_text(uint64_t word);
/// `text` with "NAME" replaced by `prefix` and the hash of it, which `name` becomes.
std::string named_text(std::string text, const char* prefix, std::string& name);

/// What a step computes: of registers by their names, with a variable `by_zero`. `real`: "float" or
/// "double".
std::string step_text(const PointwiseStep& step, const char* real,
                      const std::function<std::string(size_t)>& name,
                      const char* by_zero = "by_zero");
/// Entry `at` of `from`, as a register.
std::string load_text(Element element, const char* real, const std::string& from,
                      const std::string& at);
/// Entry `at` of `to` becomes a register.
std::string store_text(Element element, const std::string& to, const std::string& at,
                       const std::string& value);

}  // namespace shardproof
