// Dims as index variables: a dim has one per base factor; the index of a group (C D) is c * |D| +
// d.
#include <algorithm>
#include <cctype>

#include "spec/algebra/engine.h"
#include "spec/elaborate/names.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

bool contains(const Vars& vars, Var var) {
  return std::find(vars.begin(), vars.end(), var) != vars.end();
}

Vars without(const Vars& vars, const Vars& other) {
  Vars rest;
  for (Var var : vars)
    if (!contains(other, var)) rest.push_back(var);
  return rest;
}

Vars flat(const std::vector<Vars>& positions) {
  Vars result;
  for (const Vars& position : positions)
    result.insert(result.end(), position.begin(), position.end());
  return result;
}

Nf Context::size_of_base(const Name& base) {
  if (auto found = sizes_.find(base); found != sizes_.end()) return found->second;
  return sizes_[base] = declared_size(base);
}

namespace {

/// The one base dim, or the axis, whose size it is; none of a group.
std::optional<Name> bare(const ir::Program& program, const ir::Arith& arith) {
  if (arith.kind != ir::Arith::Kind::size && arith.kind != ir::Arith::Kind::axis)
    return std::nullopt;
  if (!program.dims.contains(arith.text)) return arith.text;
  const std::vector<Name> base = program.base(Dim{{arith.text}});
  return base.size() == 1 ? std::optional(base[0]) : std::nullopt;
}

/// The file's `require |P| == ..`.
std::vector<const ir::Arith*> equalities(const ir::Program& program) {
  std::vector<const ir::Arith*> found;
  for (const ir::Requirement& each : program.requirements)
    if (each.condition.kind == ir::Arith::Kind::op && each.condition.text == "==")
      found.push_back(&each.condition);
  return found;
}

/// The sizes, of dims and axes, that are required to be this one.
std::set<Name> equal_sizes(const ir::Program& program,
                           const std::vector<const ir::Arith*>& equalities, const Name& base) {
  std::set<Name> all{base};
  for (size_t before = 0; before != all.size();) {
    before = all.size();
    for (const ir::Arith* each : equalities) {
      const auto one = bare(program, each->args.at(0)), other = bare(program, each->args.at(1));
      if (!one || !other) continue;
      if (all.contains(*one)) all.insert(*other);
      if (all.contains(*other)) all.insert(*one);
    }
  }
  return all;
}

}  // namespace

/// `require |P| == 2*|L|` makes |P| another word for it, and of sizes that are required to be equal
/// all are one: an axis, a declared size, or the first name.
Nf Context::required_size(const Name& base) {
  const Nf own = sizes_[base] = a.size(base);  // while the others are looked at
  const auto all = equalities(program);
  if (all.empty()) return own;
  const std::set<Name> names = equal_sizes(program, all, base);
  const auto dim = [&](const Name& name) { return program.dims.find(name); };
  for (const Name& name : names)
    if (dim(name) == program.dims.end()) return axis(name);
  const auto use = [&](Nf size) -> std::optional<Nf> {
    const auto read = sizes_alone(a, size);
    const bool good = read && !ir::sizes_in(*read).contains(base) && a.known_integer(size) &&
                      a.known_positive(size);
    return good ? std::optional(size) : std::nullopt;
  };
  for (const Name& name : names)
    if (name != base && dim(name)->second.size)
      if (const auto size = use(size_of_base(name))) return *size;
  if (*names.begin() != base) return size_of_base(*names.begin());
  for (const ir::Arith* each : all)
    for (const size_t side : {0, 1}) {
      const auto name = bare(program, each->args.at(side));
      if (name && names.contains(*name) && !bare(program, each->args.at(1 - side)))
        if (const auto size = use(arith(each->args[1 - side], nullptr))) return *size;
    }
  return own;
}

/// The size of a base dim. Assumed to be a whole number if that is not obvious: dim h = |D|/2.
Nf Context::declared_size(const Name& base) {
  if (std::isdigit(static_cast<unsigned char>(base[0]))) return a.number(std::stoll(base));
  auto found = program.dims.find(base);
  if (found == program.dims.end() || !found->second.size) return required_size(base);
  const Nf size = arith(*found->second.size, nullptr);
  const std::string text = ir::to_string(*found->second.size);
  const std::set<Name> read = ir::sizes_in(*found->second.size);
  if (!a.known_integer(size)) assume_of_sizes(text + " is a whole number", read);
  if (!a.known_positive(size)) assume_of_sizes(text + " >= 1", read);
  a.declare_range(size);
  return size;
}

Nf Context::size(const Vars& index) {
  Nf product = a.number(1);
  for (Var var : index) product = a.mul(product, a.range(var));
  return product;
}

Nf Context::size(const Dim& dim) {
  Nf product = a.number(1);
  for (const Name& base : program.base(dim)) product = a.mul(product, size_of_base(base));
  return product;
}

