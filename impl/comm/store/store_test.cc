// Ranks find each other, on loopback and in a folder. A rank that is missing, late, there twice or
// of another run is named, and no rank waits forever.
#include "impl/comm/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "impl/comm/store/socket.h"
#include "impl/comm/store/tcp_server.h"
#include "impl/comm/store/wire.h"

namespace shardproof {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using namespace std::chrono_literals;
constexpr Milliseconds soon = 200ms, patient = 20s;

template <class Body>
std::string fault(const Body& body) {
  try {
    body();
  } catch (const CommError& error) {
    return error.what();
  }
  return "no fault";
}

struct Folder {
  Folder()
      : path(std::filesystem::temp_directory_path() /
             ("store-" + std::to_string(getpid()) + "-" + std::to_string(made++))) {}
  ~Folder() { std::filesystem::remove_all(path); }
  static inline int made = 0;
  const std::filesystem::path path;
};

/// A port that is not in use now.
std::string free_address() {
  return "127.0.0.1:" + std::to_string(port_of(listen_at(Address::parse("127.0.0.1:0"))));
}

/// body(rank) on a thread each; what they throw, by rank.
template <class Body>
std::vector<std::string> on_ranks(int world, const Body& body) {
  std::vector<std::string> faults(world);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank)
    threads.emplace_back([&, rank] { faults[rank] = fault([&] { body(rank); }); });
  for (std::thread& thread : threads) thread.join();
  return faults;
}

