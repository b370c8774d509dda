#include "spec/prove/layout_facts.h"

#include <algorithm>

#include "spec/prove/axis_digits.h"
#include "spec/prove/relax.h"

namespace shardproof {

using smt::conj;
using smt::Kind;
using smt::Obligation;
using smt::Term;

namespace {

std::string axes_text(const Split& split) { return to_string(split); }

/// Two devices and local indices with the same global index are the same.
Obligation injective(const Split& split) {
  const DigitMap one(split, ""), two(split, "2");
  Obligation result{axes_text(split) + " injective",
                    Kind::layout,
                    axes_text(split) + ": no entry of " + to_string(split.dim) +
                        " is held twice, by two devices or at two places of one",
                    one.bounds(),
                    Term::truth(true),
                    false,
                    {}};
  const std::vector<Term> other = two.bounds();
  result.assumptions.insert(result.assumptions.end(), other.begin(), other.end());
  result.assumptions.push_back(equal(one.global(), two.global()));
  std::vector<Term> same{equal(one.local(), two.local())};
  result.assumptions.push_back(smt::ordered(one.local(), two.local()));
  for (size_t i = 0; i < split.axes.size(); ++i) {
    same.push_back(equal(one.digits()[i], two.digits()[i]));
    result.assumptions.push_back(smt::ordered(one.digits()[i], two.digits()[i]));
  }
  result.goal = conj(same);
  result.example = one.example();
  result.example.merge(two.example());
  return result;
}

/// Every global index has a device and a local index: the digits are quotients and remainders,
/// which exist for positive divisors.
Obligation covers(const Split& split) {
  const DigitMap map(split, "");
  Obligation result{
      axes_text(split) + " covers",
      Kind::layout,
      axes_text(split) + ": every entry of " + to_string(split.dim) + " is held by some device",
      map.sizes(),
      Term::truth(true),
      false,
      map.example()};
  const Term g = smt::integer(dim_symbol(split.dim) + ".g");
  result.assumptions.push_back(less_equal(0, g));
  result.assumptions.push_back(less(g, product(map.radices()) * map.local_size()));
  Term rest = g;
  std::vector<Term> digits = map.digits();
  const auto divide = [&](const Term& divisor, const Term& remainder, const std::string& name) {
    const Term quotient = smt::integer(name);
    result.assumptions.push_back(equal(rest, quotient * divisor + remainder));
    result.assumptions.push_back(less_equal(0, remainder));
    result.assumptions.push_back(less(remainder, divisor));
    result.example[name] = {0, 1};
    rest = quotient;
  };
  const size_t count = split.axes.size();
  divide(map.local_size(), map.local(), dim_symbol(split.dim) + ".q");
  for (size_t i = count; i-- > 1;) divide(map.radices()[i], digits[i], split.axes[i] + ".q");
  digits[0] = rest;
  result.example[dim_symbol(split.dim) + ".g"] = {0, 1};
  result.goal = conj({less_equal(0, rest), less(rest, map.radices()[0]),
                      equal(map.global(digits, map.local_size(), map.local()), g)});
  return result;
}

bool has(const std::vector<Axis>& axes, const Axis& axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

/// The axes of `from` that `to` lacks, and the index map after the blocks along them are
/// concatenated.
Obligation gathered(const std::string& name, const Split& from, const Split& to) {
  const DigitMap map(from, "");
  Term size = map.local_size(), local = map.local();
  for (size_t i = from.axes.size(); i-- > 0;) {
    if (has(to.axes, from.axes[i])) continue;
    local = map.digits()[i] * size + local;
    size = map.radices()[i] * size;
  }
  std::vector<Term> digits, radices;
  for (const Axis& axis : to.axes) {
    digits.push_back(digit_of(axis, ""));
    radices.push_back(radix_of(axis));
  }
  Obligation result{name + " " + axes_text(from) + " -> " + axes_text(to),
                    Kind::index,
                    name + ": a block of " + axes_text(from) + " put in its place in " +
                        axes_text(to) + " keeps the global index of its entries",
                    map.bounds(),
                    Term::truth(true),
                    false,
                    map.example()};
  result.goal = conj({equal(global_index(digits, radices, size, local), map.global()),
                      less_equal(0, local), less(local, size)});
  return result;
}

/// Up to this many axes, one query for all of them is cheap.
constexpr size_t axes_at_once = 3;

/// One axis at a time, by induction. The local index of `M/a` is a block of `b` and an offset in it
/// (gathered). If each axis alone maps to each entry of its dim exactly once, for every local size,
/// then so do all axes together.
std::vector<Obligation> axis_by_axis(const Split& split) {
  std::vector<Obligation> result;
  Split whole{split.dim, {}};
  for (const Axis& axis : split.axes) {
    const Split before = whole, alone{split.dim, {axis}};
    whole.axes.push_back(axis);
    result.push_back(injective(alone));
    result.push_back(covers(alone));
    if (!before.axes.empty()) result.push_back(gathered("split", whole, before));
  }
  return result;
}

}  // namespace

std::vector<Obligation> split_obligations(const Split& split) {
  std::vector<Obligation> result;
  if (split.axes.size() > axes_at_once) {
    result = axis_by_axis(split);
  } else if (!split.axes.empty()) {
    result.push_back(injective(split));
    result.push_back(covers(split));
  }
  if (split.dim.is_group()) {
    std::vector<Split> parts;
    for (const Name& factor : split.dim.factors) parts.push_back({Dim{{factor}}, {}});
    parts[0].axes = split.axes;
    result.push_back(rearrange_obligation(split, parts));
  }
  return result;
}

std::vector<Obligation> move_obligations(const std::string& collective, const Split& from,
                                         const Split& to) {
  Split kept = from;
  std::erase_if(kept.axes, [&](const Axis& axis) { return !has(to.axes, axis); });
  std::vector<Obligation> result;
  if (kept.axes != from.axes) result.push_back(gathered(collective, from, kept));
  // Incoming axes split the dim as gathering them would join it: the same identity, read from the
  // result.
  if (kept.axes != to.axes) result.push_back(gathered(collective, to, kept));
  return result;
}

Obligation rotation_obligation(const Split& split) {
  const DigitMap map(split, "");
  const std::string dim = dim_symbol(split.dim);
  const Term by = smt::integer(dim + ".by"), turns = smt::integer(dim + ".turns");
  std::vector<Term> digits = map.digits();
  const Term blocks = map.radices().at(0), sent = digits[0];
  // Device i sends to device i + by - turns * n.
  digits[0] = sent + by - turns * blocks;
  Term block_size = map.local_size();
  for (size_t i = 1; i < split.axes.size(); ++i) block_size = map.radices()[i] * block_size;
  Obligation result{"ppermute " + axes_text(split),
                    Kind::index,
                    "ppermute: blocks of " + axes_text(split) + " sent by k roll the dim by k*|" +
                        to_string(split.dim) + "|/|" + split.axes.at(0) + "|",
                    map.bounds(),
                    Term::truth(true),
                    false,
                    map.example()};
  result.assumptions.push_back(less_equal(0, digits[0]));
  result.assumptions.push_back(less(digits[0], blocks));
  result.example[dim + ".by"] = result.example[dim + ".turns"] = {0, 1};
  const Term whole = blocks * block_size;
  result.goal = equal(map.global(digits, map.local_size(), map.local()),
                      map.global() + by * block_size - turns * whole);
  return result;
}

Obligation rearrange_obligation(const Split& group, const std::vector<Split>& parts) {
  Obligation result{
      "rearrange " + axes_text(group), Kind::index, "", {}, Term::truth(true), false, {}};
  std::string text;
  Term row_major(0), local(0), local_size(1);
  for (const Split& part : parts) {
    const DigitMap map(part, "");
    text += (text.empty() ? "" : " ") + axes_text(part);
    const std::vector<Term> bounds = map.bounds();
    result.assumptions.insert(result.assumptions.end(), bounds.begin(), bounds.end());
    result.example.merge(map.example());
    row_major = row_major * (product(map.radices()) * map.local_size()) + map.global();
    local = local * map.local_size() + map.local();
    local_size = local_size * map.local_size();
  }
  std::vector<Term> digits, radices;
  for (const Axis& axis : group.axes) {
    digits.push_back(digit_of(axis, ""));
    radices.push_back(radix_of(axis));
  }
  result.claim = "the row-major index of " + text + " is that of " + axes_text(group) +
                 ", on the same device at the same place";
  result.goal = equal(global_index(digits, radices, local_size, local), row_major);
  return result;
}

}  // namespace shardproof
