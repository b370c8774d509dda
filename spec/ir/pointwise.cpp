#include "spec/ir/pointwise.h"

#include <charconv>
#include <cmath>

namespace shardproof::ir {
namespace {

struct Row {
  const char* text;
  Binds binds;
  Takes takes;
  bool truth;
  Domain domain;
  bool strict, gradient;
  Growth growth = Growth::turns;
};

constexpr bool same = false, truth = true, lax = false, strict = true;
constexpr bool is_none(std::string_view pull) { return pull == "none"; }
constexpr Binds binding(std::string_view text) {
  return text == "-" ? Binds::products : text == "not" ? Binds::comparisons : Binds::call;
}

constexpr Row unary_rows[] = {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, real, \
                         whole, block, exact, algebra, pull)                                      \
  {text,   binding(text),   Takes::takes, gives, {Domain::domain, least},                         \
   strict, !is_none(#pull), Growth::grows},
#include "spec/ir/pointwise.def"
};
constexpr Row binary_rows[] = {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, real, \
                          whole, exact, algebra, pull_a, pull_b)                             \
  {text, Binds::binds, Takes::takes, gives, {}, strict, !is_none(#pull_a)},
#include "spec/ir/pointwise.def"
};
static_assert(std::size(unary_rows) == unary_fns.size());
static_assert(std::size(binary_rows) == binary_fns.size());

const Row& row(UnaryFn fn) { return unary_rows[static_cast<size_t>(fn)]; }
const Row& row(BinaryFn fn) { return binary_rows[static_cast<size_t>(fn)]; }

template <class Fns>
auto named(const Fns& fns, std::string_view name) -> std::optional<typename Fns::value_type> {
  for (auto fn : fns)
    if (row(fn).text == name) return fn;
  return std::nullopt;
}

}  // namespace

const char* name_of(UnaryFn fn) { return row(fn).text; }
const char* name_of(BinaryFn fn) { return row(fn).text; }
std::optional<UnaryFn> unary_named(std::string_view name) { return named(unary_fns, name); }
std::optional<BinaryFn> binary_named(std::string_view name) { return named(binary_fns, name); }
Takes takes(UnaryFn fn) { return row(fn).takes; }
Takes takes(BinaryFn fn) { return row(fn).takes; }
Binds binds(UnaryFn fn) { return row(fn).binds; }
Binds binds(BinaryFn fn) { return row(fn).binds; }
Domain domain(UnaryFn fn) { return row(fn).domain; }
Growth growth(UnaryFn fn) { return row(fn).growth; }
bool gives_truth(UnaryFn fn) { return row(fn).truth; }
bool gives_truth(BinaryFn fn) { return row(fn).truth; }
bool is_strict(UnaryFn fn) { return row(fn).strict; }
bool is_strict(BinaryFn fn) { return row(fn).strict; }
bool has_gradient(UnaryFn fn) { return row(fn).gradient; }
bool has_gradient(BinaryFn fn) { return row(fn).gradient; }

std::string digits(double value) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

#define LIBM(f, ...) std::f(__VA_ARGS__)
using R = double;

double value(UnaryFn fn, double x) {
  switch (fn) {
#define SHARDPROOF_UNARY(id, text, takes, gives, domain, least, roles, strict, bits, grows, real, \
                         whole, block, exact, algebra, pull)                                      \
  case UnaryFn::id:                                                                               \
    return real;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of one operand");
}

double value(BinaryFn fn, double a, double b) {
  switch (fn) {
#define SHARDPROOF_BINARY(id, text, binds, takes, gives, role_a, role_b, strict, bits, real, \
                          whole, exact, algebra, pull_a, pull_b)                             \
  case BinaryFn::id:                                                                         \
    return real;
#include "spec/ir/pointwise.def"
  }
  throw std::logic_error("no such function of two operands");
}

}  // namespace shardproof::ir
