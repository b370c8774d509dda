#include "properties/patterns/one_op.h"

#include <algorithm>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <vector>

namespace shardproof::patterns {
namespace {

using Names = std::vector<std::string>;

/// dim B K D C J L; S T P Q = L; H = (K D); G = (C J); A = G; W is two, O one.
const std::string declarations =
    "mesh t d\ndim B K D C J L\ndim S T P Q = L\ndim H = (K D)\ndim G = (C J)\ndim A = G\n"
    "dim W = 2\ndim O = 1\n";

/// A position: as its type writes it, as the pattern writes it, and the factors' names there.
struct Position {
  std::string type, pattern;
  Names factors;
  std::string grouped = type;  ///< the type, where no group is opened
};

struct Operand {
  std::string name;
  std::vector<Position> positions;
};

class Drawn {
 public:
  /// `opened`: groups are written as their factors, and nothing else is different.
  Drawn(laws::Dice dice, bool opened) : opened(opened), dice_(std::move(dice)) {}

  size_t below(size_t n) { return static_cast<size_t>(dice_.below(static_cast<int64_t>(n))); }
  bool one_in(size_t n) { return below(n) == n - 1; }  // 0 leaves it out
  const std::string& of(const Names& some) { return some[below(some.size())]; }

  /// Up to four positions with different names.
  std::vector<Position> positions(size_t most) {
    std::vector<Position> result;
    std::set<std::string> used;
    const size_t count = 1 + below(most);
    for (size_t i = 0; i < 3 * count && result.size() < count; ++i) {
      Position one = position();
      const bool fresh = std::all_of(one.factors.begin(), one.factors.end(),
                                     [&](const auto& each) { return !used.count(each); }) &&
                         !used.count(one.type);
      if (!fresh) continue;
      used.insert(one.factors.begin(), one.factors.end());
      used.insert(one.type);
      result.push_back(std::move(one));
    }
    for (Position& position : result) open(position);
    return result;
  }

  void open(Position& position) const {
    if (opened && is_group(position)) position.type = position.pattern = run(position);
  }
  static bool is_group(const Position& position) {
    return position.factors.size() == 2 && position.factors[0] != "A.0";
  }

  /// The position stands as one dim; of a group opened there is no such program.
  void as_one_dim(Position& position) {
    has_none = has_none || (opened && is_group(position));
    if (position.pattern == run(position)) position.pattern = position.type;
  }

  const bool opened;
  bool has_none = false;

 private:
  static std::string run(const Position& position) {
    return is_group(position) ? position.factors[0] + " " + position.factors[1] : "";
  }

  Position position() {
    static const Names line{"L", "S", "T", "P", "Q"};
    switch (below(6)) {
      case 0:
        return {"B", "B", {"B"}};
      case 1:
      case 2: {
        const std::string type = of(line), name = one_in(3) ? of(line) : type;
        return {type, name, {name}};
      }
      case 3: {
        const std::string type = of({"H", "(K D)"}), name = of({"H", "(K D)", "K D"});
        return {type, name, {"K", "D"}};
      }
      case 4: {
        if (one_in(3)) return {"A", "A", {"A.0", "A.1"}};
        const std::string type = of({"G", "(C J)", "A"}), name = of({"G", "(C J)", "C J"});
        return {type, name, {"C", "J"}};
      }
      default: {
        const std::string name = of({"K", "D", "C", "J"});
        return {name, name, {name}};
      }
    }
  }
  laws::Dice dice_;
};

/// Which axes split which factor: a factor that is the first of each position that it stands in.
using Splits = std::map<std::string, std::string>;

Splits splits(Drawn& drawn, const std::vector<Operand>& operands, const Names& whole) {
  std::set<std::string> first, later(whole.begin(), whole.end());
  for (const Operand& operand : operands)
    for (const Position& position : operand.positions) {
      first.insert(position.factors[0]);
      later.insert(position.factors.begin() + 1, position.factors.end());
    }
  Names able;
  for (const std::string& name : first)
    if (!later.count(name)) able.push_back(name);
  Splits result;
  for (const char* axis : {"/t", "/d"})
    if (!able.empty() && drawn.one_in(2)) result[drawn.of(able)] += axis;
  return result;
}

std::string with_axes(const std::string& text, const std::string& axes) {
  // The axes of a run `K D` are those of its first dim.
  const size_t space = text[0] == '(' ? std::string::npos : text.find(' ');
  return space == std::string::npos ? text + axes
                                    : text.substr(0, space) + axes + text.substr(space);
}

class Program {
 public:
  /// `whole`: factors that stay unsplit.
  Program(Drawn& drawn, std::vector<Operand> operands, bool split, const Names& whole = {})
      : drawn_(drawn), operands_(std::move(operands)) {
    if (split) splits_ = splits(drawn_, operands_, whole);
  }

