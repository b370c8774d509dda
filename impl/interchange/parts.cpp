#include "impl/interchange/parts.h"

#include <algorithm>
#include <cmath>

namespace shardproof::interchange {
namespace {

constexpr int64_t longest_run = 1 << 20;

[[noreturn]] void misfit(const ForeignTensor& tensor, const Name& leaf, const std::string& what) {
  throw PlanError("the mapping of " + tensor.name + " does not fit tensor " + leaf + ": " + what);
}

int64_t inner_size(const Name& name, const DimSizes& dims) {
  const auto found = dims.find(name);
  if (found == dims.end()) throw PlanError("no size of " + name + " is given");
  return found->second;
}

/// The factors of one dim for the local part `box`; `stride` is the dim's.
void add_factors(const Split& split, int64_t extent, int64_t shards, int64_t shard, int64_t stride,
                 const DimSizes& dims, std::vector<Factor>& factors) {
  std::vector<Factor> inner;
  for (size_t i = split.dim.factors.size(); i-- > 1;) {
    const int64_t size = inner_size(split.dim.factors[i], dims);
    inner.insert(inner.begin(), {split.dim.factors[i], size, 0, size, stride});
    stride *= size;
    extent /= size;
  }
  factors.push_back({split.dim.factors[0], extent * shards, shard * extent, extent, stride});
  factors.insert(factors.end(), inner.begin(), inner.end());
}

/// Only the model's entries are left, which are the first ones.
void leave_out_padding(Factor& factor, const Name& narrow, int64_t size) {
  factor.name = narrow;
  factor.whole = size;
  factor.extent = std::clamp<int64_t>(size - factor.first, 0, factor.extent);
}

/// Removes the factor with this name from the list and returns it.
Factor take(std::vector<Factor>& factors, const Name& name, const ForeignTensor& tensor,
            const Name& leaf) {
  const auto found = std::find_if(factors.begin(), factors.end(),
                                  [&](const Factor& each) { return each.name == name; });
  if (found == factors.end()) misfit(tensor, leaf, "it has no dim " + name);
  const Factor factor = *found;
  factors.erase(found);
  return factor;
}

/// Restricts the part to entry `index` of this dim, if the rank holds it.
void fix(PartOfForeign& part, const Factor& factor, int64_t index) {
  part.here = part.here && factor.first <= index && index < factor.first + factor.extent;
  part.local += (index - factor.first) * factor.stride;
}

/// Entries 2i and 2i+1 are i and i + half of it in the leaf.
void add_pairs(PartOfForeign& part, const Factor& factor, int64_t step, const ForeignTensor& tensor,
               const Name& leaf) {
  const int64_t half = factor.whole / 2;
  if (factor.extent != factor.whole || factor.whole % 2 != 0)
    misfit(tensor, leaf, "dim " + factor.name + " is stored in pairs; it must be even and whole");
  part.loops.push_back({half, 2 * step, factor.stride});
  part.loops.push_back({2, step, half * factor.stride});
}

/// Adds loops in the order of the foreign dims.
void add_loops(PartOfForeign& part, const ForeignTensor& tensor, std::vector<Factor> factors,
               const Name& leaf, const DimSizes& dims) {
  struct Dim {
    Factor factor;
    int64_t offset, whole;
  };
  std::vector<Dim> ordered;
  for (const std::vector<ForeignDim>& group : tensor.foreign) {
    part.extents.push_back(1);
    for (const ForeignDim& each : group) {
      Dim dim{take(factors, each.own, tensor, leaf), 0, 0};
      for (const Name& name : each.parts) {
        if (name == each.own) dim.offset = dim.whole;
        dim.whole += name == each.own ? dim.factor.whole : inner_size(name, dims);
      }
      ordered.push_back(dim);
      part.extents.back() *= dim.whole;
    }
  }
  if (!factors.empty()) misfit(tensor, leaf, "dim " + factors[0].name + " is in no pattern");
  int64_t step = 1;
  for (const Dim& dim : ordered) step *= dim.whole;
  for (const Dim& dim : ordered) {
    step /= dim.whole;
    part.here = part.here && dim.factor.extent > 0;
    part.foreign += (dim.offset + dim.factor.first) * step;
    if (dim.factor.name == tensor.pairs)
      add_pairs(part, dim.factor, step, tensor, leaf);
    else
      part.loops.push_back({dim.factor.extent, step, dim.factor.stride});
  }
}

/// Z+N and E, for `layers.{Z+N}.experts.{E}`.
std::vector<std::string> texts_in_braces(const std::string& name) {
  std::vector<std::string> texts;
  for (size_t open = name.find('{'); open != std::string::npos; open = name.find('{', open + 1))
    texts.push_back(name.substr(open + 1, name.find('}', open) - open - 1));
  return texts;
}

/// Replaces the first text in braces by a number.
std::string numbered(const std::string& name, int64_t number) {
  const size_t open = name.find('{'), close = name.find('}', open);
  return name.substr(0, open) + std::to_string(number) + name.substr(close + 1);
}

/// One part per entry of the first dim in the name, with numbers from `first` on.
std::vector<PartOfForeign> one_for_each(const std::vector<PartOfForeign>& parts, const Factor& dim,
                                        int64_t first) {
  std::vector<PartOfForeign> all;
  for (const PartOfForeign& part : parts)
    for (int64_t i = 0; i < dim.whole; ++i) {
      all.push_back(part);
      all.back().name = numbered(part.name, first + i);
      fix(all.back(), dim, i);
    }
  return all;
}

/// The first loop of contiguous runs: all later loops cover the tensor.
size_t run_start(const std::vector<Loop>& loops) {
  size_t i = loops.size();
  int64_t length = 1;
  while (i > 0 && loops[i - 1].foreign == length &&
         (i == loops.size() || length * loops[i - 1].extent <= longest_run))
    length *= loops[--i].extent;
  return i;
}

/// Calls `visit(foreign, local)` for each entry of the loops begin .. end.
void nest(const std::vector<Loop>& loops, size_t begin, size_t end, int64_t foreign, int64_t local,
          const PartOfForeign::Visit& visit) {
  if (begin == end) return visit(foreign, local);
  const Loop& loop = loops[begin];
  for (int64_t i = 0; i < loop.extent; ++i)
    nest(loops, begin + 1, end, foreign + i * loop.foreign, local + i * loop.local, visit);
}

}  // namespace

std::vector<Factor> factors_of(const checkpoint::Leaf& leaf, const Mesh& mesh, int64_t rank,
                               const DimSizes& dims, const Pads& pads) {
  const std::vector<int64_t>& extents = leaf.tensor->extents;
  const std::vector<int64_t> strides = row_major(extents);
  std::vector<Factor> factors;
  for (size_t i = 0; i < extents.size(); ++i) {
    int64_t shards = 1, shard = 0;
    for (const Axis& axis : leaf.type.dims[i].axes) {
      shards *= mesh.size(axis);
      shard = shard * mesh.size(axis) + mesh.digit(rank, axis);
    }
    add_factors(leaf.type.dims[i], extents[i], shards, shard, strides[i], dims, factors);
  }
  for (Factor& factor : factors)
    if (const auto padded = pads.find(factor.name); padded != pads.end())
      leave_out_padding(factor, padded->second, inner_size(padded->second, dims));
  return factors;
}

int64_t count_of(const std::vector<Factor>& factors) {
  int64_t count = 1;
  for (const Factor& factor : factors) count *= factor.extent;
  return count;
}

int64_t PartOfForeign::count() const {
  int64_t product = here;
  for (const Loop& loop : loops) product *= loop.extent;
  return product;
}

void PartOfForeign::for_each_run(
    const std::function<void(int64_t, int64_t, const std::function<void(const Visit&)>&)>& run)
    const {
  if (!here) return;
  const size_t start = run_start(loops);
  int64_t length = 1;
  for (size_t i = start; i < loops.size(); ++i) length *= loops[i].extent;
  nest(loops, 0, start, foreign, local, [&](int64_t foreign_at, int64_t local_at) {
    run(foreign_at, length,
        [&](const Visit& visit) { nest(loops, start, loops.size(), 0, local_at, visit); });
  });
}

std::vector<PartOfForeign> parts_of(const ForeignTensor& tensor, const Name& leaf,
                                    const std::vector<Factor>& all_factors, const DimSizes& dims) {
  std::vector<Factor> factors = all_factors;
  PartOfForeign part;
  part.name = tensor.name;
  for (const auto& [dim, index] : tensor.at) fix(part, take(factors, dim, tensor, leaf), index);
  std::vector<std::pair<Factor, int64_t>> counted;
  for (std::string text : texts_in_braces(tensor.name)) {
    int64_t first = 0;
    for (size_t plus; (plus = text.find('+')) != std::string::npos; text.erase(0, plus + 1))
      first += inner_size(text.substr(0, plus), dims);
    counted.emplace_back(take(factors, text, tensor, leaf), first);
  }
  std::vector<Name> left;
  for (const Factor& each : factors) left.push_back(each.name);
  if (left != tensor.local) misfit(tensor, leaf, "its dims are others, or in another order");
  add_loops(part, tensor, factors, leaf, dims);
  std::vector<PartOfForeign> parts{part};
  for (const auto& [dim, first] : counted) parts = one_for_each(parts, dim, first);
  return parts;
}

double scale_of(const ForeignTensor& tensor, const std::vector<Factor>& factors) {
  double scale = 1;
  for (const Factor& factor : factors)
    if (const auto found = tensor.scale.find(factor.name); found != tensor.scale.end())
      scale *= std::pow(static_cast<double>(factor.whole), found->second);
  return scale;
}

}  // namespace shardproof::interchange
