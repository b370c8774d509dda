// Numbers, sizes, iota, zeros: values made of nothing but sizes.
#include "oracle/disturbed.h"
#include "oracle/ops.h"

namespace shardproof::oracle {

Vars apply(const ir::Number& op, Site&) {
  double value = op.value;
  if (disturbs()) disturb_literal(value, op.text);
  return {constant(scalar(value))};
}

Vars apply(const ir::SizeOf& op, Site& site) {
  const int64_t size = op.axis ? site.run.table.axis(op.name) : site.run.table.size(op.name);
  return {constant(scalar(static_cast<double>(size)))};
}

Vars apply(const ir::Iota& op, Site& site) {
  Tensor result = filled(site.shape(), 0);
  if (op.dim >= result.shape.size()) throw std::domain_error("there is no dim to count along");
  const Lanes lanes(result.shape, op.dim);
  for (int64_t o = 0; o < lanes.outer; ++o)
    for (int64_t j = 0; j < lanes.size; ++j)
      for (int64_t i = 0; i < lanes.inner; ++i)
        result.data[static_cast<size_t>(lanes.at(o, j, i))] = static_cast<double>(j);
  return {constant(std::move(result))};
}

Vars apply(const ir::Zeros&, Site& site) { return {constant(filled(site.shape(), 0))}; }

}  // namespace shardproof::oracle
