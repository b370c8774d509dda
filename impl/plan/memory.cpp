#include "impl/plan/memory.h"

#include <algorithm>
#include <deque>
#include <numeric>

namespace shardproof::plan {
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

}  // namespace shardproof::plan
