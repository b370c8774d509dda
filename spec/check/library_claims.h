#pragma once
// The library's gradients as claims of an ordinary file: each generic function once, with `...` as
// one dim R, `float` as f32, and its number arguments as parameters.
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

/// The claims as the text of a file.
std::string file_of(const std::vector<LibraryClaim>& claims);

/// One claim for each `fn X_grad implements grad(X ..)` in the library, in its order.
std::vector<LibraryClaim> library_claims();

/// The claims of one file of the library; nullopt for any other text.
std::optional<std::vector<LibraryClaim>> claims_of_library_file(const std::string& text);

}  // namespace shardproof
