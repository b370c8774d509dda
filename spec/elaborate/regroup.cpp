// Compares the left side of a pattern with the type of its operand.
#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/elaborate/text.h"

namespace shardproof::elaborate {
namespace {

/// The dims without axes and marks.
std::string text(const ir::Program& program, Shape shape) {
  shape.marks.clear();
  for (Split& split : shape.dims) split.axes.clear();
  return show(program, shape);
}

bool same_run(const Factors& a, const Factors& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const Factor& x, const Factor& y) { return x.dim == y.dim; });
}

/// A factor of an operand whose name was swapped with others': S T written as T S. P Q written as T
/// P swaps none.
std::optional<Name> crossed(const Factors& written, const Factors& own) {
  const auto named = [&](const Name& name) {
    size_t at = 0;
    while (at < own.size() && own[at].name != name) ++at;
    return at;
  };
  for (size_t i = 0; i < own.size(); ++i) {
    if (written[i].name == own[i].name) continue;
    size_t at = i;
    for (size_t steps = 0; steps <= own.size() && at < own.size(); ++steps) {
      at = named(written[at].name);
      if (at == i) return written[i].name;
    }
  }
  return std::nullopt;
}

std::optional<Name> repeated(const std::vector<Name>& written) {
  for (auto each = written.begin(); each != written.end(); ++each)
    if (std::find(written.begin(), each, *each) != each) return *each;
  return std::nullopt;
}

/// The written factors of one position: a single dim as written, else a group. The axes are those
/// of the first dim of the run.
struct Regrouped {
  Shape shape;
  std::vector<size_t> of;    ///< by position: the written dim where it starts
  bool opens_alias = false;  ///< an alias of a group, whose factors have no names, is opened
  bool axes_inside = false;  ///< a later dim of a run has axes
};

Regrouped regrouped(const ir::Program& program, const Shape& written, const Shape& type) {
  Regrouped result;
  size_t dim = 0, offset = 0;  // the next factor, in written.dims[dim]
  Factors open;
  for (const Split& position : type.dims) {
    const size_t wanted = factors(program, position.dim).size();
    Split made;
    result.of.push_back(dim);
    if (offset == 0 && dim < written.dims.size() &&
        factors(program, written.dims[dim].dim).size() == wanted) {
      made = written.dims[dim++];
    } else {
      for (size_t i = 0; i < wanted; ++i) {
        const Split& from = written.dims.at(dim);
        open = factors(program, from.dim);
        result.opens_alias = result.opens_alias || open[offset].name.find('.') != Name::npos;
        if (offset == 0 && i == 0) made.axes = from.axes;
        if (offset == 0 && i > 0 && !from.axes.empty()) result.axes_inside = true;
        made.dim.factors.push_back(open[offset].name);
        if (++offset == open.size()) ++dim, offset = 0;
      }
    }
    result.shape.dims.push_back(std::move(made));
  }
  result.shape.marks = written.marks;
  return result;
}

/// The pattern with axes of a later factor of a group at its first: `K/t Q` for `K Q/t` of an
/// `H D` with `dim H = (K Q)`.
std::string split_at_the_first(const ir::Program& program, ir::Pattern pattern, size_t operand,
                               const Shape& type) {
  const auto move = [](Shape& shape, const Dim& from, const Dim& to) {
    const auto of = [&](const Dim& dim) {
      return std::find_if(shape.dims.begin(), shape.dims.end(),
                          [&](const Split& each) { return each.dim == dim; });
    };
    const auto source = of(from), target = of(to);
    if (source != shape.dims.end() && target != shape.dims.end() && target->axes.empty())
      std::swap(source->axes, target->axes);
  };
  Shape& written = pattern.left[operand];
  size_t dim = 0;
  for (const Split& position : type.dims) {
    const size_t first = dim;
    for (size_t left = factors(program, position.dim).size(); left > 0 && dim < written.dims.size();
         ++dim) {
      const size_t own = factors(program, written.dims[dim].dim).size();
      if (own > left) return "";
      left -= own;
      if (dim == first || written.dims[dim].axes.empty()) continue;
      const Dim from = written.dims[dim].dim, to = written.dims[first].dim;
      move(written, from, to);
      move(pattern.right, from, to);
    }
  }
  return pattern_text(program, pattern);
}

