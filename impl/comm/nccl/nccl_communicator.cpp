#include "impl/comm/nccl/nccl_communicator.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <numeric>
#include <set>

#include "impl/comm/agreement.h"
#include "impl/comm/bytes.h"
#include "impl/comm/nccl/links.h"
#include "impl/comm/nccl/types.h"
#include "impl/comm/splits.h"
#include "impl/comm/store/agree.h"
#include "impl/comm/store/call_log.h"
#include "impl/comm/store/watch.h"

namespace shardproof {
namespace {

class NcclGroup : public Group {
 public:
  NcclGroup(const std::vector<int>& ranks, int position) : Group(ranks, position) {}

  ncclComm_t comm = nullptr;  ///< created by prepare() or the first call
};

/// Each run starts the recorded calls again.
class CountedGraph : public Graph {
 public:
  CountedGraph(std::unique_ptr<Graph> graph, CallLog& log, CallLog::Recording calls)
      : graph_(std::move(graph)), log_(log), calls_(std::move(calls)) {}
  void run(Queue& queue) override {
    log_.repeat(calls_);
    graph_->run(queue);
  }

 private:
  const std::unique_ptr<Graph> graph_;
  CallLog& log_;
  const CallLog::Recording calls_;
};

/// Selects the GPU for this thread.
void choose_gpu(int rank, int ordinal) {
  const cudaError_t error = cudaSetDevice(ordinal);
  if (error == cudaSuccess) return;
  throw CommError(rank, said_by(rank, "no CUDA device " + std::to_string(ordinal) + ": " +
                                          cudaGetErrorString(error)));
}

class NcclCommunicator : public Communicator {
 public:
  NcclCommunicator(Store& store, int rank, int world, NcclDevice device,
                   const NcclOptions& options);

  int rank() const override { return rank_; }
  int size() const override { return world_; }
  Group& group(const std::vector<int>& ranks) override { return own_group(ranks); }
  void prepare(const std::vector<std::vector<int>>& groups) override;
  void use(Queue& queue) override { queue_ = &queue; }
  void begin_sequence(const std::string& what) override {
    agree(what);
    in_sequence_ = true;
  }
  void end_sequence() noexcept override { in_sequence_ = false; }
  std::shared_ptr<Graph> record(Device& device, Queue& queue,
                                const std::function<void()>& work) override;
  void require_alive() override { watch_.require_alive(); }
  void abort(const std::string& reason) noexcept override { watch_.fail(reason); }

  void collective(Group& group, const Call& call, const void* send, void* receive,
                  const std::string& place) override;

 private:
  NcclGroup& own_group(const std::vector<int>& ranks);
  /// Creates the communicator if needed; collective over its members.
  ncclComm_t comm_of(NcclGroup& group);
  void agree(const std::string& what) {
    agreement_.agree(what, options_.timeout, [this] { require_alive(); });
  }
  /// Outside a sequence, compares the call on all ranks. False if NCCL has nothing to do.
  bool enter(NcclGroup& group, const Call& call, const void* send, void* receive,
             const std::string& place);
  /// give(comm, stream) calls NCCL.
  template <class Give>
  void give(NcclGroup& group, const Call& call, const std::string& place, const Give& give);
  void reduce(NcclGroup& group, const Call& call, const void* send, void* receive,
              const std::string& place);
  void send_on(NcclGroup& group, const Call& call, const void* send, void* receive,
               const std::string& place);
  void exchange_blocks(NcclGroup& group, const Call& call, const void* send, void* receive,
                       size_t bytes, const std::string& place);
  /// receive = the rows of the scratch, each of `count` entries, reduced in the order of the group.
  void join_rows(const Call& call, int rows, size_t count, void* receive);
  void gather_and_join(NcclGroup& group, const Call& call, const void* send, void* receive,
                       const std::string& place);
  std::byte* scratch(size_t bytes);

