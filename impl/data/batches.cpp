#include "impl/data/batches.h"

#include <algorithm>

#include "impl/tensor/listed.h"

namespace shardproof {

void Batches::require_knows(const Name& parameter, const Name& plan) const {
  const std::vector<Name> known = names();
  if (std::find(known.begin(), known.end(), parameter) != known.end()) return;
  throw PlanError(plan + " takes " + parameter + ", and the data are " + listed(known) +
                  ": rename the parameter, or give it by batches of your own");
}

}  // namespace shardproof
