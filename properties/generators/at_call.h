#pragma once
// A communicator that does something before one of its collectives: a fault in mid-plan.
#include <functional>

#include "impl/comm/communicator.h"

namespace shardproof::properties {

/// Counts the collectives of `inner` and calls `action` before number `call`, from 0.
class AtCall : public Communicator {
 public:
  AtCall(Communicator& inner, size_t call, std::function<void()> action)
      : inner_(inner), call_(call), action_(std::move(action)) {}

  size_t calls() const { return calls_; }

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Group& group(const std::vector<int>& ranks) override { return inner_.group(ranks); }
  void all_gather(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    count();
    inner_.all_gather(group, send, receive, bytes, place);
  }
  void all_reduce(Group& group, const void* send, void* receive, size_t entries, Element element,
                  Reduction reduction, const std::string& place) override {
    count();
    inner_.all_reduce(group, send, receive, entries, element, reduction, place);
  }
  void reduce_scatter(Group& group, const void* send, void* receive, size_t entries,
                      Element element, Reduction reduction, const std::string& place) override {
    count();
    inner_.reduce_scatter(group, send, receive, entries, element, reduction, place);
  }
  void all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    count();
    inner_.all_to_all(group, send, receive, bytes, place);
  }
  void permute(Group& group, const void* send, int to, void* receive, int from, size_t bytes,
               const std::string& place) override {
    count();
    inner_.permute(group, send, to, receive, from, bytes, place);
  }
  void check_calls(bool on) override { inner_.check_calls(on); }
  bool checks_calls() const override { return inner_.checks_calls(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }

 private:
  void count() {
    if (calls_++ == call_) action_();
  }

  Communicator& inner_;
  const size_t call_;
  const std::function<void()> action_;
  size_t calls_ = 0;
};

}  // namespace shardproof::properties
