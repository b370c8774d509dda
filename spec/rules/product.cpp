#include "spec/rules/product.h"

#include <algorithm>

#include "spec/elaborate/names.h"
#include "spec/rules/fixes.h"
#include "spec/rules/split.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

/// One entry per index, with the first operand that has it.
struct Carrier {
  size_t operand;
  Label label;
};

std::vector<Carrier> carriers(const Application& app, size_t operands) {
  std::vector<Carrier> found;
  for (size_t i = 0; i < operands; ++i)
    for (const Label& label : labels(app, i)) {
      auto same = std::find_if(found.begin(), found.end(), [&](const Carrier& carrier) {
        return carrier.label.id == label.id;
      });
      if (same == found.end())
        found.push_back({i, label});
      else if (same->label.axes != label.axes)
        refuse(split_differently(app, i, same->operand, label.id));
    }
  return found;
}

void need_single_use(const Application& app, const std::vector<Carrier>& found) {
  for (size_t i = 0; i < found.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      for (const Axis& axis : found[i].label.axes) {
        const std::vector<Axis>& other = found[j].label.axes;
        if (std::find(other.begin(), other.end(), axis) == other.end()) continue;
        const std::string a = show(app.program, shown(app, found[j].label.id));
        const std::string b = show(app.program, shown(app, found[i].label.id));
        const bool both =
            on_the_right(app, found[i].label.id) && on_the_right(app, found[j].label.id);
        Refusal refusal{.code = both ? "E0209" : "E0204",
                        .message = app.name + ": " + axis + " splits both " + a + " and " + b,
                        .label = "each device of " + axis +
                                 " would compute one diagonal block of " + a + " and " + b +
                                 " only: its part of " + a + " with its part of " + b,
                        .operand = found[i].operand,
                        .axes = {axis}};
        for (const size_t operand : {found[i].operand, found[j].operand})
          if (auto hint = gather_operand(app, operand, axis))
            refusal.fixes.push_back(*std::move(hint));
        refuse(std::move(refusal));
      }
}

/// A library function may not contract a split dim that its signature names.
void need_whole_in_library(const Application& app, const Carrier& carrier, Mark mark) {
  const std::vector<ir::Position>& positions = app.pattern.indices.left[carrier.operand];
  for (size_t i = 0; i < positions.size(); ++i) {
    const Dim& dim = app.pattern.left[carrier.operand].dims[i].dim;
    const bool named = std::count(app.pattern.whole.begin(), app.pattern.whole.end(), dim) > 0;
    if (named && std::count(positions[i].begin(), positions[i].end(), carrier.label.id))
      need_whole(app, carrier.operand, {shown(app, carrier.label.id), carrier.label.axes},
                 mark == Mark::U ? "E0214" : "E0208");
  }
}

/// The axes written on a new index. Each operand must be a copy on them.
const std::vector<Axis>& created_axes(const Application& app, ir::IndexId id, size_t operands) {
  for (size_t i = 0; i < app.pattern.indices.right.size(); ++i) {
    if (elaborate::leading(app.program, app.pattern.indices, app.pattern.indices.right[i]) != id)
      continue;
    for (const Axis& axis : app.pattern.right.dims.at(i).axes)
      for (size_t operand = 0; operand < operands; ++operand)
        need_copy_to_split(app, operand, axis);
    return app.pattern.right.dims[i].axes;
  }
  return unsplit;
}

}  // namespace

Shape contract(const Application& app, const std::vector<Role>& roles, Mark contracted) {
  const size_t operands = std::min(roles.size(), app.pattern.indices.left.size());
  const std::vector<Carrier> found = carriers(app, operands);
  need_single_use(app, found);
  Marks marks = combine(app, roles);
  for (const Carrier& carrier : found) {
    if (on_the_right(app, carrier.label.id)) continue;
    need_whole_in_library(app, carrier, contracted);
    for (const Axis& axis : carrier.label.axes) marks[axis] = contracted;
  }
  Shape result = place(app, [&](ir::IndexId id) -> const std::vector<Axis>& {
    for (const Carrier& carrier : found)
      if (carrier.label.id == id) return carrier.label.axes;
    return created_axes(app, id, operands);
  });
  result.marks = std::move(marks);
  return result;
}

}  // namespace shardproof::rules
