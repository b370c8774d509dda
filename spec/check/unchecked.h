#pragma once
// Turns off the rules and the algebra, to test that the second leg alone finds a wrong plan.

namespace shardproof {

/// While an object exists, check() in this thread accepts every stated type, and every plan as
/// equal to its model: the worst that a bug in the rules or the algebra could do. Only for tests; a
/// proof still needs its run.
class BelievesEverything {
 public:
  BelievesEverything();
  ~BelievesEverything();
  BelievesEverything(const BelievesEverything&) = delete;
};

/// Whether an object exists in this thread.
bool believes_everything();

}  // namespace shardproof
