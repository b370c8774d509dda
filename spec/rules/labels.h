#pragma once
// Indices of a pattern: the factors of its dims. The axes of a group are those of its first
// factor that is not declared of size 1.
#include <functional>

#include "spec/rules/application.h"

namespace shardproof::rules {

struct Label {
  Name name;
  std::vector<Axis> axes;
};

/// The factors of all dims in order, with their axes.
std::vector<Label> labels(const ir::Program& program, const Shape& shape);
const Label* find(const std::vector<Label>& labels, const Name& name);

/// The factor that the axes of a group belong to.
size_t leading_factor(const ir::Program& program, const Dim& dim);
bool declared_one(const ir::Program& program, const Name& dim);

/// `dims` with the axes that their factors have; E0212 where a split factor is not the leading one
/// of its group, or E0209 where an axis would be used twice.
Shape place(const Application& app, const Shape& dims,
            const std::function<std::vector<Axis>(const Dim&, size_t factor)>& axes_of);

/// E0209 if an axis splits two dims, or splits one and is a mark.
std::optional<Refusal> axis_twice(const ir::Program& program, const Shape& shape);

}  // namespace shardproof::rules
