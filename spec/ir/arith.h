#pragma once
// Arithmetic on sizes and numbers as written: a dim's size, a condition, an argument of a
// schedule.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace shardproof::ir {

using ValueId = uint32_t;
constexpr ValueId no_value = ~0u;

/// A dim's size, a condition of `require`, an argument of a schedule.
struct Arith {
  enum class Kind { number, size, axis, value, op } kind = Kind::number;
  std::string text;  ///< number: as written; size, axis: the name; op: + - * / // % == != < > <= >=
                     ///< and or not neg
  ValueId value = no_value;  ///< Kind::value: a scalar of the body
  std::vector<Arith> args;
};

/// `base op 0` at all indices: a name in `indices` stands for an index below its range, plus 1.
struct OfIndices {
  std::string text, op;  ///< as shown; a comparison
  Arith base;
  std::vector<std::pair<std::string, Arith>> indices;
};

}  // namespace shardproof::ir
