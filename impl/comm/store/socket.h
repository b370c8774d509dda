#pragma once
// TCP with deadlines. Every failure is a CommError with the address.
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace shardproof {

using Deadline = std::chrono::steady_clock::time_point;

/// `host:port` or `[host]:port`.
struct Address {
  std::string host, port;

  static Address parse(const std::string& text);
  std::string text() const;
  /// The host `any`: all interfaces of this machine.
  bool is_any() const;
};

class Socket {
 public:
  explicit Socket(int fd = -1) : fd_(fd) {}
  Socket(Socket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Socket();
  int fd() const { return fd_; }

 private:
  int fd_;
};

/// Listens at this address alone, which must be one of this machine; at `any` on all interfaces.
Socket listen_at(const Address& address);
uint16_t port_of(const Socket& socket);

/// Retries until a server listens there or the deadline passes.
Socket connect_to(const Address& address, Deadline deadline);
void send_all(const Socket& socket, std::string_view bytes, Deadline deadline,
              const std::string& peer);
std::string receive_exactly(const Socket& socket, size_t bytes, Deadline deadline,
                            const std::string& peer);

}  // namespace shardproof
