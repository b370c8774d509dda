#pragma once
// Pointwise ops on one device.
#include <array>
#include <optional>
#include <span>

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
inline const Shape& widest(const std::vector<const Shape*>& shapes) {
  const Shape* best = shapes.at(0);
  for (const Shape* each : shapes)
    if (each->dims.size() > best->dims.size()) best = each;
  return *best;
}

/// Whether every operand is a scalar or has the same positions in the same order: then no index
/// arithmetic is needed.
inline bool aligned(const std::vector<const Shape*>& shapes) {
  const Shape& all = widest(shapes);
  return std::all_of(shapes.begin(), shapes.end(), [&](const Shape* each) {
    return each->dims.empty() || same_dims(*each, all);
  });
}

/// No pointwise op has more operands.
constexpr size_t most_operands = 3;

/// fn of the entries of aligned operands.
template <class S, class Fn>
Array<S> aligned_pointwise(std::span<const Array<S>* const> x, Fn fn) {
  const Array<S>* widest = x[0];
  for (const Array<S>* each : x)
    if (each->shape.size() > widest->shape.size()) widest = each;
  Array<S> result{widest->shape, {}};
  std::array<const S*, most_operands> entry{};
  std::array<size_t, most_operands> strides{};
  for (size_t i = 0; i < x.size(); ++i) {
    if (!x[i]->shape.empty() && x[i]->shape != widest->shape)
      throw Mismatch("operands of different shapes");
    entry.at(i) = x[i]->data.data();
    strides.at(i) = x[i]->shape.empty() ? 0 : 1;
  }
  const size_t entries = widest->data.size();
  result.data.reserve(entries);
  for (size_t k = 0; k < entries; ++k) {
    result.data.push_back(fn(entry.data()));
    for (size_t i = 0; i < x.size(); ++i) entry[i] += strides[i];
  }
  return result;
}

/// fn of the entries with equal indices; fn takes a pointer to one entry per operand.
template <class S, class Fn>
Array<S> pointwise(const Meeting& how, std::span<const Array<S>* const> x, Fn fn) {
  Array<S> result{how.shape, {}};
  std::array<const S*, most_operands> entry{};
  result.data.reserve(static_cast<size_t>(count(result.shape)));
  walk(how.extents, how.strides, [&](const int64_t* offsets) {
    for (size_t i = 0; i < x.size(); ++i) entry.at(i) = &at(*x[i], offsets[i + 1]);
    result.data.push_back(fn(entry.data()));
  });
  return result;
}

}  // namespace shardproof::denote
