#pragma once
// Chains of pointwise ops in one pass over memory: blocks of entries go through all of them while
// they are in the cache.
#include <string>
#include <vector>

#include "kernels/element.h"
#include "kernels/nest.h"

namespace shardproof::cpu {

enum class PointwiseFn : uint8_t {
  constant,
  neg,
  logical_not,
  exp,
  log,
  sqrt,
  rsqrt,
  tanh,
  erf,
  sin,
  cos,
  abs,
  floor,
  add,
  sub,
  mul,
  div,
  floordiv,
  mod,
  eq,
  ne,
  lt,
  gt,
  le,
  ge,
  logical_and,
  logical_or,
  maximum,
  minimum,
  pow,
  where,       ///< (c, a, b)
  to_real,     ///< of an integer
  to_integer,  ///< of a real, cut off
  to_boolean,  ///< is it not 0
  round_f32,   ///< to the nearest f32
  round_bf16,  ///< to the nearest bf16
  fold,        ///< (key, n): the key of philox_fold
  fold_tag,    ///< (key): the key for the step's tag
};

/// One op on registers. Inputs are registers 0 .. n-1, step i writes register n + i. `real`: its
/// arguments are floats (where: a and b), otherwise integers.
struct PointwiseStep {
  PointwiseFn fn;
  bool real = true;
  std::vector<size_t> arguments;
  double value = 0;  ///< constant
  std::string tag;   ///< fold_tag
};

struct Pointwise {
  std::vector<Element> inputs;
  std::vector<PointwiseStep> steps;  ///< the last register is the result
  Element output;
  bool f64 = false;  ///< floats are computed in double, otherwise in float
};

/// out = the chain of the inputs over the nest (operand 0: out, then the inputs). Throws
/// std::domain_error where an integer is divided by 0.
void pointwise(const Pointwise& chain, const Nest& nest, void* out, const void* const* inputs);

}  // namespace shardproof::cpu
