#pragma once
// Processes announce their next call to each other, so that a disagreement is an error and not a
// hang.
#include <chrono>
#include <cstdint>

#include "impl/comm/mpi/announcement.h"
#include "impl/comm/mpi/error.h"

namespace shardproof {

/// One rank's endpoint. Announcements between two ranks are ordered across all groups, so a
/// rank that is in another group than its partner is detected too. Probes along the chain of
/// waiting ranks find deadlocks (Chandy, Misra and Haas, Distributed deadlock detection,
/// 1983).
class Announcer {
 public:
  /// `world` belongs to the caller, who must not use it for anything else.
  explicit Announcer(MPI_Comm world);

  /// Exchanges announcements with the other members. Throws CommError with rank -1 if one differs.
  void agree(const Announcement& own, const std::vector<int>& ranks);

 private:
  using Clock = std::chrono::steady_clock;
  /// `sender` waits for the receiver's `awaited`-th announcement to it.
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
  uint32_t round_ = 0;  ///< number of calls of agree
  bool probed_ = false;
  std::vector<uint32_t> sent_, received_;  ///< number of announcements, by rank
  std::vector<uint32_t> forwarded_;        ///< the last round forwarded, by initiator
  std::vector<Announcement> inbox_;        ///< by rank: receive buffers
  std::vector<bool> missing_;              ///< by rank
  std::vector<MPI_Request> receptions_, sends_;
  std::vector<int> done_;
};

}  // namespace shardproof