  Store& store_;
  const int rank_, world_;
  NcclDevice device_;
  const NcclOptions options_;
  bool in_sequence_ = false;
  StoreAgreement agreement_;
  Queue* queue_ = nullptr;
  std::map<std::vector<int>, std::unique_ptr<NcclGroup>> groups_;
  std::set<std::vector<int>> prepared_;  ///< the same on all ranks
  std::map<Queue*, Buffer> scratch_;
  NcclLinks links_;
  CallLog log_;
  Watch watch_;  ///< declared last, so it is destroyed first
};

/// Validates the arguments before waiting for other ranks.
int met(Store& store, int rank, int world, const NcclDevice& device, const NcclOptions& options) {
  choose_gpu(rank, device.ordinal);
  meet(store, rank, world, options.timeout);
  return rank;
}

NcclCommunicator::NcclCommunicator(Store& store, int rank, int world, NcclDevice device,
                                   const NcclOptions& options)
    : store_(store),
      rank_(met(store, rank, world, device, options)),
      world_(world),
      device_(std::move(device)),
      options_(options),
      agreement_(store, rank, world),
      links_(rank, options.timeout, [this] { watch_.require_alive(); }),
      watch_(
          store, rank, world, options.silence, [this] { return links_.fault(); },
          [this] { links_.abort(); }, &log_) {}

NcclGroup& NcclCommunicator::own_group(const std::vector<int>& ranks) {
  std::unique_ptr<NcclGroup>& group = groups_[ranks];
  if (!group) group = std::make_unique<NcclGroup>(ranks, position_in(ranks, rank_, world_));
  return *group;
}

ncclComm_t NcclCommunicator::comm_of(NcclGroup& group) {
  if (group.comm) return group.comm;
  const std::string what = "making a group of " + text_of_ranks(group.ranks());
  const std::string key = "nccl/" + text_of_ranks(group.ranks());
  ncclUniqueId id;
  if (group.position() == 0) {
    links_.call(
        nullptr, [&] { return ncclGetUniqueId(&id); }, [&] { return what; });
    store_.set(key, std::string(id.internal, sizeof id.internal));
  } else {
    const std::string bytes = store_.get(key, options_.timeout, [this] { require_alive(); });
    std::memcpy(id.internal, bytes.data(), std::min(bytes.size(), sizeof id.internal));
  }
  choose_gpu(rank_, device_.ordinal);
  return group.comm = links_.make(group.size(), id, group.position(), what);
}

void NcclCommunicator::prepare(const std::vector<std::vector<int>>& groups) {
  std::vector<int> everybody(world_);
  std::iota(everybody.begin(), everybody.end(), 0);
  std::vector<std::vector<int>> wanted;
  for (const std::vector<int>& ranks : groups)
    if (ranks.size() > 1 && prepared_.insert(ranks).second) wanted.push_back(ranks);
  if (world_ == 1 || wanted.empty()) return;
  log_.begin(everybody, Call::move(Collective::all_gather, 0), "the making of groups");
  const ncclComm_t world = comm_of(own_group(everybody));
  std::erase(wanted, everybody);
  for (const Split& split : splits_of(wanted)) {
    const std::optional<Seat> seat = seat_in(split, rank_);
    const ncclComm_t comm = links_.split(world, seat ? seat->colour : NCCL_SPLIT_NOCOLOR,
                                         seat ? seat->key : 0, "splitting the world");
    for (const std::vector<int>& ranks : split)
      if (std::find(ranks.begin(), ranks.end(), rank_) != ranks.end()) own_group(ranks).comm = comm;
  }
}

std::shared_ptr<Graph> NcclCommunicator::record(Device& device, Queue& queue,
                                                const std::function<void()>& work) {
  CallLog::Recording calls;
  std::unique_ptr<Graph> graph = device.record(queue, [&] { calls = log_.recorded(work); });
  if (!graph) return nullptr;
  return std::make_shared<CountedGraph>(std::move(graph), log_, std::move(calls));
}

bool NcclCommunicator::enter(NcclGroup& group, const Call& call, const void* send, void* receive,
                             const std::string& place) {
  require_alive();
  if (!queue_)
    throw CommError(rank_, said_by(rank_, "no queue is given to NCCL: Communicator::use"));
  const bool alone = group.size() == 1;
  if (!alone) log_.begin(group.ranks(), call, place);
  if (!in_sequence_ && !alone) agree(agreed_text(call, place, group.size()));
  if (call.count == 0) return false;
  if (!alone || options_.alone) return true;
  device_.device.copy(*queue_, receive, send, call.bytes());
  return false;
}

template <class Give>
void NcclCommunicator::give(NcclGroup& group, const Call& call, const std::string& place,
                            const Give& give) {
  const ncclComm_t comm = comm_of(group);
  const cudaStream_t stream = device_.stream_of(*queue_);
  links_.call(
      comm, [&] { return give(comm, stream); },
      [&] {
        return to_string(PlacedCall{call, place}) + ", of " + text_of_ranks(group.ranks());
      });
}

void NcclCommunicator::collective(Group& group, const Call& call, const void* send, void* receive,
                                  const std::string& place) {
  NcclGroup& own = static_cast<NcclGroup&>(group);
  if (!enter(own, call, send, receive, place)) return;
  switch (call.collective) {
    case Collective::all_gather:
      return give(own, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
        return ncclAllGather(send, receive, call.count, ncclUint8, comm, stream);
      });
    case Collective::all_reduce:
    case Collective::reduce_scatter:
      return reduce(own, call, send, receive, place);
    case Collective::all_to_all:
      return exchange_blocks(own, call, send, receive, call.count, place);
    case Collective::permute:
      return send_on(own, call, send, receive, place);
    case Collective::send:
      return give(own, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
        return call.gives(own.position())
                   ? ncclSend(send, call.count, ncclUint8, 1, comm, stream)
                   : ncclRecv(receive, call.count, ncclUint8, 0, comm, stream);
      });
  }
}

