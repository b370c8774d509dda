#pragma once
// Turns off the rules and the algebra, to test that the runs alone find a wrong plan.

namespace shardproof {

/// While an object exists, check() in this thread accepts every stated type, and every plan as
/// equal to its model: the worst bug that the rules or the algebra could have. Only for tests; a
/// proof still needs its runs.
class BelievesEverything {
 public:
  BelievesEverything();
  ~BelievesEverything();
  BelievesEverything(const BelievesEverything&) = delete;
};

/// Whether an object exists in this thread.
bool believes_everything();

}  // namespace shardproof
