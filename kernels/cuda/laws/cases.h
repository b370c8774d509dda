#pragma once
// Random ops on arrays, to compare kernels/cuda with kernels/cpu.
#include <string>
#include <vector>

#include "kernels/ops.h"
#include "spec/laws/dice.h"

namespace shardproof::laws {

/// An array in memory; the op's entries start at `offset`.
struct Array {
  Element element = Element::f32;
  std::vector<unsigned char> bytes;
  int64_t offset = 0;  ///< in bytes, a multiple of the entry size

  int64_t entries() const { return static_cast<int64_t>(bytes.size() / size_of(element)); }
};

/// The tolerance between two results; 0: equal bits, except that any NaN equals any NaN.
struct Closeness {
  double relative = 0, absolute = 0;
};

struct KernelCase {
  KernelOp op;
  Array out;  ///< its initial contents stay where the op writes nothing
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

/// Equal seeds give equal ops.
KernelCase random_case(OpKind kind, uint64_t seed);

/// A case with invalid data: the op must report this fault.
struct FaultyCase {
  KernelCase wrong;
  uint32_t kind;
  int64_t value;
};
FaultyCase faulty_case(uint64_t seed);

/// The steps of pointwise_case without loops and arrays (chains.cpp).
struct RandomChain {
  Pointwise op;
  Closeness close;
};
RandomChain random_chain(Dice& dice);

// --- building blocks of cases (arrays.cpp) ---

/// Extents of an array: mostly small, sometimes one long dim, rarely empty.
std::vector<int64_t> random_extents(Dice& dice, size_t most_dims = 4);
/// dense: without gaps. spaced: with some. view: also with dims of stride 0.
enum class Layout : uint8_t { dense, spaced, view };
/// Strides for an array with these extents; mostly in row-major order.
std::vector<int64_t> random_strides(Dice& dice, const std::vector<int64_t>& extents, Layout layout);
/// An array of random entries, large enough for the strides and a margin.
Array random_array(Dice& dice, Element element, const std::vector<int64_t>& extents,
                   const std::vector<int64_t>& strides);
Array array_of(Dice& dice, Element element, int64_t entries);
/// A random entry. Reals are small and dyadic, so that their sums are exact.
void set_random(Dice& dice, Array& array, int64_t entry);

}  // namespace shardproof::laws
