// rearrange: order, groups and names. No data moves between devices: an axis stays on its factor,
// and that factor leads its group.
#include <algorithm>

#include "spec/rules/combine.h"
#include "spec/rules/labels.h"
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// The factors of a dim, names of groups expanded; other names stay as written.
void expand_groups(const ir::Program& program, const Name& name, std::vector<Name>& factors) {
  auto found = program.dims.find(name);
  if (found == program.dims.end() || program.base(Dim{{name}}).size() < 2) {
    factors.push_back(name);
    return;
  }
  for (const Name& inner : found->second.of) expand_groups(program, inner, factors);
}

Shape without_group_names(const ir::Program& program, const Shape& shape) {
  Shape result = shape;
  for (Split& split : result.dims) {
    std::vector<Name> factors;
    for (const Name& name : split.dim.factors) expand_groups(program, name, factors);
    split.dim.factors = factors;
  }
  return result;
}

/// For each factor on the right the one on the left that it is: of the same name, else another name
/// of the same dim.
class Matching {
 public:
  Matching(const ir::Program& program, std::vector<Label> left, const Shape& right)
      : left_(std::move(left)), used_(left_.size()) {
    const std::vector<Label> wanted = labels(program, right);
    match(wanted, [](const Name& a, const Name& b) { return a == b; });
    match(wanted,
          [&](const Name& a, const Name& b) { return program.same_dim(Dim{{a}}, Dim{{b}}); });
  }
  const Label* operator()(const Name& name) const {
    for (const auto& [right, left] : pairs_)
      if (right == name) return &left_[left];
    return nullptr;
  }
  const Label* lost() const {  ///< a split factor that is not on the right
    for (size_t i = 0; i < left_.size(); ++i)
      if (!used_[i] && !left_[i].axes.empty()) return &left_[i];
    return nullptr;
  }

 private:
  template <class Same>
  void match(const std::vector<Label>& wanted, Same same) {
    for (const Label& label : wanted) {
      if ((*this)(label.name)) continue;
      for (size_t i = 0; i < left_.size(); ++i)
        if (!used_[i] && same(label.name, left_[i].name)) {
          used_[i] = true;
          pairs_.emplace_back(label.name, i);
          break;
        }
    }
  }
  std::vector<Label> left_;
  std::vector<bool> used_;
  std::vector<std::pair<Name, size_t>> pairs_;
};

/// An axis that the right side writes at another factor than the one it splits would have to move.
void same_places(const Application& app, const Shape& computed) {
  for (size_t i = 0; i < computed.dims.size(); ++i) {
    const Split &is = computed.dims[i], &written = app.pattern.right.dims[i];
    for (const Axis& axis : written.axes) {
      const bool stays = std::count(is.axes.begin(), is.axes.end(), axis) > 0;
      const std::vector<Axis> all = split_axes(computed);
      if (stays || !std::count(all.begin(), all.end(), axis)) continue;
      refuse({.code = "E0212",
              .message = "rearrange: the result is `" + show(app.program, computed) +
                         "`, the pattern says `" + show(app.program, app.pattern.right) + "`",
              .label = "to have " + axis + " split " + to_string(written.dim) +
                       ", devices would have to exchange data: all_to_all does that",
              .operand = 0,
              .axes = {axis}});
    }
  }
}

}  // namespace

Types rule(Application& app, const ir::Rearrange&) {
  const Shape left = without_group_names(app.program, app.pattern.left[0]);
  const Shape right = without_group_names(app.program, app.pattern.right);
  const Matching matching(app.program, labels(app.program, left), right);
  if (const Label* lost = matching.lost())
    refuse({.code = "E0305",
            .message =
                "rearrange: " + show(app.program, Dim{{lost->name}}) + " is not on the right side",
            .operand = 0});
  const Marks marks = combine(app, {Role::factor});
  const Shape placed = place(app, right, [&](const Dim& dim, size_t factor) {
    const Label* label = matching(dim.factors[factor]);
    return label ? label->axes : std::vector<Axis>{};
  });
  Shape result = app.pattern.right;
  for (size_t i = 0; i < result.dims.size(); ++i) result.dims[i].axes = placed.dims[i].axes;
  result.marks = marks;
  if (!app.pattern.inferred) same_places(app, result);
  return {conclude(app, result, app.type(0).dtype, app.has_gradient())};
}

}  // namespace shardproof::rules
