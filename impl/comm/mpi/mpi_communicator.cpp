#include "impl/comm/mpi/mpi_communicator.h"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstring>
#include <map>
#include <optional>

#include "impl/comm/agreement.h"
#include "impl/comm/bytes.h"
#include "impl/comm/mpi/datatypes.h"
#include "impl/comm/mpi/error.h"
#include "kernels/cpu/reduce_ranks.h"
#include "kernels/fnv1a.h"

namespace shardproof {
namespace {

/// Below this many bytes of all members together, each member reduces everything itself.
constexpr size_t gather_all_bytes = 64 << 10;

class MpiGroup : public Group {
 public:
  MpiGroup(const std::vector<int>& ranks, int position) : Group(ranks, position) {}
  ~MpiGroup() override {
    if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
  }

  MPI_Comm comm = MPI_COMM_NULL;  ///< created by the first call; not for groups of one
};

/// The text that a rank sends to all others before its calls.
struct Said {
  uint64_t hash;   ///< of the whole text
  char text[248];  ///< truncated to 247 bytes; ends in 0

  explicit Said(const std::string& whole = "") : hash(fnv1a(whole)), text{} {
    std::memcpy(text, whole.data(), std::min(whole.size(), sizeof text - 1));
  }
};

/// A duplicate of MPI_COMM_WORLD; the destructor frees it.
struct World {
  World() {
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
  }
  ~World() { MPI_Comm_free(&comm); }

  MPI_Comm comm;
  int rank, size;
};

class MpiCommunicator : public Communicator {
 public:
  explicit MpiCommunicator(bool deterministic)
      : deterministic_(deterministic), said_(static_cast<size_t>(world_.size)) {}

  int rank() const override { return world_.rank; }
  int size() const override { return world_.size; }
  Group& group(const std::vector<int>& ranks) override;
  void begin_sequence(const std::string& what) override {
    agree(what);
    in_sequence_ = true;
  }
  void end_sequence() noexcept override { in_sequence_ = false; }
  bool any_thread() const override {
    int provided;
    MPI_Query_thread(&provided);
    return provided >= MPI_THREAD_SERIALIZED;
  }

  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override;
  void abort(const std::string& reason) noexcept override;
  /// Throws CommError if another rank does something else than end.
  void end() { agree("has ended"); }

 private:
  /// Compares `what` on all ranks. A rank that does something else cannot be missed: `world_` is
  /// used only for this and to create groups.
  void agree(const std::string& what);
  /// Collective over the ranks.
  MPI_Comm make_comm(const std::vector<int>& ranks);
  /// Outside a sequence, compares the call on all ranks. Returns MPI's communicator; null for a
  /// group of one.
  MPI_Comm enter(Group& group, const Call& call, const std::string& place);
  void require(int code, const Call& call, const std::string& place) const;
  /// Calls MPI's own collective.
  int call_mpi(Group& group, MPI_Comm comm, const Call& call, const void* send, void* receive);
  /// Whether we reduce in the order of the group instead of MPI.
  bool by_order(const Call& call) const {
    return reduces(call) &&
           (call.element == Element::bf16 || (deterministic_ && call.reduction == Reduction::sum));
  }
  void scatter_in_order(Group& group, MPI_Comm comm, const Call& call, const void* send,
                        void* receive, const std::string& place);
  void reduce_in_order(Group& group, MPI_Comm comm, const Call& call, const void* send,
                       void* receive, const std::string& place);
  void reduce_by_parts(Group& group, MPI_Comm comm, const Call& call, const void* send,
                       void* receive, const std::string& place);
  void* scratch(size_t bytes);
  /// Reduces the rows of the scratch, each of `count` entries.
  void reduce_rows(const Call& call, int rows, size_t count, void* receive);

