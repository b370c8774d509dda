#pragma once
// The first leg switched off, to see that the second one stands alone.

namespace shardproof {

/// While one lives, check() in this thread believes every type as it is stated and every plan to
/// equal its model: what a bug of the rules or of the algebra does at its worst. For tests alone; a
/// run is still needed for a proof.
class BelievesEverything {
 public:
  BelievesEverything();
  ~BelievesEverything();
  BelievesEverything(const BelievesEverything&) = delete;
};

/// Whether one lives in this thread.
bool believes_everything();

}  // namespace shardproof
