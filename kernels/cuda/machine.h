#pragma once
// Two machines run the same kernels: a GPU, where nvcc compiles them, and this processor, where any
// compiler does and a loop takes the place of each block's threads. The second is the rehearsal:
// the same text, index for index and sum for sum, so that what a GPU will compute is held to its
// definition on machines that have none.
#if defined(__CUDACC__) && !defined(SHARDPROOF_REHEARSAL)
#define SHARDPROOF_ON_GPU 1
#define SHARDPROOF_HD __host__ __device__
#define SHARDPROOF_DEVICE __device__
#ifndef SHARDPROOF_MACHINE  // host code that calls the kernels of one machine says which
#define SHARDPROOF_MACHINE cuda
#endif
#else
#define SHARDPROOF_HD
#define SHARDPROOF_DEVICE
#ifndef SHARDPROOF_MACHINE
#define SHARDPROOF_MACHINE rehearsal
#endif
#endif
