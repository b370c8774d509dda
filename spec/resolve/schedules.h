#pragma once
// Schedules: resolves the names in their bodies, and the arguments of a pipeline.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Resolves the names in every schedule's body. It may use p, A, s and its own names, but none of
/// its file.
void check_schedules(World& world);

/// The schedule that a pipeline names. Null after E0101.
const syntax::ScheduleDecl* find_schedule(Body& body, const syntax::Loop& pipeline);

/// The schedule's key in the program: its name, plus its file if another file has the same name.
Name schedule_key(const World& world, const syntax::ScheduleDecl& schedule);

/// Schedules of the library are proved right at all allowed sizes (spec/prove/schedule_proof).
bool is_of_library(const World& world, const syntax::ScheduleDecl& schedule);

/// The pipeline's arguments in the order of the schedule's parameters.
std::vector<ir::Arith> schedule_arguments(Body& body, const syntax::ScheduleDecl& schedule,
                                          const syntax::Loop& pipeline);

/// The sizes of a pipeline that its schedule can use.
struct ScheduleSizes {
  ir::Arith p, A;
  std::vector<ir::Arith> chunks;  ///< their product is the number of chunks
  std::vector<ir::Arith> arguments;
};

/// Whether the only argument, if any, is the number of chunks.
bool has_its_chunks(const ScheduleSizes& sizes);

/// The schedule's `require`s, for the pipeline at `range`.
std::vector<ir::Requirement> schedule_conditions(const syntax::ScheduleDecl& schedule,
                                                 const ScheduleSizes& sizes, SourceRange range);

/// Runs a schedule at the sizes that the file fixes and, for all others, at every |p| <= 16, A <=
/// 64 and C <= 4 (A <= 8 for each of several dims).
struct ScheduleRuns {
  std::map<Name, int64_t> up_to;  ///< sizes that the file does not fix, with the largest one tried
  /// E0502, E0503, E0504, E0007. E0106: an argument needs a size that is not fixed.
  std::optional<Diagnostic> problem;
};
ScheduleRuns run_schedule(World& world, const syntax::ScheduleDecl& schedule,
                          const ScheduleSizes& sizes);

}  // namespace shardproof::resolution
