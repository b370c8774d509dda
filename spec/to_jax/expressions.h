#pragma once
// One instruction as an expression of Python.
#include <map>
#include <string>
#include <vector>

#include "spec/to_jax/names.h"

namespace shardproof::to_jax {

struct Text {
  std::string text;
  bool atom = true;  ///< it needs no parentheses
};
using Texts = std::map<ir::ValueId, Text>;

/// `f32`; a number is one too. Throws for a key.
std::string dtype_name(Dtype dtype);

class Expressions {
 public:
  /// `texts` has the text of each operand by the time that it is read.
  Expressions(Sizes& sizes, const std::vector<Type>& types, const Texts& texts)
      : sizes_(sizes), types_(types), texts_(texts) {}

  /// Throws NotPrinted.
  Text of(const ir::Instr& instr) const;
  std::string size(const Dim& dim) const { return sizes_.size(dim); }

 private:
  Sizes& sizes_;
  const std::vector<Type>& types_;
  const Texts& texts_;
};

}  // namespace shardproof::to_jax