Problem silent_transposition(const ir::Program& program, const ir::Pattern& pattern, size_t operand,
                             const Shape& type, const Name& name) {
  Problem problem{.message = "the pattern calls a position by the name `" + name +
                             "` of another position of the same operand",
                  .label = "the operand has `" + text(program, type) + "`, the pattern says `" +
                           text(program, pattern.left[operand]) + "`: two indices would be swapped",
                  .operand = operand};
  // The same, with the position's own names instead of the written ones.
  const Factors says = factors(program, pattern.left[operand]), own = factors(program, type);
  const auto renamed = [&](Shape& shape) {
    for (Split& split : shape.dims)
      for (Name& factor : split.dim.factors)
        for (size_t i = 0; i < says.size(); ++i)
          if (says[i].name == factor) {
            factor = own[i].name;
            break;
          }
  };
  ir::Pattern named = pattern;
  for (Shape& shape : named.left) renamed(shape);
  renamed(named.right);
  problem.fix = pattern_text(program, named);
  return problem;
}

bool is_bracketed(const ir::Pattern& pattern, size_t operand) {
  return pattern.left_bracket && pattern.bracket_operand == operand;
}

/// Gives the written dims the grouping of the type's.
std::optional<Problem> grouped_as(const ir::Program& program, ir::Pattern& pattern, size_t operand,
                                  const Shape& type) {
  Shape& written = pattern.left.at(operand);
  const Factors says = factors(program, written), own = factors(program, type);
  if (!same_run(says, own))
    return Problem{.message = "the pattern says `" + text(program, written) +
                              "`, and the operand has the dims `" + text(program, type) + "`",
                   .label = "the dims left of `->` are those of the operands",
                   .operand = operand};
  if (pattern.inferred) return {};
  const bool marked = is_bracketed(pattern, operand);
  std::optional<Dim> bracketed;
  if (marked) bracketed = written.dims.at(*pattern.left_bracket).dim;
  const Regrouped made = regrouped(program, written, type);
  if (made.axes_inside)
    return Problem{.message = "only the first factor of a group can be split",
                   .label = "the operand has `" + to_string(type) + "`",
                   .operand = operand,
                   .fix = split_at_the_first(program, pattern, operand, type)};
  if (made.opens_alias)
    return Problem{.message = "the pattern says `" + text(program, written) +
                              "`, and the operand has the dims `" + text(program, type) + "`",
                   .label = "an alias of a group has its own factors: write the factors",
                   .operand = operand};
  if (marked) {
    size_t at = 0;
    while (at < made.of.size() && made.of[at] != *pattern.left_bracket) ++at;
    if (at == made.of.size() || !(made.shape.dims[at].dim == *bracketed))
      return Problem{.message = "the dim in brackets is a whole position of the operand",
                     .label = "the operand has `" + text(program, type) + "`",
                     .operand = operand};
    pattern.left_bracket = at;
  }
  written = made.shape;
  if (const auto name = crossed(says, own))
    return silent_transposition(program, pattern, operand, type, *name);
  return {};
}

}  // namespace

std::optional<Problem> regroup(const ir::Program& program, ir::Pattern& pattern, size_t operand,
                               const Shape& type) {
  Shape& written = pattern.left.at(operand);
  if (!same_dims(written, type))
    if (auto problem = grouped_as(program, pattern, operand, type)) return problem;
  const bool alone = written.dims.empty() ||
                     (written.dims.size() == 1 && !has_factors(program, written.dims[0].dim));
  if (pattern.inferred || alone) return {};
  std::vector<Name> paired;  // a position in brackets is not matched
  paired.reserve(written.dims.size());
  for (size_t i = 0; i < written.dims.size(); ++i)
    if (!is_bracketed(pattern, operand) || i != *pattern.left_bracket)
      for_each_factor(program, written.dims[i].dim,
                      [&](const Name& name, const Name&) { paired.push_back(name); });
  if (const auto name = repeated(paired)) {
    const std::string found = "`" + *name + "` occurs twice in one operand";
    std::vector<Name> own;
    for (const Split& split : type.dims)
      for (Name& each : names(program, split.dim)) own.push_back(std::move(each));
    const std::string held = "`" + text(program, type) + "`";
    if (repeated(own))
      return Problem{.message = found,
                     .label = "the operand's own " + held + " has it twice: name one of them by " +
                              "another dim, as `dim " + *name + "2 = " + *name + "`",
                     .operand = operand};
    written = type;
    return Problem{.message = found,
                   .label = "two indices need two names: the operand has " + held,
                   .operand = operand,
                   .fix = pattern_text(program, pattern)};
  }
  return {};
}

}  // namespace shardproof::elaborate
