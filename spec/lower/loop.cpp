#include "spec/lower/loop.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "spec/algebra/engine.h"
#include "spec/lower/affine.h"
#include "spec/lower/follow.h"
#include "spec/lower/linear.h"
#include "spec/lower/rescaled.h"

namespace shardproof::lower {

namespace {

/// "carry0.1", "carry~0.1". No parameter can have such a name: a part of a path does not begin with
/// a digit.
bool is_carry(const std::string& name) {
  const size_t point = name.find('.');
  return name.rfind("carry", 0) == 0 && point != std::string::npos && point + 1 < name.size() &&
         std::isdigit(static_cast<unsigned char>(name[point + 1])) != 0;
}

std::string kind_of(Dtype dtype) {
  return dtype == Dtype::boolean ? "?" : is_integer(dtype) ? "#" : dtype == Dtype::key ? "!" : "";
}

/// The leaves of carries that are free in a term, and the numbers of the loops in it.
struct CarryFinder {
  using Found = CarriesIn;
  algebra::Engine& g;
  std::unordered_map<uint32_t, Found>& found;  ///< by term
  inline static const algebra::TensorInfo no_tensor = {};

  /// A list of what is open, no calls: the terms of a long body are nested as deep as it is long.
  const Found& of(Nf e) {
    std::vector<Nf> open{e};
    while (!open.empty()) {
      const Nf last = open.back();
      const size_t before = open.size();
      if (!found.contains(last.id)) open_parts(last, &open);
      if (open.size() > before) continue;
      open.pop_back();
      if (found.contains(last.id)) continue;
      Found all;
      for (const algebra::Term& t : g.terms(last))
        for (const algebra::Factor& f : g.factors(t.mono)) add(g.atoms[f.atom], &all);
      found[last.id] = std::move(all);
    }
    return found.at(e.id);
  }
  void open_parts(Nf e, std::vector<Nf>* open) const {
    const auto look = [&](Nf part) {
      if (!found.contains(part.id)) open->push_back(part);
    };
    for (const algebra::Term& t : g.terms(e))
      for (const algebra::Factor& f : g.factors(t.mono)) {
        const algebra::Atom& atom = g.atoms[f.atom];
        if (const algebra::TensorInfo* tensor = body_of(atom)) look(tensor->body);
        for (const Nf arg : atom.args) look(arg);
      }
  }
  const algebra::TensorInfo* body_of(const algebra::Atom& atom) const {
    if (atom.kind != algebra::AtomKind::app) return nullptr;
    const algebra::TensorInfo& tensor = g.tensors[atom.ref];
    return tensor.op == algebra::Op::leaf ? nullptr : &tensor;
  }
  /// The parts of the atom are found.
  void add(const algebra::Atom& atom, Found* all) const {
    const bool app = atom.kind == algebra::AtomKind::app;
    const algebra::TensorInfo& tensor = app ? g.tensors[atom.ref] : no_tensor;
    if (app && tensor.op == algebra::Op::leaf && is_carry(tensor.name)) {
      all->leaves.insert(tensor.name);
    } else if (app && tensor.op == algebra::Op::symbol) {
      all->scans = std::max(all->scans, number_after("scan@", tensor.name));
    }
    if (body_of(atom)) join(found.at(tensor.body.id), all);
    Found inside;
    for (const Nf arg : atom.args) join(found.at(arg.id), &inside);
    if (const int bound = app ? number_after("scan@", tensor.name) : -1; bound >= 0) {
      const Name prefix = "carry" + std::to_string(bound) + ".";
      std::erase_if(inside.leaves, [&](const Name& each) { return each.rfind(prefix, 0) == 0; });
    }
    join(inside, all);
  }
  /// The least loop number above all numbers in the term, except those of its `own` leaves.
  int above(Nf e, const std::vector<Name>& own) {
    const Found& in = of(e);
    int number = in.scans;
    for (const Name& name : in.leaves)
      if (std::find(own.begin(), own.end(), name) == own.end())
        number = std::max(number, number_after("carry", name));
    return number + 1;
  }
  static int number_after(const std::string& word, const std::string& name) {
    const bool numbered =
        name.rfind(word, 0) == 0 && std::isdigit(static_cast<unsigned char>(name[word.size()]));
    return numbered ? std::stoi(name.substr(word.size())) : -1;
  }
  static void join(const Found& more, Found* all) {
    all->leaves.insert(more.leaves.begin(), more.leaves.end());
    all->scans = std::max(all->scans, more.scans);
  }
};

enum class Role { stack, constant, sum, product, extremum, decay, dead };

struct Lowering {
  Context& c;
  const LoopText& text;
  const size_t count;
  const Var n;
  CarryFinder finder;
  /// Names the bound variables: a stack is bound by "scan@number", and its leaves are
  /// "carry<number>.0" and so on. The number exceeds that of every loop in the body, so no inner
  /// loop captures them. Depth would not do: a body may read the result of an earlier loop at an
  /// index that is a carry.
  int number = 0;
  std::vector<Role> role = {};
  std::vector<bool> first = {};  // sums and maxima that other carries read; computed before those
  std::vector<std::optional<Extremum>> extrema = {};
  std::vector<std::optional<Nf>> factors = {};  // of products
  struct Decay {
    Nf more;
    Weights weights;
  };
  std::vector<std::optional<Decay>> decays = {};
  std::vector<size_t> stacks = {};      // carries that are stacks, in order
  std::set<size_t> linear = {};         // stacks in which the step is linear, jointly
  Vars apart = {};                      // indices along which the stacks are independent
  std::vector<TensorExpr> leaves = {};  // those of the last call of step
  Iteration at_leaves = {};
  std::vector<std::optional<Follower>> follows = {};
  std::vector<TensorExpr> at_n = {};  // the carries at step n
  Iteration at_step = {};
  std::map<size_t, std::vector<size_t>> reads = {};  // `read_by`, of the stacks' final names

