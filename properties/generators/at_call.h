#pragma once
// A communicator that does something before one of its collectives: a fault in mid-plan.
#include <functional>

#include "impl/comm/forwarding.h"

namespace shardproof::properties {

/// Counts the collectives of `inner` and calls `action` before number `call`, from 0.
class AtCall : public Forwarding {
 public:
  AtCall(Communicator& inner, size_t call, std::function<void()> action)
      : Forwarding(inner), call_(call), action_(std::move(action)) {}

  size_t calls() const { return calls_; }

 private:
  const std::string& before(Collective, const Group&, const std::string& place) override {
    if (calls_++ == call_) action_();
    return place;
  }

  const size_t call_;
  const std::function<void()> action_;
  size_t calls_ = 0;
};

}  // namespace shardproof::properties
