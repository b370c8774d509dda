#pragma once
// Rank 0's server of a store.
#include <thread>
#include <vector>

#include "impl/comm/store/local_store.h"
#include "impl/comm/store/socket.h"
#include "impl/comm/store/wire.h"

namespace shardproof {

/// Serves clients of its run in a thread; connections that fail the handshake are closed.
class TcpServer {
 public:
  /// Throws CommError if it cannot listen there. Port 0: any free port.
  TcpServer(const Address& address, std::string run);
  ~TcpServer();
  uint16_t port() const { return port_of(listener_); }
  Store& store() { return store_; }

 private:
  struct Client {
    Socket socket;
    std::string in, out;  ///< received and not parsed; not sent yet
    bool greeted = false;
  };

  void serve();
  void accept_one();
  /// False: the client has disconnected, or violated the protocol.
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
