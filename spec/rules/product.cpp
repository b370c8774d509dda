#include "spec/rules/product.h"

#include <algorithm>
#include <set>

#include "spec/rules/fixes.h"
#include "spec/rules/split.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

struct Carrier {
  size_t operand;
  Label label;
};

/// One entry per label, with the first operand that carries it.
std::vector<Carrier> carriers(const Application& app, const Contraction& all) {
  std::vector<Carrier> found;
  for (size_t i = 0; i < all.operands.size(); ++i)
    for (const Label& label : all.operands[i]) {
      auto same = std::find_if(found.begin(), found.end(), [&](const Carrier& carrier) {
        return carrier.label.name == label.name;
      });
      if (same == found.end())
        found.push_back({i, label});
      else if (same->label.axes != label.axes)
        refuse(split_differently(app, i, same->operand, label.name));
    }
  return found;
}

void need_single_use(const Application& app, const std::vector<Carrier>& found,
                     const std::set<Name>& kept) {
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (const Axis& axis : found[i].label.axes) {
        const std::vector<Axis>& other = found[j].label.axes;
        if (std::find(other.begin(), other.end(), axis) == other.end()) continue;
        const std::string a = show(app.program, Dim{{found[j].label.name}});
        const std::string b = show(app.program, Dim{{found[i].label.name}});
        const bool both = kept.count(found[i].label.name) && kept.count(found[j].label.name);
        refuse({.code = both ? "E0209" : "E0204",
                .message = app.name + ": " + axis + " splits both " + a + " and " + b,
                .label = "each device of " + axis + " would compute one diagonal block of " + a +
                         " and " + b + " only: its part of " + a + " with its part of " + b,
                .operand = found[i].operand,
                .axes = {axis}});
      }
}

void need_whole_in_library(const Application& app, const Carrier& carrier, Mark mark) {
  for (const Dim& dim : app.pattern.whole)
    if (std::count(dim.factors.begin(), dim.factors.end(), carrier.label.name))
      need_whole(app, carrier.operand, {Dim{{carrier.label.name}}, carrier.label.axes},
                 mark == Mark::U ? "E0214" : "E0208");
}

std::vector<Label> operand_labels(const Application& app, size_t operand) {
  Shape shape = app.pattern.left[operand];
  if (app.pattern.left_bracket && app.pattern.bracket_operand == operand)
    for (Name& factor : shape.dims.at(*app.pattern.left_bracket).dim.factors)
      factor = "[" + factor + "]";
  return labels(app.program, shape);
}

/// The names on the right that are dims of operands.
std::set<Name> kept_names(const Application& app, bool creates) {
  std::set<Name> kept;
  for (size_t i = 0; i < app.pattern.right.dims.size(); ++i) {
    const Dim& dim = app.pattern.right.dims[i].dim;
    if (!creates || app.pattern.right_bracket != i)
      kept.insert(dim.factors.begin(), dim.factors.end());
  }
  return kept;
}

/// The axes of a factor of the new dim: they must split copies.
std::vector<Axis> created_axes(const Application& app, const Split& created, size_t factor,
                               size_t operands) {
  if (factor != leading_factor(app.program, created.dim)) return {};
  for (const Axis& axis : created.axes)
    for (size_t i = 0; i < operands; ++i) need_copy_to_split(app, i, axis);
  return created.axes;
}

}  // namespace

Contraction contraction(const Application& app, std::vector<Role> roles) {
  Contraction result;
  for (size_t i = 0; i < roles.size() && i < app.pattern.left.size(); ++i)
    result.operands.push_back(operand_labels(app, i));
  result.roles = std::move(roles);
  return result;
}

Shape contract(const Application& app, const Contraction& all) {
  const std::vector<Carrier> found = carriers(app, all);
  const std::set<Name> kept = kept_names(app, all.creates);
  need_single_use(app, found, kept);
  Marks marks = combine(app, all.roles);
  for (const Carrier& carrier : found) {
    if (kept.count(carrier.label.name)) continue;
    need_whole_in_library(app, carrier, all.contracted);
    for (const Axis& axis : carrier.label.axes) marks[axis] = all.contracted;
  }
  const Split* created =
      all.creates ? &app.pattern.right.dims.at(app.pattern.right_bracket.value_or(0)) : nullptr;
  Shape result = place(app, app.pattern.right, [&](const Dim& dim, size_t factor) {
    if (created && created->dim == dim)
      return created_axes(app, *created, factor, all.roles.size());
    for (const Carrier& carrier : found)
      if (carrier.label.name == dim.factors[factor]) return carrier.label.axes;
    refuse({.code = "E0305",
            .message = app.name + ": no operand has the dim " +
                       show(app.program, Dim{{dim.factors[factor]}})});
  });
  result.marks = marks;
  return result;
}

}  // namespace shardproof::rules
