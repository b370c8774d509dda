// The tables: interns atoms, monomials and polynomials, and records their free variables.
#include <algorithm>

#include "spec/algebra/engine.h"
#include "spec/algebra/hashing.h"

namespace shardproof::algebra {

VarSet set_union(const VarSet& a, const VarSet& b) {
  VarSet out;
  out.reserve(a.size() + b.size());
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

VarSet set_minus(const VarSet& a, const VarSet& b) {
  VarSet out;
  std::set_difference(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(out));
  return out;
}

Engine::Engine(Budget b, Fault f) : budget(b), fault(f) {
  var_sets.push_back({});
  zero = poly(Poly{});
  one = poly({mono(Mono{}), 1});
}

void Engine::tick(long n) {
  steps += n;
  if (steps > budget.steps) throw BudgetExceeded("algebra: step budget exceeded");
  if (static_cast<long>(atoms.size() + monos.size() + polys.size() + maps.size()) > budget.nodes)
    throw BudgetExceeded("algebra: node budget exceeded");
}

const VarSet* Engine::united(const VarSet* a, const VarSet* b) {
  const auto has_all = [](const VarSet& set, const VarSet& of) {
    return std::includes(set.begin(), set.end(), of.begin(), of.end());
  };
  if (a == b || has_all(*a, *b)) return a;
  if (has_all(*b, *a)) return b;
  var_sets.push_back(set_union(*a, *b));
  return &var_sets[var_sets.size() - 1];
}

// The tables have one length each time that a tick ends the budget.
AtomId Engine::atom(const Atom& a) {
  auto [id, fresh] = atoms.intern(a);
  if (fresh) {
    const VarSet* free = &var_sets[0];
    if (a.kind == AtomKind::var) {
      var_sets.push_back({a.ref});
      free = &var_sets[var_sets.size() - 1];
    }
    for (Nf arg : a.args) free = united(free, &free_of(arg));
    atom_vars.sets.push_back(free);
    tick();
  }
  return id;
}

MonoId Engine::mono(std::span<const Factor> m) {
  constexpr long most = 16;  // of a longer one each step reads every factor
  if (const long length = static_cast<long>(m.size()); length > most) tick(length);
  auto [id, fresh] = monos.intern(m);
  if (fresh) {
    const VarSet* free = &var_sets[0];
    for (const Factor& f : m) free = united(free, &atom_vars[f.atom]);
    mono_vars.sets.push_back(free);
    tick();
  }
  return id;
}

Nf Engine::poly(std::span<const Term> p) {
  auto [id, fresh] = polys.intern(p);
  if (fresh) {
    const VarSet* free = &var_sets[0];
    for (const Term& t : p) free = united(free, &mono_vars[t.mono]);
    poly_vars.sets.push_back(free);
    tick(1 + static_cast<long>(p.size()));
  }
  return {id};
}

bool Engine::mentions(Nf e, VarId v) const {
  const VarSet& free = free_of(e);
  return std::binary_search(free.begin(), free.end(), v);
}

bool Engine::mentions_any(const VarSet& have, const VarSet& wanted) const {
  for (VarId v : wanted)
    if (std::binary_search(have.begin(), have.end(), v)) return true;
  return false;
}

VarId Engine::slot(VarInfo::Kind kind, uint32_t index, Nf range) {
  auto [it, fresh] = slots.try_emplace({kind, index, range.id}, static_cast<VarId>(vars.size()));
  if (fresh) {
    const char* prefix = kind == VarInfo::param ? "$" : kind == VarInfo::binder ? "#" : "u";
    std::string hint = prefix + std::to_string(index);
    if (kind == VarInfo::scratch && is_single(range) && factors(terms(range)[0].mono).size() == 1)
      if (const Atom& size = atoms[factors(terms(range)[0].mono)[0].atom];
          size.kind == AtomKind::size)  // sizes: two variables must not print alike
        hint = sizes[size.ref] + "'" + (index == 0 ? "" : std::to_string(index + 1));
    vars.push_back({kind, index, range, std::move(hint)});
  }
  return it->second;
}

VarId Engine::scratch(Nf range, const VarSet& avoid) {
  for (uint32_t i = 0;; ++i) {
    VarId v = slot(VarInfo::scratch, i, range);
    if (!contains(avoid, v)) return v;
  }
}

TensorId Engine::tensor(TensorInfo t, const std::string& key) {
  auto [it, fresh] = tensor_ids.try_emplace(key, static_cast<TensorId>(tensors.size()));
  if (fresh) tensors.push_back(std::move(t));
  return it->second;
}

Nf Engine::monomial(MonoId m, Rational coef) {
  if (coef.is_zero()) return zero;
  return poly({m, coef});
}

Nf Engine::atom_power(AtomId a, Rational exponent) { return monomial(mono({a, exponent}), 1); }

}  // namespace shardproof::algebra
