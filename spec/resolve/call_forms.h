#pragma once
#include <map>
#include <optional>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::resolution {

/// The primitives, each with a call as it is written.
const std::map<Name, std::string>& call_forms();

/// How a call of this primitive is written; none for names that are no primitive.
std::optional<Fix> call_form(const Name& name);

}  // namespace shardproof::resolution
