// Two operands change places where that is not the same.
#include "properties/faults/families.h"

namespace shardproof::faults {
namespace {

bool symmetric(ir::BinaryFn fn) {
  using enum ir::BinaryFn;
  return fn == add || fn == mul || fn == eq || fn == ne || fn == logical_and || fn == logical_or ||
         fn == maximum || fn == minimum;
}

bool same_places(const Ground& ground, ir::ValueId a, ir::ValueId b) {
  const Type &x = ground.type(a), &y = ground.type(b);
  return x.dtype == y.dtype && std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(),
                                          y.dims.end(), [&](const Split& p, const Split& q) {
                                            return ground.program.same_dim(p.dim, q.dim);
                                          });
}

/// Pairs of operands that may change places.
std::vector<std::pair<size_t, size_t>> pairs(const Ground& ground, const ir::Instr& instr) {
  if (const auto* binary = std::get_if<ir::Binary>(&instr.op))
    return symmetric(binary->fn) ? std::vector<std::pair<size_t, size_t>>{}
                                 : std::vector<std::pair<size_t, size_t>>{{0, 1}};
  if (std::holds_alternative<ir::Where>(instr.op)) return {{1, 2}};
  std::vector<std::pair<size_t, size_t>> found;
  if (!std::holds_alternative<ir::Einsum>(instr.op) &&
      !std::holds_alternative<ir::Concat>(instr.op))
    return found;
  for (size_t i = 0; i < instr.operands.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (same_places(ground, instr.operands[i], instr.operands[j])) found.push_back({j, i});
  return found;
}

}  // namespace

void swap_operands(const Ground& ground, const Site& site, Faults& faults) {
  if (!site.instr) return;
  for (const auto& [i, j] : pairs(ground, *site.instr)) {
    ir::Instr instr = *site.instr;
    if (instr.operands.at(i) == instr.operands.at(j)) continue;
    std::swap(instr.operands[i], instr.operands[j]);
    faults.push_back(replaced(site, Family::swap_operands,
                              std::string("operands of ") + ir::name_of(instr.op) + " swapped",
                              {std::move(instr)}));
  }
}

}  // namespace shardproof::faults
