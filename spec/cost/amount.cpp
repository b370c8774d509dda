#include "spec/cost/amount.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>
#include <stdexcept>
#include <tuple>

namespace shardproof::cost {
namespace {

using Wide = __int128;

int64_t narrow(Wide value) {
  if (value > INT64_MAX || value < INT64_MIN)
    throw std::domain_error("an amount that does not fit into 64 bits");
  return static_cast<int64_t>(value);
}

/// An exact fraction; throws where it outgrows 64 bits.
struct Fraction {
  int64_t top = 1, bottom = 1;
  void times(int64_t a, int64_t b) {
    if (b == 0) throw std::domain_error("division by zero");
    const int64_t g = std::gcd(a, bottom), h = std::gcd(top, b);
    top = narrow(static_cast<Wide>(top / (h ? h : 1)) * (a / (g ? g : 1)));
    bottom = narrow(static_cast<Wide>(bottom / (g ? g : 1)) * (b / (h ? h : 1)));
  }
  void plus(const Fraction& other) {
    const int64_t g = std::gcd(bottom, other.bottom);
    const Wide sum =
        static_cast<Wide>(top) * (other.bottom / g) + static_cast<Wide>(other.top) * (bottom / g);
    bottom = narrow(static_cast<Wide>(bottom / g) * other.bottom);
    top = narrow(sum);
  }
};

int64_t whole(double value) {
  if (!(std::abs(value) <= 9.0e15)) throw std::domain_error("a size of more than 9 * 10^15");
  if (value != std::floor(value)) throw std::domain_error("a size that is not a whole number");
  return static_cast<int64_t>(value);
}

int64_t axis_size(const Axis& axis, const Sizes& sizes) {
  auto found = sizes.find(axis);
  if (found == sizes.end()) throw std::domain_error("|" + axis + "| has no size");
  return found->second;
}

std::string ring_text(const std::vector<Axis>& axes) {
  std::string n;
  for (const Axis& axis : axes) n += (n.empty() ? "|" : "*|") + axis + "|";
  return axes.size() == 1 ? "(" + n + "-1)/" + n : "(" + n + "-1)/(" + n + ")";
}

std::string human(double value, double step, const std::vector<const char*>& units) {
  size_t unit = 0;
  while (std::abs(value) >= step && unit + 1 < units.size()) value /= step, ++unit;
  char text[64];
  std::snprintf(text, sizeof text, unit ? "%.2f %s" : "%.0f %s", value, units[unit]);
  return text;
}

}  // namespace

bool Product::before(const Product& other) const {
  if (powers.empty() != other.powers.empty()) return other.powers.empty();
  return std::tie(powers, rings) < std::tie(other.powers, other.rings);
}

Amount::Amount(int64_t number) {
  if (number) terms_.push_back({number, {}, {}});
}

Amount Amount::size(const ir::Arith& size) {
  using Kind = ir::Arith::Kind;
  if (size.kind == Kind::number && size.text.find_first_not_of("0123456789") == std::string::npos &&
      size.text.size() < 18)
    return Amount(std::stoll(size.text));
  if (size.kind == Kind::op && size.text == "*" && size.args.size() == 2)
    return Amount::size(size.args[0]) * Amount::size(size.args[1]);
  Amount result;
  const std::string text =
      size.kind == Kind::op ? "(" + ir::to_string(size) + ")" : ir::to_string(size);
  result.terms_.push_back({1, {{text, 1}}, {}});
  result.factors_[text] = size;
  return result;
}

Amount Amount::axis(const Axis& name) {
  return size({ir::Arith::Kind::axis, name, ir::no_value, {}});
}

Amount Amount::ring(const std::vector<Axis>& axes) {
  Amount result;
  if (axes.empty()) return result;
  std::vector<Axis> sorted = axes;
  std::sort(sorted.begin(), sorted.end());
  result.terms_.push_back({1, {}, {sorted}});
  return result;
}

void Amount::add(const Product& term) {
  if (!term.coefficient) return;
  const auto at = std::lower_bound(terms_.begin(), terms_.end(), term,
                                   [](const Product& a, const Product& b) { return a.before(b); });
  if (at == terms_.end() || !at->same_factors(term)) {
    terms_.insert(at, term);
    return;
  }
  at->coefficient = narrow(static_cast<Wide>(at->coefficient) + term.coefficient);
  if (at->coefficient == 0) terms_.erase(at);
}

Amount& Amount::operator+=(const Amount& other) {
  const std::vector<Product> terms = other.terms_;
  for (const Product& term : terms) add(term);
  factors_.insert(other.factors_.begin(), other.factors_.end());
  return *this;
}

Amount Amount::operator*(const Amount& other) const {
  Amount result;
  for (const Product& a : terms_)
    for (const Product& b : other.terms_) {
      Product term = a;
      term.coefficient = narrow(static_cast<Wide>(a.coefficient) * b.coefficient);
      for (const auto& [factor, power] : b.powers)
        if ((term.powers[factor] += power) == 0) term.powers.erase(factor);
      term.rings.insert(term.rings.end(), b.rings.begin(), b.rings.end());
      std::sort(term.rings.begin(), term.rings.end());
      result.add(term);
    }
  result.factors_ = factors_;
  result.factors_.insert(other.factors_.begin(), other.factors_.end());
  return result;
}

Amount Amount::over(const Amount& product) const {
  Amount inverse = product;
  for (auto& [factor, power] : inverse.terms_.at(0).powers) power = -power;
  return *this * inverse;
}

bool Amount::within(const Amount& other) const {
  auto greater = other.terms_.begin();
  return std::all_of(terms_.begin(), terms_.end(), [&](const Product& term) {
    while (greater != other.terms_.end() && greater->before(term)) ++greater;
    return greater != other.terms_.end() && greater->same_factors(term) &&
           greater->coefficient >= term.coefficient;
  });
}

std::string Amount::text() const {
  std::string result;
  for (const Product& term : terms_) {
    std::string top, bottom, rings;
    if (term.coefficient != 1) top = std::to_string(term.coefficient);
    for (const auto& [factor, power] : term.powers)
      for (int i = 0; i < std::abs(power); ++i)
        (power > 0 ? top : bottom) += (power > 0 ? (top.empty() ? "" : "*") : "/") + factor;
    for (const auto& ring : term.rings) rings += " * " + ring_text(ring);
    if (top.empty()) top = bottom.empty() && !rings.empty() ? "" : "1";
    std::string text = top + bottom + rings;
    if (text.starts_with(" * ")) text.erase(0, 3);
    result += (result.empty() ? "" : " + ") + text;
  }
  return result.empty() ? "0" : result;
}

int64_t Amount::evaluate(const Sizes& sizes) const {
  Fraction sum{0, 1};
  for (const Product& term : terms_) {
    Fraction product{term.coefficient, 1};
    // Divisions first: what every device has may fit where that of all does not.
    for (const bool divides : {true, false})
      for (const auto& [factor, power] : term.powers) {
        if (divides != (power < 0)) continue;
        const int64_t value = whole(ir::evaluate(factors_.at(factor), sizes));
        for (int i = 0; i < std::abs(power); ++i)
          divides ? product.times(1, value) : product.times(value, 1);
      }
    for (const auto& ring : term.rings) {
      Fraction n;
      for (const Axis& axis : ring) n.times(axis_size(axis, sizes), 1);
      product.times(n.top - 1, n.top);
    }
    sum.plus(product);
  }
  return sum.top / sum.bottom + (sum.top % sum.bottom > 0);
}

std::string human_bytes(int64_t bytes) {
  return human(static_cast<double>(bytes), 1024, {"B", "KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string human_flops(int64_t flops) {
  return human(static_cast<double>(flops), 1000,
               {"FLOPs", "kFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs", "EFLOPs"});
}

}  // namespace shardproof::cost
