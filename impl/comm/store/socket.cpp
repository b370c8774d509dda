#include "impl/comm/store/socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "impl/comm/communicator.h"

namespace shardproof {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto longest_try = std::chrono::seconds(3);  ///< for one address of a name
constexpr auto between_tries = std::chrono::milliseconds(50);

[[noreturn]] void fail_at(const std::string& where, const std::string& what) {
  throw CommError(-1, where + ": " + what);
}

int milliseconds_until(Deadline deadline) {
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, 3'600'000));
}

/// False if the deadline passed first.
bool wait_for(int fd, short events, Deadline deadline) {
  for (pollfd waited{fd, events, 0};;) {
    const int ready = poll(&waited, 1, milliseconds_until(deadline));
    if (ready > 0) return true;
    if (ready == 0 || errno != EINTR) return false;
  }
}

void prepare(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
}

using Found = std::shared_ptr<addrinfo>;

struct Lookup {
  int code = 0;
  Found found;
};

Lookup look_up(const Address& address) {
  addrinfo wanted{}, *list = nullptr;
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_NUMERICSERV;
  const int code = getaddrinfo(address.host.c_str(), address.port.c_str(), &wanted, &list);
  return {code, Found(list, [](addrinfo* each) {
            if (each) freeaddrinfo(each);
          })};
}

/// Resolves in a separate thread, which is abandoned if the resolver does not answer.
Found resolve(const Address& address, Deadline deadline) {
  auto promise = std::make_shared<std::promise<Lookup>>();
  std::future<Lookup> future = promise->get_future();
  std::thread([promise, address] { promise->set_value(look_up(address)); }).detach();
  if (future.wait_until(deadline) != std::future_status::ready)
    fail_at(address.text(), "cannot find the host '" + address.host + "'");
  const Lookup lookup = future.get();
  if (lookup.code != 0)
    fail_at(address.text(), "'" + address.host + "' is unknown: " + gai_strerror(lookup.code));
  return lookup.found;
}

