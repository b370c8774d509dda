// Resolves the names on both sides of a pattern to indices.
#include "spec/elaborate/elaborate.h"

#include <algorithm>
#include <set>
#include <span>

#include "spec/elaborate/planted.h"
#include "spec/elaborate/text.h"

namespace shardproof::elaborate {
namespace {

using Positions = std::vector<ir::Position>;

struct Wrong {
  Problem problem;
};
[[noreturn]] void wrong(std::string message, std::string label = {}) {
  throw Wrong{{.message = std::move(message), .label = std::move(label)}};
}

std::vector<ir::IndexId> flat(const Positions& positions) {
  std::vector<ir::IndexId> result;
  for (const ir::Position& position : positions)
    result.insert(result.end(), position.begin(), position.end());
  return result;
}

/// Whether `some` is a subsequence of `all`.
template <class Entry>
bool in_order(const std::vector<Entry>& some, const std::vector<Entry>& all) {
  size_t next = 0;
  for (const Entry& entry : all)
    if (next < some.size() && some[next] == entry) ++next;
  return next == some.size();
}

Positions without(Positions positions, size_t at) {
  positions.erase(positions.begin() + static_cast<std::ptrdiff_t>(at));
  return positions;
}

std::vector<const Shape*> pointers(const std::vector<Shape>& shapes) {
  std::vector<const Shape*> result;
  result.reserve(shapes.size());
  for (const Shape& shape : shapes) result.push_back(&shape);
  return result;
}

class Reader {
 public:
  Reader(const ir::Program& program, ir::Pattern& pattern)
      : program_(program),
        left_(pointers(pattern.left)),
        right_(pattern.right),
        inferred_(pattern.inferred),
        groups_(pattern.groups),
        in_(pattern.indices) {
    in_ = {};
  }
  /// Of pointwise operands and their result.
  Reader(const ir::Program& program, std::vector<const Shape*> operands, const Shape& result,
         ir::Indices& indices)
      : program_(program),
        left_(std::move(operands)),
        right_(result),
        inferred_(true),
        groups_(no_groups),
        in_(indices) {}

  // --- the left side ---

  /// `alone(i)`: the position of operand i that is not matched with others, such as the bracketed
  /// one.
  template <class Alone>
  void read_left(const Alone& alone) {
    in_.left.reserve(left_.size());
    size_t dims = right_.dims.size();
    for (const Shape* shape : left_) dims += shape->dims.size();
    in_.all.reserve(dims);
    for (size_t i = 0; i < left_.size(); ++i) {
      Positions positions;
      const Shape& shape = *left_[i];
      positions.reserve(shape.dims.size());
      for (size_t k = 0; k < shape.dims.size(); ++k)
        positions.push_back(alone(i) == k ? fresh(shape.dims[k].dim, true)
                                          : paired(shape.dims[k].dim));
      in_.left.push_back(std::move(positions));
      if (!groups_.empty()) need_distinct(i);
    }
  }

  const Positions& left(size_t i = 0) const { return in_.left.at(i); }

  // --- the right side: one of these for each op ---

  /// Every index comes from an operand. `bracket`: the right position that replaces the bracketed
  /// one.
  void read_right(const ir::Position* bracket = nullptr, std::optional<size_t> at = {}) {
    for (size_t i = 0; i < right_dims(); ++i)
      in_.right.push_back(bracket && at == i ? *bracket : known(right_dim(i)));
    need_single();
  }
  /// Every index comes from an operand, or is new.
  void read_right_or_new() {
    read_any_right();
    need_single();
  }
  /// The same for a type; a repeated dim is refused elsewhere.
  void read_any_right() {
    for (size_t i = 0; i < right_dims(); ++i) in_.right.push_back(known_or_new(right_dim(i)));
  }
  /// The position `at` is new and not matched with others.
  void read_right_but(std::optional<size_t> at) {
    for (size_t i = 0; i < right_dims(); ++i)
      in_.right.push_back(at == i ? fresh(right_dim(i), true) : known(right_dim(i)));
    need_single();
  }
  /// The same positions and names as operand 0, except for the bracket.
  void read_right_as_left() {
    if (right_dims() != left().size()) wrong("both sides have the same dims, in the same order");
    for (size_t i = 0; i < right_dims(); ++i) {
      if (!same_names(right_dim(i), left_dim(0, i)))
        wrong(
            "both sides have the same dims, in the same order",
            "rename a position on the left: write `" + to_string(right_dim(i)) + "` on both sides");
      in_.right.push_back(left()[i]);
    }
  }
  void read_rearranged(const ir::Pattern& pattern);

