// argsort is a permutation: its inverse, equations, and sums in its order.
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

/// The functions of v that have this name and one row for all v, also inside functions.
class Found {
 public:
  Found(Engine& g, const char* name, VarId v) : g_(g), name_(name), v_(v) {}

  void read(Nf e, int depth = 0) {
    constexpr int deepest = 5;
    if (depth < deepest)
      for (const Term& t : g_.terms(e))
        for (const Factor& f : g_.factors(t.mono))
          if (contains(g_.atom_vars[f.atom], v_)) factor(f.atom, depth + 1);
  }

  std::vector<AtomId> all;

 private:
  void factor(AtomId a, int depth) {
    if (g_.orders_at(a, name_, v_)) all.push_back(a);
    for (Nf part : g_.atoms[a].args) read(part, depth);
    const TensorInfo* t = g_.derived(a);
    if (t && !is_leaf(t->op) && t->binders.empty()) read(g_.inner(a), depth);
  }

  Engine& g_;
  const std::string name_;
  VarId v_;
};

}  // namespace

std::vector<AtomId> Engine::orders_of(Nf e, const char* name, VarId v) {
  Found found(*this, name, v);
  found.read(e);
  return found.all;
}

std::optional<Nf> Engine::row_of(const std::vector<Nf>& args, VarSet* index) {
  const auto row = single_atom(args[0]);
  if (!row || !is_op(*row, Op::lambda)) return std::nullopt;
  const Atom& lambda = atoms[*row];
  return open(lambda.ref, lambda.args, free_of(args[0]), index);
}

TensorId Engine::inverse(TensorId order, Nf count, const std::string& key) {
  TensorInfo t;
  t.op = Op::symbol, t.name = tensors[order].name + "^-1", t.facts = tensors[order].facts;
  t.facts.below = count;
  const TensorId id = tensor(std::move(t), key + " of " + std::to_string(order));
  inverses[id] = order;
  return id;
}

/// The tensor that holds the place of each index in the order of a row: places[order[i]] = i. All
/// copies are the same tensor under different names.
TensorId Engine::inverse_of(TensorId order, int copy) {
  if (const auto known = inverses.find(order); known != inverses.end() && copy == 0)
    return known->second;
  const Nf count = tensors[order].facts.below.value();
  const TensorId id = inverse(order, count, "inverse " + std::to_string(copy));
  if (copy == 0) inverses[order] = id;
  return id;
}

/// The same among the first `count`, for an order that is read only at indices that are among
/// these.
TensorId Engine::place_among(TensorId order, Nf count) {
  return inverse(order, count, "place among " + std::to_string(count.id));
}

bool Engine::is_order(AtomId a, const std::string& name) const {
  const TensorInfo* t = derived(a);
  return t && t->op == Op::symbol && t->name == name;
}

/// Whether the atom is an order at v, of a row that is the same for all v.
bool Engine::orders_at(AtomId a, const std::string& name, VarId v) {
  return is_order(a, name) && atoms[a].args.at(1) == var(v) && !mentions(atoms[a].args[0], v);
}

bool Engine::permutes(AtomId a, VarId v) {
  return (orders_at(a, "argsort", v) || orders_at(a, "argsort^-1", v)) &&
         tensors[atoms[a].ref].facts.below == vars[v].range;
}

/// order[places[i]] = i for an index i, and the same the other way round. `args`: the row, then i.
std::optional<Nf> Engine::there_and_back(TensorId id, const std::vector<Nf>& args) {
  if (inverses.empty()) return std::nullopt;
  const auto only = single_atom(args[1]);
  if (!only || atoms[*only].kind != AtomKind::app) return std::nullopt;
  const Atom& inside = atoms[*only];
  if (inside.args.size() != 2) return std::nullopt;
  if (inside.args[0] != args[0] && fault != Fault::other_order) return std::nullopt;
  const auto inverts = [&](TensorId a, TensorId b) {
    const auto found = inverses.find(a);
    return found != inverses.end() && found->second == b;
  };
  if (!inverts(id, inside.ref) && !inverts(inside.ref, id)) return std::nullopt;
  const Nf index = inside.args[1], last = sub(tensors[id].facts.below.value(), one);
  const bool has_place = at_least(index, 0) && at_least(sub(last, index), 0);
  if (!has_place && tensors[id].name != "top_k" && fault != Fault::no_place) return std::nullopt;
  return index;
}

