#include "impl/comm/staged/staged.h"

namespace shardproof {
namespace {

class Staged : public Communicator {
 public:
  Staged(Communicator& inner, Device& device, Queue& queue)
      : inner_(inner), device_(device), queue_(queue) {}

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  Group& group(const std::vector<int>& ranks) override { return inner_.group(ranks); }
  void begin_sequence(const std::string& what) override { inner_.begin_sequence(what); }
  void end_sequence() noexcept override { inner_.end_sequence(); }
  void prepare(const std::vector<std::vector<int>>& groups) override { inner_.prepare(groups); }
  void require_alive() override { inner_.require_alive(); }
  bool any_thread() const override { return inner_.any_thread(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }

  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override {
    const size_t sent = call.bytes_sent(group.size()), received = call.bytes_received(group.size());
    const Buffer from = device_.allocate(sent), to = device_.allocate(received);
    if (sent && call.gives(group.position()))
      device_.copy_from_host(queue_, from.data(), send, sent);
    inner_.use(queue_);
    inner_.collective(group, call, from.data(), to.data(), place);
    if (received && call.gets(group.position()))
      device_.copy_to_host(queue_, receive, to.data(), received);
    queue_.finish();  // other ranks read `from`: wait before freeing it
    inner_.require_alive();
  }

 private:
  Communicator& inner_;
  Device& device_;
  Queue& queue_;
};

}  // namespace

std::unique_ptr<Communicator> staged(Communicator& inner, Device& device, Queue& queue) {
  return std::make_unique<Staged>(inner, device, queue);
}

}  // namespace shardproof
