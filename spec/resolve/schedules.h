#pragma once
// Schedules: the names in their bodies, and what a pipeline gives them.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// The names in every schedule's body; it sees p, A, s and its own, and none of its file's.
void check_schedules(World& world);

/// The schedule that a pipeline names; null after E0101.
const syntax::ScheduleDecl* find_schedule(Body& body, const syntax::Loop& pipeline);

/// What it is called in the program: its name, with its file where another file has it too.
Name schedule_key(const World& world, const syntax::ScheduleDecl& schedule);

/// Those are right at all sizes that they allow (spec/prove/schedule_proof).
bool is_of_library(const World& world, const syntax::ScheduleDecl& schedule);

/// The arguments a pipeline gives, in the order of the schedule's parameters.
std::vector<ir::Arith> schedule_arguments(Body& body, const syntax::ScheduleDecl& schedule,
                                          const syntax::Loop& pipeline);

/// The sizes of a pipeline that its schedule sees.
struct ScheduleSizes {
  ir::Arith p, A;
  std::vector<ir::Arith> chunks;  ///< the sizes whose product is the number of chunks
  std::vector<ir::Arith> arguments;
};

/// Whether C, the one argument if there is any, is the number of chunks.
bool has_its_chunks(const ScheduleSizes& sizes);

/// What the schedule requires of them, for the pipeline at `range`.
std::vector<ir::Requirement> schedule_conditions(const syntax::ScheduleDecl& schedule,
                                                 const ScheduleSizes& sizes, SourceRange range);

/// At the sizes that the file gives and, of those that it leaves open, for every |p| <= 16, A <= 64
/// and C <= 4.
struct ScheduleRuns {
  std::map<Name, int64_t> up_to;  ///< the sizes that are open, with the largest of each
  /// E0502, E0503, E0504. E0106: an argument needs a size that is open.
  std::optional<Diagnostic> problem;
};
ScheduleRuns run_schedule(const ir::Program& program, const syntax::ScheduleDecl& schedule,
                          const ScheduleSizes& sizes);

}  // namespace shardproof::resolution
