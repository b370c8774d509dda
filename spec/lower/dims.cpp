// Dims as index variables: a dim is its base factors, and a group's index is c * |D| + d.
#include <algorithm>
#include <cctype>

#include "spec/algebra/engine.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

bool contains(const Slots& slots, const Slot& slot) {
  return std::any_of(slots.begin(), slots.end(), [&](const Slot& s) { return s.key == slot.key; });
}

Slots without(const Slots& slots, const Slots& other) {
  Slots rest;
  for (const Slot& slot : slots)
    if (!contains(other, slot)) rest.push_back(slot);
  return rest;
}

Nf Context::size_of_base(const Name& base) {
  if (auto found = sizes_.find(base); found != sizes_.end()) return found->second;
  return sizes_[base] = declared_size(base);
}

/// A size that is not plainly a whole number is assumed to be one: dim h = |D|/2.
Nf Context::declared_size(const Name& base) {
  if (std::isdigit(static_cast<unsigned char>(base[0]))) return a.number(std::stoll(base));
  auto found = program.dims.find(base);
  if (found == program.dims.end() || !found->second.size) return a.size(base);
  const Nf size = arith(*found->second.size, nullptr);
  const std::string text = ir::to_string(*found->second.size);
  if (!a.known_integer(size)) assume(text + " is a whole number");
  if (!a.known_positive(size)) assume(text + " >= 1");
  a.declare_range(size);
  return size;
}

Nf Context::size(const Slots& slots) {
  Nf product = a.number(1);
  for (const Slot& slot : slots) product = a.mul(product, size_of_base(slot.base));
  return product;
}

Nf Context::size(const Dim& dim) { return size(slots(dim)); }

Nf Context::axis(const Axis& axis) {
  auto found = program.axes.find(axis);
  if (found != program.axes.end() && found->second.size) return a.number(*found->second.size);
  return a.size(axis);  // dims and axes share one space of names
}

Slots Context::slots(const Dim& dim) const {
  Slots result;
  for (const Name& factor : dim.factors) {
    const std::vector<Name> base = program.base(Dim{{factor}});
    for (const Name& name : base) result.push_back({"", base.size() == 1 ? factor : name, name});
  }
  const Name whole = to_string(dim);
  for (size_t i = 0; i < result.size(); ++i)
    result[i].key = result.size() == 1 ? whole : whole + "." + std::to_string(i);
  return result;
}

Slots Context::slots(const std::vector<Split>& dims) const {
  Slots result;
  for (const Split& split : dims) {
    const Slots more = slots(split.dim);
    result.insert(result.end(), more.begin(), more.end());
  }
  return result;
}

Var Context::var(const Slot& slot) {
  const Nf range = size_of_base(slot.base);
  const auto key = std::make_pair(slot.key, range.id);
  if (auto found = vars_.find(key); found != vars_.end()) return found->second;
  auto info = program.dims.find(slot.key);
  const bool shown = info != program.dims.end() && !info->second.shown.empty();
  return vars_[key] = a.fresh(range, shown ? info->second.shown : slot.key);
}

std::vector<Var> Context::vars(const Slots& slots) {
  std::vector<Var> result;
  for (const Slot& slot : slots) result.push_back(var(slot));
  return result;
}

std::vector<Nf> Context::terms(const Slots& slots) {
  std::vector<Nf> result;
  for (const Slot& slot : slots) result.push_back(a.var(var(slot)));
  return result;
}

Nf Context::join(const Slots& slots) {
  Nf index = a.number(0);
  for (const Slot& slot : slots)
    index = a.add(a.mul(index, size_of_base(slot.base)), a.var(var(slot)));
  return index;
}

std::vector<Nf> Context::split(Nf index, const Slots& slots) {
  std::vector<Nf> digits(slots.size(), index);
  for (size_t i = slots.size(); i-- > 1;) {
    const Nf radix = size_of_base(slots[i].base);
    digits[i] = as_index(a.mod(index, radix));
    index = as_index(a.floordiv(index, radix));
  }
  if (!digits.empty()) digits[0] = index;
  return digits;
}

Nf Context::as_index(Nf value) { return a.engine().strip_iota(value); }

Nf Context::at(const Tensor& tensor, const std::vector<Nf>& index) {
  if (tensor.index.size() != index.size())
    throw std::logic_error("a value and its pattern differ in dims");
  std::vector<std::pair<Var, Nf>> map;
  for (size_t i = 0; i < index.size(); ++i)
    if (a.var(tensor.index[i]) != index[i]) map.push_back({tensor.index[i], index[i]});
  return map.empty() ? tensor.body : a.substitute(tensor.body, map);
}

Tensor Context::leaf(const std::string& name, const Type& type, const std::optional<Dim>& below) {
  return leaf(name, slots(type.dims), type.dtype, below);
}

Tensor Context::leaf(const std::string& name, const Slots& index, Dtype dtype,
                     const std::optional<Dim>& below) {
  std::vector<Nf> ranges;
  for (const Slot& slot : index) ranges.push_back(size_of_base(slot.base));
  algebra::LeafFacts facts;
  facts.integer = is_integer(dtype);
  facts.boolean = dtype == Dtype::boolean;
  if (below && facts.integer) {
    facts.below = size(*below);
    a.declare_range(*facts.below);
  }
  return tensor(index, a.at(a.leaf(name, ranges, facts), terms(index)));
}

}  // namespace shardproof::lower
