// Evaluates what functions assume of their parameters, at given numbers and for all sizes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "spec/ir/program.h"

namespace shardproof::ir {

std::vector<Assumption> Program::assumptions(const Function& function) const {
  std::vector<Assumption> result = function.assumptions;
  if (!function.model) return result;
  for (Assumption& each : assumptions(functions.at(*function.model)))
    result.push_back(std::move(each));
  return result;
}

bool compare(double a, const std::string& op, double b) {
  if (std::isnan(a) || std::isnan(b)) return false;
  return op == "<"    ? a < b
         : op == "<=" ? a <= b
         : op == ">"  ? a > b
         : op == ">=" ? a >= b
         : op == "==" ? a == b
                      : a != b;
}

namespace {

Arith over_base_dims(const Program& program, const Arith& arith) {
  if (arith.kind == Arith::Kind::size) return program.size(Dim{{arith.text}});
  Arith copy = arith;
  for (Arith& arg : copy.args) arg = over_base_dims(program, arg);
  return copy;
}

Arith condition(const Arith& a, const std::string& op, const Arith& b) {
  return {Arith::Kind::op, op, no_value, {a, b}};
}

Arith number(const std::string& text) { return {Arith::Kind::number, text, no_value, {}}; }

bool is_whole(const Arith& arith) {
  if (arith.kind == Arith::Kind::number) return arith.text.find_first_of(".e") == Name::npos;
  const bool keeps = arith.kind != Arith::Kind::op || arith.text == "neg" || arith.text == "+" ||
                     arith.text == "-" || arith.text == "*" || arith.text == "//";
  return keeps && std::all_of(arith.args.begin(), arith.args.end(), is_whole);
}

/// The least (greatest) entry that satisfies a lower (upper) bound.
Arith extreme(const Assumption::Bound& bound, bool below, bool integer) {
  if (!integer) return bound.to;
  const auto negated = [](const Arith& x) { return Arith{Arith::Kind::op, "neg", no_value, {x}}; };
  // The next integer: for a lower bound, from the floor of the bound.
  const bool strict = bound.op == ">" || bound.op == "<";
  const Arith& to = bound.to;
  if (is_whole(to)) return strict ? condition(to, below ? "+" : "-", number("1")) : to;
  const Arith down = condition(to, "//", number("1"));
  const Arith up = negated(condition(negated(to), "//", number("1")));
  if (below) return strict ? condition(down, "+", number("1")) : up;
  return strict ? condition(up, "-", number("1")) : down;
}

const Assumption::Bound from_zero = {">=", number("0")};

}  // namespace

double Program::bound(const Assumption::Bound& bound, const std::map<Name, int64_t>& sizes) const {
  return evaluate(over_base_dims(*this, bound.to), sizes);
}

bool Program::holds(const Assumption& assumption, double entry,
                    const std::map<Name, int64_t>& sizes) const {
  return std::all_of(
      assumption.bounds.begin(), assumption.bounds.end(),
      [&](const Assumption::Bound& each) { return compare(entry, each.op, bound(each, sizes)); });
}

std::vector<Requirement> Program::consistency(const Function& f) const {
  struct Stated {
    const Assumption* assumption;
    const Assumption::Bound* bound;
  };
  const std::vector<Assumption> all = assumptions(f);
  std::vector<Requirement> result;
  for (size_t leaf = 0; leaf < f.params.size(); ++leaf) {
    const Value& value = f.values.at(f.params[leaf]);
    const bool integer = is_integer(value.type.dtype);
    std::vector<Stated> low, high, other;
    for (const Assumption& each : all)
      for (const Assumption::Bound& bound : each.bounds) {
        if (each.leaf != leaf) continue;
        if (bound.op[0] == '>' || bound.op == "==") low.push_back({&each, &bound});
        if (bound.op[0] == '<' || bound.op == "==") high.push_back({&each, &bound});
        if (bound.op == "!=") other.push_back({&each, &bound});
      }
    if (value.type.dtype == Dtype::u32 && !high.empty())
      low.push_back({high[0].assumption, &from_zero});
    const auto add = [&](Arith what, const Stated& a, const Stated& b) {
      const std::string first = "assume " + a.assumption->text(value.name),
                        second = "assume " + b.assumption->text(value.name);
      result.push_back(
          {std::move(what), b.assumption->range, first == second ? first : first + ", " + second});
    };
    for (const Stated& l : low)
      for (const Stated& h : high) {
        const bool strict = !integer && (l.bound->op == ">" || h.bound->op == "<");
        const Arith least = extreme(*l.bound, true, integer);
        const Arith most = extreme(*h.bound, false, integer);
        add(condition(least, strict ? "<" : "<=", most), l, h);
        // Each excluded value needs room for one more entry: exact for one such value, sufficient
        // for several.
        const Arith room = number(integer ? std::to_string(other.size()) : "0");
        for (const Stated& o : other)
          add(condition(condition(condition(most, "-", least), integer ? ">=" : ">", room), "or",
                        condition(condition(o.bound->to, "<", least), "or",
                                  condition(o.bound->to, ">", most))),
              l, o);
      }
  }
  return result;
}

namespace {

struct Interval {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
};

/// The interval that the assumptions on one leaf allow, except for excluded values.
Interval interval_of(const Program& program, const std::vector<Assumption>& assumptions,
                     size_t leaf, const std::map<Name, int64_t>& sizes) {
  Interval result;
  for (const Assumption& each : assumptions)
    for (const Assumption::Bound& bound : each.bounds) {
      if (each.leaf != leaf || bound.op == "!=") continue;
      const double to = program.bound(bound, sizes);
      const bool open = bound.op.size() == 1;
      if (bound.op[0] != '<' && (to > result.low || (to == result.low && open)))
        result.low = to, result.low_open = open;
      if (bound.op[0] != '>' && (to < result.high || (to == result.high && open)))
        result.high = to, result.high_open = open;
    }
  return result;
}

/// Shrinks an interval to its integers.
void shrink_to_integers(Interval& in) {
  in.low = in.low_open ? std::floor(in.low) + 1 : std::ceil(in.low);
  in.high = in.high_open ? std::ceil(in.high) - 1 : std::floor(in.high);
  in.low_open = in.high_open = false;
}

/// Moves a drawn entry into the interval; `turn` selects an alternative.
double moved_into(const Interval& in, double drawn, bool integer, int turn) {
  const double size = std::abs(drawn) + turn;
  const bool below = std::isfinite(in.low), above = std::isfinite(in.high);
  if (integer)
    return below && above ? in.low + std::fmod(size, in.high - in.low + 1)
           : below        ? in.low + size
           : above        ? in.high - size
                          : drawn + turn;
  if (below && above) {
    if (in.low == in.high) return in.low;
    const double part = std::fmod(0.618 * (size + 0.1), 1);
    return in.low + (in.high - in.low) * (0.05 + 0.9 * part);
  }
  const double step = size > 0 ? size : 0.5;
  return below ? in.low + step : above ? in.high - step : drawn + 0.5 * turn;
}

}  // namespace

double Program::satisfying(const Function& function, size_t leaf, double drawn,
                           const std::map<Name, int64_t>& sizes) const {
  constexpr int most_turns = 20;
  const std::vector<Assumption> all = assumptions(function);
  const Value& param = function.values.at(function.params.at(leaf));
  const bool integer = is_integer(param.type.dtype);
  Interval in = interval_of(*this, all, leaf, sizes);
  if (param.type.dtype == Dtype::u32) in.low = std::max(in.low, 0.0);
  if (integer) shrink_to_integers(in);
  double entry = drawn;
  for (int turn = 0;; ++turn) {
    const bool good = std::all_of(all.begin(), all.end(), [&](const Assumption& each) {
      return each.leaf != leaf || holds(each, entry, sizes);
    });
    if (good) return entry;
    if (turn == most_turns)
      throw std::domain_error("no small entry of `" + param.name + "` is what is assumed of it");
    entry = moved_into(in, drawn, integer, turn);
  }
}

}  // namespace shardproof::ir
