#include "spec/resolve/regrouping.h"

#include <algorithm>
#include <set>

namespace shardproof::resolution {
namespace {

using Names = std::vector<Name>;

/// A position on one side. `alone`: it is in brackets, or takes the place of a bracketed one.
struct Unit {
  Split split;
  Names factors;
  bool alone = false;
};
struct Side {
  std::vector<Unit> units;
  bool opened = false;
};

Names flat(const std::vector<Unit>& units, size_t begin, size_t end) {
  Names result;
  for (size_t i = begin; i < end; ++i)
    result.insert(result.end(), units[i].factors.begin(), units[i].factors.end());
  return result;
}
Names flat(const Side& side) { return flat(side.units, 0, side.units.size()); }

bool starts(const Names& all, const Names& with) {
  return with.size() <= all.size() && std::equal(with.begin(), with.end(), all.begin());
}
bool ends(const Names& all, const Names& with) {
  return with.size() <= all.size() && std::equal(with.rbegin(), with.rend(), all.rbegin());
}

class Opener {
 public:
  Opener(const ir::Program& program, Read& read) : program_(program), pattern_(read.pattern) {
    for (const Shape& left : pattern_.left) sides_.push_back(side(left));
    sides_.push_back(side(pattern_.right));
    for (const Dim& dim : read.working) {
      const Names names = factor_names(dim);
      open_.insert(names.begin(), names.end());
      working_.push_back(names);
    }
  }

  void run(Works works) {
    if (pattern_.left_bracket) bracket(pattern_.bracket_operand, *pattern_.left_bracket);
    if (pattern_.right_bracket) bracket(sides_.size() - 1, *pattern_.right_bracket);
    if (works == Works::drops_one) gap(flat(right()), sides_[0]);
    if (works == Works::replaces_one) replaced();
    keep_working();
    while (open_conflicts()) {
    }
  }

  const std::vector<Side>& sides() const { return sides_; }
  static Shape shape(const Side& side, const Marks& marks) {
    Shape result;
    for (const Unit& unit : side.units) result.dims.push_back(unit.split);
    result.marks = marks;
    return result;
  }

 private:
  Side& right() { return sides_.back(); }
  Names factor_names(const Dim& dim) const { return elaborate::names(program_, dim); }
  Side side(const Shape& shape) const {
    Side result;
    for (const Split& split : shape.dims) result.units.push_back({split, factor_names(split.dim)});
    return result;
  }

  void bracket(size_t of, size_t at) {
    sides_[of].units.at(at).alone = true;
    const std::vector<Unit> units = sides_[of].units;
    const Names before = flat(units, 0, at), after = flat(units, at + 1, units.size());
    for (size_t i = 0; i < sides_.size(); ++i)
      if (i != of) alone_between(sides_[i], before, after);
  }

  /// Marks the position between `before` and `after`, if there is one, as alone.
  void alone_between(Side& side, const Names& before, const Names& after) {
    const Names all = flat(side);
    const size_t rest = before.size() + after.size();
    if (all.size() <= rest || !starts(all, before) || !ends(all, after)) return;
    leave_alone(side, before.size(), all.size() - rest);
  }

  /// Marks a run of factors as alone: one position, or one factor of a group.
  void leave_alone(Side& side, size_t first, size_t count) {
    size_t at = 0, offset = 0;
    while (offset + side.units[at].factors.size() <= first)
      offset += side.units[at++].factors.size();
    Unit& unit = side.units[at];
    if (offset == first && unit.factors.size() == count) {
      unit.alone = true;
    } else if (count == 1 && can_open(unit)) {
      open(side, at);
      side.units[at + first - offset].alone = true;
    }
  }

  /// argmax: `whole` has the factors of `rest` in order, and one additional run.
  void gap(const Names& rest, Side& whole) {
    const Names all = flat(whole);
    if (all.size() <= rest.size()) return;
    const size_t count = all.size() - rest.size();
    for (size_t at = 0; at <= rest.size(); ++at) {
      Names without = all;
      without.erase(without.begin() + static_cast<std::ptrdiff_t>(at),
                    without.begin() + static_cast<std::ptrdiff_t>(at + count));
      if (without == rest) return leave_alone(whole, at, count);
    }
  }

  /// top_k: the one position of the result whose names the operand lacks.
  void replaced() {
    const Names left = flat(sides_[0]);
    std::optional<size_t> at;
    for (size_t i = 0; i < right().units.size(); ++i) {
      const Names& names = right().units[i].factors;
      if (!names.empty() && std::count(left.begin(), left.end(), names[0])) continue;
      if (at) return;
      at = i;
    }
    if (at) bracket(sides_.size() - 1, *at);
  }