  Nf one() { return c.a.number(1); }
  std::string label(size_t number, size_t carry) const {
    return std::to_string(number) + kind_of(text.carries[carry].dtype);
  }
  /// A carry's name during the analysis: the final one if no scan in the body can bind it, else one
  /// that no scan ever binds.
  Name first_name(size_t carry) const {
    return text.fresh ? "carry" + std::to_string(*text.fresh) + "." + label(carry, carry)
                      : "carry~" + std::to_string(text.depth) + "." + label(carry, carry);
  }
  Name stack_name(size_t position, size_t carry) const {
    return "carry" + std::to_string(number) + "." + label(position, carry);
  }
  TensorExpr leaf(const Name& name, size_t carry) {
    return c.leaf(name, text.carries[carry].index, text.carries[carry].dtype);
  }
  bool depends(const TensorExpr& t, const TensorExpr& leaf) {
    const std::set<Name>& inside = finder.of(t.body).leaves;
    for (const Name& name : finder.of(leaf.body).leaves)
      if (inside.count(name)) return true;
    return false;
  }
  bool free_of_carries(const TensorExpr& t) {
    for (size_t i = 0; i < count; ++i)
      if (role[i] != Role::constant && depends(t, leaves[i])) return false;
    return true;
  }
  Nf increment(const Iteration& step, size_t i, const TensorExpr& value) {
    return c.a.sub(step.next[i].body, value.body);
  }

