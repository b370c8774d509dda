#pragma once
#include <optional>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// How a call of this primitive is written; none for names that are no primitive.
std::optional<Fix> call_form(const Name& name);

}  // namespace shardproof::resolution
