#include "spec/lower/follow.h"

#include <algorithm>
#include <unordered_set>

#include "spec/algebra/engine.h"

namespace shardproof::lower {

namespace {

const size_t most_loops = 16, most_terms = 64;

/// The terms in a value that index a dim of this range. They are in range: that was proved or
/// assumed where they were made.
struct IndexTerms {
  algebra::Engine& g;
  const Nf range;
  std::vector<Nf> found = {};
  std::unordered_set<uint32_t> seen = {};  // values that many others share are read once

  void of(Nf e) {
    if (!seen.insert(e.id).second) return;
    for (const algebra::Term& t : g.terms(e))
      for (const algebra::Factor& f : g.factors(t.mono)) {
        const algebra::Atom& atom = g.atoms[f.atom];
        for (Nf arg : atom.args) of(arg);
        if (atom.kind != algebra::AtomKind::app) continue;
        const algebra::TensorInfo& tensor = g.tensors[atom.ref];
        if (tensor.op != algebra::Op::leaf) {
          of(tensor.body);
          continue;
        }
        for (size_t i = 0; i < tensor.ranges.size(); ++i)
          if (tensor.ranges[i] == range) add(atom.args.at(i));
      }
  }
  /// What `part` has as an argument where `whole`, the same results of earlier loops, has the
  /// index.
  void in_place_of(Var index, Nf whole, Nf part) {
    for (const algebra::Term& t : g.terms(whole))
      for (const algebra::Factor& f : g.factors(t.mono))
        for (const algebra::Term& u : g.terms(part))
          for (const algebra::Factor& h : g.factors(u.mono))
            in_place_of(g.var(index.id), g.atoms[f.atom], g.atoms[h.atom]);
  }
  void in_place_of(Nf index, const algebra::Atom& whole, const algebra::Atom& part) {
    if (whole.kind != algebra::AtomKind::app || part.kind != algebra::AtomKind::app ||
        whole.ref != part.ref || g.tensors[whole.ref].op != algebra::Op::symbol)
      return;
    for (size_t i = 0; i < whole.args.size(); ++i)
      if (whole.args[i] == index) add(part.args.at(i));
  }
  void add(Nf e) {
    const bool known = std::any_of(found.begin(), found.end(), [&](Nf each) { return each == e; });
    if (!known && found.size() < most_terms) found.push_back(e);
  }
};

/// The earlier carry with its extra index, which the later carry lacks, set to a fixed term.
struct Entry {
  const PastLoop::Carry* carry;
  std::vector<std::pair<Var, Nf>> at;
};

struct Search {
  Context& c;
  const Following& loop;

  bool speaks_of_others(Nf index, const Vars& own) {
    for (Var v : c.a.variables(index))
      if (!lower::contains(own, v)) return true;
    return c.mentions_carry(index);
  }
  std::optional<Entry> entry(const PastLoop::Carry& carry, const TensorExpr& start) {
    const Vars missing = without(carry.start.index, start.index);
    if (missing.size() != 1) return std::nullopt;
    IndexTerms terms{c.a.engine(), c.a.range(missing[0])};
    terms.in_place_of(missing[0], carry.start.body, start.body);
    terms.of(start.body);
    for (Nf index : terms.found) {
      if (speaks_of_others(index, start.index)) continue;
      Entry result{&carry, {{missing[0], index}}};
      if (c.a.substitute(carry.start.body, result.at) == start.body) return result;
    }
    return std::nullopt;
  }
  Nf of(const TensorExpr& tensor, const Entry& entry) {
    return c.a.substitute(tensor.body, entry.at);
  }

  std::map<size_t, Entry> entries_of(const PastLoop& past, const std::vector<size_t>& carries) {
    std::map<size_t, Entry> result;
    for (size_t i : carries)
      for (const PastLoop::Carry& carry : past.carries)
        if (auto found = entry(carry, loop.starts[i])) {
          result.emplace(i, *found);
          break;
        }
    return result;
  }
  /// Keeps the entries that still hold after one step, whatever the other carries are.
  void keep_invariant(std::map<size_t, Entry>& entries) {
    for (bool changed = true; changed && !entries.empty();) {
      std::vector<TensorExpr> at = loop.leaves;
      for (const auto& [i, entry] : entries) at[i].body = of(entry.carry->at, entry);
      const Iteration step = loop.step(at);
      changed = std::erase_if(entries, [&](const auto& each) {
        const Nf next = of(each.second.carry->next, each.second);
        return algebra::compare(c.a, step.next[each.first].body, next) !=
               algebra::Comparison::equal;
      });
    }
  }
};

}  // namespace

std::vector<std::optional<Follower>> followers(Context& c, const Following& loop,
                                               const std::vector<size_t>& carries) {
  std::vector<std::optional<Follower>> result(loop.starts.size());
  Search search{c, loop};
  const std::vector<PastLoop> all = c.past;  // each step keeps the loops inside it
  for (auto past = all.rbegin(); past != all.rend(); ++past) {
    if (past->n.id != loop.n.id || past->reverse != loop.reverse) continue;
    std::map<size_t, Entry> entries = search.entries_of(*past, carries);
    search.keep_invariant(entries);
    if (entries.empty()) continue;
    for (const auto& [i, entry] : entries)
      result[i] = Follower{{loop.starts[i].index, search.of(entry.carry->at, entry)},
                           {loop.starts[i].index, search.of(entry.carry->last, entry)}};
    break;
  }
  return result;
}

void Context::keep(PastLoop loop) {
  const auto same = [&](const PastLoop& each) {
    return each.n.id == loop.n.id && each.reverse == loop.reverse &&
           each.carries[0].at.body == loop.carries[0].at.body;
  };
  std::erase_if(past, same);
  past.push_back(std::move(loop));
  if (past.size() > most_loops) past.erase(past.begin());
}

}  // namespace shardproof::lower