  void first_look() {
    for (size_t i = 0; i < count; ++i) leaves.push_back(leaf(first_name(i), i));
    at_leaves = text.step(leaves);
    role.assign(count, Role::dead);
    first.assign(count, false);
    extrema.assign(count, std::nullopt);
    factors.assign(count, std::nullopt);
    decays.assign(count, std::nullopt);
    for (size_t i = 0; i < count; ++i)
      if (text.carries[i].needed || used(at_leaves.emit, leaves[i])) reach(i);
    for (size_t i = 0; i < count; ++i) classify(i);
    for (size_t i = 0; i < count; ++i)
      if (role[i] == Role::stack) stacks.push_back(i);
  }
  bool used(const std::vector<TensorExpr>& by, const TensorExpr& leaf) {
    return std::any_of(by.begin(), by.end(), [&](const TensorExpr& t) { return depends(t, leaf); });
  }
  void reach(size_t i) {
    if (role[i] != Role::dead) return;
    role[i] = Role::stack;
    for (size_t k = 0; k < count; ++k)
      if (depends(at_leaves.next[i], leaves[k])) reach(k);
  }
  void classify(size_t i) {
    if (role[i] != Role::stack) return;
    const Nf more = increment(at_leaves, i, leaves[i]);
    if (c.a.is_zero(more)) role[i] = Role::constant;
    if (c.a.is_zero(more)) return;
    bool read = false;
    for (size_t k = 0; k < count; ++k)
      read = read || (k != i && role[k] != Role::dead && depends(at_leaves.next[k], leaves[i]));
    const bool by_itself = std::none_of(leaves.begin(), leaves.end(), [&](const TensorExpr& leaf) {
      return depends({{}, more}, leaf);
    });
    if (read ? by_itself : !depends({{}, more}, leaves[i])) role[i] = Role::sum;
    if ((extrema[i] = extremum(i))) role[i] = Role::extremum;
    if (role[i] == Role::stack && (factors[i] = factor(i))) role[i] = Role::product;
    // Where a weight is 0, the sum is no value of the carry at the first step.
    if (role[i] == Role::stack && (decays[i] = decay(i, leaves)) &&
        c.a.known_positive(decays[i]->weights.first))
      role[i] = Role::decay;
    first[i] = read && role[i] != Role::stack;
  }
  /// Only if the compared value depends on no carry.
  std::optional<Extremum> extremum(size_t i) {
    const auto found = extremum_with(c.a, at_leaves.next[i].body, leaves[i].body);
    for (const TensorExpr& leaf : leaves)
      if (found && depends({{}, found->rest}, leaf)) return std::nullopt;
    return found;
  }

  /// f, if the next value is the carry times f, and f depends on no carry.
  std::optional<Nf> factor(size_t i) {
    algebra::Engine& g = c.a.engine();
    if (!kind_of(text.carries[i].dtype).empty()) return std::nullopt;
    const algebra::AtomId own = g.only_atom(leaves[i].body);
    Nf factor = g.zero;
    for (const algebra::Term& t : g.terms(at_leaves.next[i].body)) {
      algebra::Mono rest;
      for (const algebra::Factor& f : g.factors(t.mono))
        if (f.atom != own || f.exponent != algebra::Rational(1)) rest.push_back(f);
      if (rest.size() == g.factors(t.mono).size()) return std::nullopt;
      factor = g.add(factor, g.fix(rest, t.coef));
    }
    const bool alone = std::none_of(leaves.begin(), leaves.end(), [&](const TensorExpr& leaf) {
      return depends({{}, factor}, leaf);
    });
    return alone ? std::optional(factor) : std::nullopt;
  }

  /// `unknown`: the carries that are no closed form yet.
  std::optional<Decay> decay(size_t i, const std::vector<TensorExpr>& unknown) {
    if (!c.options.decays || !kind_of(text.carries[i].dtype).empty()) return std::nullopt;
    const auto step = affine_in(c.a.engine(), at_leaves.next[i].body, leaves[i].body);
    if (!step) return std::nullopt;
    for (const TensorExpr& leaf : unknown)
      if (depends({{}, step->factor}, leaf) || depends({{}, step->more}, leaf)) return std::nullopt;
    const Nf last = c.a.sub(c.a.range(n), one()), here = c.a.var(n), zero = c.a.number(0);
    const Steps steps{n,
                      text.reverse ? last : zero,
                      text.reverse ? zero : last,
                      text.reverse ? c.a.sub(here, one()) : c.a.add(here, one()),
                      count_of(here),
                      [&](Nf e) {
                        const Var step = earlier_step();
                        const Nf earlier = c.a.substitute(e, {{n, c.a.var(step)}});
                        return c.a.sum({step}, c.a.mul(earlier, before(step)));
                      }};
    const auto weights = weights_of(c.a, step->factor, steps);
    return weights ? std::optional(Decay{step->more, *weights}) : std::nullopt;
  }

  Vars without_apart(Vars index) const {
    std::erase_if(index, [&](Var v) {
      return std::any_of(apart.begin(), apart.end(), [&](Var each) { return each.id == v.id; });
    });
    return index;
  }
  static bool has(const Vars& index, Var v) {
    return std::any_of(index.begin(), index.end(), [&](Var each) { return each.id == v.id; });
  }

