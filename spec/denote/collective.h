#pragma once
// Collectives, and ops whose effect depends on the device. Several axes are done one at a time:
// those that leave a dim from last to first, those that join a dim from first to last. all_to_all
// is one exchange.
#include <algorithm>
#include <optional>

#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"
#include "spec/denote/structure.h"

namespace shardproof::denote {

/// An axis that leaves or joins the dim at this position.
struct Move {
  Axis axis;
  size_t dim;
};

/// The axes that split a dim of `shape` and not the same dim of `other`.
std::vector<Move> moves(const Shape& shape, const Shape& other);

/// The axes that `shape` marks with `mark` and `other` does not.
std::vector<Axis> marked(const Shape& shape, const Shape& other, Mark mark);

/// Calls fn(device, the first device of its group along the axis, its coordinate, its entries of
/// the result) for each device.
template <class S, class Fn>
void along_axis(const Geometry::Line& line, Distributed<S>& result, Fn fn) {
  for (size_t device = 0; device < result.size(); ++device) {
    const int64_t i = line.digit(static_cast<int64_t>(device));
    fn(device, device - static_cast<size_t>(i * line.stride), i, result.on(device));
  }
}

/// The same where all devices of a group get one result: fn(first device, its entries).
template <class S, class Fn>
void along_whole_axis(const Geometry::Line& line, Distributed<S>& result, Fn fn) {
  along_axis(line, result, [&](size_t, size_t first, int64_t i, std::span<S> own) {
    if (i == 0)
      fn(first, own);
    else
      std::ranges::copy(result.on(first), own.begin());
  });
}

/// The entries of device i of a group.
template <class S>
std::span<const S> of_group(const Geometry::Line& line, const Distributed<S>& x, size_t first,
                            int64_t i) {
  return x.on(first + static_cast<size_t>(i * line.stride));
}

template <class S>
Distributed<S> gather_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  const Geometry::Line line = geometry.line(move.axis);
  const Blocks own(x.shape(), move.dim);
  Distributed<S> result(x.size(), resized(x.shape(), move.dim, own.extent * line.size));
  const Blocks whole(result.shape(), move.dim);
  along_whole_axis(line, result, [&](size_t first, std::span<S> entries) {
    for (int64_t i = 0; i < line.size; ++i)
      copy_entries(of_group(line, x, first, i), own, 0, entries, whole, i * own.extent, own.extent);
  });
  return result;
}

/// Sum or maximum over the axis.
template <class S>
Distributed<S> reduce_step(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                           Mark mark) {
  const Geometry::Line line = geometry.line(axis);
  Distributed<S> result = x;
  along_whole_axis(line, result, [&](size_t first, std::span<S> entries) {
    for (int64_t i = 1; i < line.size; ++i) {
      const std::span<const S> others = of_group(line, x, first, i);
      for (size_t k = 0; k < entries.size(); ++k)
        if (mark == Mark::U)
          entries[k] = entries[k] + others[k];
        else if (below(entries[k], others[k]))
          entries[k] = others[k];
    }
  });
  return result;
}

/// Each device keeps its own block of the dim.
template <class S>
Distributed<S> slice_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  const Geometry::Line line = geometry.line(move.axis);
  const int64_t extent = x.shape().at(move.dim);
  if (extent % line.size != 0) throw Mismatch("an axis that does not divide the local dim");
  const int64_t part = extent / line.size;
  return cut(x, move.dim, part, false,
             [&](size_t device) { return line.digit(static_cast<int64_t>(device)) * part; });
}

template <class S>
Distributed<S> keep_root(const Geometry& geometry, Distributed<S> x, const Axis& axis) {
  along_axis(geometry.line(axis), x, [](size_t, size_t, int64_t i, std::span<S> own) {
    if (i != 0) std::ranges::fill(own, S(0));
  });
  return x;
}

/// The device's block at its offset in a dim that is n times as long, zeros elsewhere.
template <class S>
Distributed<S> pad_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  const Geometry::Line line = geometry.line(move.axis);
  const Blocks own(x.shape(), move.dim);
  Distributed<S> result(x.size(), resized(x.shape(), move.dim, own.extent * line.size));
  const Blocks whole(result.shape(), move.dim);
  along_axis(line, result, [&](size_t device, size_t, int64_t i, std::span<S> entries) {
    copy_entries(x.on(device), own, 0, entries, whole, i * own.extent, own.extent);
  });
  return result;
}

/// all_to_all: joins the blocks along one dim and splits the result along the other. The axes keep
/// their order.
template <class S>
Distributed<S> exchange(const Geometry& geometry, Distributed<S> x, const std::vector<Move>& leave,
                        const std::vector<Move>& come) {
  if (leave.size() != come.size()) throw Mismatch("an all_to_all that gains or loses axes");
  for (size_t i = leave.size(); i-- > 0;) x = gather_step(geometry, x, leave[i]);
  for (const Move& move : leave) {
    auto target = std::find_if(come.begin(), come.end(),
                               [&](const Move& each) { return each.axis == move.axis; });
    if (target == come.end()) throw Mismatch("an axis that goes to no dim");
    x = slice_step(geometry, x, *target);
  }
  return x;
}

/// `from` and `to`: the two sides of the pattern, with axes and marks.
template <class S>
Distributed<S> collective(const Geometry& geometry, ir::CollectiveFn fn, const Shape& from,
                          const Shape& to, const Distributed<S>& x) {
  using enum ir::CollectiveFn;
  if (from.dims.size() != to.dims.size()) throw Mismatch("a pattern that loses or gains a dim");
  if (fn == all_to_all) return exchange(geometry, x, moves(from, to), moves(to, from));
  std::optional<Distributed<S>> done;
  const auto so_far = [&]() -> const Distributed<S>& { return done ? *done : x; };
  if (fn == all_reduce)
    for (Mark mark : {Mark::U, Mark::Max})
      for (const Axis& axis : marked(from, to, mark))
        done = reduce_step(geometry, so_far(), axis, mark);
  if (fn == zero_nonroot)
    for (const Axis& axis : marked(to, from, Mark::U)) done = keep_root(geometry, so_far(), axis);
  if (fn == all_gather || fn == zero_pad) {
    const std::vector<Move> leave = moves(from, to);
    for (size_t i = leave.size(); i-- > 0;)
      done = fn == all_gather ? gather_step(geometry, so_far(), leave[i])
                              : pad_step(geometry, so_far(), leave[i]);
  }
  if (fn == psum_scatter || fn == slice) {
    const std::vector<Move> come = moves(to, from);
    if (fn == psum_scatter)
      for (const Move& move : come) done = reduce_step(geometry, so_far(), move.axis, Mark::U);
    for (const Move& move : come) done = slice_step(geometry, so_far(), move);
  }
  return done ? *std::move(done) : x;
}

/// Sends the block of device i to device i + by(device) along the axis.
template <class S, class By>
Distributed<S> ppermute(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                        By by) {
  const Geometry::Line line = geometry.line(axis);
  Distributed<S> result(x.size(), x.shape());
  along_axis(line, result, [&](size_t device, size_t first, int64_t i, std::span<S> own) {
    const int64_t source = i - by(device);
    std::ranges::copy(of_group(line, x, first, ((source % line.size) + line.size) % line.size),
                      own.begin());
  });
  return result;
}

}  // namespace shardproof::denote
