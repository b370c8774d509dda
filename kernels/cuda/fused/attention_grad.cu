#include "kernels/cuda/fused/kernels.h"
namespace shardproof::SHARDPROOF_MACHINE {
void run(const Stream&, const AttentionGrad&, Outputs, Inputs) {}
}
