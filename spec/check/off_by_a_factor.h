#pragma once
// Edits for a value that is a multiple of the model's.
#include "spec/diag/diagnostic.h"

namespace shardproof {

/// Guesses for a label "equal up to the factor |d|^(-1)": a `|d|` of that line is left out, or the
/// value is divided by the factor.
std::vector<Fix> fixes_of_factor(const Sources& sources, const Diagnostic& error);

}  // namespace shardproof
