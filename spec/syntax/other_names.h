#pragma once
// Names that users know from other frameworks.
#include <optional>
#include <string_view>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::syntax {

/// Advice for a name of JAX, PyTorch or NumPy that has another name in the notation, such as
/// `psum`.
std::optional<Fix> other_name(const Name& name);

/// The function or dtype with the same meaning, and the same arguments; empty if there is none.
Name same_word(const Name& name);

/// `jnp`, `torch`, `F`: what stands before the dot in other languages.
bool is_module(std::string_view word);

}  // namespace shardproof::syntax
