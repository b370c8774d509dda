#include "impl/compile/ops.h"

namespace shardproof::compile {

void compile(const ir::Expand& op, const Site& site) {
  const Labels left = labels_of(op.pattern.left.at(0)), right = labels_of(op.pattern.right);
  site.define(relabelled(site.ref(0), left, right, site.extents()));
}

namespace {

/// A side of a rearrangement opened into factors: labels, local extents, and how many each dim has.
struct Factors {
  Labels labels;
  std::vector<int64_t> extents;
  std::vector<size_t> per_dim;
};

/// A name that the other side has as well, or is opened to, stays; any other alias or group is
/// opened.
void open_dim(const ir::Program& program, const Dim& dim, const std::vector<Name>& keep,
              std::vector<Name>& factors) {
  for (const Name& name : dim.factors) {
    const auto found = program.dims.find(name);
    bool kept = false;
    for (const Name& each : keep) kept = kept || each == name;
    if (kept || found == program.dims.end() || found->second.of.empty())
      factors.push_back(name);
    else
      open_dim(program, Dim{found->second.of}, keep, factors);
  }
}

/// Every name that opening a dim passes through: S, then L, then the factors of L.
void add_names(const ir::Program& program, const Dim& dim, std::vector<Name>& names) {
  for (const Name& name : dim.factors) {
    names.push_back(name);
    if (const auto found = program.dims.find(name); found != program.dims.end())
      add_names(program, Dim{found->second.of}, names);
  }
}

std::vector<Name> names_of(const ir::Program& program, const Shape& shape) {
  std::vector<Name> names;
  for (const Split& split : shape.dims) add_names(program, split.dim, names);
  return names;
}

/// The axes of a dim split its first factor.
Factors factors_of(const Site& site, const Shape& pattern, const Shape& type, const Shape& other) {
  Factors result;
  const ir::Program& program = site.placement().program();
  const std::vector<Name> keep = names_of(program, other);
  for (size_t i = 0; i < pattern.dims.size(); ++i) {
    std::vector<Name> names;
    open_dim(program, pattern.dims[i].dim, keep, names);
    int64_t shards = site.placement().shards(type.dims.at(i));
    for (const Name& name : names) {
      const int64_t size = site.placement().size(Dim{{name}});
      if (size % shards != 0)
        throw PlanError(site.compiler.place() + ": the axes of " + to_string(type.dims[i]) +
                        " do not divide " + name);
      result.labels.push_back(Dim{{name}});
      result.extents.push_back(size / shards);
      shards = 1;
    }
    result.per_dim.push_back(names.size());
  }
  return result;
}

/// The view with each dim opened into its factors.
Ref opened(const Site& site, const Ref& x, const Factors& factors) {
  Ref view = x;
  view.extents = factors.extents;
  view.strides.assign(factors.extents.size(), 0);
  size_t at = 0;
  for (size_t d = 0; d < factors.per_dim.size(); ++d) {
    int64_t stride = x.strides[d];
    for (size_t f = factors.per_dim[d]; f-- > 0;) {
      view.strides[at + f] = stride;
      stride *= factors.extents[at + f];
    }
    if (stride != x.strides[d] * x.extents.at(d))
      throw PlanError(site.compiler.place() + ": the pattern is not that of its operand");
    at += factors.per_dim[d];
  }
  return view;
}

/// The view with factors joined into dims, where each dim still has one stride.
std::optional<Ref> closed(const Ref& x, const Factors& factors) {
  Ref view = x;
  view.extents.clear();
  view.strides.clear();
  size_t at = 0;
  for (size_t count : factors.per_dim) {
    const auto begin = static_cast<std::ptrdiff_t>(at),
               end = static_cast<std::ptrdiff_t>(at + count);
    const auto dim = joined({x.extents.begin() + begin, x.extents.begin() + end},
                            {x.strides.begin() + begin, x.strides.begin() + end});
    if (!dim) return std::nullopt;
    view.extents.push_back(dim->extent);
    view.strides.push_back(dim->stride);
    at += count;
  }
  return view;
}

}  // namespace

void compile(const ir::Rearrange& op, const Site& site) {
  const Shape &left = op.pattern.left.at(0), &right = op.pattern.right;
  const Factors from = factors_of(site, left, site.type(0), right),
                to = factors_of(site, right, site.result_type(), left);
  Labels missing;
  for (const Dim& label : to.labels)
    if (!has(from.labels, label)) missing.push_back(label);
  if (!missing.empty() || from.labels.size() != to.labels.size())
    throw PlanError(site.compiler.place() + ": the two sides have different factors");
  const Ref view = relabelled(opened(site, site.ref(0), from), from.labels, to.labels, to.extents);
  std::vector<int64_t> own;
  for (const Dim& label : to.labels) own.push_back(from.extents[position_of(from.labels, label)]);
  if (own != to.extents)
    throw PlanError(site.compiler.place() + ": it would move data between ranks");
  if (auto result = closed(view, to)) return site.define(*result);
  Ref copy = site.compiler.create(view.element, view.extents);
  site.compiler.move("rearrange", view, copy);
  site.define(*closed(copy, to));
}

}  // namespace shardproof::compile
