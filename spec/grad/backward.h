#pragma once
// Derives the backward of a plan as text in the notation. The text is parsed, resolved, typed and
// compared with the derivative of the model like any other plan.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

struct DerivedBackward {
  Name name;                  ///< of the derived plan
  std::string text;           ///< in canonical form; empty if there is none
  std::string gathers_again;  ///< how many all_gathers of the forward pass it does: "4 + 7*|N|"
  std::optional<Diagnostic> refused;      ///< why it could not be derived
  std::vector<ir::Indices> indices = {};  ///< of its patterns, as which the text is to be read
};

/// Derives the backward of plan `plan` with respect to leaf parameters `wrt` (empty: all floats).
/// `types`: of every value, by function. The text belongs to the file that declares the plan.
DerivedBackward derive_backward(const ir::Program& program,
                                const std::vector<std::vector<Type>>& types, size_t plan,
                                const std::vector<size_t>& wrt = {});

}  // namespace shardproof