  const Positions& right() const { return in_.right; }
  size_t right_dims() const { return right_.dims.size(); }
  const Dim& right_dim(size_t i) const { return right_.dims[i].dim; }
  const Dim& left_dim(size_t operand, size_t i) const { return left_[operand]->dims[i].dim; }
  std::vector<Name> names(const Dim& dim) const { return elaborate::names(program_, dim); }
  bool same_names(const Dim& a, const Dim& b) const { return a == b || names(a) == names(b); }
  bool has_new() const { return new_ > 0; }

 private:
  ir::IndexId add(const Name& factor, const Name& dim, bool alone) {
    Name name = alone ? "[" + factor + "]" : factor;
    while (named(name)) name += "'";
    in_.all.push_back({dim, std::move(name)});
    return in_.all.size() - 1;
  }
  std::optional<ir::IndexId> named(const Name& name) const {
    for (ir::IndexId id = 0; id < in_.all.size(); ++id)
      if (in_.all[id].name == name) return id;
    return std::nullopt;
  }
  ir::Position fresh(const Dim& dim, bool alone) {
    ir::Position position;
    for_each_factor(program_, dim, [&](const Name& name, const Name& of) {
      position.push_back(add(name, of, alone));
    });
    return position;
  }
  /// In user code, matches by the names of factors; in the body of a generic function, by whole
  /// positions.
  ir::Position paired(const Dim& dim) {
    ir::Position position;
    if (inferred_) {
      for (const Dim& unit : units(dim)) {
        const ir::Position* known = whole(unit);
        if (!known) known = &whole_.emplace_back(unit, fresh(unit, false)).second;
        position.insert(position.end(), known->begin(), known->end());
      }
      return position;
    }
    for_each_factor(program_, dim, [&](const Name& name, const Name& of) {
      const auto known = named(name);
      position.push_back(known ? *known : add(name, of, false));
    });
    return position;
  }
  /// Of a left position with the same names.
  const ir::Position* whole(const Dim& dim) const {
    for (const auto& [other, position] : whole_)
      if (other == dim) return &position;
    const std::vector<Name> own = names(dim);
    for (const auto& [other, position] : whole_)
      if (names(other) == own) return &position;
    return nullptr;
  }
  /// The groups that a name of the body covers at a position; one of them has several factors.
  std::span<const Dim> units(const Dim& dim) const {
    for (const std::vector<Dim>& group : groups_) {
      Dim whole;
      for (const Dim& unit : group)
        whole.factors.insert(whole.factors.end(), unit.factors.begin(), unit.factors.end());
      if (names(whole) == names(dim)) return group;
    }
    return {&dim, 1};
  }
  /// In a body with groups: an operand must not have two positions with the same name.
  void need_distinct(size_t operand) const {
    std::set<std::vector<Name>> positions, seen;
    for (const Split& split : left_[operand]->dims) {
      if (!positions.insert(names(split.dim)).second) continue;  // the rules refuse such a type
      for (const Dim& unit : units(split.dim))
        if (!seen.insert(names(unit)).second)
          wrong("`" + to_string(unit) + "` occurs twice in one operand");
    }
  }
  /// Opens the left positions that the right side of a body does not have as a whole.
  std::optional<ir::IndexId> opened(const Name& name) const {
    std::set<std::vector<Name>> kept;
    for (const Split& split : right_.dims)
      for (const Dim& unit : units(split.dim)) kept.insert(names(unit));
    std::optional<ir::IndexId> result;
    for (const auto& [dim, position] : whole_) {
      const std::vector<Name> whole = names(dim);
      if (kept.count(whole)) continue;
      for (size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] != name) continue;
        if (result && *result != position[i]) return std::nullopt;
        result = position[i];
      }
    }
    return result;
  }
  std::optional<ir::IndexId> find(const Name& name) const {
    return inferred_ ? opened(name) : named(name);
  }
  std::optional<ir::Position> find(const Dim& dim) const {
    if (!inferred_) return found_factors(dim);
    ir::Position position;
    for (const Dim& unit : units(dim)) {
      if (const ir::Position* known = whole(unit))
        position.insert(position.end(), known->begin(), known->end());
      else if (const auto more = found_factors(unit))
        position.insert(position.end(), more->begin(), more->end());
      else
        return std::nullopt;
    }
    return position;
  }
  std::optional<ir::Position> found_factors(const Dim& dim) const {
    ir::Position position;
    bool all = true;
    for_each_factor(program_, dim, [&](const Name& name, const Name&) {
      const auto id = find(name);
      all = all && id;
      if (all) position.push_back(*id);
    });
    return all ? std::optional(std::move(position)) : std::nullopt;
  }
  ir::Position known(const Dim& dim) const {
    if (auto position = find(dim)) return *std::move(position);
    wrong("no operand has the result's dim `" + to_string(dim) + "`",
          "only rearrange renames on the right: rename the operand's position on the left");
  }
  ir::Position known_or_new(const Dim& dim) {
    if (auto position = find(dim)) return *std::move(position);
    ir::Position position;
    for_each_factor(program_, dim, [&](const Name& name, const Name& of) {
      const auto id = find(name);
      if (!id) ++new_;
      position.push_back(id ? *id : add(name, of, false));
    });
    return position;
  }
  void need_single() const {
    std::vector<bool> seen(in_.all.size());
    for (const ir::Position& position : in_.right)
      for (ir::IndexId id : position) {
        if (seen[id]) wrong("`" + in_.all[id].name + "` occurs twice in the result");
        seen[id] = true;
      }
  }

