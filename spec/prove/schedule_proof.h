#pragma once
// Schedules of pipelines for all numbers of stages, microbatches and chunks.
#include <string>

#include "spec/prove/smt.h"
#include "spec/syntax/ast.h"

namespace shardproof {

/// Whether a schedule is right at all sizes that its `require`s allow: each F, B and W once for
/// each microbatch and chunk, after what it needs, messages read in the order in which they are
/// sent, and no wait cycle with one message in each queue. The schedule says when: `let time_F(k)`,
/// `time_B`, `time_W` give the k-th F, B and W of stage s a whole number that increases along every
/// order that has to hold, so no cycle is possible. Z3 proves that they do.
struct ScheduleProof {
  bool proved = false;
  std::string open;   ///< not proved: the first claim without a proof, or what is not of the form
  size_t claims = 0;  ///< that were shown
};

/// Of the form: loops `for i in a .. b { F(e) B(e') .. }` side by side, where e is i plus what does
/// not depend on i, or F(f(e), g(e)) with chunks; the one parameter, if any, is C.
ScheduleProof prove_schedule(const syntax::ScheduleDecl& schedule, smt::Solver& solver);

}  // namespace shardproof
