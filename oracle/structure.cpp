// expand, rearrange, roll, ppermute: the same entries in another place.
#include <algorithm>

#include "oracle/ops.h"

namespace shardproof::oracle {
namespace {

// One index of a dim: a group has one for each factor. `base` is what an alias stands for.
struct Atom {
  Name written, base;
};

std::vector<Atom> atoms_of(const ir::Program& program, const Name& name) {
  const auto found = program.dims.find(name);
  const bool other = found != program.dims.end() && !found->second.of.empty() &&
                     (found->second.kind == ir::DimInfo::Kind::alias ||
                      found->second.kind == ir::DimInfo::Kind::group);
  if (!other) return {{name, name}};
  std::vector<Atom> result;
  for (const Name& part : found->second.of)
    for (const Atom& atom : atoms_of(program, part)) result.push_back(atom);
  if (result.size() == 1) result[0].written = name;
  return result;
}

std::vector<Atom> atoms_of(const ir::Program& program, const Shape& shape) {
  std::vector<Atom> result;
  for (const Split& split : shape.dims)
    for (const Name& factor : split.dim.factors)
      for (const Atom& atom : atoms_of(program, factor)) result.push_back(atom);
  return result;
}

// For each atom on the right the one on the left: the same name, or else the only one that is
// another name of the same dim.
std::vector<size_t> matched(const std::vector<Atom>& left, const std::vector<Atom>& right) {
  constexpr size_t none = ~size_t{0};
  std::vector<size_t> result(right.size(), none);
  std::vector<bool> taken(left.size(), false);
  for (size_t r = 0; r < right.size(); ++r)
    for (size_t l = 0; l < left.size(); ++l)
      if (result[r] == none && !taken[l] && left[l].written == right[r].written) {
        result[r] = l;
        taken[l] = true;
      }
  for (size_t r = 0; r < right.size(); ++r) {
    if (result[r] != none) continue;
    for (size_t l = 0; l < left.size(); ++l) {
      if (taken[l] || left[l].base != right[r].base) continue;
      if (result[r] != none)
        throw std::domain_error("`" + right[r].written + "` may be two of the operand's dims");
      result[r] = l;
    }
    if (result[r] == none)
      throw std::domain_error("the operand has no dim `" + right[r].written + "`");
    taken[result[r]] = true;
  }
  return result;
}

// result[.. i ..] = x[.. (i - by) mod size ..]
Var rolled(Step& step, size_t dim, int64_t by) {
  const Extents shape = step.shape();
  const Lanes lanes(shape, dim);
  Positions from(static_cast<size_t>(count(shape)));
  for (int64_t o = 0; o < lanes.outer; ++o)
    for (int64_t j = 0; j < lanes.size; ++j)
      for (int64_t i = 0; i < lanes.inner; ++i) {
        const int64_t source = ((j - by) % lanes.size + lanes.size) % lanes.size;
        from[static_cast<size_t>(lanes.at(o, j, i))] = lanes.at(o, source, i);
      }
  return gather(step, step.operand(0), std::move(from), shape);
}

}  // namespace

Vars apply(const ir::Expand& op, Step& step) {
  const Extents shape = step.shape();
  const Extents strides = walk(step, op.pattern.right.dims, op.pattern.left[0].dims);
  return {gather(step, step.operand(0), positions(shape, strides), shape)};
}

Vars apply(const ir::Rearrange& op, Step& step) {
  const ir::Program& program = step.run.program;
  const std::vector<Atom> left = atoms_of(program, op.pattern.left[0]);
  const std::vector<Atom> right = atoms_of(program, op.pattern.right);
  Extents sizes;
  for (const Atom& atom : left) sizes.push_back(step.run.table.size(Dim{{atom.written}}));
  const Extents strides = row_major(sizes);
  Extents extents, walked;
  for (size_t at : matched(left, right)) {
    extents.push_back(sizes[at]);
    walked.push_back(strides[at]);
  }
  return {gather(step, step.operand(0), positions(extents, walked), step.shape())};
}

Vars apply(const ir::Roll& op, Step& step) {
  return {rolled(step, op.pattern.left_bracket.value(), step.whole(1))};
}

// The block of device i goes to device i + by; the blocks are those of the dim's first axis.
Vars apply(const ir::Ppermute& op, Step& step) {
  const size_t dim = op.pattern.left_bracket.value();
  const Split& split = op.pattern.left[0].dims[dim];
  if (split.axes.empty()) throw std::domain_error("the dim in brackets has no axis");
  const int64_t size = step.run.table.size(split.dim), blocks = step.run.table.axis(split.axes[0]);
  if (size % blocks != 0)
    throw std::domain_error("|" + to_string(split.dim) + "| = " + std::to_string(size) +
                            " does not divide into " + std::to_string(blocks) + " blocks");
  return {rolled(step, dim, step.whole(1) * (size / blocks))};
}

}  // namespace shardproof::oracle