/// Returns no socket on failure: errno has the reason.
Socket try_to_connect(const addrinfo& to, Deadline deadline) {
  Socket socket(::socket(to.ai_family, SOCK_STREAM, 0));
  if (socket.fd() < 0) return socket;
  prepare(socket.fd());
  if (connect(socket.fd(), to.ai_addr, to.ai_addrlen) == 0) return socket;
  if (errno != EINPROGRESS) return Socket();
  int error = ETIMEDOUT;
  socklen_t size = sizeof error;
  if (wait_for(socket.fd(), POLLOUT, std::min(deadline, Clock::now() + longest_try)))
    getsockopt(socket.fd(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error == 0) return socket;
  errno = error;
  return Socket();
}

/// Returns no socket on failure: errno has the reason.
Socket bound(int family, const sockaddr* to, socklen_t size) {
  const int on = 1, off = 0;
  Socket socket(::socket(family, SOCK_STREAM, 0));
  if (socket.fd() < 0) return socket;
  setsockopt(socket.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (family == AF_INET6) setsockopt(socket.fd(), IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  prepare(socket.fd());
  if (bind(socket.fd(), to, size) != 0 || listen(socket.fd(), 1024) != 0) return Socket();
  return socket;
}

bool is_loopback(const addrinfo& at) {
  if (at.ai_family == AF_INET6)
    return IN6_IS_ADDR_LOOPBACK(&reinterpret_cast<const sockaddr_in6*>(at.ai_addr)->sin6_addr);
  const auto* four = reinterpret_cast<const sockaddr_in*>(at.ai_addr);
  return at.ai_family == AF_INET && ntohl(four->sin_addr.s_addr) >> 24 == 127;
}

/// The first of the name's addresses that is one of this machine. A machine often has its own name
/// as a loopback address, at which no other machine finds it: those come last.
Socket bound_to_one(const Address& address) {
  const Lookup lookup = look_up(address);
  if (lookup.code != 0) fail_at(address.text(), gai_strerror(lookup.code));
  int reason = EADDRNOTAVAIL;
  for (const bool loopback : {false, true})
    for (const addrinfo* each = lookup.found.get(); each; each = each->ai_next) {
      if (is_loopback(*each) != loopback) continue;
      if (Socket socket = bound(each->ai_family, each->ai_addr, each->ai_addrlen); socket.fd() >= 0)
        return socket;
      reason = errno;
    }
  errno = reason;
  return Socket();
}

/// Binds to IPv4 and IPv6 if the machine has both.
Socket bound_to_all(uint16_t port) {
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  Socket socket = bound(AF_INET6, reinterpret_cast<const sockaddr*>(&six), sizeof six);
  if (socket.fd() >= 0 || errno == EADDRINUSE || errno == EACCES) return socket;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return bound(AF_INET, reinterpret_cast<const sockaddr*>(&four), sizeof four);
}

uint16_t port_number(const std::string& text) {
  const bool digits =
      !text.empty() && text.size() <= 5 &&
      std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const int number = digits ? std::stoi(text) : 1 << 16;
  if (number >= 1 << 16)
    throw CommError(-1, "'" + text + "' is not a port: write a number below 65536");
  return static_cast<uint16_t>(number);
}

}  // namespace

Address Address::parse(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0)
    throw CommError(-1, "'" + text + "' is not an address: write host:port");
  Address made{text.substr(0, colon), text.substr(colon + 1)};
  if (made.host.front() == '[' && made.host.back() == ']')
    made.host = made.host.substr(1, made.host.size() - 2);
  else if (made.host.find(':') != std::string::npos)
    throw CommError(-1, "'" + text + "' is not an address: write [" + made.host + "]:" + made.port);
  port_number(made.port);
  return made;
}

std::string Address::text() const {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + port;
}

bool Address::is_any() const { return host == "any"; }

Socket::~Socket() {
  if (fd_ >= 0) close(fd_);
}

Socket listen_at(const Address& address) {
  Socket socket =
      address.is_any() ? bound_to_all(port_number(address.port)) : bound_to_one(address);
  if (socket.fd() < 0)
    throw CommError(0, "rank 0 cannot listen at " + address.text() + ": " + std::strerror(errno));
  return socket;
}

uint16_t port_of(const Socket& socket) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  getsockname(socket.fd(), reinterpret_cast<sockaddr*>(&name), &size);
  const bool six = name.ss_family == AF_INET6;
  return ntohs(six ? reinterpret_cast<const sockaddr_in6&>(name).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

Socket connect_to(const Address& address, Deadline deadline) {
  const Found found = resolve(address, deadline);
  for (;;) {
    std::string reason;
    for (const addrinfo* each = found.get(); each; each = each->ai_next) {
      if (Socket socket = try_to_connect(*each, deadline); socket.fd() >= 0) return socket;
      reason = std::strerror(errno);
    }
    if (Clock::now() >= deadline)
      fail_at(address.text(), "no server listens there (" + reason + "): is rank 0 running?");
    std::this_thread::sleep_for(between_tries);
  }
}

void send_all(const Socket& socket, std::string_view bytes, Deadline deadline,
              const std::string& peer) {
  while (!bytes.empty()) {
    const ssize_t sent = send(socket.fd(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent > 0)
      bytes.remove_prefix(static_cast<size_t>(sent));
    else if (errno != EAGAIN && errno != EINTR)
      fail_at(peer, std::string("the connection is lost: ") + std::strerror(errno));
    else if (!wait_for(socket.fd(), POLLOUT, deadline))
      fail_at(peer, "does not receive what is sent");
  }
}

std::string receive_exactly(const Socket& socket, size_t bytes, Deadline deadline,
                            const std::string& peer) {
  std::string got(bytes, '\0');
  for (size_t have = 0; have < bytes;) {
    const ssize_t more = recv(socket.fd(), got.data() + have, bytes - have, 0);
    if (more > 0)
      have += static_cast<size_t>(more);
    else if (more == 0)
      fail_at(peer, "the connection was closed: rank 0 has ended");
    else if (errno != EAGAIN && errno != EINTR)
      fail_at(peer, std::string("the connection is lost: ") + std::strerror(errno));
    else if (!wait_for(socket.fd(), POLLIN, deadline))
      fail_at(peer, "does not answer");
  }
  return got;
}

}  // namespace shardproof
