#pragma once
// Ops that move entries about, on one device.
#include "spec/denote/array.h"
#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// A side of a rearrangement as single factors with their local extents.
struct Factors {
  Labels labels;
  Extents extents;
};

/// The factors of a dim: a name that the other side has as well stays, any other alias or group is
/// opened.
void open_dim(const ir::Program& program, const Dim& dim, const std::vector<Name>& keep,
              std::vector<Name>& factors);

/// The factors of all dims of `shape`; `type` has the axes, which split the first factor of a dim.
Factors factors_of(const Geometry& geometry, const Shape& pattern, const Shape& type,
                   const Shape& other);

/// `left` and `right`: what the pattern says; `from`, `to`: the types, with their axes.
template <class S>
Array<S> rearrange(const Geometry& geometry, const Shape& left, const Shape& right,
                   const Shape& from, const Shape& to, const Array<S>& x) {
  Factors source = factors_of(geometry, left, from, right);
  Factors target = factors_of(geometry, right, to, left);
  const auto is_known = [&](const Dim& label) { return has(source.labels, label); };
  if (!std::all_of(target.labels.begin(), target.labels.end(), is_known)) {  // S -> L = (C W)
    source = factors_of(geometry, left, from, {});
    target = factors_of(geometry, right, to, {});
  }
  if (count(source.extents) != count(x.shape)) throw Mismatch("a rearrangement of another size");
  LabelSizes sizes;
  sizes.add(source.labels, source.extents);
  if (sizes.of(target.labels) != target.extents || source.labels.size() != target.labels.size())
    throw Mismatch("a rearrangement that would move data between devices");
  Array<S> result =
      relabelled(Array<S>{source.extents, x.data}, source.labels, target.labels, target.extents);
  result.shape = geometry.local_shape(to);
  return result;
}

/// The label of `some` that is not in `others`, or `otherwise`.
inline Dim extra_label(const Labels& some, const Labels& others, const Dim& otherwise) {
  for (const Dim& label : some)
    if (!has(others, label)) return label;
  return otherwise;
}

/// Entry `first` of the dim `bracket`, or as many entries as the new label of `right` has.
template <class S>
Array<S> read(const Labels& left, size_t bracket, const Labels& right, const Extents& shape,
              const Array<S>& x, int64_t first) {
  const Dim taken = extra_label(right, left, left.at(bracket));
  const size_t place = position_of(right, taken);
  const int64_t entries = place < right.size() ? shape.at(place) : 1;
  Labels named = left;
  named[bracket] = taken;
  const Array<S> part = cut(x, bracket, first, entries);
  LabelSizes sizes;
  sizes.add(named, part.shape);
  return relabelled(part, named, right, sizes.of(right));
}

/// x with y from entry `first` of the bracketed dim on, in x's order.
template <class S>
Array<S> write(const Labels& left, size_t bracket, const Labels& given, const Array<S>& x,
               const Array<S>& y, int64_t first) {
  Labels order = left;
  order[bracket] = extra_label(given, left, left.at(bracket));
  LabelSizes sizes;
  sizes.add(given, y.shape);
  if (!has(given, order[bracket])) sizes.add(order[bracket], 1);
  const Array<S> part = relabelled(y, given, order, sizes.of(order));
  for (size_t i = 0; i < left.size(); ++i)
    if (i != bracket && part.shape[i] != x.shape[i]) throw Mismatch("a part of another size");
  Array<S> result = x;
  paste(result, part, bracket, first);
  return result;
}

/// The operands one after the other along right[bracket]; one that lacks the dim is one entry.
template <class S>
Array<S> concat(const std::vector<Labels>& labels, const std::vector<const Array<S>*>& x,
                const Labels& right, size_t bracket) {
  std::vector<Array<S>> parts;
  int64_t total = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    Labels order = right;
    order[bracket] = extra_label(labels.at(i), right, right.at(bracket));
    LabelSizes sizes;
    sizes.add(labels[i], x[i]->shape);
    if (!has(labels[i], order[bracket])) sizes.add(order[bracket], 1);
    parts.push_back(relabelled(*x[i], labels[i], order, sizes.of(order)));
    total += parts.back().shape[bracket];
  }
  Extents shape = parts.at(0).shape;
  shape[bracket] = total;
  Array<S> result = filled(shape, S(0));
  int64_t first = 0;
  for (const Array<S>& part : parts) {
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != bracket && part.shape[i] != shape[i]) throw Mismatch("parts of different sizes");
    paste(result, part, bracket, first);
    first += part.shape[bracket];
  }
  return result;
}

/// Entry i of the result is entry (i - by) mod n of x.
template <class S>
Array<S> roll(const Array<S>& x, size_t dim, int64_t by) {
  const int64_t n = x.shape.at(dim), shift = ((by % n) + n) % n;
  Array<S> result = filled(x.shape, S(0));
  paste(result, cut(x, dim, n - shift, shift), dim, 0);
  paste(result, cut(x, dim, 0, n - shift), dim, shift);
  return result;
}

}  // namespace shardproof::denote
