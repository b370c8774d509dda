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
  void check_calls(bool on) override { inner_.check_calls(on); }
  bool checks_calls() const override { return inner_.checks_calls(); }
  void prepare(const std::vector<std::vector<int>>& groups) override { inner_.prepare(groups); }
  void require_alive() override { inner_.require_alive(); }
  bool any_thread() const override { return inner_.any_thread(); }
  void abort(const std::string& reason) noexcept override { inner_.abort(reason); }

  void all_gather(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    through(send, bytes, receive, bytes * group.size(),
            [&](const void* from, void* to) { inner_.all_gather(group, from, to, bytes, place); });
  }
  void all_reduce(Group& group, const void* send, void* receive, size_t count, Element element,
                  Reduction reduction, const std::string& place) override {
    const size_t bytes = count * size_of(element);
    through(send, bytes, receive, bytes, [&](const void* from, void* to) {
      inner_.all_reduce(group, from, to, count, element, reduction, place);
    });
  }
  void reduce_scatter(Group& group, const void* send, void* receive, size_t count, Element element,
                      Reduction reduction, const std::string& place) override {
    const size_t bytes = count * size_of(element);
    through(send, bytes * group.size(), receive, bytes, [&](const void* from, void* to) {
      inner_.reduce_scatter(group, from, to, count, element, reduction, place);
    });
  }
  void all_to_all(Group& group, const void* send, void* receive, size_t bytes,
                  const std::string& place) override {
    const size_t all = bytes * group.size();
    through(send, all, receive, all,
            [&](const void* from, void* to) { inner_.all_to_all(group, from, to, bytes, place); });
  }
  void permute(Group& group, const void* send, int to, void* receive, int from, size_t bytes,
               const std::string& place) override {
    through(send, bytes, receive, bytes, [&](const void* here, void* there) {
      inner_.permute(group, here, to, there, from, bytes, place);
    });
  }

 private:
  template <class Move>
  void through(const void* send, size_t sent, void* receive, size_t received, const Move& move) {
    const Buffer from = device_.allocate(sent), to = device_.allocate(received);
    if (sent) device_.copy_from_host(queue_, from.data(), send, sent);
    inner_.use(queue_);
    move(from.data(), to.data());
    if (received) device_.copy_to_host(queue_, receive, to.data(), received);
    queue_.finish();  // before the buffers are freed: the others read `from`
    inner_.require_alive();
  }

  Communicator& inner_;
  Device& device_;
  Queue& queue_;
};

}  // namespace

std::unique_ptr<Communicator> staged(Communicator& inner, Device& device, Queue& queue) {
  return std::make_unique<Staged>(inner, device, queue);
}

}  // namespace shardproof
