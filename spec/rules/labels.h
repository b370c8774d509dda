#pragma once
// The indices of operands and results with the axes that split them.
#include <functional>

#include "spec/rules/application.h"

namespace shardproof::rules {

struct Label {
  ir::IndexId id;
  std::vector<Axis> axes;
};

/// The indices of an operand in order. The axes of a position split its leading index.
std::vector<Label> labels(const Application& app, size_t operand);
const Label* find(const std::vector<Label>& labels, ir::IndexId id);
bool on_the_right(const Application& app, ir::IndexId id);

/// The index as a dim that messages can show.
Dim shown(const Application& app, ir::IndexId id);

/// The right side with the axes that its indices have; E0212 where a split index does not lead its
/// position, or E0209 where an axis would be used twice.
Shape place(const Application& app, const std::function<std::vector<Axis>(ir::IndexId)>& axes_of);

/// The right side where each position that operand 0 has too is split as there, the others whole.
Shape like_operand(const Application& app);

/// E0209 if an axis splits two dims, or splits one and is a mark.
std::optional<Refusal> axis_twice(const ir::Program& program, const Shape& shape);

}  // namespace shardproof::rules
