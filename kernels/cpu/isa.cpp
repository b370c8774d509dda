#include "kernels/cpu/isa.h"

#include <algorithm>
#include <array>
#include <vector>

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#include <cpuid.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#endif

namespace shardproof::cpu {
namespace {

constexpr std::array names{"baseline",  "neon",        "x86-64-v2", "x86-64-v3",
                           "x86-64-v4", "avx512-bf16", "amx-bf16"};
static_assert(names.size() == static_cast<size_t>(Isa::amx) + 1);

std::atomic<Isa>& limit() {
  static std::atomic<Isa> most{Isa::amx};
  return most;
}

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
/// Reads the CPUID bits: some compilers that know all other features lack names for these.
bool has_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a >> 5 & 1);
}

/// bf16 tiles; Linux grants them to a process on request.
bool has_amx() {
#ifdef __linux__
  constexpr int ask = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 22 & 1) && (d >> 24 & 1) &&
         syscall(SYS_arch_prctl, ask, tile_data) == 0;
#else
  return false;
#endif
}
#endif

Isa detected() {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
  __builtin_cpu_init();
  // Every feature that the compiled kernels may use.
  const bool v2 = __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                  __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                  __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd");
  if (v4 && has_bf16()) return has_amx() ? Isa::amx : Isa::bf16;
  return v4 ? Isa::v4 : v3 ? Isa::v3 : v2 ? Isa::v2 : Isa::baseline;
#elif defined(__aarch64__)
  return Isa::neon;  // of every aarch64
#else
  return Isa::baseline;
#endif
}

/// Processors with `highest` have these below it.
std::vector<Isa> levels_to(Isa highest) {
  std::vector<Isa> all{Isa::baseline};
  if (highest == Isa::neon) all.push_back(Isa::neon);
  for (Isa each : {Isa::v2, Isa::v3, Isa::v4, Isa::bf16, Isa::amx})
    if (each <= highest) all.push_back(each);
  return all;
}

}  // namespace

const char* name_of(Isa isa) { return names[static_cast<size_t>(isa)]; }

std::optional<Isa> isa_of(std::string_view name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return {};
  return static_cast<Isa>(found - names.begin());
}

std::span<const Isa> machine_levels() {
  static const std::vector<Isa> own = levels_to(detected());
  return own;
}

Isa machine_isa() { return machine_levels().back(); }

Isa isa() { return std::min(machine_isa(), limit().load(std::memory_order_relaxed)); }

std::atomic<bool> rounds_to_bf16 = isa() >= Isa::bf16;

void limit_isa(Isa most) {
  limit() = most;
  rounds_to_bf16 = isa() >= Isa::bf16;
}

}  // namespace shardproof::cpu
