#pragma once
// Processes tell each other what they are about to do, so that they notice when they do not mean
// the same, instead of waiting for ever.
#include <chrono>
#include <cstdint>

#include "impl/comm/mpi/announcement.h"
#include "impl/comm/mpi/error.h"

namespace shardproof {

/// One rank's end. Between any two ranks announcements are in order, whatever the group: so a rank
/// that is in another group than its partner is noticed too. Circles of ranks that wait for
/// announcements which never come are found by probes that are passed along the chain of waiting
/// ranks (Chandy, Misra and Haas, Distributed deadlock detection, 1983).
class Announcer {
 public:
  /// `world` stays the caller's, who uses it for nothing else.
  explicit Announcer(MPI_Comm world);

  /// Exchanges announcements with the other members; throws CommError, rank -1, where one differs.
  void agree(const Announcement& own, const std::vector<int>& ranks);

 private:
  using Clock = std::chrono::steady_clock;
  /// `sender` waits for the `awaited`-th announcement of the receiver to it.
  struct Probe {
    int32_t initiator, sender;
    uint32_t initiator_round, awaited;
    Announcement announcement;  ///< the sender's
  };

  void begin(const std::vector<int>& ranks);
  void receive_all(const std::vector<int>& ranks);
  bool receive_some(const std::vector<int>& ranks);
  void pause(int tries, Clock::time_point begun);
  void send_probe(Probe probe);
  void take_probes();
  void take_probe(const Probe& probe);
  void compare(int rank, const Announcement& other) const;
  void compare_routes(const std::vector<int>& ranks) const;
  [[noreturn]] void throw_difference(int rank, const Announcement& one, int other,
                                     const Announcement& another) const;
  void require(int code, const char* what) const { require_mpi(code, rank_, what); }

  MPI_Comm world_;
  int rank_ = 0, size_ = 0;
  Announcement own_;
  uint32_t round_ = 0;  ///< calls of agree so far
  bool probed_ = false;
  std::vector<uint32_t> sent_, received_;  ///< announcements, by rank
  std::vector<uint32_t> forwarded_;        ///< the last round of an initiator
  std::vector<Announcement> inbox_;        ///< by rank: open receptions write here
  std::vector<bool> missing_;              ///< by rank
  std::vector<MPI_Request> receptions_, sends_;
  std::vector<int> done_;
};

}  // namespace shardproof
