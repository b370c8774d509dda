#pragma once
// A communicator in front of another one, for those that do something before each collective.
#include "impl/comm/communicator.h"

namespace shardproof {

/// Passes everything on. Refers to `inner`.
class Forwarding : public Communicator {
 public:
  explicit Forwarding(Communicator& inner) : inner_(inner) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Group& group(const std::vector<int>& ranks) override { return inner_.group(ranks); }
  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override {
    inner_.collective(group, call, send, receive, before(call.collective, group, place));
  }
  void begin_sequence(const std::string& what) override { inner_.begin_sequence(what); }
  void end_sequence() noexcept override { inner_.end_sequence(); }
  std::shared_ptr<Graph> record(Device& device, Queue& queue,
                                const std::function<void()>& work) override {
    return inner_.record(device, queue, work);
  }
  void prepare(const std::vector<std::vector<int>>& groups) override { inner_.prepare(groups); }
  void use(Queue& queue) override { inner_.use(queue); }
  void require_alive() override { inner_.require_alive(); }
  bool any_thread() const override { return inner_.any_thread(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }

 protected:
  /// Called before each collective; the source location that the inner one gets.
  virtual const std::string& before(Collective collective, const Group& group,
                                    const std::string& place) = 0;
  Communicator& inner() { return inner_; }

 private:
  Communicator& inner_;
};

}  // namespace shardproof
