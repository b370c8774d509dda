#pragma once
// The instruction sets that kernels use. The build targets the oldest processor; the level is
// chosen at program start.
#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace shardproof::cpu {

/// aarch64 has `neon`. Levels of x86-64: v2: SSE4.2. v3: AVX2 and FMA. v4: AVX-512. bf16: also
/// AVX-512 products of bf16. amx: also bf16 tiles. Every processor has `baseline`.
enum class Isa : uint8_t { baseline, neon, v2, v3, v4, bf16, amx };

/// "baseline", "neon", "x86-64-v2", ..
const char* name_of(Isa isa);
std::optional<Isa> isa_of(std::string_view name);

/// The levels of this processor for which there are kernels, lowest first.
std::span<const Isa> machine_levels();
/// The highest of them.
Isa machine_isa();
/// The level in use: the processor's level, or the limit if that is lower.
Isa isa();
/// Limits kernels to this level. Call it before the first kernel runs: oneDNN keeps the level of
/// its first product.
void limit_isa(Isa most);
/// Whether isa() has an instruction that rounds to bf16; for inner loops.
extern std::atomic<bool> rounds_to_bf16;

}  // namespace shardproof::cpu
