#pragma once
// The steps of a fused pointwise op as source text over kernels/cuda/pointwise_fns.h.
#include <functional>
#include <string>

#include "kernels/ops.h"

namespace shardproof {

/// "uint16_t" for bf16.
const char* entry_type(Element element);
/// "0x2aull".
std::string hex_text(uint64_t word);
/// Replaces "NAME" in `text` by `prefix` plus the hash of `text`, and stores that in `name`.
std::string named_text(std::string text, const char* prefix, std::string& name);

/// The expression of a step over named registers; it may use a variable `by_zero`. `real`: "float"
/// or "double".
std::string step_text(const PointwiseStep& step, const char* real,
                      const std::function<std::string(size_t)>& name,
                      const char* by_zero = "by_zero");
/// The expression that loads entry `at` of `from` into a register.
std::string load_text(Element element, const char* real, const std::string& from,
                      const std::string& at);
/// The statement that stores a register in entry `at` of `to`.
std::string store_text(Element element, const std::string& to, const std::string& at,
                       const std::string& value);

}  // namespace shardproof
