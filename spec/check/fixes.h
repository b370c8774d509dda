#pragma once
// Turns fixes into edits of the text.
#include <set>

#include "spec/check/typing.h"

namespace shardproof {

/// The hints of a refusal as fixes, cheapest communication first; not tried yet.
std::vector<Fix> make_fixes(const Sources& sources, const ir::Program& program, size_t function,
                            const std::vector<Type>& types, const RefusedOp& refused);

/// For a refused result that is a whole statement: its value, after the first word.
SourceRange value_of(const Sources& sources, SourceRange range);

/// The axes on which a value of the plan's signature is {I}.
std::set<Axis> alike_axes(const ir::Function& plan);

/// A stop_grad that the model does not have.
std::vector<Fix> fixes_of_stop_grad(const Sources& sources, SourceRange call);

/// Applies the edits of one file to its text; edits must not overlap.
std::string apply_edits(const std::string& text, int32_t file, std::vector<Edit> edits);

}  // namespace shardproof
