#pragma once
// What may have been meant where a value of another type stands. Each fix is a guess: it is shown
// only if it proves the plan.
#include <functional>

#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Other values with a name, also fields of records, in place of what is written at `range`: a name
/// or a field, also in a cast. The fields of the same record first, then the newest names; `first`
/// (the name of a parameter) before all. `fits` says which types may stand there.
std::vector<Fix> other_values(const Body& body, SourceRange range,
                              const std::function<bool(const Type&)>& fits, const Name& first = "");

/// Casts to `to` what is written at `range`: there, where the value is computed, or in the type of
/// the parameter that it is.
std::vector<Fix> casts(const Body& body, SourceRange range, Dtype to);

/// Expression `at` and each other one exchanged, of a list.
std::vector<Fix> exchanged(const Body& body, const std::vector<SourceRange>& list, size_t at,
                           const std::string& message);

/// Adds fixes to the last diagnostic, if there are more errors than `before`.
void add_to_new_error(Body& body, size_t before, const std::vector<Fix>& fixes);

}  // namespace shardproof::resolution
