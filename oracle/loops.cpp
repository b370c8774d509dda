// Loops, as what they mean: scans, one after the other.
#include <numeric>

#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

using Index = std::vector<int64_t>;  ///< of a loop: one number, or one for each of its dims

// Runs the body once for each index; the carries of the last step, and for each step what it emits.
struct Steps {
  Vars carries;
  std::vector<Vars> emitted;
};
Steps run_steps(Site& site, const ir::Block& body, const std::vector<Index>& indices) {
  Steps result{site.operands(), {}};
  Vars& values = site.frame.values;
  for (const Index& index : indices) {
    size_t param = 0;
    for (int64_t number : index)
      values[body.params.at(param++)] = constant(scalar(static_cast<double>(number)));
    for (const Var& carry : result.carries) values[body.params.at(param++)] = carry;
    run_block(site.run, site.frame, body);
    for (size_t i = 0; i < result.carries.size(); ++i) result.carries[i] = values[body.next.at(i)];
    Vars emitted;
    for (ir::ValueId id : body.emit) emitted.push_back(values[id]);
    result.emitted.push_back(std::move(emitted));
  }
  return result;
}

std::vector<Index> counted(int64_t size, bool reverse = false) {
  std::vector<Index> result;
  for (int64_t i = 0; i < size; ++i) result.push_back({reverse ? size - 1 - i : i});
  return result;
}

// The carries, then what was emitted, stacked by the indices of its step.
Vars finished(Site& site, const Steps& steps, const std::vector<Index>& indices) {
  Vars results = steps.carries;
  const size_t emits = site.instr.results.size() - results.size();
  for (size_t e = 0; e < emits; ++e) {
    const Extents &shape = site.shape(results.size()), strides = row_major(shape);
    std::vector<Part> parts;
    for (size_t s = 0; s < indices.size(); ++s) {
      const size_t last = indices[s].size() - 1;
      const int64_t first =
          std::inner_product(indices[s].begin(), indices[s].end(), strides.begin(), int64_t{0});
      parts.push_back({steps.emitted[s].at(e), positions({strides.at(last)}, {1}, first)});
    }
    results.push_back(place(site, std::move(parts), shape));
  }
  return results;
}

Vars loop(Site& site, const ir::Block& body, const std::vector<Index>& indices) {
  return finished(site, run_steps(site, body, indices), indices);
}

}  // namespace

Vars apply(const ir::Scan& op, Site& site) {
  return loop(site, *op.body, counted(site.run.table.size(op.dim), op.reverse));
}

// One block after the other; the blocks are those of the axis. What is emitted of a block has its
// place where the block has it.
Vars apply(const ir::Ring& op, Site& site) {
  const std::vector<Index> indices = counted(site.run.table.axis(op.dim.axes.at(0)));
  const Steps steps = run_steps(site, *op.body, indices);
  Vars results = steps.carries;
  for (size_t e = 0; e < op.body->emit.size(); ++e) {
    const Type& type = site.frame.function.values[op.body->emit[e]].type;
    const Extents part = site.extents(type.dims), &shape = site.shape(results.size());
    const auto dim = position(site.run.program, type.dims, op.block);
    if (!dim) throw std::domain_error("what a ring emits has no block");
    const Extents strides = row_major(shape);
    std::vector<Part> parts;
    for (size_t s = 0; s < indices.size(); ++s)
      parts.push_back({steps.emitted[s][e],
                       positions(part, strides, indices[s][0] * part[*dim] * strides[*dim])});
    results.push_back(place(site, std::move(parts), shape));
  }
  return results;
}

// The schedule never changes a value.
Vars apply(const ir::Pipeline& op, Site& site) {
  return loop(site, *op.body, counted(site.run.table.size(op.dim)));
}

Vars apply(const ir::Stages& op, Site& site) {
  std::vector<Index> indices = {{}};
  for (const Dim& dim : op.dims) {
    std::vector<Index> longer;
    for (const Index& index : indices)
      for (int64_t i = 0; i < site.run.table.size(dim); ++i) {
        longer.push_back(index);
        longer.back().push_back(i);
      }
    indices = std::move(longer);
  }
  return loop(site, *op.body, indices);
}

}  // namespace shardproof::oracle