  /// The fix assigns the new names to the remaining positions, in order.
  [[noreturn]] void ambiguous(std::string message, const std::set<ir::IndexId>& rest,
                              std::vector<Factor> names, const ir::Pattern& pattern) const {
    Problem problem{.message = std::move(message),
                    .label = "rename the position on the left, where the order identifies it"};
    ir::Pattern named = pattern;
    for (size_t i = 0; i < named.left[0].dims.size(); ++i) {
      const ir::Position& position = left()[i];
      if (position.size() != 1 || !rest.count(position[0])) continue;
      const auto same = std::find_if(names.begin(), names.end(), [&](const Factor& each) {
        return each.dim == in_.all[position[0]].dim;
      });
      if (same == names.end()) continue;
      named.left[0].dims[i].dim = Dim{{same->name}};
      names.erase(same);
    }
    if (names.empty()) problem.fix = pattern_text(program_, named);
    throw Wrong{std::move(problem)};
  }

  static inline const std::vector<std::vector<Dim>> no_groups;

  const ir::Program& program_;
  const std::vector<const Shape*> left_;
  const Shape& right_;
  const bool inferred_;  // the body of a generic function, or pointwise
  const std::vector<std::vector<Dim>>& groups_;
  ir::Indices& in_;
  std::vector<std::pair<Dim, ir::Position>> whole_;  // if inferred
  size_t new_ = 0;
};

