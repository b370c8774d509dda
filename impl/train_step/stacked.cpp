#include "impl/train_step/stacked.h"

namespace shardproof {
namespace {

void add_leaves(const ir::WrittenType& type, size_t outer, std::vector<size_t>& leaves) {
  if (type.fields.empty()) leaves.push_back(outer);
  for (const ir::WrittenType& field : type.fields)
    add_leaves(field, outer + type.dims.size(), leaves);
}

}  // namespace

std::vector<size_t> stacked_dims(const ir::Function& function) {
  std::vector<size_t> leaves;
  for (const ir::WrittenType& type : function.param_types) add_leaves(type, 0, leaves);
  return leaves;
}

}  // namespace shardproof
