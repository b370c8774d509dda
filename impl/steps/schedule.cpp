#include "impl/steps/schedule.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace shardproof::exec {

int64_t Ref::count() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

bool Ref::contiguous() const {
  int64_t expected = 1;
  for (size_t i = extents.size(); i-- > 0; expected *= extents[i])
    if (extents[i] != 1 && strides[i] != expected) return false;
  return true;
}

bool is_collective(const Step& step) {
  static const char* const ops[] = {"all_gather", "all_reduce", "psum_scatter", "all_to_all",
                                    "ppermute"};
  return std::find(std::begin(ops), std::end(ops), step.op) != std::end(ops);
}

namespace {

bool meet(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();)
    if (*i == *j)
      return true;
    else
      *i < *j ? ++i : ++j;
  return false;
}

void add(const Step& step, Access& access) {
  access.reads.insert(access.reads.end(), step.reads.begin(), step.reads.end());
  access.writes.insert(access.writes.end(), step.writes.begin(), step.writes.end());
  for (const Step& each : step.body) add(each, access);
}

}  // namespace

bool communicates(const Step& step) {
  return is_collective(step) || std::any_of(step.body.begin(), step.body.end(), communicates);
}

Access access_of(const Step& step) {
  Access access;
  add(step, access);
  for (std::vector<BufferId>* each : {&access.reads, &access.writes}) {
    std::sort(each->begin(), each->end());
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  return access;
}

namespace {

void prepare_fused(Step& step, const Device& device) {
  step.run = [launch = device.prepare_fused(step.fused->op), outputs = step.fused->outputs,
              inputs = step.fused->inputs](Frame& frame) {
    std::vector<void*> to;
    std::vector<const void*> from;
    for (const Ref& output : outputs) to.push_back(frame.at(output));
    for (const Ref& input : inputs) from.push_back(frame.at(input));
    launch(*frame.queue, to, from);
  };
}

}  // namespace

bool conflict(const Access& a, const Access& b) {
  return meet(a.writes, b.reads) || meet(a.reads, b.writes) || meet(a.writes, b.writes);
}

bool has(const std::vector<BufferId>& some, BufferId id) {
  return std::find(some.begin(), some.end(), id) != some.end();
}

void BufferUses::count(const std::vector<Step>& steps) {
  for (const Step& step : steps) {
    if (!step.is_loop) add(access_of(step));
    count(step.body);
  }
}

void BufferUses::change(const Access& access, int by) {
  for (BufferId id : access.reads) reads_[id] += static_cast<size_t>(by);
  for (BufferId id : access.writes) writes_[id] += static_cast<size_t>(by);
}

void prepare(std::vector<Step>& steps, Device& device) {
  for (Step& step : steps) {
    prepare(step.body, device);
    if (step.fused) prepare_fused(step, device);
    if (!step.kernel) continue;
    step.run = [launch = device.prepare(step.kernel->op), out = step.kernel->out,
                inputs = step.kernel->inputs](Frame& frame) {
      std::vector<const void*> from;
      for (const Ref& input : inputs) from.push_back(frame.at(input));
      void* to = frame.at(out);
      launch(*frame.queue, {&to, 1}, from);
    };
  }
}

namespace {

class Lifetimes {
 public:
  explicit Lifetimes(std::vector<Piece>& pieces) : pieces_(pieces) {}

  void walk(const std::vector<Step>& steps) {
    const size_t before = started_.size();
    for (const Step& step : steps) {
      if (step.waits) wait(*step.waits);
      touch_all(step);
      if (step.starts) started_.push_back(&step);
      ++now_;
      if (!step.is_loop) continue;
      const size_t begin = now_;
      walk(step.body);
      const size_t end = now_++;
      for (Piece& piece : pieces_) span(piece, begin, end);
    }
    if (started_.size() > before) wait(0);
  }

 private:
  void wait(size_t but) {
    for (; started_.size() > but; started_.pop_front()) touch_all(*started_.front());
  }

  void touch_all(const Step& step) {
    for (BufferId id : step.reads) touch(id);
    for (BufferId id : step.writes) touch(id);
  }

  void touch(BufferId id) {
    if (id >= pieces_.size()) return;
    pieces_[id].first = std::min(pieces_[id].first, now_);
    pieces_[id].last = std::max(pieces_[id].last, now_);
  }

  /// Made before the loop and used in it: it is needed in every step of the loop.
  static void span(Piece& piece, size_t begin, size_t end) {
    if (piece.first < begin && piece.last >= begin) piece.last = end;
  }

  std::vector<Piece>& pieces_;
  std::deque<const Step*> started_;
  size_t now_ = 0;
};

}  // namespace

void find_lifetimes(const std::vector<Step>& steps, std::vector<Piece>& pieces) {
  Lifetimes(pieces).walk(steps);
}

size_t place_buffers(std::vector<Piece>& pieces, bool reuse) {
  constexpr size_t alignment = 256;  // as libraries of GPUs like it
  auto padded = [](size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), 0);
  // The largest first: the small ones fit between them.
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<size_t> placed;
  size_t size = 0;
  for (size_t id : order) {
    Piece& piece = pieces[id];
    if (piece.first > piece.last) continue;  // never used
    size_t at = reuse ? 0 : size;
    if (reuse) {
      std::vector<std::pair<size_t, size_t>> taken;
      for (size_t other : placed)
        if (pieces[other].first <= piece.last && piece.first <= pieces[other].last)
          taken.emplace_back(pieces[other].offset, padded(pieces[other].bytes));
      std::sort(taken.begin(), taken.end());
      for (const auto& [begin, bytes] : taken)
        if (at + padded(piece.bytes) > begin) at = std::max(at, begin + bytes);
    }
    piece.offset = at;
    size = std::max(size, at + padded(piece.bytes));
    placed.push_back(id);
  }
  return size;
}

}  // namespace shardproof::exec