void NcclCommunicator::reduce(NcclGroup& group, const Call& call, const void* send, void* receive,
                              const std::string& place) {
  const bool scatters = call.collective == Collective::reduce_scatter;
  if (joined_by_us(call, options_.deterministic)) {
    if (!scatters) return gather_and_join(group, call, send, receive, place);
    exchange_blocks(group, call, send, scratch(call.bytes_sent(group.size())), call.bytes(), place);
    return join_rows(call, group.size(), call.count, receive);
  }
  const ncclDataType_t type = nccl_type(call.element);
  const ncclRedOp_t op = nccl_op(call.reduction);
  give(group, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
    return scatters ? ncclReduceScatter(send, receive, call.count, type, op, comm, stream)
                    : ncclAllReduce(send, receive, call.count, type, op, comm, stream);
  });
}

/// Uses sends and receives: older NCCL versions have no ncclAlltoAll.
void NcclCommunicator::exchange_blocks(NcclGroup& group, const Call& call, const void* send,
                                       void* receive, size_t bytes, const std::string& place) {
  give(group, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
    ncclResult_t result = ncclGroupStart();
    const auto go_on = [&] { return result == ncclSuccess || result == ncclInProgress; };
    for (int i = 0; i < group.size() && go_on(); ++i) {
      result = ncclSend(at_byte(send, i * bytes), bytes, ncclUint8, i, comm, stream);
      if (go_on())
        result = ncclRecv(at_byte(receive, i * bytes), bytes, ncclUint8, i, comm, stream);
    }
    const ncclResult_t ended = ncclGroupEnd();
    return go_on() ? ended : result;
  });
}

void NcclCommunicator::send_on(NcclGroup& group, const Call& call, const void* send, void* receive,
                               const std::string& place) {
  give(group, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
    ncclResult_t result = ncclGroupStart();
    const auto go_on = [&] { return result == ncclSuccess || result == ncclInProgress; };
    if (go_on()) result = ncclSend(send, call.count, ncclUint8, call.to, comm, stream);
    if (go_on()) result = ncclRecv(receive, call.count, ncclUint8, call.from, comm, stream);
    const ncclResult_t ended = ncclGroupEnd();
    return go_on() ? ended : result;
  });
}

void NcclCommunicator::join_rows(const Call& call, int rows, size_t count, void* receive) {
  std::vector<const void*> sources;
  const std::byte* first = scratch_.at(queue_).data();
  for (int row = 0; row < rows; ++row)
    sources.push_back(first + row * count * size_of(call.element));
  device_.device.reduce_ranks(*queue_, call.element, call.reduction, sources.data(), rows, receive,
                              count);
}

void NcclCommunicator::gather_and_join(NcclGroup& group, const Call& call, const void* send,
                                       void* receive, const std::string& place) {
  const size_t width = size_of(call.element), slice = options_.slice / width;
  for (size_t begin = 0; begin < call.count; begin += slice) {
    const size_t count = std::min(slice, call.count - begin), bytes = count * width;
    std::byte* rows = scratch(bytes * group.size());
    give(group, call, place, [&](ncclComm_t comm, cudaStream_t stream) {
      return ncclAllGather(at_byte(send, begin * width), rows, bytes, ncclUint8, comm, stream);
    });
    join_rows(call, group.size(), count, at_byte(receive, begin * width));
  }
}

/// One per stream, whose work is in order.
std::byte* NcclCommunicator::scratch(size_t bytes) {
  Buffer& buffer = scratch_[queue_];
  if (buffer.bytes() < bytes) {
    queue_->finish();
    buffer = device_.device.allocate(bytes);
  }
  return buffer.data();
}

}  // namespace

std::unique_ptr<Communicator> nccl_communicator(Store& store, int rank, int world,
                                                NcclDevice device, const NcclOptions& options) {
  return std::make_unique<NcclCommunicator>(store, rank, world, std::move(device), options);
}

void run_on_nccl(Store& store, int rank, int world, NcclDevice device,
                 const std::function<void(Communicator&)>& body, const NcclOptions& options) {
  NcclCommunicator communicator(store, rank, world, std::move(device), options);
  try {
    body(communicator);
  } catch (const std::exception& error) {
    communicator.abort(error.what());
    throw;
  }
}

}  // namespace shardproof