  /// A position after `;` that also occurs in the pattern stays whole.
  void keep_working() {
    for (const Names& names : working_)
      for (const Unit& unit : sides_[0].units)
        if (unit.factors == names)
          for (const Name& name : names) open_.erase(name);
  }

  static bool can_open(const Unit& unit) {
    return unit.factors.size() > 1 &&
           std::none_of(unit.factors.begin(), unit.factors.end(),
                        [](const Name& name) { return name.find('.') != Name::npos; });
  }

  /// Opens a group; its axes go to its first factor.
  void open(Side& side, size_t at) {
    const Unit group = side.units[at];
    const size_t lead = elaborate::leading(program_, group.split.dim);
    std::vector<Unit> factors;
    for (const Name& name : group.factors) {
      Unit unit{{Dim{{name}}, {}}, {name}};
      if (factors.size() == lead) unit.split.axes = group.split.axes;
      factors.push_back(std::move(unit));
    }
    const auto where = side.units.begin() + static_cast<std::ptrdiff_t>(at);
    side.units.insert(side.units.erase(where), factors.begin(), factors.end());
    side.opened = true;
  }

  bool must_open(const Unit& unit) const {
    if (unit.alone || !can_open(unit)) return false;
    for (const Name& name : unit.factors) {
      if (open_.count(name)) return true;
      for (const Side& side : sides_)
        for (const Unit& other : side.units)
          if (!other.alone && other.factors != unit.factors &&
              std::count(other.factors.begin(), other.factors.end(), name))
            return true;
    }
    return false;
  }
  bool open_conflicts() {
    for (Side& side : sides_)
      for (size_t i = 0; i < side.units.size(); ++i)
        if (must_open(side.units[i])) return open(side, i), true;
    return false;
  }

  const ir::Program& program_;
  ir::Pattern& pattern_;
  std::vector<Side> sides_;  // the operands, then the result
  std::set<Name> open_;
  std::vector<Names> working_;
};

std::optional<size_t> where_alone(const Side& side) {
  for (size_t i = 0; i < side.units.size(); ++i)
    if (side.units[i].alone) return i;
  return std::nullopt;
}

ir::ValueId rearranged(Body& body, const CallSite& site, ir::ValueId id, const Shape& from,
                       const Shape& to) {
  ir::Rearrange moved;
  moved.pattern.left = {from};
  moved.pattern.right = to;
  Read read;
  read.operands = {id};
  auto op = elaborated(body, site, read, std::move(moved));
  if (!op) return ir::no_value;
  return body.emit(std::move(*op), {id}, to, body.type(id).dtype, site.range, {site.range});
}

bool has_group(const ir::Program& program, const Shape& shape) {
  return std::any_of(shape.dims.begin(), shape.dims.end(), [&](const Split& split) {
    return elaborate::has_factors(program, split.dim);
  });
}

}  // namespace

std::optional<Opened> open_groups(Body& body, const CallSite& site, Read& read, Works works) {
  ir::Pattern& pattern = read.pattern;
  if (pattern.inferred) return std::nullopt;
  bool groups = has_group(body.world.program, pattern.right);
  for (const Shape& left : pattern.left) groups = groups || has_group(body.world.program, left);
  if (!groups) return std::nullopt;
  Opener opener(body.world.program, read);
  opener.run(works);
  const std::vector<Side>& sides = opener.sides();
  for (size_t i = 0; i < pattern.left.size(); ++i) {
    if (!sides[i].opened) continue;
    const Shape opened = Opener::shape(sides[i], pattern.left[i].marks);
    const ir::ValueId id = rearranged(body, site, read.operands[i], pattern.left[i], opened);
    if (id == ir::no_value) return std::nullopt;
    read.operands[i] = id;
    pattern.left[i] = opened;
    if (pattern.left_bracket && pattern.bracket_operand == i)
      pattern.left_bracket = where_alone(sides[i]);
  }
  if (!sides.back().opened) return std::nullopt;
  Shape written = std::move(pattern.right);
  pattern.right = Opener::shape(sides.back(), written.marks);
  if (pattern.right_bracket) pattern.right_bracket = where_alone(sides.back());
  return Opened{pattern.right, std::move(written)};
}

Values regrouped_as(Body& body, const CallSite& site, ir::ValueId id,
                    const std::optional<Opened>& right) {
  if (!right || id == ir::no_value) return tensor(id);
  return tensor(rearranged(body, site, id, right->opened, right->written));
}

}  // namespace shardproof::resolution
