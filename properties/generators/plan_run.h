#pragma once
// The cases of --test (impl/beside_oracle), under the names that the laws use.
#include "impl/beside_oracle/plan_case.h"

namespace shardproof::properties {

using beside::case_of;
using beside::claimed;
using beside::difference;
using beside::difference_in_double;
using beside::draw;
using beside::draw_inputs;
using beside::Evaluate;
using beside::get;
using beside::mesh_of;
using beside::PlanCase;
using beside::point_of;
using beside::rounding_bounds;
using beside::RoundingBounds;
using beside::run_on;
using beside::run_on_ranks;
using beside::same_on_devices;
using beside::text;
using beside::wide_bounds;
using beside::would_see_a_factor;
using beside::written_bounds;

/// Whether one of N = `meshes` small meshes shows a difference from the claim. Throws if the plan
/// runs on none of them.
bool differs_somewhere(PlanCase& one, const std::vector<Divisibility>& conditions, int meshes = 4);

}  // namespace shardproof::properties
