#pragma once
// The instructions that kernels use. The build targets the oldest processor; the level is
// chosen when a program starts.
#include <cstdint>
#include <optional>
#include <string_view>

namespace shardproof::cpu {

/// Levels of x86-64: v2 has SSE4.2, v3 AVX2 and FMA, v4 AVX-512, bf16 its products of bf16 too, amx
/// tiles of bf16. Other processors have `baseline`.
enum class Isa : uint8_t { baseline, v2, v3, v4, bf16, amx };

/// "baseline", "x86-64-v2", ..
const char* name_of(Isa isa);
std::optional<Isa> isa_of(std::string_view name);

/// The highest level of this processor for which kernels exist.
Isa machine_isa();
/// The level in use: the machine's, or the limit.
Isa isa();
/// Kernels use at most this level from now on. To be called before the first kernel runs: a library
/// of products keeps the level that it began with.
void limit_isa(Isa most);

}  // namespace shardproof::cpu