  std::string axes(const std::string& factor, bool plan) const {
    const auto found = splits_.find(factor);
    return plan && found != splits_.end() ? found->second : "";
  }
  std::string params(bool plan, const std::map<std::string, std::string>& dtypes) const {
    std::string text;
    for (const Operand& operand : operands_) {
      const auto dtype = dtypes.find(operand.name);
      text += (text.empty() ? "" : ", ") + operand.name + ": " +
              (dtype == dtypes.end() ? "f32" : dtype->second) + "[";
      for (size_t i = 0; i < operand.positions.size(); ++i)
        text += (i ? " " : "") +
                with_axes(operand.positions[i].type, axes(operand.positions[i].factors[0], plan));
      text += "]";
    }
    return text;
  }
  std::string left(bool plan, std::map<std::string, size_t> brackets = {}) const {
    std::string text;
    for (size_t k = 0; k < operands_.size(); ++k) {
      text += k ? ", " : "";
      const auto& positions = operands_[k].positions;
      for (size_t i = 0; i < positions.size(); ++i) {
        std::string one = with_axes(positions[i].pattern, axes(positions[i].factors[0], plan));
        const auto found = brackets.find(operands_[k].name);
        if (found != brackets.end() && found->second == i) one = "[" + one + "]";
        text += (i ? " " : "") + one;
      }
    }
    return text;
  }
  /// Positions as names of factors, put together where they are a group.
  std::string right(const Names& factors, bool plan, unsigned seed) const {
    std::string text;
    for (size_t i = 0; i < factors.size(); ++i) {
      std::string one = factors[i] == "A.0" ? "A" : factors[i];
      const bool pair = i + 1 < factors.size();
      const bool kd = pair && factors[i] == "K" && factors[i + 1] == "D";
      const bool cj = pair && factors[i] == "C" && factors[i + 1] == "J";
      if (factors[i] == "A.1") continue;
      const std::string lead = axes(factors[i], plan);
      if (!drawn_.opened && (kd || cj) && (seed >> i) % 3 != 0) {
        one = (seed >> i) % 3 == 1 ? (kd ? "H" : "G") : (kd ? "(K D)" : "(C J)");
        ++i;
      }
      text += (text.empty() ? "" : " ") + with_axes(one, lead);
    }
    return text;
  }
  /// {U_t} for the axes of the factors that the result lacks.
  std::string marks(const Names& kept, bool plan, const std::string& mark = "U") const {
    std::string text;
    for (const auto& [factor, axes] : splits_)
      if (plan && !std::count(kept.begin(), kept.end(), factor))
        for (size_t i = 1; i < axes.size(); i += 2)
          text += (text.empty() ? "" : " ") + mark + "_" + axes.substr(i, 1);
    return text.empty() ? "" : "{" + text + "}";
  }
  Names factors() const {
    Names result;
    for (const Operand& operand : operands_)
      for (const Position& position : operand.positions)
        for (const std::string& factor : position.factors)
          if (!std::count(result.begin(), result.end(), factor)) result.push_back(factor);
    return result;
  }
  const Operand& operand(size_t i) const { return operands_.at(i); }

