#include <mutex>
#include <thread>

#include "impl/comm/store/tcp_server.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto longest_answer = std::chrono::seconds(30);
constexpr auto longest_greeting = std::chrono::seconds(5);
constexpr auto pause_before_again = std::chrono::milliseconds(100);

Message receive_message(const Socket& socket, Deadline deadline, const std::string& peer) {
  const auto head = head_of(receive_exactly(socket, head_bytes, deadline, peer));
  if (!head) throw CommError(-1, peer + ": the server there is not a Shardproof store");
  Message message{head->kind, receive_exactly(socket, head->key, deadline, peer),
                  receive_exactly(socket, head->value, deadline, peer)};
  return message;
}

/// Rank 0's answer to the greeting. Throws if the peer does not speak our protocol.
Message greeted(const Socket& socket, const std::string& run, Deadline deadline,
                const std::string& peer) {
  const Deadline end = std::min(deadline, Clock::now() + longest_greeting);
  try {
    send_all(socket, packed({Message::hello, std::string(greeting), run}), end, peer);
    return receive_message(socket, end, peer);
  } catch (const CommError& error) {
    throw CommError(-1, std::string(error.what()) + "; is it a store of Shardproof that listens?");
  }
}

class TcpStore : public Store {
 public:
  TcpStore(const Address& address, const std::string& run, Deadline deadline)
      : peer_(address.text()) {
    for (;;) {
      socket_ = connect_to(address, deadline);
      const Message answer = greeted(socket_, run, deadline, peer_);
      if (answer.kind == Message::yes) return;
      // Rank 0 of an earlier run may be about to exit.
      if (Clock::now() + pause_before_again >= deadline)
        throw CommError(-1, peer_ + ": " + answer.value);
      std::this_thread::sleep_for(pause_before_again);
    }
  }

  void set(const std::string& key, const std::string& bytes) override {
    ask({Message::set, key, bytes});
  }
  bool add(const std::string& key, const std::string& bytes) override {
    return ask({Message::add, key, bytes}).kind == Message::yes;
  }
  std::optional<std::string> find(const std::string& key) override {
    const Message answer = ask({Message::find, key, {}});
    if (answer.kind == Message::yes) return answer.value;
    return std::nullopt;
  }

 private:
  Message ask(const Message& request) {
    const std::lock_guard lock(mutex_);
    if (!lost_.empty()) throw CommError(-1, lost_);
    const Deadline deadline = Clock::now() + longest_answer;
    try {
      send_all(socket_, packed(request), deadline, peer_);
      return receive_message(socket_, deadline, peer_);
    } catch (const CommError& error) {
      lost_ = error.what();  // the rest of an answer may still arrive
      throw;
    }
  }

  const std::string peer_;
  Socket socket_;
  std::mutex mutex_;
  std::string lost_;
};

/// The store on rank 0 itself.
class ServedStore : public Store {
 public:
  ServedStore(const Address& address, const std::string& run) : server_(address, run) {}

  int port() const { return server_.port(); }
  void set(const std::string& key, const std::string& bytes) override {
    server_.store().set(key, bytes);
  }
  bool add(const std::string& key, const std::string& bytes) override {
    return server_.store().add(key, bytes);
  }
  std::optional<std::string> find(const std::string& key) override {
    return server_.store().find(key);
  }

 private:
  TcpServer server_;
};

}  // namespace

std::unique_ptr<Store> tcp_store(const std::string& address, const std::string& run, int rank,
                                 Milliseconds timeout) {
  const Address at = Address::parse(address);
  if (rank == 0) return std::make_unique<ServedStore>(at, run);
  return std::make_unique<TcpStore>(at, run, Clock::now() + timeout);
}

std::unique_ptr<Store> serve_store(const std::string& run, int& port) {
  auto store = std::make_unique<ServedStore>(Address{"any", "0"}, run);
  port = store->port();
  return store;
}

}  // namespace shardproof
