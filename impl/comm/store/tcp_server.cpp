#include "impl/comm/store/tcp_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

namespace shardproof {

TcpServer::TcpServer(const Address& address, std::string run)
    : run_(std::move(run)), listener_(listen_at(address)), wake_(eventfd(0, EFD_CLOEXEC)) {
  thread_ = std::thread([this] { serve(); });
}

TcpServer::~TcpServer() {
  const uint64_t one = 1;
  while (write(wake_.fd(), &one, sizeof one) < 0 && errno == EINTR) continue;
  thread_.join();
}

void TcpServer::serve() {
  for (;;) {
    std::vector<pollfd> polled{{wake_.fd(), POLLIN, 0}, {listener_.fd(), POLLIN, 0}};
    for (const Client& client : clients_) {
      const short writes = client.out.empty() ? 0 : POLLOUT;
      polled.push_back({client.socket.fd(), static_cast<short>(POLLIN | writes), 0});
    }
    if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
    if (polled[0].revents) return;
    for (size_t i = clients_.size(); i-- > 0;)
      if (polled[i + 2].revents && !(receive(clients_[i]) && send_some(clients_[i])))
        clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
    if (polled[1].revents) accept_one();
  }
}

void TcpServer::accept_one() {
  Socket socket(accept4(listener_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (socket.fd() >= 0) clients_.push_back({std::move(socket), {}, {}});
}

bool TcpServer::receive(Client& client) {
  char bytes[1 << 14];
  const ssize_t more = recv(client.socket.fd(), bytes, sizeof bytes, 0);
  if (more < 0) return errno == EAGAIN || errno == EINTR;
  client.in.append(bytes, static_cast<size_t>(more));
  return more > 0 && answer_all(client);
}

bool TcpServer::answer_all(Client& client) {
  while (client.in.size() >= head_bytes) {
    const auto head = head_of(client.in);
    if (!head ||
        (!client.greeted && (head->kind != Message::hello || head->key != greeting.size())))
      return false;
    const size_t whole = head_bytes + head->key + head->value;
    if (client.in.size() < whole) return true;
    const Message request{head->kind, client.in.substr(head_bytes, head->key),
                          client.in.substr(head_bytes + head->key, head->value)};
    client.in.erase(0, whole);
    if (client.greeted)
      client.out += packed(answered(request));
    else if (!greet(client, request))
      return false;
  }
  return true;
}

bool TcpServer::greet(Client& client, const Message& request) {
  if (request.key != greeting) return false;
  client.greeted = request.value == run_;
  // Its own name is what lets a rank in: a stranger does not get it.
  const std::string reason = "serves another run than '" + request.value + "'";
  client.out += packed(client.greeted ? Message{Message::yes, {}, {}}
                                      : Message{Message::refused, {}, reason});
  return true;
}

Message TcpServer::answered(const Message& request) {
  const auto yes_if = [](bool yes) { return Message{yes ? Message::yes : Message::no, {}, {}}; };
  if (request.kind == Message::find) {
    const std::optional<std::string> value = store_.find(request.key);
    return value ? Message{Message::yes, {}, *value} : yes_if(false);
  }
  if (request.kind == Message::add) return yes_if(store_.add(request.key, request.value));
  if (request.kind != Message::set) return {Message::refused, {}, "does not understand"};
  store_.set(request.key, request.value);
  return yes_if(true);
}

bool TcpServer::send_some(Client& client) {
  while (!client.out.empty()) {
    const ssize_t sent =
        send(client.socket.fd(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (sent <= 0) return errno == EAGAIN || errno == EINTR;
    client.out.erase(0, static_cast<size_t>(sent));
  }
  return true;
}

}  // namespace shardproof
