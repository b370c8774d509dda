#pragma once
// A communicator that refuses a group which was not prepared, nor prepare a new one while a
// step is under way.
#include <set>

#include "impl/comm/forwarding.h"

namespace shardproof {

class Prepared : public Forwarding {
 public:
  using Groups = std::vector<std::vector<int>>;
  using Forwarding::Forwarding;

  void prepare(const Groups& groups) override {
    for (const std::vector<int>& ranks : groups)
      if (known_.insert(ranks).second && in_step)
        throw CommError(rank(), "prepared in a step: " + text_of_ranks(ranks));
    said.push_back(groups);
    inner().prepare(groups);
  }

  bool in_step = false;
  bool in_stages = false;  ///< each stage of a pipeline has groups of its own, made when they meet
  std::vector<Groups> said;  ///< the same on every rank

 private:
  const std::string& before(Collective, const Group& group, const std::string& place) override {
    if (!in_stages && group.size() > 1 && !known_.contains(group.ranks()))
      throw CommError(rank(), "not prepared: " + text_of_ranks(group.ranks()) + " at " + place);
    return place;
  }

  std::set<std::vector<int>> known_;
};

}  // namespace shardproof
