#include "spec/denote/represent.h"

#include <algorithm>
#include <numeric>

#include "spec/denote/array.h"

namespace shardproof::denote {
namespace {

bool reduces(const Type& type, const Axis& axis) {
  auto mark = type.marks.find(axis);
  return mark != type.marks.end() && mark->second != Mark::I;
}

bool splits(const Type& type, const Axis& axis) {
  return std::any_of(type.dims.begin(), type.dims.end(), [&](const Split& split) {
    return std::find(split.axes.begin(), split.axes.end(), axis) != split.axes.end();
  });
}

bool takes_maximum(const Type& type) {
  for (const auto& [axis, mark] : type.marks)
    if (mark == Mark::Max) return true;
  return false;
}

/// Splits the entries of the first device of `group` into summands, or into operands of a maximum,
/// for its devices.
template <class S>
void spread(bool maximum, const std::vector<size_t>& group, RandomBits& rng,
            Distributed<S>& result) {
  for (size_t i = 1; i < group.size(); ++i)
    std::ranges::copy(result.on(group[0]), result.on(group[i]).begin());
  const size_t entries = group.size() > 1 ? result.on(group[0]).size() : 0;
  for (size_t k = 0; k < entries; ++k) {
    const size_t chosen = group[rng() % group.size()];
    for (size_t device : group) {
      if (device == chosen) continue;
      const S part = maximum ? S(static_cast<int64_t>(rng() % 3)) : Scalar<S>::random(rng);
      S& entry = result.on(device)[k];
      S& rest = result.on(chosen)[k];
      if (maximum)
        entry = entry - part;
      else
        entry = part, rest = rest - part;
    }
  }
}

}  // namespace

std::vector<int64_t> leaders(const Geometry& geometry, const Type& type, bool marked, bool copied) {
  std::vector<int64_t> result(static_cast<size_t>(geometry.devices()));
  std::iota(result.begin(), result.end(), 0);
  for (const auto& [axis, size] : geometry.sizes().mesh) {
    if (size == 1 || splits(type, axis) || !(reduces(type, axis) ? marked : copied)) continue;
    const Geometry::Line line = geometry.line(axis);
    for (int64_t& device : result) device = line.with_digit(device, 0);
  }
  return result;
}

namespace {

/// The leaders among copies, and among copies and the parts of one value.
struct Leaders {
  Leaders(const Geometry& geometry, const Type& type)
      : copied(leaders(geometry, type, false, true)) {
    if (!type.marks.empty()) marked = leaders(geometry, type, true, true);
  }
  const std::vector<int64_t>& first() const { return marked.empty() ? copied : marked; }
  std::vector<int64_t> copied, marked;
};

}  // namespace

template <class S>
Distributed<S> distribute(const Geometry& geometry, const Type& type, const Array<S>& x,
                          RandomBits& rng) {
  const auto devices = static_cast<size_t>(geometry.devices());
  if (x.shape != geometry.global_shape(type)) throw Mismatch("a tensor of another shape");
  const Leaders found(geometry, type);
  const auto &copied = found.copied, &first = found.first();
  const bool maximum = takes_maximum(type);
  Distributed<S> result(devices, geometry.local_shape(type));
  std::vector<size_t> group;
  for (size_t device = 0; device < devices; ++device) {
    const auto own = static_cast<int64_t>(device);
    if (copied[device] != own) {
      std::ranges::copy(result.on(static_cast<size_t>(copied[device])), result.on(device).begin());
    } else if (first[device] == own) {
      group.clear();
      for (size_t other = device; other < devices; ++other)
        if (first[other] == own && copied[other] == static_cast<int64_t>(other))
          group.push_back(other);
      auto entry = result.on(device).begin();
      for (int64_t index : geometry.global_indices(type, result.shape(), own))
        *entry++ = at(x, index);
      spread(maximum, group, rng, result);
    }
  }
  return result;
}

template <class S>
std::optional<Array<S>> represented(const Geometry& geometry, const Type& type,
                                    const Distributed<S>& x) {
  if (x.shape() != geometry.local_shape(type)) return {};
  const bool maximum = takes_maximum(type);
  Array<S> whole = filled(geometry.global_shape(type), S(0));
  const Leaders found(geometry, type);
  const auto &copied = found.copied, &first = found.first();
  for (size_t device = 0; device < copied.size(); ++device) {
    const std::span<const S> own = x.on(device);
    const auto d = static_cast<int64_t>(device);
    if (copied[device] != d) {
      if (!std::ranges::equal(own, x.on(static_cast<size_t>(copied[device])), Scalar<S>::same))
        return {};
      continue;
    }
    size_t k = 0;
    for (int64_t index : geometry.global_indices(type, x.shape(), d)) {
      S& entry = at(whole, index);
      const S& part = own[k++];
      if (first[device] == d)
        entry = part;
      else if (!maximum)
        entry = entry + part;
      else if (below(entry, part))
        entry = part;
    }
  }
  return whole;
}

#define SHARDPROOF_INSTANTIATE(S)                                                                 \
  template Distributed<S> distribute(const Geometry&, const Type&, const Array<S>&, RandomBits&); \
  template std::optional<Array<S>> represented(const Geometry&, const Type&, const Distributed<S>&);
SHARDPROOF_INSTANTIATE(Rational)
SHARDPROOF_INSTANTIATE(Field)
SHARDPROOF_INSTANTIATE(double)
#undef SHARDPROOF_INSTANTIATE

}  // namespace shardproof::denote
