// An emulated NCCL: the functions that we call, on the CPU and between threads, to test their
// callers without a GPU. A collective completes when its last member has called it. Calls return
// ncclInProgress first, as for a non-blocking communicator.
#include "impl/comm/nccl/emulated/counts.h"

#include <cuda_runtime.h>
#include <nccl.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "kernels/cpu/reduce_ranks.h"

using shardproof::Element;
using shardproof::Reduction;
using shardproof::emulated::NcclCounts;

namespace {

struct Piece {
  int peer;
  const std::byte* send;
  std::byte* receive;
  size_t bytes;
};

struct Order {
  enum Kind { init, split, gather, reduce, scatter, pieces } kind = init;
  const std::byte* send = nullptr;
  std::byte* receive = nullptr;
  size_t count = 0;
  ncclDataType_t type = ncclUint8;
  ncclRedOp_t op = ncclSum;
  int colour = 0, key = 0;
  ncclComm_t* made = nullptr;
  std::vector<Piece> list = {};

  bool same(const Order& other) const {
    return kind == other.kind && count == other.count && type == other.type && op == other.op;
  }
};

/// Shared by the members of a communicator.
struct Shared {
  explicit Shared(int size) : members(size) {}
  std::vector<ncclComm_t> members;
  std::vector<Order> orders = std::vector<Order>(members.size());
  size_t come = 0;
};

}  // namespace

struct ncclComm {
  std::shared_ptr<Shared> shared;
  int position;
  ncclResult_t state = ncclSuccess;
};

namespace {

std::mutex everything;
std::map<std::string, std::shared_ptr<Shared>> by_id;
NcclCounts counts;
int ids = 0;
thread_local bool grouped = false, recording = false;
thread_local std::vector<std::pair<ncclComm_t, Order>> recorded;
std::set<ncclComm_t> alive;
thread_local ncclComm_t group_comm = nullptr;
thread_local std::vector<Piece> group_pieces;

Element element_of(ncclDataType_t type) {
  const std::map<ncclDataType_t, Element> elements = {
      {ncclFloat64, Element::f64}, {ncclFloat32, Element::f32}, {ncclBfloat16, Element::bf16},
      {ncclInt32, Element::i32},   {ncclUint32, Element::u32},  {ncclUint8, Element::u8},
      {ncclUint64, Element::u64}};
  return elements.at(type);
}

Reduction reduction_of(ncclRedOp_t op) {
  return op == ncclSum ? Reduction::sum : op == ncclMax ? Reduction::max : Reduction::min;
}

/// Like NCCL's: max and min lose a NaN.
template <class Float>
void join(const std::vector<const void*>& sources, const Order& order) {
  Float* out = reinterpret_cast<Float*>(order.receive);
  for (size_t i = 0; i < order.count; ++i) {
    Float joined = static_cast<const Float*>(sources[0])[i];
    for (const void* source : sources) {
      const Float other = static_cast<const Float*>(source)[i];
      joined = order.op == ncclMax ? std::fmax(joined, other) : std::fmin(joined, other);
    }
    out[i] = joined;
  }
}

/// Reduces in an order that differs from the group's.
void reduce(Shared& shared, const Order& order, size_t offset) {
  std::vector<const void*> sources;
  const size_t width = shardproof::size_of(element_of(order.type));
  for (const Order& each : shared.orders) sources.push_back(each.send + offset * width);
  std::reverse(sources.begin(), sources.end());
  if (order.op != ncclSum && order.type == ncclFloat32) return join<float>(sources, order);
  if (order.op != ncclSum && order.type == ncclFloat64) return join<double>(sources, order);
  shardproof::reduce_ranks(element_of(order.type), reduction_of(order.op), sources.data(),
                           static_cast<int>(sources.size()), order.receive, order.count);
}

/// The k-th piece that `from` sends to `to` is the k-th that `to` receives from it.
bool move_pieces(Shared& shared, int from, int to) {
  std::vector<Piece> sent, received;
  for (const Piece& each : shared.orders[from].list)
    if (each.send && each.peer == to) sent.push_back(each);
  for (const Piece& each : shared.orders[to].list)
    if (each.receive && each.peer == from) received.push_back(each);
  if (sent.size() != received.size()) return false;
  for (size_t i = 0; i < sent.size(); ++i)
    std::memcpy(received[i].receive, sent[i].send, received[i].bytes);
  return true;
}

bool move_all_pieces(Shared& shared) {
  const int size = static_cast<int>(shared.members.size());
  for (int from = 0; from < size; ++from)
    for (int to = 0; to < size; ++to)
      if (!move_pieces(shared, from, to)) return false;
  return true;
}

ncclComm_t new_comm(const std::shared_ptr<Shared>& shared, int position) {
  return *alive.insert(new ncclComm{shared, position}).first;
}

void end(ncclComm_t comm) {
  alive.erase(comm);
  delete comm;
}

void split(Shared& shared) {
  std::map<int, std::vector<std::pair<int, int>>> parts;  // colour: (key, position)
  const int size = static_cast<int>(shared.members.size());
  for (int i = 0; i < size; ++i)
    if (shared.orders[i].colour >= 0)
      parts[shared.orders[i].colour].push_back({shared.orders[i].key, i});
  for (auto& [colour, part] : parts) {
    std::sort(part.begin(), part.end());
    const auto made = std::make_shared<Shared>(static_cast<int>(part.size()));
    for (int i = 0; i < static_cast<int>(part.size()); ++i)
      made->members[i] = *shared.orders[part[i].second].made = new_comm(made, i);
  }
  ++counts.splits;
}

void carry_out(Shared& shared) {
  bool fits = true;
  for (const Order& each : shared.orders) fits = fits && each.same(shared.orders[0]);
  const Order::Kind kind = shared.orders[0].kind;
  if (fits && kind == Order::split) split(shared);
  if (fits && kind == Order::pieces) fits = move_all_pieces(shared);
  for (size_t i = 0; fits && i < shared.members.size(); ++i) {
    const Order& order = shared.orders[i];
    if (kind == Order::gather)
      for (size_t j = 0; j < shared.members.size(); ++j)
        std::memcpy(order.receive + j * order.count, shared.orders[j].send, order.count);
    if (kind == Order::reduce) reduce(shared, order, 0);
    if (kind == Order::scatter) reduce(shared, order, i * order.count);
  }
  for (ncclComm_t member : shared.members) member->state = fits ? ncclSuccess : ncclInvalidUsage;
  shared.come = 0;
}

ncclResult_t take(ncclComm_t comm, Order order) {
  ++counts.calls;
  if (comm->state != ncclSuccess) return ncclInvalidUsage;
  Shared& shared = *comm->shared;
  shared.orders[comm->position] = std::move(order);
  comm->state = ncclInProgress;
  if (++shared.come == shared.members.size()) carry_out(shared);
  return ncclInProgress;
}

ncclResult_t take_locked(ncclComm_t comm, Order order) {
  if (recording) {
    recorded.emplace_back(comm, std::move(order));
    return ncclSuccess;
  }
  const std::lock_guard lock(everything);
  return take(comm, std::move(order));
}

ncclResult_t piece(ncclComm_t comm, Piece piece) {
  if (!grouped) return ncclInvalidUsage;
  group_comm = comm;
  group_pieces.push_back(piece);
  return ncclSuccess;
}

}  // namespace

