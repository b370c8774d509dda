#include "impl/comm/nccl/types.h"

namespace shardproof {

ncclDataType_t nccl_type(Element element) {
  switch (element) {
    case Element::f64:
      return ncclFloat64;
    case Element::f32:
      return ncclFloat32;
    case Element::bf16:
      return ncclBfloat16;
    case Element::i32:
      return ncclInt32;
    case Element::u32:
      return ncclUint32;
    case Element::u8:
      return ncclUint8;
    case Element::u64:
      return ncclUint64;
  }
  return ncclNumTypes;
}

ncclRedOp_t nccl_op(Reduction reduction) {
  switch (reduction) {
    case Reduction::sum:
      return ncclSum;
    case Reduction::max:
      return ncclMax;
    case Reduction::min:
      return ncclMin;
  }
  return ncclNumOps;
}

bool joined_by_us(const Call& call, bool deterministic) {
  const bool floats =
      call.element == Element::f64 || call.element == Element::f32 || call.element == Element::bf16;
  return floats && (deterministic || call.reduction != Reduction::sum);
}

}  // namespace shardproof
