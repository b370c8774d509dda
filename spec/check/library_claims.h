#pragma once
// The library's gradients as claims of an ordinary file: each generic fn once, with `...` as the
// one dim R, `float` as f32, and all its numbers as parameters.
#include <optional>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof {

struct LibraryClaim {
  Name of, name;  ///< "gelu", "gelu_grad"
  std::vector<Name> dims;
  std::string text;  ///< `fn OF_model ..`, `fn NAME_claim implements grad(OF_model ..) ..`
};

/// The claims as a file.
std::string file_of(const std::vector<LibraryClaim>& claims);

/// One for each `fn X_grad implements grad(X ..)` of the library, in the order of the library.
std::vector<LibraryClaim> library_claims();

/// The claims of one file of the library; null for any other text.
std::optional<std::vector<LibraryClaim>> claims_of_library_file(const std::string& text);

}  // namespace shardproof
