// index, index_unreduced, index_add: rows of a table by their numbers.
#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// For every index over `dims`: where the table has it, when `ids` tells the row. Dims that the
// table and the ids share are paired.
Positions rows(Step& step, const std::vector<Split>& dims, const std::vector<Split>& table,
               size_t bracket, const std::vector<Split>& id_dims, const Tensor& ids) {
  const Extents shape = step.extents(dims), table_shape = step.extents(table);
  Positions result = positions(shape, walk(step, dims, table));
  const Positions id_at = positions(shape, walk(step, dims, id_dims));
  const int64_t stride = row_major(table_shape)[bracket];
  for (size_t i = 0; i < result.size(); ++i) {
    const double id = ids.data[static_cast<size_t>(id_at[i])];
    if (!(id >= 0) || id >= static_cast<double>(table_shape[bracket]))
      throw std::domain_error("the id at " + std::to_string(id_at[i]) + " is " +
                              std::to_string(static_cast<int64_t>(id)) + ", and there are " +
                              std::to_string(table_shape[bracket]) + " rows");
    result[i] += static_cast<int64_t>(id) * stride;
  }
  return result;
}

Vars looked_up(const ir::Pattern& pattern, Step& step) {
  return {gather(step, step.operand(0),
                 rows(step, pattern.right.dims, pattern.left[0].dims, pattern.left_bracket.value(),
                      pattern.left[1].dims, step.operand(1)->value),
                 step.shape())};
}

}  // namespace

Vars apply(const ir::Index& op, Step& step) { return looked_up(op.pattern, step); }
// Of the whole table no row is another device's.
Vars apply(const ir::IndexUnreduced& op, Step& step) { return looked_up(op.pattern, step); }

Vars apply(const ir::IndexAdd& op, Step& step) {
  const ir::Pattern& pattern = op.pattern;
  return {
      scatter_add(step, step.operand(1),
                  rows(step, pattern.left[1].dims, pattern.right.dims,
                       pattern.right_bracket.value(), pattern.left[0].dims, step.operand(0)->value),
                  step.shape())};
}

}  // namespace shardproof::oracle
