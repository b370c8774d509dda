// Renames leaves; the result is in normal form again.
#include "spec/algebra/rebuilding.h"

namespace shardproof::algebra {

std::vector<Nf> Engine::rename(const std::vector<Nf>& in,
                               const std::vector<std::pair<TensorId, TensorId>>& names) {
  Rebuilding renaming{*this, {names.begin(), names.end()}};
  std::vector<Nf> result;
  for (Nf e : in) result.push_back(renaming.of(e));
  return result;
}

}  // namespace shardproof::algebra