  /// Finds indices along which the stacks are independent: entry a of every next value depends on
  /// entries a alone. Then it does not change if entry a replaces all entries.
  void find_apart() {
    if (!c.options.entries_apart || stacks.empty()) return;
    for (Var v : text.carries[stacks[0]].index) {
      const bool common = std::all_of(stacks.begin(), stacks.end(),
                                      [&](size_t i) { return has(text.carries[i].index, v); });
      if (common && is_apart(v)) apart.push_back(v);
    }
  }
  bool is_apart(Var v) {
    const Var a = c.loop_index(
        std::to_string(text.depth) + " " + to_string(text.dim) + "\" " + std::to_string(v.id),
        c.a.range(v));
    const auto at_a = [&](Nf e) { return c.a.substitute(e, {{v, c.a.var(a)}}); };
    std::vector<TensorExpr> everywhere = leaves;
    for (size_t i : stacks) everywhere[i].body = at_a(leaves[i].body);
    const Iteration step = text.step(everywhere);
    return std::all_of(stacks.begin(), stacks.end(), [&](size_t i) {
      return at_a(step.next[i].body).id == at_a(at_leaves.next[i].body).id;
    });
  }

  /// What orders carries by their initial values.
  std::vector<uint32_t> start_key(size_t i) {
    const Nf init = text.carries[i].init.body;
    const Nf own = c.a.div(init, common_size(c.a.engine(), {init}));
    std::vector<uint32_t> result = {own.id, init.id};
    for (Var v : text.carries[i].init.index) result.push_back(c.a.range(v).id);
    return result;
  }
  /// Sorts by initial value, so that two loops with the same carries in different order are equal.
  void order_stacks() {
    std::stable_sort(stacks.begin(), stacks.end(),
                     [&](size_t i, size_t k) { return start_key(i) < start_key(k); });
  }
  /// Stacks that begin alike are ordered by their steps: of all orders the one whose bodies, under
  /// the names that it gives, come first. Both programs have the same orders to choose from.
  void order_alike() {
    constexpr size_t most = 24;
    std::vector<std::pair<size_t, size_t>> groups;  // begin and end in `stacks`
    size_t orders = 1;
    for (size_t begin = 0, end = 0; begin < stacks.size(); begin = end) {
      const auto key = start_key(stacks[begin]);
      for (end = begin + 1; end < stacks.size() && start_key(stacks[end]) == key;) {
        ++end;
        if ((orders *= end - begin) > most) return;
      }
      std::sort(stacks.begin() + static_cast<ptrdiff_t>(begin),
                stacks.begin() + static_cast<ptrdiff_t>(end));
      if (end - begin > 1) groups.emplace_back(begin, end);
    }
    if (groups.empty()) return;
    std::vector<size_t> best;
    std::vector<uint32_t> least;
    for (bool more = true; more;) {
      std::vector<uint32_t> ids;
      for (Nf body : named_bodies()) ids.push_back(body.id);
      if (best.empty() || ids < least) best = stacks, least = ids;
      more = std::any_of(groups.begin(), groups.end(), [&](const auto& group) {
        return std::next_permutation(stacks.begin() + static_cast<ptrdiff_t>(group.first),
                                     stacks.begin() + static_cast<ptrdiff_t>(group.second));
      });
    }
    stacks = best;
  }
  /// Lowers the body again, with constants replaced by their initial values and independent entries
  /// by one entry.
  void look_again() {
    find_apart();
    bool same = apart.empty();
    for (size_t i : stacks) {
      const Carry& carry = text.carries[i];
      const TensorExpr entry = c.leaf(first_name(i), without_apart(carry.index), carry.dtype);
      leaves[i] = {carry.index, entry.body};
    }
    for (size_t i = 0; i < count; ++i) {
      if (role[i] != Role::constant && !first[i]) continue;
      leaves[i] = role[i] == Role::constant ? text.carries[i].init : closed(i, at_leaves, true);
      same = false;
    }
    if (!stacks.empty() && !same) at_leaves = text.step(leaves);
  }
  /// Gives the stacks their final names. Inner loops are analyzed under the first names, so that
  /// their numbers do not depend on this loop's number.
  void number_anew() {
    for (size_t i = 0; i < count; ++i)
      if (role[i] == Role::dead && text.taped) stacks.push_back(i);
    order_stacks();
    look_again();
    std::vector<Name> own;
    for (size_t i = 0; i < count; ++i) own.push_back(first_name(i));
    for (size_t i : stacks) number = std::max(number, finder.above(at_leaves.next[i].body, own));
    order_alike();
    const std::vector<Nf> bodies = named_bodies();
    for (size_t k = 0; k < stacks.size(); ++k) {
      const size_t i = stacks[k];
      leaves[i].body = final_leaf(k).body;
      at_leaves.next[i].body = bodies[k];
    }
  }
  TensorExpr final_leaf(size_t position) {
    const size_t i = stacks[position];
    const Carry& carry = text.carries[i];
    return c.leaf(stack_name(position, i), without_apart(carry.index), carry.dtype);
  }
  /// The steps of the stacks, in order, where each leaf has its final name.
  std::vector<Nf> named_bodies() {
    std::vector<std::pair<Nf, Nf>> names;
    std::vector<Nf> bodies;
    for (size_t k = 0; k < stacks.size(); ++k) {
      const Nf from = leaves[stacks[k]].body, to = final_leaf(k).body;
      if (!(from == to)) names.emplace_back(from, to);
      bodies.push_back(at_leaves.next[stacks[k]].body);
    }
    return names.empty() ? bodies : c.a.rename(bodies, names);
  }

