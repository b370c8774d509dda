#pragma once
// Random ops on arrays of one shape: with them kernels/cuda is compared with kernels/cpu.
#include <string>
#include <vector>

#include "kernels/ops.h"
#include "spec/laws/dice.h"

namespace shardproof::laws {

/// An array in memory: entries of it from `offset` on are the op's.
struct Array {
  Element element = Element::f32;
  std::vector<unsigned char> bytes;
  int64_t offset = 0;  ///< in bytes, a multiple of an entry's

  int64_t entries() const { return static_cast<int64_t>(bytes.size() / size_of(element)); }
};

/// How far two results may be apart; 0: not at all, but that a NaN is a NaN.
struct Closeness {
  double relative = 0, absolute = 0;
};

struct KernelCase {
  KernelOp op;
  Array out;  ///< with what is there before, which stays where the op writes nothing
  std::vector<Array> inputs;
  Closeness close;
};

enum class OpKind : uint8_t {
  copy,
  moving_copy,
  zero,
  roll,
  reverse,
  iota,
  random,
  index,
  index_add,
  ordered,
  pointwise,
  reduce,
};
constexpr OpKind all_kinds[] = {OpKind::copy,    OpKind::moving_copy, OpKind::zero,
                                OpKind::roll,    OpKind::reverse,     OpKind::iota,
                                OpKind::random,  OpKind::index,       OpKind::index_add,
                                OpKind::ordered, OpKind::pointwise,   OpKind::reduce};
static_assert(std::size(all_kinds) == static_cast<size_t>(OpKind::reduce) + 1);
const char* name_of(OpKind kind);

/// The same op for the same seed.
KernelCase random_case(OpKind kind, uint64_t seed);

/// One whose data is wrong: the op leaves this fault.
struct FaultyCase {
  KernelCase wrong;
  uint32_t kind;
  int64_t value;
};
FaultyCase faulty_case(uint64_t seed);

/// The chain of pointwise_case, over no loops and without arrays (chains.cpp).
struct RandomChain {
  Pointwise op;
  Closeness close;
};
RandomChain random_chain(Dice& dice);

// --- what cases are made of (arrays.cpp) ---

/// Dims of an array, mostly small, one of them long at times; few are empty.
std::vector<int64_t> random_extents(Dice& dice, size_t most_dims = 4);
/// dense: without gaps; spaced: with some; view: there are dims, too, in which it stands still.
enum class Layout : uint8_t { dense, spaced, view };
/// Where an array of these extents has its entries in memory: mostly in their order.
std::vector<int64_t> random_strides(Dice& dice, const std::vector<int64_t>& extents, Layout layout);
/// Enough entries for the strides and a margin, random ones.
Array random_array(Dice& dice, Element element, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& strides);
Array array_of(Dice& dice, Element element, int64_t entries);
/// A random entry; real ones are small and dyadic, so that sums of them are exact.
void set_random(Dice& dice, Array& array, int64_t entry);

}  // namespace shardproof::laws
