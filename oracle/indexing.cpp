// index, index_unreduced, index_add: rows of a table by their numbers.
#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

// For each entry over the indices `over`: where the table has it, when `ids` tells the row.
Positions rows(const Reading& reading, const Indices& over, const Indices& table,
               const Indices& id_indices, const Tensor& ids) {
  const Stretch bracket = stretch_of(reading, table, reading.bracket);
  Positions result = reading.walk(over, table);
  const Positions id_at = reading.walk(over, id_indices);
  for (size_t i = 0; i < result.size(); ++i) {
    const double id = ids.data.at(static_cast<size_t>(id_at[i]));
    if (!(id >= 0) || id >= static_cast<double>(bracket.size))
      throw std::domain_error("the id at " + std::to_string(id_at[i]) + " is " +
                              std::to_string(static_cast<int64_t>(id)) + ", and there are " +
                              std::to_string(bracket.size) + " rows");
    result[i] += static_cast<int64_t>(id) * bracket.stride;
  }
  return result;
}

Vars looked_up(const ir::Pattern& pattern, Site& site) {
  const auto read = read_pattern(site, pattern, Form::plain, 2);
  const Reading& reading = *read;
  const Indices &table = reading.left[0], &ids = reading.left[1];
  want_all(without(table, reading.bracket), reading.right);
  want_all(ids, reading.right);
  return {gather(site, site.operand(0),
                 rows(reading, reading.right, table, ids, site.operand(1)->value), site.shape())};
}

}  // namespace

Vars apply(const ir::Index& op, Site& site) { return looked_up(op.pattern, site); }
// If one device has the whole table, no row belongs to another device.
Vars apply(const ir::IndexUnreduced& op, Site& site) { return looked_up(op.pattern, site); }

// x is repeated along the indices that the ids alone have.
Vars apply(const ir::IndexAdd& op, Site& site) {
  const auto read = read_pattern(site, op.pattern, Form::plain, 2);
  const Reading& reading = *read;
  const Indices &ids = reading.left[0], &own = reading.left[1];
  Indices all = own;
  for (size_t index : without(ids, own)) all.push_back(index);
  const Var x = gather(site, site.operand(1), reading.walk(all, own), reading.extents(all));
  return {scatter_add(site, x, rows(reading, all, reading.right, ids, site.operand(0)->value),
                      site.shape())};
}

}  // namespace shardproof::oracle