/// A name that the left side lacks renames the only remaining index of its dim.
void Reader::read_rearranged(const ir::Pattern& pattern) {
  std::set<ir::IndexId> rest;
  for (ir::IndexId id : flat(left())) rest.insert(id);
  struct Later {
    size_t position, factor;
    Factor name;
  };
  std::vector<Later> renamed;
  std::vector<Factor> in_text;  // the new names, in the order of the right side
  for (size_t i = 0; i < right_dims(); ++i) {
    const Factors parts = factors(program_, right_dim(i));
    ir::Position position(parts.size(), 0);
    if (const auto found = find(right_dim(i))) {
      position = *found;
    } else {
      for (size_t f = 0; f < parts.size(); ++f) {
        if (const auto id = find(parts[f].name))
          position[f] = *id;
        else
          renamed.push_back({i, f, parts[f]}), in_text.push_back(parts[f]);
      }
    }
    in_.right.push_back(std::move(position));
  }
  for (size_t i = 0; i < in_.right.size(); ++i)
    for (size_t f = 0; f < in_.right[i].size(); ++f) {
      const bool later = std::any_of(renamed.begin(), renamed.end(), [&](const Later& each) {
        return each.position == i && each.factor == f;
      });
      if (!later && rest.erase(in_.right[i][f]) == 0)
        wrong("`" + in_.all[in_.right[i][f]].name + "` occurs twice in the result");
    }
  for (const Later& each : renamed) {
    std::vector<ir::IndexId> same;
    for (ir::IndexId id : rest)
      if (in_.all[id].dim == each.name.dim) same.push_back(id);
    size_t wanted = 0;
    for (const Later& other : renamed) wanted += other.name.dim == each.name.dim ? 1 : 0;
    if (same.empty() || wanted > same.size())
      wrong("both sides have the same dims, in any order and grouping",
            "nothing on the left is `" + each.name.name + "`");
    if (same.size() > 1) {
      std::string which;
      for (ir::IndexId id : same) which += (which.empty() ? "`" : " or `") + in_.all[id].name + "`";
      ambiguous("which index of the operand is `" + each.name.name + "`? It could be " + which,
                rest, in_text, pattern);
    }
    in_.right[each.position][each.factor] = same[0];
  }
  for (const Later& each : renamed) rest.erase(in_.right[each.position][each.factor]);
  if (!rest.empty())
    wrong("both sides have the same dims, in any order and grouping",
          "`" + in_.all[*rest.begin()].name + "` is not on the right side");
  need_single();
}

/// The pattern of one op: which positions are not matched, and what the right side may contain.
struct Elaborator {
  const ir::Program& program;
  static auto brackets(const ir::Pattern& pattern) {
    return [&](size_t operand) {
      return pattern.bracket_operand == operand ? pattern.left_bracket : std::nullopt;
    };
  }

