#pragma once
// Which local arrays represent a tensor at a type: the definition that all rules are tested
// against.
#include <optional>

#include "spec/denote/geometry.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// Random local arrays that represent `x` at `type`: blocks, copies, random summands; for Max, a
/// random device holds the maximum.
template <class S>
Distributed<S> distribute(const Geometry& geometry, const Type& type, const Array<S>& x,
                          RandomBits& rng);

/// The tensor that the devices represent at `type`; none for arrays of another shape or copies that
/// differ.
template <class S>
std::optional<Array<S>> represented(const Geometry& geometry, const Type& type,
                                    const Distributed<S>& x);

template <class S>
bool same(const Array<S>& a, const Array<S>& b) {
  if (a.shape != b.shape) return false;
  for (size_t i = 0; i < a.data.size(); ++i)
    if (!Scalar<S>::same(a.data[i], b.data[i])) return false;
  return true;
}

/// For each device, the one with coordinate 0 on the axes that `type` marks U or Max (`marked`),
/// and on those that it marks I or does not mention (`copied`).
std::vector<int64_t> leaders(const Geometry& geometry, const Type& type, bool marked, bool copied);
inline int64_t leader(const Geometry& geometry, const Type& type, int64_t device, bool marked,
                      bool copied) {
  return leaders(geometry, type, marked, copied).at(static_cast<size_t>(device));
}

// Instantiated for Rational, Field and double.

}  // namespace shardproof::denote
