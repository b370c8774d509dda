// The indices of an op as variables.
#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

constexpr Var no_var{~uint32_t{0}};

const Type& type_of_result(const Site& site) {
  for (size_t i = 0; i < site.instr.results.size(); ++i)
    if (site.instr.results[i] != ir::no_value) return site.result(i).type;
  throw std::logic_error("an instruction without a result");
}

}  // namespace

const ir::Indices& Context::whole_positions(const Site& site) {
  const auto [found, added] = whole_.try_emplace(&site.instr);
  if (!added) return found->second;
  std::vector<Shape> operands;
  for (size_t i = 0; i < site.instr.operands.size(); ++i) operands.push_back(site.type(i));
  ir::Indices in = elaborate::whole_positions(program, operands, site.result(0).type);
  size_t inside = 0;
  for (const ir::Position& position : in.right) inside += position.size();
  if (inside != in.all.size()) throw std::logic_error("an operand's dim is not in the result");
  return found->second = std::move(in);
}

Context::Entries Context::entries(const Site& site) {
  const std::vector<Split>& dims = site.result(0).type.dims;
  const auto has_all = [&](size_t i) {
    const std::vector<Split>& own = site.type(i).dims;
    return own.empty() || std::equal(own.begin(), own.end(), dims.begin(), dims.end(),
                                     [](const Split& a, const Split& b) { return a.dim == b.dim; });
  };
  bool whole = true;
  for (size_t i = 0; i < site.instr.operands.size(); ++i) whole = whole && has_all(i);
  std::optional<Indices> in;
  if (!whole) in.emplace(*this, site);
  Entries all{whole ? vars(dims) : in->right(), {}};
  for (size_t i = 0; i < site.instr.operands.size(); ++i) {
    const TensorExpr& own = site.operand(i);
    all.operands.push_back(!whole              ? in->operand(i)
                           : own.index.empty() ? own.body
                                               : at(own, all.right));
  }
  return all;
}

Indices::Indices(Context& context, const Site& site, const ir::Pattern& pattern)
    : Indices(context, site, pattern.indices) {}
Indices::Indices(Context& context, const Site& site)
    : Indices(context, site, context.whole_positions(site)) {}

Indices::Indices(Context& context, const Site& site, const ir::Indices& indices)
    : c_(context), site_(site), in_(indices), var_(indices.all.size(), no_var) {
  take_right();
  take_left();
}

void Indices::take_right() {
  const std::vector<Split>& dims = type_of_result(site_).dims;
  if (dims.size() != in_.right.size()) throw std::logic_error("a pattern without indices");
  const Vars own = c_.vars(dims);
  size_t next = 0;
  for (const ir::Position& position : in_.right)
    for (ir::IndexId id : position) {
      Var& var = var_.at(id);
      if (!(var == no_var)) throw std::logic_error("an index twice in the result");
      var = own.at(next++);
    }
}

void Indices::take_left() {
  for (size_t i = 0; i < in_.left.size(); ++i) {
    const Vars& own = site_.operand(i).index;
    size_t next = 0;
    for (const ir::Position& position : in_.left[i])
      for (ir::IndexId id : position) {
        const Var var = own.at(next++);
        if (!(var_.at(id) == no_var)) continue;
        const bool taken = contains(var_, var);
        var_[id] = taken ? c_.var(in_.all[id].name, c_.a.range(var), var_) : var;
      }
  }
}

Vars Indices::of(std::span<const ir::Position> positions) const {
  Vars result;
  result.reserve(var_.size());
  for (const ir::Position& position : positions)
    for (ir::IndexId id : position) result.push_back(var_.at(id));
  return result;
}

}  // namespace shardproof::lower
