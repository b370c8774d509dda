// Makes terms anew from the inside, with what is replaced in them.
#pragma once

#include <algorithm>
#include <functional>

#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// Terms with other leaves, or with other bodies of their functions and sums, in normal form.
struct Rebuilding {
  Engine& g;
  std::unordered_map<TensorId, TensorId> names = {};     ///< of leaves
  std::function<Nf(Nf)> other = [](Nf e) { return e; };  ///< another form of a body
  std::function<Nf(VarSet&, Nf)> other_sum = nullptr;    ///< other indices of a sum, and its body
  std::unordered_map<uint32_t, Nf> terms = {};
  std::unordered_map<AtomId, Nf> atoms = {};
  std::unordered_map<TensorId, Nf> bodies = {};
  std::unordered_map<TensorId, Nf> tensors = {};

  Nf of(Nf e) {
    if (auto it = terms.find(e.id); it != terms.end()) return it->second;
    Nf result = g.zero;
    bool changed = false;
    Poly kept;
    for (const Term& t : g.terms(e)) {
      Nf rest = g.one;
      Mono simple;
      bool same = true;
      for (const Factor& f : g.factors(t.mono)) {
        const Nf image = of_atom(f.atom);
        const bool own = image == g.of_atom(f.atom);
        same = same && own;
        if (own)
          simple.push_back(f);
        else
          rest = g.mul(rest, g.pow(image, f.exponent));
      }
      if (same) {
        kept.push_back(t);
        continue;
      }
      changed = true;
      result = g.add(result, g.mul(g.fix(std::move(simple), t.coef), rest));
    }
    result = changed ? g.add(result, g.add_all(std::move(kept))) : e;
    return terms[e.id] = result;
  }

  Nf of_atom(AtomId a) {
    if (auto it = atoms.find(a); it != atoms.end()) return it->second;
    const Nf result = made_anew(a);
    return atoms[a] = result;
  }

  Nf made_anew(AtomId a) {
    const Atom& atom = g.atoms[a];
    std::vector<Nf> args;
    for (Nf arg : atom.args) args.push_back(of(arg));
    switch (atom.kind) {
      case AtomKind::size:
      case AtomKind::prime:
      case AtomKind::var:
        return g.of_atom(a);
      case AtomKind::eq0:
        return args == atom.args ? g.of_atom(a) : g.eq0(args[0]);
      case AtomKind::le0:
        return args == atom.args ? g.of_atom(a) : g.le0(args[0]);
      case AtomKind::app:
        break;
    }
    const TensorId tensor = atom.ref;
    const Op op = g.tensors[tensor].op;
    if (const auto found = names.find(tensor); found != names.end())
      return g.app(found->second, std::move(args));
    const bool derived = !is_leaf(op);
    const bool again = op == Op::sum && other_sum;
    if (derived && (again || !(body(tensor) == g.tensors[tensor].body)))
      return at(of_tensor(tensor), tensor, args);
    if (args == atom.args) return g.of_atom(a);
    return op == Op::iota ? g.iota(args[0]) : g.app(tensor, std::move(args));
  }

  Nf body(TensorId tensor) {
    if (auto it = bodies.find(tensor); it != bodies.end()) return it->second;
    const Nf result = other(of(g.tensors[tensor].body));
    return bodies[tensor] = result;
  }

  /// The tensor with its new body, applied to its parameters.
  Nf of_tensor(TensorId id) {
    if (auto it = tensors.find(id); it != tensors.end()) return it->second;
    const TensorInfo& t = g.tensors[id];
    Map map;
    VarSet binders, taken = g.free_of(body(id));
    for (size_t i = 0; i < t.binders.size(); ++i) {
      const VarId v = g.scratch(t.binders[i], taken);
      taken.push_back(v), binders.push_back(v);
      map.push_back({g.slot(VarInfo::binder, static_cast<uint32_t>(i), t.binders[i]), g.var(v)});
    }
    std::sort(map.begin(), map.end());
    Nf made = g.substitute(body(id), map);
    if (t.op == Op::sum && other_sum) made = other_sum(binders, made);
    const Nf result = g.rebuild(t.op, binders, made);
    return tensors[id] = result;
  }
  Nf at(Nf made, TensorId id, const std::vector<Nf>& args) {
    Map map;
    for (size_t i = 0; i < args.size(); ++i)
      map.push_back(
          {g.slot(VarInfo::param, static_cast<uint32_t>(i), g.tensors[id].ranges[i]), args[i]});
    std::sort(map.begin(), map.end());
    return g.substitute(made, map);
  }
};

}  // namespace shardproof::algebra
