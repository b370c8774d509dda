#include "impl/comm/agreement.h"

#include "impl/comm/communicator.h"

namespace shardproof {

std::string agreed_text(const Call& call, const std::string& place, int members) {
  Call same = call;
  same.to = same.from = 0;  // they differ from rank to rank
  return "is in " + to_string(PlacedCall{same, place}) + ", of " + std::to_string(members) +
         " ranks";
}

void require_same(const std::vector<std::string>& said) {
  for (size_t i = 1; i < said.size(); ++i) {
    if (said[i] == said[0]) continue;
    const std::string other = std::to_string(i);
    throw CommError(-1, "ranks 0 and " + other + " disagree: rank 0 " + said[0] + ", rank " +
                            other + " " + said[i]);
  }
}

}  // namespace shardproof
