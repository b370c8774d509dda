#pragma once
// Two machines run the same kernels: a GPU, compiled by nvcc or NVRTC (which has no system
// headers), and the host, where a loop replaces each block's threads. The host version is the
// emulator: the same source with the same indices and order of sums, so that machines
// without a GPU can test what a GPU will compute.
#ifdef __CUDACC_RTC__
using int32_t = int;
using int64_t = long long;
using uint8_t = unsigned char;
using uint16_t = unsigned short;
using uint32_t = unsigned int;
using uint64_t = unsigned long long;
using uint128_t = unsigned __int128;
#endif

#if defined(__CUDACC__) && !defined(SHARDPROOF_EMULATED)
#define SHARDPROOF_ON_GPU 1
#define SHARDPROOF_HD __host__ __device__
#define SHARDPROOF_DEVICE __device__
#ifndef SHARDPROOF_MACHINE  // host code names the machine whose kernels it calls
#define SHARDPROOF_MACHINE cuda
#endif
#define SHARDPROOF_PRAGMA(text) _Pragma(#text)
#define SHARDPROOF_UNROLL(n) SHARDPROOF_PRAGMA(unroll n)
#else
#define SHARDPROOF_HD
#define SHARDPROOF_DEVICE
#ifndef SHARDPROOF_MACHINE
#define SHARDPROOF_MACHINE emulated
#endif
#define SHARDPROOF_UNROLL(n)
#endif
