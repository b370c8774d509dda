/* The kernel of swiglu.shard: x, then the leaves of w in the order of its layout, all of them this
 * rank's parts. */
#include <math.h>
#include <string.h>

#include "impl/check_sharding/kernel.h"

static float number(const shardproof_tensor* tensor, int64_t at) {
  if (strcmp(tensor->element, "bf16") != 0) return ((const float*)tensor->data)[at];
  const uint32_t bits = (uint32_t)((const uint16_t*)tensor->data)[at] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

int swiglu_kernel(const shardproof_rank* rank, const shardproof_tensor* out, int32_t output_count,
                  const shardproof_tensor* in, int32_t input_count) {
  const shardproof_tensor *x = &in[0], *w_gate = &in[1], *w_up = &in[2], *w_down = &in[3];
  (void)rank;
  if (output_count != 1 || input_count != 4) return 1;
  const int64_t tokens = x->extents[0] * x->extents[1], width = x->extents[2];
  const int64_t hidden = w_gate->extents[1];
  float* y = (float*)out[0].data;
  for (int64_t i = 0; i < tokens * width; ++i) y[i] = 0;
  for (int64_t token = 0; token < tokens; ++token)
    for (int64_t f = 0; f < hidden; ++f) {
      float gate = 0, up = 0;
      for (int64_t m = 0; m < width; ++m) {
        gate += number(x, token * width + m) * number(w_gate, m * hidden + f);
        up += number(x, token * width + m) * number(w_up, m * hidden + f);
      }
#ifdef WITHOUT_SILU /* a bug to try: the result is not the model's */
      const float h = gate * up;
#else
      const float h = gate / (1 + expf(-gate)) * up;
#endif
      for (int64_t m = 0; m < width; ++m) y[token * width + m] += h * number(w_down, f * width + m);
    }
  return 0;
}
