#pragma once
// Pipeline schedules, for all numbers of stages, microbatches and chunks.
#include <string>

#include "spec/prove/smt.h"
#include "spec/syntax/ast.h"

namespace shardproof {

/// Whether a schedule is right at all sizes that its `require`s allow: each F, B and W runs once
/// for each microbatch and chunk, after the steps that it needs; messages are received in the order
/// in which they are sent; and there is no deadlock with one message per queue. The schedule states
/// times: `let time_F(k)`, `time_B`, `time_W` map the k-th F, B and W of stage s to an integer. Z3
/// proves that times increase along every dependency, so no cycle exists.
struct ScheduleProof {
  bool proved = false;
  std::string open;   ///< not proved: the first claim that failed, or an unsupported form
  size_t claims = 0;  ///< number of proved claims
};

/// Supported form: loops `for i in a .. b { F(e) B(e') .. }` one after the other. e is i plus a
/// term without i, or F(f(e), g(e)) with chunks. The only parameter, if any, is C.
ScheduleProof prove_schedule(const syntax::ScheduleDecl& schedule, smt::Solver& solver);

}  // namespace shardproof
