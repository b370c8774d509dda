#include "impl/comm/store/agree.h"

#include <algorithm>

#include "impl/comm/agreement.h"

namespace shardproof {

void StoreAgreement::agree(const std::string& what, Milliseconds timeout,
                           const std::function<void()>& require_alive) {
  using Clock = std::chrono::steady_clock;
  const std::string keys = "agree/" + std::to_string(agreed_.size()) + "/";
  if (!agreed_.insert(what).second) return;
  store_.set(keys + std::to_string(rank_), what);
  const auto end = Clock::now() + timeout;
  std::vector<std::string> said;
  for (int other = 0; other < world_; ++other) {
    const auto left = std::chrono::ceil<Milliseconds>(end - Clock::now());
    try {
      said.push_back(
          store_.get(keys + std::to_string(other), std::max(Milliseconds(0), left), require_alive));
    } catch (const StoreTimeout&) {
      throw CommError(-1, "rank " + std::to_string(rank_) + " " + what + ", and waits for rank " +
                              std::to_string(other));
    }
  }
  require_same(said);
}

}  // namespace shardproof
