#pragma once
// Schedules: the names in their bodies, and what a pipeline gives them.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// The names in every schedule's body; it sees p, A, s and its own, and none of its file's.
void check_schedules(World& world);

/// The schedule that a pipeline names; null after E0101.
const syntax::ScheduleDecl* find_schedule(Body& body, const syntax::Loop& pipeline);

/// The arguments a pipeline gives, in the order of the schedule's parameters.
std::vector<ir::Arith> schedule_arguments(Body& body, const syntax::ScheduleDecl& schedule,
                                          const syntax::Loop& pipeline);

}  // namespace shardproof::resolution
