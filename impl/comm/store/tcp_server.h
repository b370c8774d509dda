#pragma once
// The end of a store that rank 0 serves.
#include <thread>
#include <vector>

#include "impl/comm/store/local_store.h"
#include "impl/comm/store/socket.h"
#include "impl/comm/store/wire.h"

namespace shardproof {

/// Answers clients of its run on a thread of its own; who says anything else is hung up on.
class TcpServer {
 public:
  /// Throws CommError where it cannot listen there. Port 0: one that is free.
  TcpServer(const Address& address, std::string run);
  ~TcpServer();
  uint16_t port() const { return port_of(listener_); }
  Store& store() { return store_; }

 private:
  struct Client {
    Socket socket;
    std::string in, out;  ///< not yet understood, not yet sent
    bool greeted = false;
  };

  void serve();
  void accept_one();
  /// False: the client is gone, or no client of ours.
  bool receive(Client& client);
  bool answer_all(Client& client);
  Message answered(const Message& request);
  bool greet(Client& client, const Message& request);
  static bool send_some(Client& client);

  const std::string run_;
  LocalStore store_;
  Socket listener_, wake_;
  std::vector<Client> clients_;
  std::thread thread_;
};

}  // namespace shardproof