  /// Finds the carries in which the step is linear, jointly, and that no other stack reads. The
  /// loop is then linear in them for any number of steps.
  void find_linear() {
    const auto real = [&](size_t i) { return kind_of(text.carries[i].dtype).empty(); };
    std::copy_if(stacks.begin(), stacks.end(), std::inserter(linear, linear.end()), real);
    for (bool changed = true; changed && !linear.empty();) {
      std::set<Name> names;
      for (size_t i : linear) names.merge(std::set<Name>(finder.of(leaves[i].body).leaves));
      Degrees degrees(c.a.engine(), names);
      changed =
          std::erase_if(linear, [&](size_t i) { return !degrees.is(at_leaves.next[i].body, 1); });
      if (!changed && std::any_of(stacks.begin(), stacks.end(), [&](size_t i) {
            return !linear.count(i) && !degrees.is(at_leaves.next[i].body, 0);
          }))
        linear.clear();
    }
  }

  /// The stacks that the next value of carry i reads.
  const std::vector<size_t>& read_by(size_t i) {
    const auto [found, fresh] = reads.try_emplace(i);
    if (fresh)
      std::copy_if(stacks.begin(), stacks.end(), std::back_inserter(found->second),
                   [&](size_t j) { return depends(at_leaves.next[i], leaves[j]); });
    return found->second;
  }
  /// The stacks that stack i depends on, in order.
  std::vector<size_t> closure(size_t i) {
    std::set<size_t> in = {i};
    for (std::vector<size_t> left = {i}; !left.empty();) {
      const size_t k = left.back();
      left.pop_back();
      for (size_t j : read_by(k))
        if (in.insert(j).second) left.push_back(j);
    }
    std::vector<size_t> result;
    for (size_t k : stacks)
      if (in.count(k)) result.push_back(k);
    return result;
  }
  /// Counts steps in the order of execution, so that a reversed loop over reversed entries is the
  /// same function.
  Nf count_of(Nf step) { return text.reverse ? c.a.sub(c.a.sub(c.a.range(n), one()), step) : step; }
  algebra::Lambda lambda(const TensorExpr& t, bool by_step) {
    algebra::Lambda result{{}, t.body};
    if (by_step) {
      result.index.push_back(n);
      if (text.reverse) result.body = c.a.substitute(t.body, {{n, count_of(c.a.var(n))}});
    }
    const Vars index = without_apart(t.index);
    result.index.insert(result.index.end(), index.begin(), index.end());
    return result;
  }
  std::string numbered(size_t carry) const {
    const auto at = std::find(stacks.begin(), stacks.end(), carry) - stacks.begin();
    return label(static_cast<size_t>(at), carry);
  }
  /// Carry i at the start of step `at`. The step after the last one gives the loop's result.
  TensorExpr stack(size_t i, Nf at) {
    std::vector<algebra::Lambda> parts;
    const std::vector<size_t> carries = closure(i);
    std::vector<Nf> starts;
    for (size_t k : carries)
      if (linear.count(k)) starts.push_back(text.carries[k].init.body);
    const Nf factor = common_size(c.a.engine(), starts);
    for (size_t k : carries) {
      TensorExpr init = text.carries[k].init;
      if (linear.count(k)) init.body = c.a.div(init.body, factor);
      parts.push_back(lambda(init, false));
    }
    for (size_t k : carries) parts.push_back(lambda(at_leaves.next[k], true));
    std::string name = "scan@" + std::to_string(number) + " " + numbered(i) + " of";
    for (size_t k : carries) name += " " + numbered(k);
    const Carry& carry = text.carries[i];
    c.a.show_as(name, carry.name);
    algebra::LeafFacts facts;
    facts.integer = is_integer(carry.dtype), facts.boolean = carry.dtype == Dtype::boolean;
    std::vector<Nf> index = {count_of(at)};
    for (Nf term : c.terms(without_apart(carry.index))) index.push_back(term);
    const Nf value = c.a.opaque(name, parts, index, facts);
    return {carry.index, linear.count(i) ? c.a.mul(factor, value) : value};
  }

