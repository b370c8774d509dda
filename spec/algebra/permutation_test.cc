// argsort as a permutation: sums in another order, and the entry that has a place.
#include <gtest/gtest.h>

#include "spec/algebra/builder.h"
#include "spec/algebra/nf_value.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::algebra {
namespace {

constexpr int n = 5;

/// A factor of a sum over j, for each i: as a term, and its value.
struct Part {
  Nf term;
  std::function<double(int i, int j)> value;
};

/// Terms over the orders of rows, with ties. Rows `b` and `c` of a table become one in the end.
struct Orders {
  Algebra a;
  Nf size = a.size("V");
  Var i = a.fresh(size, "i"), j = a.fresh(size, "j"), b = a.fresh(size, "b"),
      c = a.fresh(size, "c");
  const SizeValues sizes = {{"V", n}, {"K", 3}};

  explicit Orders(Fault fault) : a({}, fault) {}

  Nf order(Nf row, Nf at) {
    LeafFacts facts;
    facts.integer = true, facts.below = size;
    return a.opaque("argsort", {{{j}, row}}, {at}, facts);
  }
  Nf entry(const char* name, Nf at) { return a.at(a.leaf(name, {size}), {at}); }
  Nf row(int64_t which) {
    if (which < 2) return entry(which ? "i" : "w", a.var(j));
    return a.at(a.leaf("w", {size, size}), {a.var(which == 2 ? b : c), a.var(j)});
  }
  std::vector<double> row_values(int64_t which) {
    std::vector<double> all;
    for (int k = 0; k < n; ++k)
      all.push_back(which < 2 ? leaf_value(which ? "i" : "w", {k}, sizes)
                              : leaf_value("w", {0, k}, sizes));
    return all;
  }
  int order_of(const std::vector<double>& row, int at) {
    return static_cast<int>(order_value(row, at, false));
  }
  std::vector<double> order_of_order(const std::vector<double>& row) {
    std::vector<double> all;
    for (int k = 0; k < n; ++k) all.push_back(order_of(row, k));
    return all;
  }

  Part drawn(laws::Dice& dice) {
    const int64_t which = dice.below(4);
    const std::vector<double> row = row_values(which), ordered = order_of_order(row);
    const Nf at = order(this->row(which), a.var(j));
    const Nf twice = order(at, a.var(j));
    const auto number = [&] { return a.number(dice.below(2)); };
    switch (dice.below(7)) {
      case 0:
        return {entry("x", at),
                [=, this](int, int j) { return leaf_value("x", {order_of(row, j)}, sizes); }};
      case 1:
        return {a.eq0(a.sub(at, a.var(i))),
                [=, this](int i, int j) { return order_of(row, j) == i; }};
      case 2: {
        const Nf by = number();
        const int k = static_cast<int>(a.as_number(by)->num);
        return {a.eq0(a.sub(a.add(at, by), a.var(i))),
                [=, this](int i, int j) { return order_of(row, j) + k == i; }};
      }
      case 3:
        return {entry("x", twice),
                [=, this](int, int j) { return leaf_value("x", {order_of(ordered, j)}, sizes); }};
      case 4:
        return {a.eq0(a.sub(a.floordiv(a.var(j), a.number(2)), a.var(i))),
                [](int i, int j) { return j / 2 == i; }};
      case 5:
        return {a.eq0(a.sub(a.mod(a.var(j), a.number(2)), a.var(i))),
                [](int i, int j) { return j % 2 == i; }};
      default:
        return {entry("y", a.var(j)),
                [=, this](int, int j) { return leaf_value("y", {j}, sizes); }};
    }
  }
};

/// The number of indices i at which a sum of drawn factors is not what they add up to.
int wrong(laws::Dice dice, Fault fault) {
  Orders orders(fault);
  std::vector<Part> parts;
  for (int64_t k = dice.between(1, 3); k > 0; --k) parts.push_back(orders.drawn(dice));
  Nf body = orders.a.number(1);
  for (const Part& part : parts) body = orders.a.mul(body, part.term);
  const Nf sum =
      orders.a.substitute(orders.a.sum({orders.j}, body), {{orders.c, orders.a.var(orders.b)}});
  NfValue value{orders.a.engine(), orders.sizes};
  int found = 0;
  for (int i = 0; i < n; ++i) {
    double wanted = 0;
    for (int j = 0; j < n; ++j) {
      double product = 1;
      for (const Part& part : parts) product *= part.value(i, j);
      wanted += product;
    }
    found += std::fabs(value(sum, {{orders.i.id, i}, {orders.b.id, 0}}) - wanted) > 1e-9;
  }
  return found;
}

TEST(PermutationLaw, KeepsSums) {
  EXPECT_TRUE(laws::holds("sums of entries in an order", 2'000, 50'000, [] {
    RC_ASSERT(wrong(laws::Dice(*laws::dice_words(20)), Fault::none) == 0);
  }));
}

TEST(PermutationLaw, FindsThePlantedFaults) {
  for (Fault fault : {Fault::other_order, Fault::no_place, Fault::uneven_blocks}) {
    int found = 0;
    for (unsigned seed = 0; seed < 2'000; ++seed) found += wrong(laws::Dice(seed), fault) > 0;
    EXPECT_GT(found, 0) << static_cast<int>(fault);
  }
}

TEST(Permutation, OfAnyOrderIsTheSameSum) {
  Orders o(Fault::none);
  const Nf row = o.entry("x", o.a.var(o.j)), at = o.order(row, o.a.var(o.j));
  const Nf whole = o.a.sum({o.j}, o.a.apply(Fn::exp, o.entry("y", o.a.var(o.j))));
  EXPECT_EQ(o.a.sum({o.j}, o.a.apply(Fn::exp, o.entry("y", at))), whole);
  EXPECT_EQ(o.order(at, o.order(row, o.a.var(o.i))), o.a.var(o.i));
  EXPECT_NE(o.order(row, o.order(row, o.a.var(o.i))), o.a.var(o.i));
}

}  // namespace
}  // namespace shardproof::algebra
