// The public interface: each call is one constructor of the engine.
#include "spec/algebra/algebra.h"

#include <algorithm>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

namespace {

VarSet ids(const std::vector<Var>& vars) {
  VarSet out;
  for (Var v : vars) out.push_back(v.id);
  return out;
}

std::string key_of(const std::string& name, const std::vector<Nf>& ranges) {
  std::string key = "leaf " + name;
  for (Nf r : ranges) key += "," + std::to_string(r.id);
  return key;
}

}  // namespace

Algebra::Algebra(Budget budget, Fault fault) : engine_(std::make_unique<Engine>(budget, fault)) {}
Algebra::~Algebra() = default;

Nf Algebra::number(Rational value) { return engine_->number(value); }
Nf Algebra::size(const std::string& name) { return engine_->size(name); }

Var Algebra::fresh(Nf range, std::string hint) {
  engine_->declare_range(range);
  auto id = static_cast<uint32_t>(engine_->vars.size());
  engine_->vars.push_back({VarInfo::free, 0, range, std::move(hint)});
  return {id};
}

Nf Algebra::var(Var v) { return engine_->var(v.id); }
Nf Algebra::range(Var v) const { return engine_->vars[v.id].range; }

Leaf Algebra::leaf(const std::string& name, const std::vector<Nf>& ranges, const LeafFacts& facts) {
  for (Nf r : ranges) engine_->declare_range(r);
  TensorInfo t;
  t.op = Op::leaf, t.name = name, t.ranges = ranges, t.facts = facts;
  return {engine_->tensor(std::move(t), key_of(name, ranges))};
}

Nf Algebra::at(Leaf tensor, const std::vector<Nf>& index) { return engine_->app(tensor.id, index); }
Nf Algebra::iota(Nf index) { return engine_->iota(index); }
Nf Algebra::minus_infinity() { return engine_->of_atom(engine_->minus_infinity()); }

Nf Algebra::add(Nf a, Nf b) { return engine_->gather_iota(engine_->add(a, b)); }
Nf Algebra::sub(Nf a, Nf b) { return engine_->gather_iota(engine_->sub(a, b)); }
Nf Algebra::neg(Nf a) { return engine_->scale(a, -1); }
Nf Algebra::mul(Nf a, Nf b) { return engine_->mul(a, b); }
Nf Algebra::div(Nf a, Nf b) { return mul(a, pow(b, -1)); }
Nf Algebra::pow(Nf base, Rational exponent) {
  engine_->oblige_power(base, exponent);
  return engine_->pow(base, exponent);
}

Nf Algebra::power(Nf base, Nf exponent) {
  if (auto n = engine_->as_number(exponent)) return pow(base, *n);
  if (engine_->positive(base)) return engine_->exp(engine_->mul(exponent, engine_->log(base)));
  engine_->oblige_logarithm(base);
  return opaque("power", {}, {base, exponent});
}

Nf Algebra::apply(Fn fn, Nf argument) {
  if (fn == Fn::log && !engine_->positive(argument)) engine_->oblige_logarithm(argument);
  return engine_->apply(fn, argument);
}
Nf Algebra::maximum(Nf a, Nf b) { return engine_->maximum(a, b); }
Nf Algebra::minimum(Nf a, Nf b) { return neg(maximum(neg(b), neg(a))); }
Nf Algebra::floordiv(Nf a, Nf b) {
  engine_->oblige_power(b, -1);
  return engine_->floordiv(a, b);
}
Nf Algebra::mod(Nf a, Nf b) {
  engine_->oblige_power(b, -1);
  return engine_->mod(a, b);
}

Nf Algebra::eq0(Nf e) { return engine_->eq0(e); }
Nf Algebra::le0(Nf e) { return engine_->le0(e); }
Nf Algebra::le0_real(Nf e) { return sub(engine_->one, engine_->step(e)); }
Nf Algebra::lt0_real(Nf e) { return engine_->step(neg(e)); }
Nf Algebra::in_range(Nf index, Nf range) {
  engine_->declare_range(range);
  return mul(le0(neg(index)), le0(add(sub(index, range), engine_->one)));
}
Nf Algebra::where(Nf cond01, Nf a, Nf b) {
  if (const auto extremum = engine_->as_extremum(cond01, a, b)) return *extremum;
  return a == b ? a : add(mul(cond01, a), mul(sub(engine_->one, cond01), b));
}