 private:
  Drawn& drawn_;
  std::vector<Operand> operands_;
  Splits splits_;
};

/// Some of the factors, in any order; an alias of a group stays whole.
Names chosen(Drawn& drawn, Names factors, bool all, bool ordered) {
  Names result;
  for (const std::string& factor : factors)
    if (factor == "A.1" ? std::count(result.begin(), result.end(), "A.0") > 0
                        : all || !drawn.one_in(3))
      result.push_back(factor);
  if (ordered || result.size() < 2) return result;
  for (size_t i = 0; i + 1 < result.size(); ++i) {
    const size_t j = i + drawn.below(result.size() - i);
    if (result[i].rfind("A.", 0) != 0 && result[j].rfind("A.", 0) != 0)
      std::swap(result[i], result[j]);
  }
  return result;
}

std::string file(const Program& program, const std::map<std::string, std::string>& dtypes,
                 const std::function<std::string(bool)>& result,
                 const std::function<std::string(bool)>& body, const std::string& names = "r") {
  const auto block = [&](bool plan) {
    return "(" + program.params(plan, dtypes) + ") -> " + result(plan) + " {\n    " + names +
           " = " + body(plan) + "\n    return r\n}\n";
  };
  return declarations + "fn f" + block(false) + "plan p implements f" + block(true);
}

std::string summed(Drawn& drawn, const std::string& op, size_t operands) {
  std::vector<Operand> some;
  for (size_t i = 0; i < operands; ++i)
    some.push_back(
        {std::string(1, static_cast<char>('x' + i)), drawn.positions(operands > 1 ? 3 : 4)});
  const Program program(drawn, some, true);
  const bool einsum = op == "einsum", moved = op == "rearrange";
  const Names kept = chosen(drawn, program.factors(), moved, !einsum && !moved);
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  const std::string mark = op == "max" ? "Max" : "U";
  std::string arguments;
  for (const Operand& each : some) arguments += ", " + each.name;
  return file(
      program, {},
      [&](bool plan) {
        return "f32[" + program.right(kept, plan, seed) + "]" + program.marks(kept, plan, mark);
      },
      [&](bool plan) {
        const std::string marks = program.marks(kept, plan, mark);
        return op + "(\"" + program.left(plan) + " -> " + program.right(kept, plan, seed) +
               (marks.empty() ? "" : " " + marks) + "\"" + arguments + ")";
      });
}

std::string expanded(Drawn& drawn) {
  const Program program(drawn, {{"x", drawn.positions(3)}}, true);
  Names kept = program.factors();
  const std::string added = drawn.of({"B", "L", "S", "K", "D"});
  size_t at = drawn.below(kept.size() + 1);
  if (at < kept.size() && kept[at] == "A.1") ++at;
  kept.insert(kept.begin() + static_cast<std::ptrdiff_t>(at), added);
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  return file(
      program, {}, [&](bool plan) { return "f32[" + program.right(kept, plan, seed) + "]"; },
      [&](bool plan) {
        return "expand(\"" + program.left(plan) + " -> " + program.right(kept, plan, seed) +
               "\", x)";
      });
}

/// A table and ids: `index`, and its adjoint.
std::string indexed(Drawn& drawn) {
  std::vector<Position> table = drawn.positions(3);
  const size_t at = drawn.below(table.size());
  drawn.as_one_dim(table[at]);
  const Program program(drawn, {{"x", table}, {"ids", drawn.positions(2)}}, false);
  Names factors;
  for (size_t i = 0; i < table.size(); ++i)
    if (i != at) factors.insert(factors.end(), table[i].factors.begin(), table[i].factors.end());
  for (const Position& position : program.operand(1).positions)
    for (const std::string& factor : position.factors)
      if (!std::count(factors.begin(), factors.end(), factor)) factors.push_back(factor);
  const Names kept = chosen(drawn, factors, true, false);
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  return file(
      program, {{"ids", "i32"}},
      [&](bool plan) { return "f32[" + program.right(kept, plan, seed) + "]"; },
      [&](bool plan) {
        return "index(\"" + program.left(plan, {{"x", at}}) + " -> " +
               program.right(kept, plan, seed) + "\", x, ids)";
      });
}

/// Ops that keep the type and work on one position: cumsum, roll, rev, softmax.
std::string along(Drawn& drawn, const std::string& op) {
  std::vector<Position> positions = drawn.positions(4);
  const size_t at = drawn.below(positions.size());
  drawn.as_one_dim(positions[at]);
  const Program program(drawn, {{"x", positions}}, false);
  std::string dims;
  for (const Position& position : positions) dims += (dims.empty() ? "" : " ") + position.pattern;
  const std::string result = "f32[" + dims + "]";
  return file(
      program, {}, [&](bool) { return result; },
      [&](bool plan) {
        if (op == "roll") return "roll(\"" + program.left(plan, {{"x", at}}) + "\", x, by=1)";
        if (op == "rev") return "rev(\"" + program.left(plan, {{"x", at}}) + "\", x)";
        return op + "(\"" + program.left(plan) + "; " + positions[at].pattern + "\", x)";
      });
}

/// The factors of the positions, with `instead` for those of the one at `at`.
Names rest(const std::vector<Position>& positions, size_t at, const Names& instead) {
  Names factors;
  for (size_t i = 0; i < positions.size(); ++i)
    if (i == at)
      factors.insert(factors.end(), instead.begin(), instead.end());
    else
      factors.insert(factors.end(), positions[i].factors.begin(), positions[i].factors.end());
  return factors;
}

/// What an op works along is whole, mostly.
Names whole(Drawn& drawn, const Position& position) {
  Names factors = position.factors;
  if (drawn.one_in(6)) factors.clear();
  factors.push_back("O");
  return factors;
}

/// One entry, or a block, of a position; the others are opened, merged, split.
std::string read(Drawn& drawn) {
  std::vector<Position> positions = drawn.positions(4);
  const size_t at = drawn.below(positions.size());
  drawn.as_one_dim(positions[at]);
  const Program program(drawn, {{"x", positions}}, true, whole(drawn, positions[at]));
  const Names kept = rest(positions, at, drawn.one_in(3) ? Names{"O"} : Names{});
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  return file(
      program, {}, [&](bool plan) { return "f32[" + program.right(kept, plan, seed) + "]"; },
      [&](bool plan) {
        return "read(\"" + program.left(plan, {{"x", at}}) + " -> " +
               program.right(kept, plan, seed) + "\", x, at=0)";
      });
}

/// The largest entries along a position: which, or how large.
std::string greatest(Drawn& drawn) {
  std::vector<Position> positions = drawn.positions(4);
  const size_t at = drawn.below(positions.size());
  drawn.as_one_dim(positions[at]);
  const Program program(drawn, {{"x", positions}}, true, whole(drawn, positions[at]));
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  const bool which = drawn.one_in(2);
  const Names kept = rest(positions, at, which ? Names{} : Names{"O"});
  return file(
      program, {},
      [&](bool plan) {
        return std::string(which ? "i32[" : "f32[") + program.right(kept, plan, seed) + "]";
      },
      [&](bool plan) {
        return std::string(which ? "argmax" : "top_k") + "(\"" + program.left(plan) + " -> " +
               program.right(kept, plan, seed) + "\", x)";
      },
      which ? "r" : "r, i");
}

/// The same positions once more, each written in one of its ways.
std::vector<Position> rewritten(Drawn& drawn, std::vector<Position> positions) {
  for (Position& position : positions) {
    const Names& factors = position.factors;
    if (factors == Names{"K", "D"}) {
      position.type = position.grouped = drawn.of({"H", "(K D)"});
      position.pattern = drawn.of({"H", "(K D)", "K D"});
    } else if (factors == Names{"C", "J"}) {
      position.type = position.grouped = drawn.of({"G", "(C J)"});
      position.pattern = drawn.of({"G", "(C J)", "C J"});
    }
    drawn.open(position);
  }
  return positions;
}

/// Two of a kind side by side.
std::string together(Drawn& drawn) {
  const std::vector<Position> positions = drawn.positions(3);
  const Program program(drawn, {{"x", positions}, {"y", rewritten(drawn, positions)}}, true);
  const Names factors = program.factors();
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  const auto result = [&](bool plan, const std::string& added) {
    return added + " " + program.right(factors, plan, seed);
  };
  return file(
      program, {}, [&](bool plan) { return "f32[" + result(plan, "W") + "]"; },
      [&](bool plan) {
        return "concat(\"" + program.left(plan) + " -> " + result(plan, "[W]") + "\", x, y)";
      });
}

/// A block of one put into a position.
std::string written(Drawn& drawn) {
  std::vector<Position> positions = drawn.positions(3);
  const size_t at = drawn.below(positions.size());
  drawn.as_one_dim(positions[at]);
  std::vector<Position> block = rewritten(drawn, positions);
  block[at] = {"O", "O", {"O"}};
  const Program program(drawn, {{"x", positions}, {"y", block}}, true, whole(drawn, positions[at]));
  Names kept;
  for (const Position& position : positions)
    kept.insert(kept.end(), position.factors.begin(), position.factors.end());
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  return file(
      program, {}, [&](bool plan) { return "f32[" + program.right(kept, plan, seed) + "]"; },
      [&](bool plan) {
        return "write(\"" + program.left(plan, {{"x", at}}) + " -> " +
               program.right(kept, plan, seed) + "\", x, y, at=0)";
      });
}

/// The adjoint of a lookup: entries of x are added where ids say.
std::string added(Drawn& drawn) {
  const std::vector<Position> ids = drawn.positions(2);
  std::vector<Position> values = rewritten(drawn, ids);
  Names kept;
  for (const Position& position : drawn.positions(2)) {
    const bool fresh = std::none_of(values.begin(), values.end(), [&](const Position& other) {
      return other.grouped == position.grouped ||
             std::any_of(position.factors.begin(), position.factors.end(), [&](const auto& each) {
               return std::count(other.factors.begin(), other.factors.end(), each) > 0;
             });
    });
    if (!fresh) continue;
    values.push_back(position);
    kept.insert(kept.end(), position.factors.begin(), position.factors.end());
  }
  const Program program(drawn, {{"ids", ids}, {"x", values}}, true);
  const unsigned seed = static_cast<unsigned>(drawn.below(1 << 16));
  const auto result = [&](bool plan, const std::string& table) {
    const std::string right = program.right(kept, plan, seed);
    return table + (right.empty() ? "" : " " + right);
  };
  return file(
      program, {{"ids", "i32"}},
      [&](bool plan) { return "f32[" + result(plan, "W") + "]" + program.marks(kept, plan); },
      [&](bool plan) {
        const std::string marks = program.marks(kept, plan);
        return "index_add(\"" + program.left(plan) + " -> " + result(plan, "[W]") +
               (marks.empty() ? "" : " " + marks) + "\", ids, x)";
      });
}

}  // namespace

namespace {

std::string drawn_op(Drawn& drawn) {
  switch (drawn.below(16)) {
    case 0:
    case 1:
      return summed(drawn, "einsum", 2);
    case 2:
      return summed(drawn, "einsum", 1 + drawn.below(3));
    case 3:
      return summed(drawn, drawn.one_in(2) ? "sum" : "max", 1);
    case 4:
    case 5:
      return summed(drawn, "rearrange", 1);
    case 6:
      return expanded(drawn);
    case 7:
    case 8:
      return indexed(drawn);
    case 9:
      return read(drawn);
    case 10:
    case 11:
      return greatest(drawn);
    case 12:
      return together(drawn);
    case 13:
      return written(drawn);
    case 14:
      return added(drawn);
    default:
      return along(drawn, drawn.of({"cumsum", "roll", "rev", "softmax"}));
  }
}

}  // namespace

std::string one_op(laws::Dice dice, bool opened) {
  Drawn drawn(std::move(dice), opened);
  const std::string text = drawn_op(drawn);
  return drawn.has_none ? "" : text;
}

}  // namespace shardproof::patterns
