#pragma once
// Fixes for a record whose layout is not the parameter's.
#include "spec/check/typing.h"

namespace shardproof {

/// The layouts' names of a record that is the operand of a call, where its text has them.
std::optional<Layouts> layouts_of_argument(const ir::Function& plan, const ir::Function& callee,
                                           const ir::Instr& call, size_t operand);

/// The hint for one field, `slice("M -> M/d", $)`, as one for the record, `slice("W -> Shards",
/// $)`.
FixHint for_the_record(FixHint hint, const Layouts& layouts);

/// The parameter with the layout that the call expects. Empty for other refusals.
std::vector<Fix> fixes_of_record_argument(const Sources& sources, const ir::Function& plan,
                                          const RefusedOp& refused);

/// A parameter with a record's own type as one of the layouts that its file has of the record.
std::vector<Fix> fixes_of_record_parameter(const Sources& sources, const ir::Function& plan,
                                           const RefusedOp& refused);

}  // namespace shardproof