namespace shardproof::emulated {

NcclCounts nccl_counts() {
  const std::lock_guard lock(everything);
  return counts;
}

void begin_recording() {
  recording = true;
  recorded.clear();
}

std::function<void()> end_recording() {
  recording = false;
  return [orders = std::move(recorded)] {
    for (const auto& [comm, order] : orders) {
      ncclResult_t state = ncclInProgress;
      for (bool taken = false; state == ncclInProgress; std::this_thread::yield()) {
        const std::lock_guard lock(everything);
        if (!alive.contains(comm)) return;
        if (!std::exchange(taken, true)) take(comm, order);
        state = comm->state;
      }
    }
  };
}

}  // namespace shardproof::emulated

extern "C" {

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const std::lock_guard lock(everything);
  std::memset(id, 0, sizeof *id);
  const std::string text = std::to_string(++ids);
  std::memcpy(id->internal, text.c_str(), text.size());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int position,
                                    ncclConfig_t* config) {
  const std::lock_guard lock(everything);
  if (config->blocking != 0 || size < 1 || position >= size) return ncclInvalidArgument;
  if (recording) return ncclInvalidUsage;
  std::shared_ptr<Shared>& shared = by_id[std::string(id.internal, sizeof id.internal)];
  if (!shared) shared = std::make_shared<Shared>(size);
  *comm = shared->members[position] = new_comm(shared, position);
  ++counts.made;
  return take(*comm, {});
}

ncclResult_t ncclCommSplit(ncclComm_t comm, int colour, int key, ncclComm_t* made, ncclConfig_t*) {
  if (recording) return ncclInvalidUsage;
  return take_locked(comm, {.kind = Order::split, .colour = colour, .key = key, .made = made});
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  const std::lock_guard lock(everything);
  *state = comm->state;
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t) { return ncclSuccess; }

ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::lock_guard lock(everything);
  ++counts.destroyed;
  end(comm);
  return ncclSuccess;
}

/// The other ranks hang, as if this rank's machine had died.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  const std::lock_guard lock(everything);
  ++counts.aborted;
  end(comm);
  return ncclSuccess;
}

const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclInvalidUsage ? "invalid usage" : "an error of the emulator";
}

const char* ncclGetLastError(ncclComm_t) { return "the members do not fit together"; }

ncclResult_t ncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t) {
  return take_locked(comm, {.kind = Order::gather,
                            .send = static_cast<const std::byte*>(send),
                            .receive = static_cast<std::byte*>(receive),
                            .count = count,
                            .type = type});
}

ncclResult_t ncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclRedOp_t op, ncclComm_t comm, cudaStream_t) {
  return take_locked(comm, {.kind = Order::reduce,
                            .send = static_cast<const std::byte*>(send),
                            .receive = static_cast<std::byte*>(receive),
                            .count = count,
                            .type = type,
                            .op = op});
}

ncclResult_t ncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                               ncclRedOp_t op, ncclComm_t comm, cudaStream_t) {
  return take_locked(comm, {.kind = Order::scatter,
                            .send = static_cast<const std::byte*>(send),
                            .receive = static_cast<std::byte*>(receive),
                            .count = count,
                            .type = type,
                            .op = op});
}

ncclResult_t ncclGroupStart() {
  grouped = true;
  group_pieces.clear();
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  grouped = false;
  return take_locked(group_comm, {.kind = Order::pieces, .list = std::move(group_pieces)});
}

ncclResult_t ncclSend(const void* send, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t) {
  return piece(comm, {peer, static_cast<const std::byte*>(send), nullptr, count});
}

ncclResult_t ncclRecv(void* receive, size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t) {
  return piece(comm, {peer, nullptr, static_cast<std::byte*>(receive), count});
}

cudaError_t cudaSetDevice(int ordinal) {
  return ordinal == 0 ? cudaSuccess : cudaErrorInvalidDevice;
}
const char* cudaGetErrorString(cudaError_t) { return "invalid device ordinal"; }

}  // extern "C"
