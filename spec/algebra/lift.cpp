// Lambda lifting: a bound sum or max, or the argument of a function, becomes D[args], where D has a
// stored definition.
#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// D[params] for op_{binders} body. For `lambda` the order of the binders is part of the meaning.
Nf Engine::lift(Op op, const VarSet& binders, Nf body) {
  Key key(binders.begin(), binders.end());
  key.insert(key.end(), {body.id, static_cast<uint64_t>(op)});
  if (auto it = lift_cache.find(key); it != lift_cache.end()) return it->second;
  tick(4);
  VarSet sorted = binders;
  std::sort(sorted.begin(), sorted.end());
  Order order = canonical(op, set_minus(free_of(body), sorted), binders, body);
  note_same_sign(body, order.body);  // the same but for the names of variables
  const TensorId id = derived_tensor(op, order);
  std::vector<Nf> args;
  for (VarId v : order.params) args.push_back(var(v));
  Nf result = of_atom(atom({AtomKind::app, id, least_arguments(id, std::move(args))}));
  lift_cache.emplace(std::move(key), result);
  return result;
}

TensorId Engine::derived_tensor(Op op, const Order& order) {
  Key key{static_cast<uint64_t>(op), order.body.id, order.params.size()};
  for (const VarSet* slots : {&order.params, &order.binders})
    for (VarId v : *slots) key.push_back(vars[v].range.id);
  const auto next = static_cast<TensorId>(tensors.size());
  const auto [known, fresh] = derived_ids.try_emplace(std::move(key), next);
  if (!fresh) return known->second;
  TensorInfo t;
  t.op = op;
  t.body = order.body;
  for (VarId v : order.params) t.ranges.push_back(vars[v].range);
  for (VarId v : order.binders) t.binders.push_back(vars[v].range), t.hints.push_back(vars[v].hint);
  for (const VarSet& other : order.symmetric) {
    std::vector<uint32_t> permutation;
    for (VarId v : other)
      permutation.push_back(static_cast<uint32_t>(
          std::find(order.params.begin(), order.params.end(), v) - order.params.begin()));
    t.symmetries.push_back(permutation);
  }
  tensors.push_back(std::move(t));
  return next;
}

/// If D(i,j) = D(j,i): the least of the argument orders with the same value.
std::vector<Nf> Engine::least_arguments(TensorId id, std::vector<Nf> args) const {
  std::vector<Nf> least = args;
  for (const auto& permutation : tensors[id].symmetries) {
    std::vector<Nf> other;
    for (uint32_t i : permutation) other.push_back(args[i]);
    if (other < least) least = other;
  }
  return least;
}

/// T[args]. A derived tensor is kept only for distinct variables with the ranges of its parameters.
/// Otherwise it is opened and rebuilt, so that D(j,j) equals a tensor built directly.
Nf Engine::app(TensorId id, std::vector<Nf> args) {
  const Op op = tensors[id].op;
  if (is_leaf(op)) {
    for (Nf& arg : args) arg = strip_iota(arg);
    if (op == Op::symbol)
      if (const auto known = of_permutation(id, args)) return *known;
    return of_atom(atom({AtomKind::app, id, std::move(args)}));
  }
  bool independent = true;
  VarSet seen;
  for (size_t i = 0; i < args.size(); ++i) {
    const Poly& p = terms(args[i]);
    bool is_var = p.size() == 1 && p[0].coef.is_one() && factors(p[0].mono).size() == 1 &&
                  factors(p[0].mono)[0].exponent.is_one() &&
                  atoms[factors(p[0].mono)[0].atom].kind == AtomKind::var;
    VarId v = is_var ? atoms[factors(p[0].mono)[0].atom].ref : 0;
    independent =
        independent && is_var && !contains(seen, v) && vars[v].range == tensors[id].ranges[i];
    seen.push_back(v);
  }
  if (independent || fault == Fault::capture)
    return of_atom(atom({AtomKind::app, id, least_arguments(id, std::move(args))}));
  VarSet avoid, binders;
  for (Nf arg : args) avoid = set_union(avoid, free_of(arg));
  Nf body = open(id, args, avoid, &binders);
  return rebuild(op, binders, body);
}

/// The body of D at args; its binders become scratch variables that are not in `avoid`.
Nf Engine::open(TensorId id, const std::vector<Nf>& args, const VarSet& avoid, VarSet* binders) {
  const TensorInfo& t = tensors[id];
  Map map;
  VarSet taken = avoid;
  for (size_t i = 0; i < t.ranges.size(); ++i)
    map.push_back({slot(VarInfo::param, static_cast<uint32_t>(i), t.ranges[i]), args[i]});
  for (size_t i = 0; i < t.binders.size(); ++i) {
    VarId v = scratch(t.binders[i], taken);
    taken.push_back(v);
    if (binders != nullptr) binders->push_back(v);
    map.push_back({slot(VarInfo::binder, static_cast<uint32_t>(i), t.binders[i]), var(v)});
  }
  std::sort(map.begin(), map.end());
  return substitute(t.body, map);
}

/// op_{binders} body, built by the normalising constructors.
Nf Engine::rebuild(Op op, const VarSet& binders, Nf body) {
  switch (op) {
    case Op::sum:
      return sum(binders, body);
    case Op::max:
      return max(binders, body);
    case Op::exp:
      return exp(body);
    case Op::log:
      return log(body);
    case Op::sigmoid:
      return sigmoid(body);
    case Op::erf:
      return odd_even(op, body, true);
    case Op::sin:
    case Op::cos:
      return turning(op, body);
    case Op::floor:
      return floor(body);
    case Op::step:
      return step(body);
    case Op::poly:
      return body;
    case Op::sealed:
      return seal(body);
    case Op::leaf:
    case Op::iota:
    case Op::symbol:
    case Op::lambda:
      break;
  }
  return lift(op, binders, body);
}

}  // namespace shardproof::algebra
