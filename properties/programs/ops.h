#pragma once
// The ops a program is drafted from: each takes drafted operands, brings them where it can use
// them, and says what the result is, by the rules of the notation.
#include <optional>

#include "properties/programs/draft.h"

namespace shardproof::programs {

struct Workshop {
  Draft& draft;
  Coins& coins;
  bool exact;
};

/// Has no value where the op has no use for such operands.
using MakeOp = std::optional<Drafted> (*)(Workshop& shop, Drafted a, Drafted b);

struct OpKind {
  const char* name;
  MakeOp make;
  enum When { always, in_exact, in_reals } when = always;
};

const std::vector<OpKind>& op_kinds();

/// A redistribution that nothing asked for.
void wander(Workshop& shop, Drafted& x);

/// The names of dims that are drafted from; P has size 2, and ids index V.
const std::vector<Word>& dim_pool();

}  // namespace shardproof::programs