  /// A stack may be a weighted sum once the carries that it reads have closed forms.
  void find_decays() {
    std::vector<TensorExpr> unknown;
    for (size_t i = 0; i < count; ++i)
      if (role[i] != Role::constant && !first[i]) unknown.push_back(leaves[i]);
    for (size_t i : stacks)
      if (!decays[i]) decays[i] = decay(i, unknown);
  }
  /// Finds stacks that follow carries of an earlier loop.
  void find_followers() {
    follows.assign(count, std::nullopt);
    if (text.taped) return;
    std::vector<TensorExpr> starts;
    for (const Carry& carry : text.carries) starts.push_back(carry.init);
    follows = followers(c, {n, text.reverse, starts, leaves, text.step}, stacks);
  }
  void keep() {
    if (text.taped || stacks.empty()) return;
    PastLoop past{n, text.reverse, {}};
    for (size_t i : stacks)
      past.carries.push_back({text.carries[i].init, at_n[i], at_step.next[i], last(i)});
    c.keep(std::move(past));
  }

  void at_its_step() {
    if (count == 0) return (void)(at_step = at_leaves);
    at_n = leaves;
    for (size_t i : stacks) at_n[i] = follows[i] ? follows[i]->at : stack(i, c.a.var(n));
    at_step = text.step(at_n);
    bool any = false;
    for (size_t i = 0; i < count; ++i)
      any |= is_closed(i) && (text.taped || used(at_step.emit, leaves[i]));
    if (!any) return;
    for (size_t i = 0; i < count; ++i)
      if (is_closed(i)) at_n[i] = closed(i, at_step, true);
    const Iteration first = at_step;
    at_step = text.step(at_n);
    at_step.next = first.next;  // next - leaf is the increment
  }
  Nf before(Var step) {
    const Nf k = c.a.var(step), here = c.a.var(n);
    return c.a.le0(c.a.add(text.reverse ? c.a.sub(here, k) : c.a.sub(k, here), one()));
  }
  Var earlier_step() {
    return c.loop_index(std::to_string(text.depth) + " " + to_string(text.dim) + "'", c.a.range(n));
  }
  /// The maximum over the steps before n, or over all steps.
  TensorExpr greatest(size_t i, bool so_far) {
    const TensorExpr& init = text.carries[i].init;
    const Extremum& found = extrema[i].value();
    if (!so_far) return {init.index, found.of(c.a, init.body, c.a.max({n}, found.rest))};
    const Var step = earlier_step();
    const Nf first = found.least ? c.a.neg(init.body) : init.body, here = before(step);
    const Nf rest = c.a.substitute(found.rest, {{n, c.a.var(step)}});
    const Nf each = c.a.add(c.a.mul(here, rest), c.a.mul(c.a.sub(one(), here), first));
    return {init.index, found.of(c.a, init.body, c.a.max({step}, each))};
  }
  bool is_closed(size_t i) const {
    return role[i] == Role::sum || role[i] == Role::product || role[i] == Role::extremum ||
           role[i] == Role::decay;
  }
  /// A sum, a product or a maximum, over the steps before n or over all steps.
  TensorExpr closed(size_t i, const Iteration& step_text, bool so_far) {
    if (role[i] == Role::sum) return sum(i, step_text, so_far);
    if (role[i] == Role::decay) return decayed(i, so_far);
    return role[i] == Role::product ? product(i, so_far) : greatest(i, so_far);
  }
  /// Factors > 0 are multiplied by the sum of their logarithms. Other products have no order: of
  /// the steps from either end, the term that was made first stands for both.
  TensorExpr product(size_t i, bool so_far) {
    const TensorExpr& init = text.carries[i].init;
    const Var step = so_far ? earlier_step() : n;
    const Nf here = so_far ? before(step) : one();
    const Nf f = so_far ? c.a.substitute(*factors[i], {{n, c.a.var(step)}}) : *factors[i];
    if (c.a.known_positive(f)) {
      const Nf logs = c.a.sum({step}, c.a.mul(here, c.a.apply(algebra::Fn::log, f)));
      return {init.index, c.a.mul(init.body, c.a.apply(algebra::Fn::exp, logs))};
    }
    const Nf each = c.a.where(here, f, one());
    const Nf mirrored = c.a.sub(c.a.sub(c.a.range(step), one()), c.a.var(step));
    const Nf from_start = c.a.opaque("product", {{{step}, each}}, {});
    const Nf from_end =
        c.a.opaque("product", {{{step}, c.a.substitute(each, {{step, mirrored}})}}, {});
    return {init.index, c.a.mul(init.body, std::min(from_start, from_end))};
  }
  /// The weighted sum over the steps before n, or over all steps.
  TensorExpr decayed(size_t i, bool so_far) {
    const TensorExpr& init = text.carries[i].init;
    const Weights& weights = decays[i]->weights;
    Nf each = c.a.mul(weights.next, decays[i]->more);
    Var step = n;
    if (so_far) {
      step = earlier_step();
      each = c.a.mul(c.a.substitute(each, {{n, c.a.var(step)}}), before(step));
    }
    const Nf all = c.a.add(c.a.mul(weights.first, init.body), c.a.sum({step}, each));
    return {init.index, c.a.div(all, so_far ? weights.here : weights.end)};
  }
  /// The sum over the steps before n, or over all steps.
  TensorExpr sum(size_t i, const Iteration& step_text, bool so_far) {
    const TensorExpr& init = text.carries[i].init;
    Nf more = increment(step_text, i, leaves[i]);
    Var step = n;
    if (so_far) {
      step = earlier_step();
      more = c.a.mul(c.a.substitute(more, {{n, c.a.var(step)}}), before(step));
    }
    return {init.index, c.a.add(init.body, c.a.sum({step}, more))};
  }

