#include "oracle/moves.h"

#include <algorithm>
#include <cmath>

#include "oracle/disturbed.h"

namespace shardproof::oracle {
namespace {

// All positions that any op makes pass here.
void check(const Positions& at, int64_t wanted, const Extents& shape) {
  const int64_t entries = count(shape);
  if (static_cast<int64_t>(at.size()) != wanted)
    throw std::domain_error(std::to_string(at.size()) + " positions for " + std::to_string(wanted) +
                            " entries");
  for (int64_t each : at)
    if (each < 0 || each >= entries)
      throw std::domain_error("an entry " + std::to_string(each) + " of " +
                              std::to_string(entries));
}

template <class Entry>
std::vector<Entry> picked(const std::vector<Entry>& x, const Positions& from) {
  std::vector<Entry> result;
  if (x.empty()) return result;
  result.reserve(from.size());
  for (int64_t at : from) result.push_back(x[static_cast<size_t>(at)]);
  return result;
}

Tensor picked(const Tensor& x, const Positions& from, Extents shape) {
  return {std::move(shape), picked(x.data, from), picked(x.keys, from)};
}

// Where several have come together.
void disturb_added(Tensor& sums, const Tensor& x, const Positions& to) {
  Tensor sizes = filled(sums.shape, 0);
  std::vector<double> terms(sums.data.size());
  for (size_t i = 0; i < to.size(); ++i) {
    sizes.data[static_cast<size_t>(to[i])] += std::abs(x.data[i]);
    ++terms[static_cast<size_t>(to[i])];
  }
  for (size_t i = 0; i < terms.size(); ++i)
    if (terms[i] < 2) sizes.data[i] = 0;
  if (!terms.empty()) disturb_sums(sums, sizes, *std::max_element(terms.begin(), terms.end()));
}

Tensor added(const Tensor& x, const Positions& to, Extents shape) {
  Tensor result = filled(std::move(shape), 0);
  for (size_t i = 0; i < to.size(); ++i) result.data[static_cast<size_t>(to[i])] += x.data[i];
  if (disturbs()) disturb_added(result, x, to);
  return result;
}

template <class Entry>
void put(std::vector<Entry>& result, const std::vector<Entry>& x, const Positions& to) {
  for (size_t i = 0; i < x.size(); ++i) result[static_cast<size_t>(to[i])] = x[i];
}

}  // namespace

Var gather(Site& site, const Var& x, Positions from, Extents shape) {
  check(from, count(shape), x->value.shape);
  Tensor value = picked(x->value, from, std::move(shape));
  return site.record(std::move(value), x->followed,
                     [x, from = std::move(from)](const Node& result) {
                       contribute(x, added(result.gradient, from, x->value.shape));
                     });
}

Var scatter_add(Site& site, const Var& x, Positions to, Extents shape) {
  check(to, count(x->value.shape), shape);
  Tensor value = added(x->value, to, std::move(shape));
  return site.record(std::move(value), x->followed, [x, to = std::move(to)](const Node& result) {
    contribute(x, picked(result.gradient, to, x->value.shape));
  });
}

Var place(Site& site, std::vector<Part> parts, Extents shape) {
  Tensor value;
  const auto entries = static_cast<size_t>(count(shape));
  value.shape = shape;
  const bool keys = !parts.at(0).x->value.keys.empty();
  (keys ? value.keys.resize(entries) : value.data.resize(entries));
  bool followed = false;
  for (const Part& part : parts) {
    check(part.to, count(part.x->value.shape), shape);
    followed = followed || part.x->followed;
    put(value.data, part.x->value.data, part.to);
    put(value.keys, part.x->value.keys, part.to);
  }
  return site.record(std::move(value), followed, [parts = std::move(parts)](const Node& result) {
    Tensor left = result.gradient;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      contribute(part->x, picked(left, part->to, part->x->value.shape));
      for (int64_t at : part->to) left.data[static_cast<size_t>(at)] = 0;
    }
  });
}

}  // namespace shardproof::oracle
