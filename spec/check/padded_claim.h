#pragma once
// A plan with padded results, and the function that states its claim (spec/resolve/pads.h), are one
// plan to the reader.
#include <map>

#include "spec/check/check.h"

namespace shardproof {

/// The report on plan `f`; if another function states its claim, with what is found of that.
PlanReport with_claim(const ir::Program& program, std::map<size_t, PlanReport>& reports, size_t f);

}  // namespace shardproof