  TensorExpr last(size_t i) {
    const Nf end = text.reverse ? c.a.number(0) : c.a.sub(c.a.range(n), one());
    if (role[i] == Role::dead) return {text.carries[i].index, c.a.number(0)};
    if (role[i] == Role::constant) return text.carries[i].init;
    if (is_closed(i)) return closed(i, at_step, false);
    if (decays[i]) return decayed(i, false);
    if (follows[i]) return follows[i]->last;
    if (free_of_carries(at_leaves.next[i]))  // depends on the last step alone
      return {at_step.next[i].index, c.a.substitute(at_step.next[i].body, {{n, end}})};
    return stack(i, text.reverse ? c.a.number(-1) : c.a.range(n));
  }

  void show() {
    Loop shown{to_string(text.dim), {}, {}, {}, at_leaves.next, at_leaves.emit, text.reverse};
    for (size_t i = 0; i < count; ++i) {
      shown.carries.push_back(text.carries[i].name);
      shown.leaves.push_back(first_name(i));
      shown.init.push_back(text.carries[i].init);
    }
    c.loops.push_back(std::move(shown));
  }

  LoopValue run() {
    first_look();
    if (!c.quiet()) show();
    const Context::Quiet quiet(c);
    if (const auto found = rescaling_of(c, text, leaves, at_leaves)) {
      LoopValue result = lower_loop(c, rescaled(c, text, *found));
      result.last = in_own_scale(c, text, *found, std::move(result.last));
      return result;
    }
    number_anew();
    find_decays();
    find_linear();
    find_followers();
    at_its_step();
    keep();
    LoopValue result{n, {}, at_step.emit};
    for (size_t i = 0; i < count; ++i) result.last.push_back(last(i));
    return result;
  }
};

}  // namespace

/// Other forms of a maximum: where(x > c, x, c), c + maximum(x - c, 0). Tries each value that the
/// step compares with the carry.
static std::optional<Extremum> chosen_with(algebra::Algebra& a, Nf value, Nf carry) {
  algebra::Engine& g = a.engine();
  const algebra::MonoId own = g.terms(carry)[0].mono;
  for (const algebra::Term& t : g.terms(value))
    for (const algebra::Factor& f : g.factors(t.mono)) {
      if (!g.is_op(f.atom, algebra::Op::step)) continue;
      const Nf compared = g.inner(f.atom);
      for (const algebra::Term& s : g.terms(compared)) {
        if (s.mono != own) continue;
        const Nf other = a.sub(carry, g.scale(compared, algebra::Rational(1) / s.coef));
        if (a.maximum(carry, other) == value) return Extremum{false, other};
        if (a.minimum(carry, other) == value) return Extremum{true, a.neg(other)};
      }
    }
  return std::nullopt;
}

std::optional<Extremum> extremum_with(algebra::Algebra& a, Nf value, Nf carry) {
  const algebra::Engine& g = a.engine();
  for (const bool least : {false, true}) {
    const auto sign = [&](Nf e) { return least ? a.neg(e) : e; };
    const auto known = g.maxima.find(sign(value).id);
    if (known == g.maxima.end()) continue;
    std::vector<Nf> all = known->second;
    if (std::erase(all, sign(carry)) != 1 || all.empty()) continue;
    Nf rest = all[0];
    for (size_t k = 1; k < all.size(); ++k) rest = a.maximum(rest, all[k]);
    return Extremum{least, rest};
  }
  return chosen_with(a, value, carry);
}

Nf Extremum::of(algebra::Algebra& a, Nf first, Nf others) const {
  return least ? a.neg(a.maximum(a.neg(first), others)) : a.maximum(first, others);
}

int above(Context& c, const std::vector<Nf>& terms) {
  CarryFinder finder{c.a.engine(), c.carries_in};
  int number = 0;
  for (Nf e : terms) number = std::max(number, finder.above(e, {}));
  return number;
}

Var step_index(Context& c, const Dim& dim, size_t depth) {
  return c.loop_index(std::to_string(depth) + " " + to_string(dim), c.size(dim));
}

LoopValue lower_loop(Context& c, const LoopText& text) {
  const Var n = step_index(c, text.dim, text.depth);
  return Lowering{c, text, text.carries.size(), n, {c.a.engine(), c.carries_in}}.run();
}

std::set<Name> carries_in(algebra::Algebra& a, Nf e) {
  std::unordered_map<uint32_t, CarriesIn> found;
  return CarryFinder{a.engine(), found}.of(e).leaves;
}

bool speaks_of_a_step(algebra::Algebra& a, Nf e) { return !carries_in(a, e).empty(); }

bool Context::mentions_carry(Nf e) {
  algebra::Engine& g = a.engine();
  for (const algebra::Term& t : g.terms(e))
    for (const algebra::Factor& f : g.factors(t.mono)) {
      const algebra::Atom& atom = g.atoms[f.atom];
      for (Nf arg : atom.args)
        if (mentions_carry(arg)) return true;
      if (atom.kind != algebra::AtomKind::app) continue;
      const algebra::TensorInfo& tensor = g.tensors[atom.ref];
      const bool leaf = tensor.op == algebra::Op::leaf;
      if (leaf ? is_carry(tensor.name) : mentions_carry(tensor.body)) return true;
    }
  return false;
}

Var Context::loop_index(const std::string& key, Nf range) {
  const auto found = vars_.find({"loop " + key, range.id});
  if (found != vars_.end()) return found->second;
  return vars_[{"loop " + key, range.id}] = a.fresh(range, key.substr(key.find(' ') + 1));
}

}  // namespace shardproof::lower