Nf Algebra::seal(Nf e) { return engine_->seal(e); }
Nf Algebra::sum(const std::vector<Var>& vars, Nf body) { return engine_->sum(ids(vars), body); }
Nf Algebra::max(const std::vector<Var>& vars, Nf body) { return engine_->max(ids(vars), body); }

void Algebra::show_as(const std::string& op, const std::string& name) {
  const auto [at, fresh] = engine_->shown_as.try_emplace(op, name);
  if (!fresh && at->second != name) at->second.clear();
}

Nf Algebra::opaque(const std::string& op, const std::vector<Lambda>& tensors,
                   const std::vector<Nf>& index, const LeafFacts& facts) {
  TensorInfo t;
  t.op = Op::symbol, t.name = op, t.facts = facts;
  std::string key =
      "op " + op + "/" + std::to_string(tensors.size()) + "/" + std::to_string(index.size());
  key += facts.integer ? "i" : "";
  key += facts.positive ? "p" : "";
  key += facts.boolean ? "b" : "";
  key += facts.fraction ? "f" : "";
  if (facts.below) key += "<" + std::to_string(facts.below->id);
  std::vector<Nf> args;
  for (const Lambda& l : tensors) {
    args.push_back(engine_->lift(Op::lambda, ids(l.index), l.body));
    for (Var v : l.index) key += ";" + std::to_string(range(v).id);
  }
  args.insert(args.end(), index.begin(), index.end());
  return engine_->app(engine_->tensor(std::move(t), key), std::move(args));
}

Nf Algebra::substitute(Nf in, const std::vector<std::pair<Var, Nf>>& map) {
  Map inner;
  for (const auto& [v, e] : map) inner.push_back({v.id, e});
  std::sort(inner.begin(), inner.end());
  return engine_->substitute(in, inner);
}

std::vector<Nf> Algebra::rename(const std::vector<Nf>& in,
                                const std::vector<std::pair<Nf, Nf>>& leaves) {
  std::vector<std::pair<TensorId, TensorId>> names;
  const auto tensor = [&](Nf entry) { return engine_->atoms[engine_->only_atom(entry)].ref; };
  for (const auto& [from, to] : leaves) names.emplace_back(tensor(from), tensor(to));
  return engine_->rename(in, names);
}

void Algebra::declare_range(Nf e) { engine_->declare_range(e); }
void Algebra::declare_positive(Nf e) { engine_->declare_positive(e); }
void Algebra::declare_bound(Nf e, bool strict) { engine_->declare_bound(e, strict); }
void Algebra::declare_injective(const std::vector<Leaf>& tensors) {
  std::vector<TensorId> set;
  for (Leaf t : tensors) set.push_back(t.id);
  engine_->injective.push_back(set);
}

bool Algebra::is_zero(Nf e) const { return e == engine_->zero; }
std::optional<Rational> Algebra::as_number(Nf e) const { return engine_->as_number(e); }
bool Algebra::known_positive(Nf e) { return engine_->positive(e); }
bool Algebra::known_nonnegative(Nf e) { return engine_->nonnegative(e); }
bool Algebra::known_integer(Nf e) { return engine_->integer(e); }
std::vector<Var> Algebra::variables(Nf e) const {
  std::vector<Var> out;
  for (VarId v : engine_->free_of(e)) out.push_back({v});
  return out;
}
size_t Algebra::length(Nf e) const { return engine_->terms(e).size(); }
std::vector<Algebra::Obligation> Algebra::obligations() const { return engine_->obligations; }

std::vector<Nf> Algebra::assumed_ranges() const { return engine_->integral_ranges; }

std::string Algebra::show(Nf e) { return engine_->show(e); }
std::string Algebra::show_short(Nf e) {
  constexpr size_t most = 70;
  std::string text;
  for (int depth = 4; depth >= 0; --depth)
    if (text = engine_->show(e, depth); text.size() <= most) return text;
  return text.substr(0, text.find(' ', most / 2)) + " ...";
}
long Algebra::steps() const { return engine_->steps; }
size_t Algebra::nodes() const {
  return engine_->atoms.size() + engine_->monos.size() + engine_->polys.size();
}

}  // namespace shardproof::algebra