/// The order of a permutation is its inverse.
std::optional<Nf> Engine::order_of_order(TensorId id, const std::vector<Nf>& args) {
  if (tensors[id].name != "argsort") return std::nullopt;
  VarSet digits;
  const auto row = row_of(args, &digits);
  if (!row) return std::nullopt;
  Nf index = zero, size = one;
  for (VarId v : digits)
    index = add(mul(index, vars[v].range), var(v)), size = mul(size, vars[v].range);
  const auto only = single_atom(*row);
  if (!only || !(is_order(*only, "argsort") || is_order(*only, "argsort^-1"))) return std::nullopt;
  const Atom& inside = atoms[*only];
  if (inside.args[1] != index || mentions_any(free_of(inside.args[0]), digits) ||
      tensors[inside.ref].facts.below != size)
    return std::nullopt;
  return app(inverse_of(inside.ref, 0), {inside.args[0], args[1]});
}

std::optional<Nf> Engine::of_permutation(TensorId id, const std::vector<Nf>& args) {
  orders = orders || tensors[id].name == "argsort";
  if (args.size() != 2) return std::nullopt;
  if (const auto index = there_and_back(id, args)) return index;
  return order_of_order(id, args);
}

/// Sum_v [order[v] = e] f(v) = [0 <= e < n] f(places[e]).
std::optional<Nf> Engine::at_place(const VarSet& bound, const Mono& m, Rational coef) {
  if (!orders) return std::nullopt;
  for (size_t i = 0; i < m.size(); ++i) {
    if (atoms[m[i].atom].kind != AtomKind::eq0 || !m[i].exponent.is_one()) continue;
    const Nf e = atoms[m[i].atom].args[0];
    for (const Term& t : terms(e)) {
      const Mono& alone = factors(t.mono);
      if (alone.size() != 1 || !alone[0].exponent.is_one()) continue;
      const AtomId order = alone[0].atom;
      for (VarId v : bound) {
        if (!permutes(order, v)) continue;
        const Nf value = sub(of_atom(order), scale(e, Rational(1) / t.coef));
        if (mentions(value, v) || !integer(value)) continue;
        const Nf n = vars[v].range, last = add(sub(value, n), one);
        const Nf inside = mul(le0(scale(value, -1)), le0(last));
        const Nf place = app(inverse_of(atoms[order].ref, 0), {atoms[order].args[0], value});
        const Nf rest = substitute(fix(without(m, i), coef), {{v, place}});
        return sum(set_minus(bound, {v}), mul(inside, rest));
      }
    }
  }
  return std::nullopt;
}

/// Sum_v f(order[v]) = Sum_v f(v), if f has v nowhere else: then f(order[places[v]]) has no
/// `places`, so that it is the same for each name of them.
std::optional<Nf> Engine::in_any_order(const VarSet& bound, const Mono& m, Rational coef) {
  if (!orders) return std::nullopt;
  for (VarId v : bound) {
    const Nf body = fix(m, coef);
    for (const char* name : {"argsort", "argsort^-1"})
      for (AtomId order : orders_of(body, name, v)) {
        if (!permutes(order, v)) continue;
        const Atom& a = atoms[order];
        const auto reordered = [&](int copy) {
          return substitute(body, {{v, app(inverse_of(a.ref, copy), a.args)}});
        };
        if (const Nf found = reordered(0); found == reordered(1)) return sum(bound, found);
      }
  }
  return std::nullopt;
}

}  // namespace shardproof::algebra
