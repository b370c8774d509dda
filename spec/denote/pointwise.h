#pragma once
// Pointwise ops on one device.
#include <array>
#include <optional>

#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// Functions that have one value over every ordered field; none for the others.
template <class S>
std::optional<S> exact([[maybe_unused]] ir::UnaryFn fn, const S& x) {
  constexpr std::nullopt_t special = std::nullopt;
  const auto less = [](const S& a, const S& b) { return Scalar<S>::less(a, b); };
  const auto truth = [](bool value) { return value ? S(1) : S(0); };
  switch (fn) {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, real, \
                         whole, block, exact, algebra, pull)                                      \
  case ir::UnaryFn::id:                                                                           \
    return exact;
#include "spec/ir/pointwise.def"
  }
  return special;
}

template <class S>
std::optional<S> exact(ir::BinaryFn fn, const S& a, const S& b) {
  constexpr std::nullopt_t special = std::nullopt;
  const auto less = [](const S& x, const S& y) { return Scalar<S>::less(x, y); };
  const auto truth = [](bool value) { return value ? S(1) : S(0); };
  switch (fn) {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, real, \
                          whole, exact, algebra, pull_a, pull_b)                             \
  case ir::BinaryFn::id:                                                                     \
    return exact;
#include "spec/ir/pointwise.def"
  }
  return special;
}

template <class S>
S apply(ir::UnaryFn fn, const S& x) {
  // The derivative of abs at 0 is 0.
  if constexpr (requires { x.tangent; })
    if (fn == ir::UnaryFn::abs) return Scalar<S>::apply(fn, x);
  if (std::optional<S> known = exact(fn, x)) return *std::move(known);
  return Scalar<S>::apply(fn, x);
}

template <class S>
S apply(ir::BinaryFn fn, const S& a, const S& b) {
  if (std::optional<S> known = exact(fn, a, b)) return *std::move(known);
  return Scalar<S>::apply(fn, a, b);
}

/// Whether a cast to a number truncates; others are the identity.
inline bool truncates(Dtype from, Dtype to) {
  const bool whole = is_integer(from) || from == Dtype::boolean || from == Dtype::key;
  return is_integer(to) && !whole;
}

/// The operand that has all dims: the first one with the most dims.
inline const Shape& widest(std::span<const Shape* const> shapes) {
  const Shape* best = shapes.front();
  for (const Shape* each : shapes)
    if (each->dims.size() > best->dims.size()) best = each;
  return *best;
}

/// Whether every operand is a scalar or has the same positions in the same order: then no index
/// arithmetic is needed.
inline bool aligned(std::span<const Shape* const> shapes) {
  const Shape& all = widest(shapes);
  return std::all_of(shapes.begin(), shapes.end(), [&](const Shape* each) {
    return each->dims.empty() || same_dims(*each, all);
  });
}

/// fn of the entries of `n` aligned operands; fn takes a pointer to one entry per operand.
template <size_t n, class S, class Fn>
Distributed<S> aligned_pointwise(const std::vector<Held<S>>& x, Fn fn) {
  const Distributed<S>* widest = &x.at(0).value;
  for (const Held<S>& each : x)
    if (each.value.shape().size() > widest->shape().size()) widest = &each.value;
  std::array<const S*, n> entry;
  std::array<size_t, n> step;
  for (size_t i = 0; i < n; ++i) {
    const Distributed<S>& own = x.at(i).value;
    if (!own.shape().empty() && own.shape() != widest->shape())
      throw Mismatch("operands of different shapes");
    entry[i] = own.all().data();
    step[i] = own.shape().empty() ? 0 : 1;
  }
  Distributed<S> result(widest->size(), widest->shape());
  for (size_t device = 0; device < result.size(); ++device) {
    for (S& each : result.on(device)) {
      each = fn(entry.data());
      for (size_t i = 0; i < n; ++i) entry[i] += step[i];
    }
    for (size_t i = 0; i < n; ++i) entry[i] += 1 - step[i];
  }
  return result;
}

/// fn of the entries with equal indices. `how`: over the devices, then the result's indices.
template <size_t n, class S, class Fn>
Distributed<S> pointwise(const Nest& how, const std::vector<Held<S>>& x, Fn fn) {
  Distributed<S> result(x.at(0).value.size(), how.shape);
  need_reach(how.loops, x);
  std::array<const S*, n> entry;
  auto next = result.all().begin();
  walk(how.loops, [&](const int64_t* offsets) {
    for (size_t i = 0; i < n; ++i) entry[i] = x[i].value.all().data() + offsets[i];
    *next++ = fn(entry.data());
  });
  return result;
}

}  // namespace shardproof::denote