Nf Context::axis(const Axis& axis) {
  auto found = program.axes.find(axis);
  if (found != program.axes.end() && found->second.size) return a.number(*found->second.size);
  return a.size(axis);  // dims and axes share one namespace
}

/// Adds the variables of one position, which differ from those before.
void Context::add_vars(const Dim& dim, Vars& all) {
  for (const Name& name : dim.factors) {
    const auto [found, added] = dim_indices_.try_emplace(name);
    if (added)
      for (elaborate::Factor& each : elaborate::factors(program, Dim{{name}}))
        found->second.push_back({std::move(each.name), std::move(each.dim)});
    for (DimIndex& each : found->second) {
      if (!each.size) each.size = size_of_base(each.dim);
      if (!each.var) each.var = var(each.name, *each.size, {});
      all.push_back(contains(all, *each.var) ? var(each.name, *each.size, all) : *each.var);
    }
  }
}

Vars Context::vars(const std::vector<Split>& dims) {
  Vars all;
  all.reserve(dims.size());
  for (const Split& split : dims) add_vars(split.dim, all);
  return all;
}

std::vector<Vars> Context::positions(const std::vector<Split>& dims) {
  std::vector<Vars> result;
  Vars all;
  for (const Split& split : dims) {
    const auto before = static_cast<std::ptrdiff_t>(all.size());
    add_vars(split.dim, all);
    result.emplace_back(all.begin() + before, all.end());
  }
  return result;
}

Var Context::var(Name name, Nf range, const Vars& taken) {
  for (;; name += "'") {
    auto found = vars_.find({name, range.id});
    if (found == vars_.end()) {
      auto info = program.dims.find(name);
      const bool shown = info != program.dims.end() && !info->second.shown.empty();
      const Var made = a.fresh(range, shown ? info->second.shown : name);
      found = vars_.emplace(std::make_pair(name, range.id), made).first;
    }
    if (!contains(taken, found->second)) return found->second;
  }
}

std::vector<Nf> Context::terms(const Vars& index) {
  std::vector<Nf> result;
  result.reserve(index.size());
  for (Var var : index) result.push_back(a.var(var));
  return result;
}

Nf Context::join(const Vars& vars) {
  Nf index = a.number(0);
  for (Var var : vars) index = a.add(a.mul(index, a.range(var)), a.var(var));
  return index;
}

std::vector<Nf> Context::split(Nf index, const Vars& sizes) {
  std::vector<Nf> digits(sizes.size(), index);
  for (size_t i = sizes.size(); i-- > 1;) {
    const Nf radix = a.range(sizes[i]);
    digits[i] = as_index(a.mod(index, radix));
    index = as_index(a.floordiv(index, radix));
  }
  if (!digits.empty()) digits[0] = index;
  return digits;
}

Nf Context::as_index(Nf value) { return a.engine().strip_iota(value); }

Nf Context::at(const TensorExpr& tensor, const std::vector<Nf>& index) {
  if (tensor.index.size() != index.size())
    throw std::logic_error("a value and its pattern differ in dims");
  algebra::Map map;
  for (size_t i = 0; i < index.size(); ++i)
    if (a.var(tensor.index[i]) != index[i]) map.push_back({tensor.index[i].id, index[i]});
  if (map.empty()) return tensor.body;
  std::sort(map.begin(), map.end());
  return a.engine().substitute(tensor.body, map);
}

Nf Context::at(const TensorExpr& tensor, const Vars& index, const Vars& marked,
               const std::vector<Nf>& places) {
  std::vector<Nf> where = terms(index);
  for (size_t i = 0; i < index.size(); ++i)
    for (size_t k = 0; k < marked.size(); ++k)
      if (index[i] == marked[k]) where[i] = places.at(k);
  return at(tensor, where);
}

TensorExpr Context::typed(const TensorExpr& tensor, const Type& type) {
  const Vars own = vars(type.dims);
  return {own, at(tensor, own)};
}

TensorExpr Context::leaf(const std::string& name, const Type& type,
                         const std::optional<Dim>& below) {
  return leaf(name, vars(type.dims), type.dtype, below);
}

TensorExpr Context::leaf(const std::string& name, const Vars& index, Dtype dtype,
                         const std::optional<Dim>& below) {
  std::vector<Nf> ranges;
  ranges.reserve(index.size());
  for (Var var : index) ranges.push_back(a.range(var));
  algebra::LeafFacts facts;
  facts.integer = is_integer(dtype);
  facts.boolean = dtype == Dtype::boolean;
  if (below && facts.integer) {
    facts.below = size(*below);
    a.declare_range(*facts.below);
  }
  return {index, a.at(a.leaf(name, ranges, facts), terms(index))};
}

}  // namespace shardproof::lower
