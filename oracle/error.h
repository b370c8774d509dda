#pragma once
// Inputs that the oracle refuses, and where. Inside the oracle ops throw std::domain_error with
// their sentence; the instruction at hand makes an Error of it.
#include <stdexcept>
#include <string>
#include <vector>

#include "oracle/tensor.h"
#include "spec/ir/program.h"

namespace shardproof::oracle {

/// The only exception of the oracle.
class Error : public std::runtime_error {
 public:
  Error(std::string op, std::string value, std::string function, std::vector<Extents> shapes,
        const std::string& message);
  std::string op;               ///< "index", "scan"; "input" for what was given to the function
  std::string value;            ///< the name of the result; empty where it has none
  std::string function;         ///< the fn or plan whose text it is
  std::vector<Extents> shapes;  ///< of the operands
};

/// An instruction of a function, for its errors.
struct Origin {
  const ir::Function* function = nullptr;
  const ir::Instr* instr = nullptr;
};
Error error_at(const Origin& origin, std::vector<Extents> shapes, const std::string& message);

}  // namespace shardproof::oracle
