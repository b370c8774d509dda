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

/// The sizes of a pipeline that its schedule sees.
struct ScheduleSizes {
  ir::Arith p, A;
  std::vector<ir::Arith> chunks;  ///< the sizes whose product is the number of chunks
  std::vector<ir::Arith> arguments;
};

/// What the schedule requires of them, for the pipeline at `range`.
std::vector<ir::Requirement> schedule_conditions(const syntax::ScheduleDecl& schedule,
                                                 const ScheduleSizes& sizes, SourceRange range);

/// E0502, E0503, E0504 at the sizes that the file gives and, of those that it leaves open, for
/// every |p| <= 16, A <= 64 and C <= 4. E0106: an argument needs a size that is open.
std::optional<Diagnostic> schedule_problem(const ir::Program& program,
                                           const syntax::ScheduleDecl& schedule,
                                           const ScheduleSizes& sizes);

}  // namespace shardproof::resolution