  World world_;
  bool deterministic_, in_sequence_ = false;
  MpiReductions reductions_;
  std::vector<Said> said_;  ///< by rank
  std::optional<CommError> fault_;
  std::map<std::vector<int>, std::unique_ptr<MpiGroup>> groups_;
  std::vector<std::byte> scratch_;
};

void MpiCommunicator::agree(const std::string& what) {
  if (fault_) throw *fault_;
  if (size() == 1) return;
  const Said own(what);
  require_mpi(
      MPI_Allgather(&own, sizeof own, MPI_BYTE, said_.data(), sizeof own, MPI_BYTE, world_.comm),
      rank(), "agreeing on what comes next");
  const bool same = std::all_of(said_.begin(), said_.end(),
                                [&](const Said& each) { return each.hash == own.hash; });
  if (same) return;
  std::vector<std::string> texts;
  for (const Said& each : said_) texts.emplace_back(each.text);
  try {
    require_same(texts);
    throw CommError(-1, "ranks disagree after the first 247 bytes of: " + texts[0]);
  } catch (const CommError& error) {
    fault_ = error;
    throw;
  }
}

Group& MpiCommunicator::group(const std::vector<int>& ranks) {
  std::unique_ptr<MpiGroup>& group = groups_[ranks];
  if (!group) group = std::make_unique<MpiGroup>(ranks, position_in(ranks, rank(), size()));
  return *group;
}

MPI_Comm MpiCommunicator::make_comm(const std::vector<int>& ranks) {
  const std::string what = "making a group of " + text_of_ranks(ranks);
  MPI_Group world, members;
  MPI_Comm comm;
  require_mpi(MPI_Comm_group(world_.comm, &world), rank(), what);
  require_mpi(MPI_Group_incl(world, static_cast<int>(ranks.size()), ranks.data(), &members), rank(),
              what);
  require_mpi(MPI_Comm_create_group(world_.comm, members, 0, &comm), rank(), what);
  MPI_Group_free(&members);
  MPI_Group_free(&world);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
  return comm;
}

MPI_Comm MpiCommunicator::enter(Group& group, const Call& call, const std::string& place) {
  if (call.count > INT_MAX)
    throw CommError(rank(), "rank " + std::to_string(rank()) + ": MPI counts to 2^31 - 1 in " +
                                to_string(PlacedCall{call, place}));
  if (group.size() == 1) return MPI_COMM_NULL;
  if (!in_sequence_) agree(agreed_text(call, place, group.size()));
  MPI_Comm& comm = static_cast<MpiGroup&>(group).comm;
  if (comm == MPI_COMM_NULL) comm = make_comm(group.ranks());
  return comm;
}

void MpiCommunicator::require(int code, const Call& call, const std::string& place) const {
  if (code != MPI_SUCCESS) require_mpi(code, rank(), to_string(PlacedCall{call, place}));
}

void MpiCommunicator::collective(Group& group, const Call& call, const void* send, void* receive,
                                 const std::string& place) {
  const MPI_Comm comm = enter(group, call, place);
  if (comm == MPI_COMM_NULL) return copy_bytes(receive, send, call.bytes());
  if (!by_order(call)) return require(call_mpi(group, comm, call, send, receive), call, place);
  if (call.collective == Collective::all_reduce)
    reduce_in_order(group, comm, call, send, receive, place);
  else
    scatter_in_order(group, comm, call, send, receive, place);
}

int MpiCommunicator::call_mpi(Group& group, MPI_Comm comm, const Call& call, const void* send,
                              void* receive) {
  const int n = static_cast<int>(call.count);
  switch (call.collective) {
    case Collective::all_gather:
      return MPI_Allgather(send, n, MPI_BYTE, receive, n, MPI_BYTE, comm);
    case Collective::all_reduce:
      return MPI_Allreduce(send, receive, n, mpi_type(call.element),
                           reductions_.of(call.element, call.reduction), comm);
    case Collective::reduce_scatter:
      return MPI_Reduce_scatter_block(send, receive, n, mpi_type(call.element),
                                      reductions_.of(call.element, call.reduction), comm);
    case Collective::all_to_all:
      return MPI_Alltoall(send, n, MPI_BYTE, receive, n, MPI_BYTE, comm);
    case Collective::permute:
      return MPI_Sendrecv(send, n, MPI_BYTE, call.to, 0, receive, n, MPI_BYTE, call.from, 0, comm,
                          MPI_STATUS_IGNORE);
    case Collective::send:
      if (call.gives(group.position())) return MPI_Send(send, n, MPI_BYTE, 1, 0, comm);
      return MPI_Recv(receive, n, MPI_BYTE, 0, 0, comm, MPI_STATUS_IGNORE);
  }
  return MPI_ERR_OTHER;
}

void MpiCommunicator::scatter_in_order(Group& group, MPI_Comm comm, const Call& call,
                                       const void* send, void* receive, const std::string& place) {
  const int n = static_cast<int>(call.count);
  const MPI_Datatype type = mpi_type(call.element);
  void* blocks = scratch(call.bytes_sent(group.size()));
  require(MPI_Alltoall(send, n, type, blocks, n, type, comm), call, place);
  reduce_rows(call, group.size(), call.count, receive);
}

void* MpiCommunicator::scratch(size_t bytes) {
  if (scratch_.size() < bytes) scratch_.resize(bytes);
  return scratch_.data();
}

void MpiCommunicator::reduce_rows(const Call& call, int rows, size_t count, void* receive) {
  std::vector<const void*> sources;
  for (int row = 0; row < rows; ++row)
    sources.push_back(scratch_.data() + row * count * size_of(call.element));
  reduce_ranks(call.element, call.reduction, sources.data(), rows, receive, count);
}

void MpiCommunicator::reduce_in_order(Group& group, MPI_Comm comm, const Call& call,
                                      const void* send, void* receive, const std::string& place) {
  const size_t all = group.size() * call.count * size_of(call.element);
  if (all > gather_all_bytes) return reduce_by_parts(group, comm, call, send, receive, place);
  const int count = static_cast<int>(call.count);
  const MPI_Datatype type = mpi_type(call.element);
  require(MPI_Allgather(send, count, type, scratch(all), count, type, comm), call, place);
  reduce_rows(call, group.size(), call.count, receive);
}

/// Each member reduces its share of the entries.
void MpiCommunicator::reduce_by_parts(Group& group, MPI_Comm comm, const Call& call,
                                      const void* send, void* receive, const std::string& place) {
  const size_t n = group.size(), part = (call.count + n - 1) / n;
  std::vector<int> counts, begins, rows;
  for (size_t i = 0; i < n; ++i) {
    begins.push_back(static_cast<int>(std::min(i * part, call.count)));
    counts.push_back(static_cast<int>(std::min((i + 1) * part, call.count)) - begins[i]);
  }
  const int own = counts[group.position()];
  for (size_t i = 0; i < n; ++i) rows.push_back(static_cast<int>(i) * own);
  const std::vector<int> owns(n, own);
  const MPI_Datatype type = mpi_type(call.element);
  const size_t width = size_of(call.element);
  require(MPI_Alltoallv(send, counts.data(), begins.data(), type, scratch(n * own * width),
                        owns.data(), rows.data(), type, comm),
          call, place);
  void* reduced = at_byte(receive, begins[group.position()] * width);
  reduce_rows(call, group.size(), own, reduced);
  require(MPI_Allgatherv(MPI_IN_PLACE, 0, type, receive, counts.data(), begins.data(), type, comm),
          call, place);
}

void MpiCommunicator::abort(const std::string& reason) noexcept {
  const std::string prefix = "rank " + std::to_string(rank()) + ": ";
  const bool said = reason.starts_with(prefix);
  std::fprintf(stderr, "%s%s\n", said ? "" : prefix.c_str(), reason.c_str());
  std::fflush(stderr);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

std::unique_ptr<Communicator> mpi_communicator(bool deterministic) {
  return std::make_unique<MpiCommunicator>(deterministic);
}

int run_on_mpi(int argc, char** argv, const std::function<void(Communicator&)>& body,
               bool deterministic) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
  {
    MpiCommunicator communicator(deterministic);
    try {
      if (provided < MPI_THREAD_SERIALIZED) throw CommError(-1, "this MPI allows one thread only");
      body(communicator);
      communicator.end();
    } catch (const std::exception& error) {
      communicator.abort(error.what());
    } catch (...) {
      communicator.abort("an exception of unknown type");
    }
  }
  MPI_Finalize();
  return 0;
}

}  // namespace shardproof
