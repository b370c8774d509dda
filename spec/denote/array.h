#pragma once
// Loops over arrays whose dims have labels.
#include <algorithm>

#include "spec/denote/denote.h"

namespace shardproof::denote {

using Labels = std::vector<Dim>;
using Extents = std::vector<int64_t>;  ///< of a shape or, as strides, per dim

inline Labels labels_of(const Shape& shape) {
  Labels labels;
  for (const Split& split : shape.dims) labels.push_back(split.dim);
  return labels;
}

/// Position of the label, or labels.size().
inline size_t position_of(const Labels& labels, const Dim& label) {
  return static_cast<size_t>(std::find(labels.begin(), labels.end(), label) - labels.begin());
}
inline bool has(const Labels& labels, const Dim& label) {
  return position_of(labels, label) < labels.size();
}

inline int64_t count(const Extents& shape) {
  int64_t n = 1;
  for (int64_t extent : shape) n *= extent;
  return n;
}

inline Extents row_major(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  return strides;
}

/// The strides of an array with `labels` and `shape` along other labels: 0 for those it lacks.
inline Extents strides_along(const Labels& along, const Labels& labels, const Extents& shape) {
  const Extents own = row_major(shape);
  Extents strides;
  for (const Dim& label : along) {
    const size_t i = position_of(labels, label);
    strides.push_back(i < labels.size() ? own[i] : 0);
  }
  return strides;
}

/// The extents of labels, gathered from several arrays; throws Mismatch where they differ.
class LabelSizes {
 public:
  void add(const Labels& labels, const Extents& shape) {
    if (labels.size() != shape.size()) throw Mismatch("an array with another number of dims");
    for (size_t i = 0; i < labels.size(); ++i) add(labels[i], shape[i]);
  }
  void add(const Dim& label, int64_t extent) {
    const size_t i = position_of(labels_, label);
    if (i == labels_.size()) {
      labels_.push_back(label);
      extents_.push_back(extent);
    } else if (extents_[i] != extent) {
      throw Mismatch(to_string(label) + " has " + std::to_string(extents_[i]) +
                     " entries here and " + std::to_string(extent) + " there");
    }
  }
  const Labels& labels() const { return labels_; }
  int64_t of(const Dim& label) const {
    const size_t i = position_of(labels_, label);
    if (i == labels_.size()) throw Mismatch("no operand has " + to_string(label));
    return extents_[i];
  }
  Extents of(const Labels& labels) const {
    Extents result;
    for (const Dim& label : labels) result.push_back(of(label));
    return result;
  }

 private:
  Labels labels_;
  Extents extents_;
};

/// Calls visit(offsets) for every index of `shape`, row-major: offsets[k] is the dot product of the
/// index with strides[k].
template <class Visit>
void walk(const Extents& shape, const std::vector<Extents>& strides, Visit visit) {
  const int64_t total = count(shape);
  const size_t rank = shape.size(), arrays = strides.size();
  Extents index(rank, 0), offsets(arrays, 0);
  for (int64_t step = 0; step < total; ++step) {
    visit(offsets.data());
    for (size_t i = rank; i-- > 0;) {
      const bool carry = ++index[i] == shape[i];
      const int64_t move = carry ? 1 - shape[i] : 1;
      for (size_t k = 0; k < arrays; ++k) offsets[k] += move * strides[k][i];
      if (!carry) break;
      index[i] = 0;
    }
  }
}

template <class S>
Array<S> filled(const Extents& shape, const S& value) {
  return {shape, std::vector<S>(static_cast<size_t>(count(shape)), value)};
}

template <class S>
S& at(Array<S>& array, int64_t offset) {
  return array.data[static_cast<size_t>(offset)];
}
template <class S>
const S& at(const Array<S>& array, int64_t offset) {
  return array.data[static_cast<size_t>(offset)];
}

/// The array with its dims in another order, and repeated along labels that it lacks.
template <class S>
Array<S> relabelled(const Array<S>& x, const Labels& from, const Labels& to, const Extents& shape) {
  if (x.shape == shape && from == to) return x;
  Array<S> result{shape, {}};
  result.data.reserve(static_cast<size_t>(count(shape)));
  walk(shape, {strides_along(to, from, x.shape)},
       [&](const int64_t* at_) { result.data.push_back(at(x, at_[0])); });
  return result;
}

/// `extent` entries of one dim, from `first` on.
template <class S>
Array<S> cut(const Array<S>& x, size_t dim, int64_t first, int64_t extent) {
  if (first < 0 || first + extent > x.shape.at(dim)) throw OutOfRange("beyond the end of a dim");
  Array<S> result{x.shape, {}};
  result.shape[dim] = extent;
  const Extents strides = row_major(x.shape);
  walk(result.shape, {strides},
       [&](const int64_t* at_) { result.data.push_back(at(x, at_[0] + first * strides[dim])); });
  return result;
}

/// Copies `part` into x along one dim, from `first` on.
template <class S>
void paste(Array<S>& x, const Array<S>& part, size_t dim, int64_t first) {
  if (first < 0 || first + part.shape.at(dim) > x.shape.at(dim))
    throw OutOfRange("beyond the end of a dim");
  const Extents strides = row_major(x.shape);
  walk(part.shape, {strides, row_major(part.shape)},
       [&](const int64_t* at_) { at(x, at_[0] + first * strides[dim]) = at(part, at_[1]); });
}

}  // namespace shardproof::denote
