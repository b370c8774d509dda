#include "impl/comm/mpi/announcer.h"

#include <algorithm>
#include <thread>

namespace shardproof {
namespace {

constexpr int announcement_tag = 1, probe_tag = 2;
constexpr int busy_tries = 2000;  ///< tries before a waiting rank sleeps between tries
constexpr auto nap = std::chrono::microseconds(50);
constexpr auto patience = std::chrono::milliseconds(500);  ///< before it looks for a circle

}  // namespace

Announcer::Announcer(MPI_Comm world) : world_(world) {
  MPI_Comm_rank(world, &rank_);
  MPI_Comm_size(world, &size_);
  sent_.resize(size_);
  received_.resize(size_);
  forwarded_.resize(size_);
  inbox_.resize(size_);
  missing_.resize(size_);
}

void Announcer::agree(const Announcement& own, const std::vector<int>& ranks) {
  own_ = own;
  inbox_[rank_] = own;
  ++round_;
  probed_ = false;
  begin(ranks);
  receive_all(ranks);
  require(MPI_Waitall(static_cast<int>(sends_.size()), sends_.data(), MPI_STATUSES_IGNORE),
          "MPI_Waitall");
  if (own.kind == Announcement::Kind::call && own.collective == Collective::permute)
    compare_routes(ranks);
}

void Announcer::begin(const std::vector<int>& ranks) {
  receptions_.clear();
  sends_.clear();
  for (int rank : ranks) {
    MPI_Request& reception = receptions_.emplace_back(MPI_REQUEST_NULL);
    if (rank == rank_) continue;
    missing_[rank] = true;
    require(MPI_Irecv(&inbox_[rank], sizeof(Announcement), MPI_BYTE, rank, announcement_tag, world_,
                      &reception),
            "MPI_Irecv");
  }
  for (int rank : ranks) {
    if (rank == rank_) continue;
    ++sent_[rank];
    require(MPI_Isend(&own_, sizeof own_, MPI_BYTE, rank, announcement_tag, world_,
                      &sends_.emplace_back()),
            "MPI_Isend");
  }
}

void Announcer::receive_all(const std::vector<int>& ranks) {
  const Clock::time_point begun = Clock::now();
  for (int tries = 0; !receive_some(ranks); ++tries) pause(tries, begun);
}

/// Compares announcements that have arrived; true if all have.
bool Announcer::receive_some(const std::vector<int>& ranks) {
  int count = 0;
  done_.resize(ranks.size());
  require(MPI_Testsome(static_cast<int>(ranks.size()), receptions_.data(), &count, done_.data(),
                       MPI_STATUSES_IGNORE),
          "MPI_Testsome");
  if (count == MPI_UNDEFINED) return true;
  for (int i = 0; i < count; ++i) {
    const int rank = ranks[done_[i]];
    missing_[rank] = false;
    ++received_[rank];
    compare(rank, inbox_[rank]);
  }
  return false;
}

void Announcer::pause(int tries, Clock::time_point begun) {
  if (tries < busy_tries) return std::this_thread::yield();
  std::this_thread::sleep_for(nap);
  if (Clock::now() - begun < patience) return;
  if (!probed_) send_probe({rank_, rank_, round_, 0, own_});
  probed_ = true;
  take_probes();
}

/// Sends to every rank that this rank waits for. Small enough for MPI to send without a receiver.
void Announcer::send_probe(Probe probe) {
  probe.sender = rank_;
  probe.announcement = own_;
  for (int rank = 0; rank < size_; ++rank) {
    if (!missing_[rank]) continue;
    probe.awaited = received_[rank] + 1;
    require(MPI_Send(&probe, sizeof probe, MPI_BYTE, rank, probe_tag, world_), "MPI_Send");
  }
}

void Announcer::take_probes() {
  for (int there = 1; there;) {
    require(MPI_Iprobe(MPI_ANY_SOURCE, probe_tag, world_, &there, MPI_STATUS_IGNORE), "MPI_Iprobe");
    if (!there) return;
    Probe probe;
    require(MPI_Recv(&probe, sizeof probe, MPI_BYTE, MPI_ANY_SOURCE, probe_tag, world_,
                     MPI_STATUS_IGNORE),
            "MPI_Recv");
    take_probe(probe);
  }
}

void Announcer::take_probe(const Probe& probe) {
  const auto before = [](uint32_t a, uint32_t b) { return static_cast<int32_t>(a - b) < 0; };
  if (!before(sent_[probe.sender], probe.awaited)) return;  // it has been sent meanwhile
  if (probe.initiator == rank_) {
    if (probe.initiator_round != round_) return;
    throw CommError(-1, "ranks wait for each other: rank " + std::to_string(rank_) + " " +
                            text(own_) + "; rank " + std::to_string(probe.sender) + " " +
                            text(probe.announcement) + " and waits for rank " +
                            std::to_string(rank_));
  }
  if (forwarded_[probe.initiator] == probe.initiator_round) return;
  forwarded_[probe.initiator] = probe.initiator_round;
  send_probe(probe);
}

void Announcer::compare(int rank, const Announcement& other) const {
  if (!own_.agrees(other)) throw_difference(rank_, own_, rank, other);
}

void Announcer::compare_routes(const std::vector<int>& ranks) const {
  for (size_t i = 0; i < ranks.size(); ++i) {
    const int to = ranks[inbox_[ranks[i]].to];
    if (inbox_[to].from != static_cast<int32_t>(i))
      throw_difference(ranks[i], inbox_[ranks[i]], to, inbox_[to]);
  }
}

void Announcer::throw_difference(int rank, const Announcement& one, int other,
                                 const Announcement& another) const {
  const std::string a = std::to_string(rank), b = std::to_string(other);
  throw CommError(-1, "ranks " + a + " and " + b + " disagree: rank " + a + " " + text(one) +
                          ", rank " + b + " " + text(another));
}

}  // namespace shardproof
