/* The kernel of a trusted plan, as `check-sharding --test --kernel PLAN=LIB.so` calls it: a
   function of C in a shared object, under the plan's name, of type shardproof_kernel. Each rank
   calls it with its own tensors. It writes every entry of its outputs and nothing else, and returns
   0. */
#ifndef SHARDPROOF_KERNEL_H
#define SHARDPROOF_KERNEL_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The rank's part of a parameter or of a result, a leaf of a record each. */
typedef struct shardproof_tensor {
  void* data;
  const char* element; /* "f64", "f32", "bf16", "i32", "u32", "u8", "u64" (keys) */
  int32_t dims;
  const int64_t* extents; /* local */
  const int64_t* strides; /* in entries */
} shardproof_tensor;

/* Where the rank stands on the mesh. */
typedef struct shardproof_rank {
  int32_t axes;
  const char* const* names;
  const int64_t* sizes;
  const int64_t* index;
} shardproof_rank;

typedef int shardproof_kernel(const shardproof_rank* rank, const shardproof_tensor* outputs,
                              int32_t output_count, const shardproof_tensor* inputs,
                              int32_t input_count);

#ifdef __cplusplus
}
#endif
#endif