  void operator()(ir::Einsum& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_right();
  }
  void operator()(ir::Reduce& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_right();
    if (!in_order(flat(reader.right()), flat(reader.left())))
      wrong("the result has the remaining dims of the operand, in their order");
  }
  void operator()(ir::Expand& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_right_or_new();
    if (!in_order(flat(reader.left()), flat(reader.right())))
      wrong("the result has all dims of the operand, in their order");
    if (!reader.has_new()) wrong("the result has no new dim");
  }
  void operator()(ir::Rearrange& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_rearranged(op.pattern);
  }
  void operator()(ir::Argmax& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_right();
    if (reader.right().size() + 1 != reader.left().size() ||
        !in_order(reader.right(), reader.left()))
      wrong("the result lacks exactly one dim");
  }
  void operator()(ir::TopK& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    std::optional<size_t> at;
    bool good = reader.right_dims() == reader.left().size();
    for (size_t i = 0; good && i < reader.right_dims(); ++i) {
      if (reader.same_names(reader.right_dim(i), reader.left_dim(0, i))) continue;
      good = !at;
      at = i;
    }
    if (!good || !at) wrong("the dim of the largest entries replaces exactly one dim");
    reader.read_right_but(at);
  }
  void operator()(ir::Read& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    const size_t at = op.pattern.left_bracket.value();
    const bool several = reader.right_dims() == reader.left().size();
    reader.read_right_but(several ? std::optional(at) : std::nullopt);
    const Positions rest = several ? without(reader.right(), at) : reader.right();
    if (rest != without(reader.left(), at))
      wrong("the result lacks the dim in brackets, or has another dim in its place");
  }
  void operator()(ir::Write& op) const {
    if (op.pattern.bracket_operand != 0) wrong("the dim in brackets belongs to the first operand");
    Reader reader(program, op.pattern);
    const size_t at = op.pattern.left_bracket.value();
    const bool several = op.pattern.left.at(0).dims.size() == op.pattern.left.at(1).dims.size();
    reader.read_left(
        [&](size_t i) { return i == 0 || several ? std::optional(at) : std::nullopt; });
    reader.read_right_as_left();
    const Positions part = several ? without(reader.left(1), at) : reader.left(1);
    if (part != without(reader.left(0), at))
      wrong(
          "the second operand has the first's dims, without the one in brackets or with another in "
          "its place; the result has the first's");
  }
  void operator()(ir::Concat& op) const {
    Reader reader(program, op.pattern);
    const size_t at = op.pattern.right_bracket.value();
    const auto alone = [&](size_t operand) {
      const bool joined = op.pattern.left[operand].dims.size() == op.pattern.right.dims.size();
      return joined ? std::optional(at) : std::nullopt;
    };
    reader.read_left(alone);
    reader.read_right_but(at);
    const Positions rest = without(reader.right(), at);
    for (size_t i = 0; i < op.pattern.left.size(); ++i)
      if ((alone(i) ? without(reader.left(i), at) : reader.left(i)) != rest)
        wrong(
            "each operand has the result's dims, without the one in brackets or with another in "
            "its "
            "place");
  }
  void operator()(ir::Index& op) const { indexed(op.pattern); }
  void operator()(ir::IndexUnreduced& op) const { indexed(op.pattern); }
  void indexed(ir::Pattern& pattern) const {
    if (pattern.bracket_operand != 0) wrong("the dim in brackets belongs to the table");
    Reader reader(program, pattern);
    reader.read_left(brackets(pattern));
    reader.read_right();
    std::set<ir::IndexId> wanted;
    for (size_t i = 0; i < 2; ++i)
      for (ir::IndexId id :
           flat(i == 0 ? without(reader.left(0), *pattern.left_bracket) : reader.left(1)))
        wanted.insert(id);
    if (wanted.size() != flat(reader.right()).size())
      wrong(
          "the result has the dims of the ids, and those of the table except the one in brackets");
  }
  void operator()(ir::IndexAdd& op) const {
    Reader reader(program, op.pattern);
    reader.read_left(brackets(op.pattern));
    reader.read_right_but(op.pattern.right_bracket.value());
    const std::vector<ir::IndexId> x = flat(reader.left(1));
    for (ir::IndexId id : flat(reader.left(0)))
      if (!std::count(x.begin(), x.end(), id))
        wrong("x has the dims of the ids; the result has the dim in brackets, and others of x");
  }
  void operator()(ir::Roll& op) const { same(op.pattern); }
  void operator()(ir::Rev& op) const { same(op.pattern); }
  void operator()(ir::Ppermute& op) const { same(op.pattern); }
  void operator()(ir::Ordered& op) const { same(op.pattern); }
  void operator()(ir::Collective& op) const { same(op.pattern); }
  void same(ir::Pattern& pattern) const {
    if (pattern.right_bracket && pattern.left_bracket != pattern.right_bracket)
      wrong("both sides have the same dims");
    Reader reader(program, pattern);
    reader.read_left(brackets(pattern));
    reader.read_right_as_left();
  }
  template <class Op>
  void operator()(Op&) const {}
};

}  // namespace

std::optional<Problem> elaborate(const ir::Program& program, ir::Op& op,
                                 const std::vector<Shape>& operands) {
  return elaborate(program, op, pointers(operands));
}

std::optional<Problem> elaborate(const ir::Program& program, ir::Op& op,
                                 const std::vector<const Shape*>& operands) {
  ir::Pattern* pattern = ir::pattern_of(op);
  if (!pattern) return {};
  for (size_t i = 0; i < pattern->left.size() && i < operands.size(); ++i)
    if (auto problem = regroup(program, *pattern, i, *operands[i])) return problem;
  return elaborate_regrouped(program, op);
}

std::optional<Problem> elaborate_regrouped(const ir::Program& program, ir::Op& op) {
  try {
    std::visit(Elaborator{program}, op);
  } catch (Wrong& caught) {
    return std::move(caught.problem);
  }
  apply_planted(op);
  return {};
}

ir::Indices whole_positions(const ir::Program& program, const std::vector<Shape>& operands,
                            const Shape& result) {
  return whole_positions(program, pointers(operands), result);
}

ir::Indices whole_positions(const ir::Program& program, std::vector<const Shape*> operands,
                            const Shape& result) {
  ir::Indices indices;
  Reader reader(program, std::move(operands), result, indices);
  reader.read_left([](size_t) { return std::optional<size_t>(); });
  reader.read_any_right();
  return indices;
}

}  // namespace shardproof::elaborate
