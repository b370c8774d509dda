#pragma once
// Picks a table of functions from the namespaces in which Highway's foreach_target compiled it. For
// files that it compiles, after their last pass.
#include <hwy/highway.h>

#if HWY_TARGETS & HWY_AVX3
#define SHARDPROOF_AT_V4(isa, table) \
  if (isa >= Isa::v4) return &N_AVX3::table;
#else
#define SHARDPROOF_AT_V4(isa, table)
#endif
#if HWY_TARGETS & HWY_AVX2
#define SHARDPROOF_AT_V3(isa, table) \
  if (isa == Isa::v3) return &N_AVX2::table;
#else
#define SHARDPROOF_AT_V3(isa, table)
#endif
#if HWY_TARGETS & HWY_SSE4
#define SHARDPROOF_AT_V2(isa, table) \
  if (isa == Isa::v2) return &N_SSE4::table;
#else
#define SHARDPROOF_AT_V2(isa, table)
#endif

#if HWY_TARGETS & HWY_NEON
#define SHARDPROOF_AT_NEON(isa, table) \
  if (isa == Isa::neon) return &N_NEON::table;
#else
#define SHARDPROOF_AT_NEON(isa, table)
#endif

/// Returns the address of the level's table; null for `baseline`.
#define SHARDPROOF_RETURN_AT_LEVEL(isa, table) \
  SHARDPROOF_AT_V4(isa, table)                 \
  SHARDPROOF_AT_V3(isa, table)                 \
  SHARDPROOF_AT_V2(isa, table)                 \
  SHARDPROOF_AT_NEON(isa, table)               \
  return nullptr
