#pragma once
// The indices of operands and results, and the axes that split them.
#include <functional>

#include "spec/rules/application.h"

namespace shardproof::rules {

struct Label {
  ir::IndexId id;
  const std::vector<Axis>& axes;  ///< of the operand's type, or `unsplit`
};
inline const std::vector<Axis> unsplit;

/// The indices of an operand in order. The axes of a position split its leading index.
std::vector<Label> labels(const Application& app, size_t operand);
const Label* find(const std::vector<Label>& labels, ir::IndexId id);
bool on_the_right(const Application& app, ir::IndexId id);

/// The index as a dim, for messages.
Dim shown(const Application& app, ir::IndexId id);

/// The right side with the axes of its indices. E0212 if a split index is not the first of its
/// position; E0209 if an axis would be used twice.
using AxesOf = std::function<const std::vector<Axis>&(ir::IndexId)>;
Shape place(const Application& app, const AxesOf& axes_of);

/// The right side: positions that operand 0 also has are split as there, the others are whole.
Shape like_operand(const Application& app);

/// E0209 if an axis splits two dims, or both splits a dim and has a mark.
std::optional<Refusal> axis_twice(const ir::Program& program, const Shape& shape);

}  // namespace shardproof::rules
