#include "kernels/cpu/isa.h"

#include <algorithm>
#include <array>
#include <atomic>

namespace shardproof::cpu {
namespace {

constexpr std::array names{"baseline", "x86-64-v2", "x86-64-v3", "x86-64-v4"};

std::atomic<Isa>& limit() {
  static std::atomic<Isa> most{Isa::v4};
  return most;
}

Isa detected() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  // All of each that the compiled kernels may use.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd");
  return v4 ? Isa::v4 : v3 ? Isa::v3 : v2 ? Isa::v2 : Isa::baseline;
#else
  return Isa::baseline;
#endif
}

}  // namespace

const char* name_of(Isa isa) { return names[static_cast<size_t>(isa)]; }

std::optional<Isa> isa_of(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<Isa>(found - names.begin());
}

Isa machine_isa() {
  static const Isa own = detected();
  return own;
}

Isa isa() { return std::min(machine_isa(), limit().load(std::memory_order_relaxed)); }

void limit_isa(Isa most) { limit() = most; }

}  // namespace shardproof::cpu
