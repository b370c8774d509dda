#pragma once
// Collectives, and ops whose effect depends on the device. Several axes are done one at a time:
// those that leave a dim from last to first, those that join a dim from first to last. all_to_all
// is one exchange.
#include <algorithm>
#include <optional>

#include "spec/denote/array.h"
#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

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

/// The groups of devices along an axis.
template <class S>
class Groups {
 public:
  Groups(const Geometry& geometry, const Distributed<S>& x, const Axis& axis)
      : line(geometry.line(axis)), x_(x), group_(static_cast<size_t>(line.size)) {}
  /// The local arrays of a device's group, until the next call.
  const std::vector<const Array<S>*>& of(int64_t device) {
    for (int64_t i = 0; i < line.size; ++i)
      group_[static_cast<size_t>(i)] = &x_.at(static_cast<size_t>(line.with_digit(device, i)));
    return group_;
  }
  const Geometry::Line line;

 private:
  const Distributed<S>& x_;
  std::vector<const Array<S>*> group_;
};

/// Calls fn(device, its coordinate on the axis, the local arrays of its group along the axis).
template <class S, class Fn>
Distributed<S> along_axis(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                          Fn fn) {
  Groups<S> groups(geometry, x, axis);
  Distributed<S> result;
  result.reserve(x.size());
  for (int64_t device = 0; device < geometry.devices(); ++device)
    result.push_back(fn(device, groups.line.digit(device), groups.of(device)));
  return result;
}

/// The same where all devices of a group get one result: fn(the local arrays of the group).
template <class S, class Fn>
Distributed<S> along_whole_axis(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                                Fn fn) {
  Groups<S> groups(geometry, x, axis);
  Distributed<S> result;
  result.reserve(x.size());
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    const int64_t first = groups.line.with_digit(device, 0);
    result.push_back(first == device ? fn(groups.of(device)) : result[static_cast<size_t>(first)]);
  }
  return result;
}

template <class S>
Distributed<S> gather_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  return along_whole_axis(geometry, x, move.axis, [&](const auto& group) {
    const int64_t own = group[0]->shape.at(move.dim);
    Extents shape = group[0]->shape;
    shape[move.dim] *= static_cast<int64_t>(group.size());
    Array<S> whole = filled(shape, S(0));
    for (size_t i = 0; i < group.size(); ++i)
      paste(whole, *group[i], move.dim, static_cast<int64_t>(i) * own);
    return whole;
  });
}

/// Sum or maximum over the axis.
template <class S>
Distributed<S> reduce_step(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                           Mark mark) {
  return along_whole_axis(geometry, x, axis, [&](const auto& group) {
    Array<S> result = *group[0];
    for (size_t i = 1; i < group.size(); ++i)
      for (size_t k = 0; k < result.data.size(); ++k) {
        S& entry = result.data[k];
        const S& other = group[i]->data.at(k);
        if (mark == Mark::U)
          entry = entry + other;
        else if (below(entry, other))
          entry = other;
      }
    return result;
  });
}

/// Each device keeps its own block of the dim.
template <class S>
Distributed<S> slice_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  return along_axis(geometry, x, move.axis, [&](int64_t, int64_t i, const auto& group) {
    const auto n = static_cast<int64_t>(group.size());
    const Array<S>& own = *group[static_cast<size_t>(i)];
    const int64_t extent = own.shape.at(move.dim);
    if (extent % n != 0) throw Mismatch("an axis that does not divide the local dim");
    return cut(own, move.dim, i * (extent / n), extent / n);
  });
}

template <class S>
Distributed<S> keep_root(const Geometry& geometry, const Distributed<S>& x, const Axis& axis) {
  return along_axis(geometry, x, axis, [&](int64_t, int64_t i, const auto& group) {
    return i == 0 ? *group[0] : filled(group[static_cast<size_t>(i)]->shape, S(0));
  });
}

/// The device's block at its offset in a dim that is n times as long, zeros elsewhere.
template <class S>
Distributed<S> pad_step(const Geometry& geometry, const Distributed<S>& x, const Move& move) {
  return along_axis(geometry, x, move.axis, [&](int64_t, int64_t i, const auto& group) {
    const Array<S>& own = *group[static_cast<size_t>(i)];
    Extents shape = own.shape;
    shape.at(move.dim) *= static_cast<int64_t>(group.size());
    Array<S> result = filled(shape, S(0));
    paste(result, own, move.dim, i * own.shape[move.dim]);
    return result;
  });
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
  const std::vector<Move> leave = moves(from, to), come = moves(to, from);
  if (fn == all_to_all) return exchange(geometry, x, leave, come);
  std::optional<Distributed<S>> done;
  const auto so_far = [&]() -> const Distributed<S>& { return done ? *done : x; };
  if (fn == all_gather)
    for (size_t i = leave.size(); i-- > 0;) done = gather_step(geometry, so_far(), leave[i]);
  if (fn == all_reduce)
    for (Mark mark : {Mark::U, Mark::Max})
      for (const Axis& axis : marked(from, to, mark))
        done = reduce_step(geometry, so_far(), axis, mark);
  if (fn == psum_scatter)
    for (const Move& move : come) done = reduce_step(geometry, so_far(), move.axis, Mark::U);
  if (fn == psum_scatter || fn == slice)
    for (const Move& move : come) done = slice_step(geometry, so_far(), move);
  if (fn == zero_nonroot)
    for (const Axis& axis : marked(to, from, Mark::U)) done = keep_root(geometry, so_far(), axis);
  if (fn == zero_pad)
    for (size_t i = leave.size(); i-- > 0;) done = pad_step(geometry, so_far(), leave[i]);
  return done ? *std::move(done) : x;
}

/// Sends the block of device i to device i + by along the axis.
template <class S>
Distributed<S> ppermute(const Geometry& geometry, const Distributed<S>& x, const Axis& axis,
                        const std::vector<int64_t>& by) {
  return along_axis(geometry, x, axis, [&](int64_t device, int64_t i, const auto& group) {
    const auto n = static_cast<int64_t>(group.size());
    const int64_t source = i - by[static_cast<size_t>(device)];
    return *group[static_cast<size_t>(((source % n) + n) % n)];
  });
}

}  // namespace shardproof::denote
