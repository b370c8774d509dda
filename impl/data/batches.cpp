#include "impl/data/batches.h"

#include <algorithm>

namespace shardproof {

void Batches::require_knows(const Name& parameter, const Name& plan) const {
  const std::vector<Name> known = names();
  if (std::find(known.begin(), known.end(), parameter) != known.end()) return;
  std::string text;
  for (const Name& name : known) text += (text.empty() ? "" : ", ") + name;
  throw PlanError(plan + " takes " + parameter + ", and the data are " + text +
                  ": rename the parameter, or give it by batches of your own");
}

}  // namespace shardproof
