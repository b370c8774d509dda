#include "impl/plan/memory.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "impl/plan/lists.h"

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

  /// A buffer written before the loop and used in it is live in all steps of the loop.
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

namespace {

/// Placed buffers, indexed by lifetime: an interval tree over steps, where a buffer is listed in
/// the few nodes that cover its lifetime, and a list by first step.
class Placed {
 public:
  /// `end`: of all lifetimes.
  Placed(const std::vector<Piece>& pieces, size_t end)
      : pieces_(pieces), leaves_(std::bit_ceil(end)), spans_(2 * leaves_), firsts_(leaves_) {}

  void add(size_t id) {
    const Piece& piece = pieces_[id];
    firsts_.push(piece.first, id);
    for (size_t low = piece.first + leaves_, high = piece.last + leaves_ + 1; low < high;
         low /= 2, high /= 2) {
      if (low % 2) spans_.push(low++, id);
      if (high % 2) spans_.push(--high, id);
    }
  }

  /// Calls `visit` with each placed buffer whose lifetime overlaps that of `piece`.
  template <class Visit>
  void for_each_beside(const Piece& piece, const Visit& visit) const {
    const auto visit_piece = [&](size_t id) { visit(pieces_[id]); };
    for (size_t node = piece.first + leaves_; node > 0; node /= 2)
      spans_.for_each(node, visit_piece);
    for (size_t time = piece.first + 1; time <= piece.last; ++time)
      firsts_.for_each(time, visit_piece);
  }

 private:
  const std::vector<Piece>& pieces_;
  const size_t leaves_;
  Lists spans_, firsts_;  ///< by node, by step
};

}  // namespace

size_t place_buffers(std::vector<Piece>& pieces, bool reuse) {
  constexpr size_t alignment = 256;  // as GPU libraries prefer
  auto padded = [](size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; };
  std::vector<size_t> order;
  order.reserve(pieces.size());
  size_t end = 1;
  for (size_t id = 0; id < pieces.size(); ++id) {
    const Piece& piece = pieces[id];
    if (piece.bytes == 0 || piece.first > piece.last) continue;
    order.push_back(id);
    end = std::max(end, piece.last + 1);
  }
  // Largest first: small buffers fit in the gaps.
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(pieces[b].bytes, a) < std::pair(pieces[a].bytes, b);
  });
  Placed placed(pieces, end);
  std::vector<std::pair<size_t, size_t>> taken;
  size_t size = 0;
  for (size_t id : order) {
    Piece& piece = pieces[id];
    size_t at = reuse ? 0 : size;
    if (reuse) {
      taken.clear();
      placed.for_each_beside(piece, [&](const Piece& other) {
        taken.emplace_back(other.offset, padded(other.bytes));
      });
      std::sort(taken.begin(), taken.end());
      for (const auto& [begin, bytes] : taken)
        if (at + padded(piece.bytes) > begin) at = std::max(at, begin + bytes);
    }
    piece.offset = at;
    size = std::max(size, at + padded(piece.bytes));
    placed.add(id);
  }
  return size;
}

}  // namespace shardproof::plan