const std::string every_byte = [] {
  std::string bytes;
  for (int i = 0; i < 70'000; ++i) bytes += static_cast<char>(i);
  return bytes;
}();

/// What each kind of store does; `at(rank)` is a rank's end.
template <class At>
void expect_a_store(const At& at) {
  const auto faults = on_ranks(4, [&](int rank) {
    const std::unique_ptr<Store> store = at(rank);
    meet(*store, rank, 4, patient);
    EXPECT_EQ(store->find("nothing"), std::nullopt);
    store->set("of " + std::to_string(rank), every_byte);
    store->set("of " + std::to_string(rank), std::to_string(rank) + every_byte);
    const std::string last = "of " + std::to_string((rank + 1) % 4);
    while (store->get(last, patient) == every_byte) continue;
    EXPECT_EQ(store->get(last, patient), std::to_string((rank + 1) % 4) + every_byte);
    if (store->add("first/ ../.%", std::to_string(rank)))
      store->set("winner", std::to_string(rank));
    EXPECT_EQ(store->get("winner", patient), store->get("first/ ../.%", patient));
    store->set("empty", "");
    EXPECT_EQ(store->get("empty", patient), "");
    EXPECT_THAT(fault([&] { store->get("never", soon); }),
                HasSubstr("no rank has said 'never' within 0.2 s"));
    store->set("done " + std::to_string(rank), "");
    for (int other = 0; other < 4; ++other) store->get("done " + std::to_string(other), patient);
    store->add("left " + std::to_string(rank), "");
    if (rank == 0)
      for (int other = 1; other < 4; ++other) store->get("left " + std::to_string(other), patient);
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

TEST(Store, IsInAFolder) {
  const Folder folder;
  expect_a_store([&](int) { return file_store(folder.path, "run 1/2"); });
}

TEST(Store, IsServedByRank0) {
  const std::string address = free_address();
  expect_a_store([&](int rank) { return tcp_store(address, "a", rank, patient); });
}

TEST(Store, IsServedOnEveryInterface) {
  const TcpServer six(Address{"any", "0"}, "a");
  const std::string port = std::to_string(six.port());
  EXPECT_EQ(fault([&] { tcp_store("localhost:" + port, "a", 1, patient); }), "no fault");
  EXPECT_EQ(fault([&] { tcp_store("127.0.0.1:" + port, "a", 1, patient); }), "no fault");
}

TEST(Store, IsServedAtItsAddressAlone) {
  const TcpServer server(Address::parse("127.0.0.2:0"), "a");
  const std::string port = std::to_string(server.port());
  EXPECT_EQ(fault([&] { tcp_store("127.0.0.2:" + port, "a", 1, patient); }), "no fault");
  EXPECT_THAT(fault([&] { tcp_store("127.0.0.1:" + port, "a", 1, soon); }), HasSubstr("refused"));
  // An address of documentation, which no machine has.
  EXPECT_THAT(fault([&] { listen_at(Address::parse("192.0.2.1:0")); }),
              HasSubstr("cannot listen at 192.0.2.1:0"));
}

/// All that a server answers to these messages, until it hangs up or is silent.
std::string answers(const TcpServer& server, const std::vector<Message>& messages) {
  const Address address{"127.0.0.1", std::to_string(server.port())};
  const Socket stranger = connect_to(address, std::chrono::steady_clock::now() + patient);
  std::string all;
  for (const Message& each : messages) all += packed(each);
  send(stranger.fd(), all.data(), all.size(), MSG_NOSIGNAL);
  std::string got;
  for (char bytes[256];;) {
    pollfd polled{stranger.fd(), POLLIN, 0};
    if (poll(&polled, 1, 200) <= 0) return got;
    const ssize_t more = recv(stranger.fd(), bytes, sizeof bytes, 0);
    if (more <= 0) return got;
    got.append(bytes, static_cast<size_t>(more));
  }
}

TEST(Store, TellsAStrangerNeitherItsRunNorItsKeys) {
  const TcpServer server(Address::parse("127.0.0.1:0"), "the name of a run");
  const std::unique_ptr<Store> store =
      tcp_store("127.0.0.1:" + std::to_string(server.port()), "the name of a run", 1, patient);
  store->set("key", "the value");
  const Message find{Message::find, "key", ""};
  const auto hello = [](const std::string& run) {
    return Message{Message::hello, std::string(greeting), run};
  };
  EXPECT_EQ(answers(server, {find}), "");
  const Message other = hello("the name of another");
  EXPECT_THAT(answers(server, {other}),
              AllOf(HasSubstr("another run"), testing::Not(HasSubstr("name of a run"))));
  EXPECT_THAT(answers(server, {other, find}), testing::Not(HasSubstr("the value")));
  EXPECT_THAT(answers(server, {hello("the name of a run"), find}), HasSubstr("the value"));
}

TEST(Store, WaitsForRank0WhoComesLate) {
  const std::string address = free_address();
  const auto faults = on_ranks(3, [&](int rank) {
    if (rank == 0) std::this_thread::sleep_for(soon);
    const std::unique_ptr<Store> store = tcp_store(address, "a", rank, patient);
    if (rank == 2) std::this_thread::sleep_for(2 * soon);
    meet(*store, rank, 3, patient);
    store->set("met " + std::to_string(rank), "");
    if (rank == 0) store->get("met 1", patient), store->get("met 2", patient);
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

TEST(Store, NamesTheRanksThatAreMissing) {
  const Folder folder;
  const auto faults = on_ranks(4, [&](int rank) {
    if (rank == 1 || rank == 3) return;
    meet(*file_store(folder.path, "a"), rank, 4, rank == 0 ? soon : patient);
  });
  for (int rank : {0, 2})
    EXPECT_THAT(faults[rank], HasSubstr("missing of 4 ranks after 0.2 s: rank(s) 1 3"));
}

TEST(Store, SaysThatRank0IsMissing) {
  const Folder folder;
  EXPECT_THAT(fault([&] { meet(*file_store(folder.path, "a"), 1, 2, soon); }),
              HasSubstr("rank(s) 0"));
  const std::string address = free_address();
  EXPECT_THAT(
      fault([&] { tcp_store(address, "a", 1, soon); }),
      AllOf(HasSubstr(address), HasSubstr("no server listens there"), HasSubstr("refused")));
}

TEST(Store, RefusesAnEarlierRun) {
  const Folder folder;
  const auto both = [&](const std::string& run) {
    return on_ranks(2, [&](int rank) { meet(*file_store(folder.path, run), rank, 2, patient); });
  };
  EXPECT_THAT(both("a"), testing::Each("no fault"));
  EXPECT_THAT(both("b"), testing::Each("no fault"));
  EXPECT_THAT(both("a"), testing::Each(HasSubstr("is connected already")));
  EXPECT_THAT(fault([&] { file_store(folder.path, ""); }), HasSubstr("the run has no name"));
  const TcpServer server(Address::parse("127.0.0.1:0"), "a");
  const std::string address = "127.0.0.1:" + std::to_string(server.port());
  EXPECT_THAT(fault([&] { tcp_store(address, "b", 1, soon); }),
              HasSubstr("serves another run than 'b'"));
}

TEST(Store, RefusesRanksWhoseNumbersDoNotFit) {
  const std::unique_ptr<Store> store = local_store();
  EXPECT_THAT(fault([&] { meet(*store, 2, 2, soon); }), HasSubstr("rank 2 is not one of 2 ranks"));
  EXPECT_THAT(fault([&] { meet(*store, 1, 2, soon); }), HasSubstr("rank(s) 0"));
  EXPECT_THAT(fault([&] { meet(*store, 0, 4, soon); }),
              HasSubstr("says that there are 4 ranks, and another one 2"));
  EXPECT_THAT(fault([&] { meet(*store, 1, 2, soon); }), HasSubstr("two processes are rank 1"));
}

TEST(Store, RefusesWrongNames) {
  EXPECT_THAT(fault([] { tcp_store("nobody", "a", 1, soon); }), HasSubstr("write host:port"));
  EXPECT_THAT(fault([] { tcp_store("a:70000", "a", 1, soon); }), HasSubstr("is not a port"));
  EXPECT_THAT(fault([] { tcp_store("::1:80", "a", 1, soon); }), HasSubstr("write [::1]:80"));
  EXPECT_THAT(fault([] { tcp_store("no such host:80", "a", 1, patient); }),
              HasSubstr("is unknown"));
  EXPECT_THAT(fault([] { file_store("/dev/null/x", "a"); }), HasSubstr("/dev/null/x"));
  const Socket taken = listen_at(Address::parse("127.0.0.1:0"));
  const std::string address = "127.0.0.1:" + std::to_string(port_of(taken));
  EXPECT_THAT(fault([&] { tcp_store(address, "a", 0, soon); }),
              HasSubstr("rank 0 cannot listen at"));
}

/// Another program listens, and answers `answer`.
std::string fault_with_stranger(const std::string& answer) {
  const Socket listener = listen_at(Address::parse("127.0.0.1:0"));
  std::thread stranger([&] {
    pollfd polled{listener.fd(), POLLIN, 0};
    poll(&polled, 1, 5000);
    const Socket client(accept(listener.fd(), nullptr, nullptr));
    send(client.fd(), answer.data(), answer.size(), MSG_NOSIGNAL);
    polled.fd = client.fd();
    poll(&polled, 1, 100);
    std::this_thread::sleep_for(answer.empty() ? 2 * soon : soon);
  });
  const std::string address = "127.0.0.1:" + std::to_string(port_of(listener));
  const std::string what = fault([&] { tcp_store(address, "a", 1, soon); });
  stranger.join();
  return what;
}

TEST(Store, SaysThatAStrangerListens) {
  EXPECT_THAT(fault_with_stranger("HTTP/1.1 400 Bad Request\r\n\r\n"),
              HasSubstr("not a Shardproof store"));
  EXPECT_THAT(fault_with_stranger(""), HasSubstr("is it a store of Shardproof that listens?"));
}

TEST(Store, SurvivesGarbageOnItsPort) {
  const TcpServer server(Address::parse("127.0.0.1:0"), "a");
  const Address address{"127.0.0.1", std::to_string(server.port())};
  const std::unique_ptr<Store> store = tcp_store(address.text(), "a", 1, patient);
  const auto end = std::chrono::steady_clock::now() + patient;
  std::mt19937 rng(1);
  std::vector<Socket> silent;
  for (int i = 0; i < 200; ++i) {
    const Socket stranger = connect_to(address, end);
    std::string garbage = i % 2 ? packed({Message::hello, std::string(greeting), "a"}) : "";
    for (int n = static_cast<int>(rng() % 40); n > 0; --n) garbage += static_cast<char>(rng());
    send_all(stranger, garbage, end, "stranger");
    silent.push_back(connect_to(address, end));
  }
  store->set("still", "there");
  EXPECT_EQ(store->find("still"), "there");
}

TEST(Store, SaysThatRank0HasEnded) {
  const std::string address = free_address();
  std::unique_ptr<Store> zero = tcp_store(address, "a", 0, patient);
  const std::unique_ptr<Store> one = tcp_store(address, "a", 1, patient);
  zero.reset();
  EXPECT_THAT(fault([&] { one->find("a"); }), AllOf(HasSubstr(address), HasSubstr("rank 0")));
  EXPECT_THAT(fault([&] { one->get("a", patient); }), HasSubstr(address));
}

TEST(Store, TakesCallsFromSeveralThreads) {
  const std::string address = free_address();
  const std::unique_ptr<Store> zero = tcp_store(address, "a", 0, patient);
  const std::unique_ptr<Store> one = tcp_store(address, "a", 1, patient);
  const auto faults = on_ranks(4, [&](int thread) {
    for (int i = 0; i < 100; ++i) {
      const std::string key = std::to_string(thread) + " " + std::to_string(i);
      one->set(key, key);
      EXPECT_EQ(zero->find(key), key);
    }
  });
  EXPECT_THAT(faults, testing::Each("no fault"));
}

}  // namespace
}  // namespace shardproof
