// Is plan == model? Tries the levels of the algebra in turn. If all fail, level 1 gives the reason.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>
#include <utility>

#include "spec/algebra/engine.h"
#include "spec/ir/walk.h"
#include "spec/lower/aligned.h"
#include "spec/lower/inequalities.h"
#include "spec/lower/instances.h"
#include "spec/lower/loops_in_parts.h"
#include "spec/lower/lower.h"
#include "spec/lower/shared_values.h"

namespace shardproof::lower {

namespace {

using algebra::Algebra;
using algebra::Nf;

bool same(Algebra& a, const TensorExpr& plan, const TensorExpr& model) {
  return same_ranges(a, plan, model) &&
         algebra::compare(a, aligned(a, plan, model), model.body) == algebra::Comparison::equal;
}

std::optional<algebra::Difference> explain(Algebra& a, const TensorExpr& plan,
                                           const TensorExpr& model, const std::string& where,
                                           algebra::Written written) {
  if (plan.index.size() != model.index.size() || same(a, plan, model)) return std::nullopt;
  auto difference = algebra::explain(a, aligned(a, plan, model), model.body, written);
  if (difference) difference->text = where + difference->text;
  return difference;
}

/// The slice of the model's tensor that matches a value in a ring's body, at the plan's indices.
/// None if the dims are not blocks of the model's, or if the value depends on earlier steps.
std::optional<TensorExpr> block_of(Algebra& a, const Named& plan, const TensorExpr& model) {
  if (speaks_of_a_step(a, plan.tensor.body)) return std::nullopt;
  std::vector<std::pair<algebra::Var, Nf>> map;
  for (size_t i = 0; i < model.index.size(); ++i) {
    const algebra::Var own = plan.tensor.index[i];
    const Nf part = a.range(own), all = a.range(model.index[i]);
    const Nf blocks = a.range(*plan.block);
    if (part != all && a.mul(part, blocks) != all) return std::nullopt;
    const Nf first = part == all ? a.number(0) : a.mul(a.var(*plan.block), part);
    map.push_back({model.index[i], a.add(first, a.var(own))});
  }
  return TensorExpr{plan.tensor.index, a.substitute(model.body, map)};
}

/// Replaces the leaves that stand for carries by the plan's names for them.
std::string with_names(std::string text, const Loop& loop) {
  for (size_t i = 0; i < loop.leaves.size(); ++i) {
    const std::string &leaf = loop.leaves[i], &name = loop.carries[i];
    for (size_t at = 0; !leaf.empty() && (at = text.find(leaf, at)) != std::string::npos;) {
      const size_t end = at + leaf.size();  // carry0.1, and not that of carry0.12
      const bool whole = end == text.size() || !std::isdigit(static_cast<unsigned char>(text[end]));
      if (whole) text.replace(at, leaf.size(), name);
      at += whole ? name.size() : leaf.size();
    }
  }
  return text;
}

std::string with_names(std::string text, const Lowered& side) {
  for (const Loop& loop : side.loops) text = with_names(std::move(text), loop);
  return text;
}

std::optional<algebra::Difference> explain_body(Algebra& a, const TensorExpr& plan,
                                                const TensorExpr& model, const Loop& loop,
                                                const std::string& where,
                                                algebra::Written written) {
  auto d = explain(a, plan, model, where, written);
  if (!d) return d;
  for (std::string* text : {&d->text, &d->plan_part, &d->model_part})
    *text = with_names(*text, loop);
  return d;
}

algebra::Difference other_direction(const Loop& plan) {
  algebra::Difference found;
  const std::string scan = "the scan over " + plan.over;
  found.text = plan.reverse ? scan + " runs in reverse, that of the model does not"
                            : scan + " does not run in reverse, that of the model does";
  return found;
}

/// The first loop on both sides with equal shapes whose initial values differ, or whose bodies
/// differ for equal carries.
std::optional<algebra::Difference> explain_loops(Algebra& a, const Lowered& plan,
                                                 const Lowered& model, algebra::Written written) {
  for (size_t k = 0; k < plan.loops.size() && k < model.loops.size(); ++k) {
    const Loop &x = plan.loops[k], &y = model.loops[k];
    if (x.init.size() != y.init.size() || x.emit.size() != y.emit.size()) return std::nullopt;
    for (size_t i = 0; i < x.init.size(); ++i)
      if (auto d = explain(a, x.init[i], y.init[i], "start of " + x.carries[i] + ": ", written))
        return d;
    const std::string body = "body of the scan over " + x.over + ": ";
    for (size_t i = 0; i < x.next.size(); ++i)
      if (auto d = explain_body(a, x.next[i], y.next[i], x, body, written)) return d;
    for (size_t i = 0; i < x.emit.size(); ++i)
      if (auto d = explain_body(a, x.emit[i], y.emit[i], x, body + "what is emitted: ", written))
        return d;
    if (x.over == y.over && x.reverse != y.reverse) return other_direction(x);
  }
  return std::nullopt;
}

IdRanges merged(const ir::Program& program, size_t plan, size_t model, bool parts) {
  IdRanges ids = id_ranges(program, model, parts), more = id_ranges(program, plan, parts);
  for (size_t i = 0; i < ids.size() && i < more.size(); ++i)
    if (!ids[i]) ids[i] = more[i];
  return ids;
}

using Obligation = Algebra::Obligation;
using Obligations = std::vector<Obligation>;

const char* sign_of(const Obligation& o) {
  return o.kind == Obligation::positive ? " > 0" : " != 0";
}

std::string text_of(Algebra& a, const Obligation& o) { return a.show_short(o.base) + sign_of(o); }

bool is_shortened(const std::string& text) { return text.find("..") != std::string::npos; }

Condition condition_of(Algebra& a, const Obligation& o) {
  const char* op = o.kind == Obligation::positive ? ">" : "!=";
  return {op, o.base, a.number(0), {}, text_of(a, o)};
}

/// Also the logarithm of a fraction, which is negative or not defined.
bool is_never_positive(Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  const auto alone = g.single_atom(e);
  return a.known_nonnegative(a.neg(e)) || (alone && g.negative_where_defined(*alone));
}

/// Of the carries of loops, with their names in the file: what must hold in each step, or in those
/// that take a branch.
std::string in_each_step(const std::string& text, const Lowered& side, bool in_branches) {
  std::string shown = text;
  std::set<std::string> over;
  for (const Loop& loop : side.loops) {
    std::string named = with_names(shown, loop);
    if (named != shown) over.insert(" in each step over " + loop.over);
    shown = std::move(named);
  }
  Loop ring;
  for (const auto& [leaf, name] : side.ring_carries)
    ring.leaves.push_back(leaf), ring.carries.push_back(name);
  std::string named = with_names(shown, ring);
  if (named != shown) over.insert(" in each step of the ring");
  for (const std::string& each : over) named += each + (in_branches ? " that needs it" : "");
  return named;
}

/// Obligations that never hold: denominators that are 0, logarithms of values that are never
/// positive.
std::vector<std::string> never_met(Algebra& a) {
  std::vector<std::string> result;
  for (const Obligation& o : a.obligations())
    if (o.kind == Obligation::positive ? is_never_positive(a, o.base) : a.is_zero(o.base))
      result.push_back(text_of(a, o));
  return result;
}

/// Finds obligations of the plan that its model does not have: there the plan's result may be
/// undefined where the model's is defined.
class Excuses {
 public:
  /// `gradient`: the plan's result is a gradient, so an obligation of any result of the model
  /// counts.
  Excuses(Algebra& a, const Obligations& of_model, const Lowered& model, const Lowered& plan,
          bool gradient)
      : a(a), model(model), plan(plan), gradient(gradient) {
    for (const Obligation& each : of_model) model_.insert(key(each));
    for (const Need& each : model.needs) of_model_[key(each.what)].push_back(&each);
    for (const Need& each : plan.needs) of_plan_[key(each.what)].push_back(&each);
  }

  /// Where the plan, or else its model, needs it.
  const OperandInText* operand(const Obligation& o) const {
    for (const Needs* needs : {&of_plan_, &of_model_})
      if (const auto found = needs->find(key(o)); found != needs->end())
        if (const OperandInText& operand = found->second.front()->operand; !operand.words.empty())
          return &operand;
    return nullptr;
  }

  /// Whether the plan needs it for the result in any branch.
  bool anywhere(const Obligation& o, size_t result) const {
    const auto found = of_plan_.find(key(o));
    return found != of_plan_.end() &&
           std::any_of(found->second.begin(), found->second.end(), [&](const Need* need) {
             return need->where.empty() && (!need->result || *need->result == result);
           });
  }

  /// Whether the plan needs it for the result only where it takes some branch.
  bool in_branches(const Obligation& o, size_t result) const {
    return of_plan_.contains(key(o)) && !anywhere(o, result);
  }

  Obligations missing(size_t result) {
    Obligations found;
    for (const Obligation& o : a.obligations())
      if (!excused(o, result)) found.push_back(o);
    // What is positive is not 0.
    std::set<uint32_t> positive;
    for (const Obligation& o : found)
      if (o.kind == Obligation::positive) positive.insert(o.base.id);
    std::erase_if(found, [&](const Obligation& o) {
      return o.kind == Obligation::nonzero && positive.contains(o.base.id);
    });
    return found;
  }

 private:
  using Key = std::pair<int, uint32_t>;
  using Needs = std::map<Key, std::vector<const Need*>>;

  static Key key(const Obligation& o) { return {static_cast<int>(o.kind), o.base.id}; }

  /// No obligation: the branch is taken only where the value is defined.
  bool vacuous(const Need& need) {
    if (const auto known = vacuous_.find(&need); known != vacuous_.end()) return known->second;
    const auto never = [&](Nf broken) {
      for (Nf condition : need.where) broken = a.mul(condition, broken);
      return a.is_zero(broken);
    };
    return vacuous_[&need] =
               never(a.le0_real(need.what.base)) ||
               (need.what.kind == Obligation::nonzero && never(a.eq0(need.what.base)));
  }
  /// The model has the same obligation, in every branch in which the plan has it.
  bool needed_by_model(const Need& need, size_t result) const {
    const auto found = of_model_.find(key(need.what));
    if (found == of_model_.end()) return false;
    return std::any_of(found->second.begin(), found->second.end(), [&](const Need* other) {
      const auto stands = [&](Nf condition) {
        return std::find(need.where.begin(), need.where.end(), condition) != need.where.end();
      };
      return other->certain && (gradient || !other->result || *other->result == result) &&
             std::all_of(other->where.begin(), other->where.end(), stands);
    });
  }
  bool excused(const Obligation& o, size_t result) {
    const auto listed = of_plan_.find(key(o));
    // An obligation that the algebra or the reverse pass added, the same on both sides, is in no
    // list.
    if (listed == of_plan_.end() || !of_model_.contains(key(o)))
      if (model_.contains(key(o)) && of_same_loops(o.base)) return true;
    if (listed == of_plan_.end()) return false;
    return std::all_of(listed->second.begin(), listed->second.end(), [&](const Need* need) {
      return (need->result && *need->result != result) || vacuous(*need) ||
             (needed_by_model(*need, result) && of_same_loops(o.base));
    });
  }

  /// A carry is a leaf on both sides: it has the same values if the loops are the same.
  bool of_same_loops(Nf base) {
    const auto [known, fresh] = of_same_loops_.try_emplace(base.id, true);
    if (!fresh) return known->second;
    for (const Name& leaf : carries_in(a, base)) {
      bool found = false, all = true;
      for (const auto* loops : {&plan.loops, &plan.loops_before})
        for (const Loop& own : *loops) {
          if (std::find(own.leaves.begin(), own.leaves.end(), leaf) == own.leaves.end()) continue;
          found = true;
          all = all && std::any_of(model.loops.begin(), model.loops.end(),
                                   [&](const Loop& other) { return is_same(own, other); });
        }
      of_same_loops_[base.id] = of_same_loops_[base.id] && found && all;
    }
    return of_same_loops_[base.id];
  }
  bool is_same(const Loop& own, const Loop& other) {
    const auto are = [&](const std::vector<TensorExpr>& x, const std::vector<TensorExpr>& y) {
      return std::equal(x.begin(), x.end(), y.begin(), y.end(),
                        [&](const TensorExpr& one, const TensorExpr& two) {
                          return one.index.size() == two.index.size() && same(a, one, two);
                        });
    };
    return own.leaves == other.leaves && own.reverse == other.reverse &&
           are(own.init, other.init) && are(own.next, other.next);
  }

  Algebra& a;
  const Lowered &model, &plan;
  const bool gradient;
  std::map<uint32_t, bool> of_same_loops_;
  std::set<Key> model_;  ///< of any result, in any branch
  Needs of_model_, of_plan_;
  std::map<const Need*, bool> vacuous_;
};

struct Comparer {
  const ir::Program& program;
  size_t plan, model;
  Options options;
  IdRanges ids;
  std::vector<bool> open;  // results not proved yet
  Comparison report;
  bool out_of_steps = false;
  bool shares = false;     ///< values that both sides have are leaves
  SharedValues cuts = {};  ///< values that are leaves for what is made of them

  const ir::Function& claimant() const { return program.functions.at(plan); }
  std::vector<ir::ValueId> returned() const { return claimant().returned; }

  Request request(size_t function, Variables& variables) {
    Request request;
    request.function = function, request.ids = &ids, request.wanted = &open,
    request.variables = &variables, request.keeps_values = shares;
    request.cuts = function == plan ? &cuts.plan : &cuts.model;
    return request;
  }
  Lowered right_side(Algebra& a, Variables& variables) {
    Request of_model = request(claimant().implements_grad ? plan : model, variables);
    of_model.reach = Reach::at_least;
    if (claimant().implements_grad) return lower_gradient(a, program, of_model, options);
    return lower_function(a, program, of_model, options);
  }
  /// The values before `after P` add their assumptions to those of the plan.
  Lowered left_side(Algebra& a, Variables& variables) {
    Request own = request(plan, variables);
    if (!claimant().after) return lower_function(a, program, own, options);
    const Lowered before = lower_saved(a, program, own, options);
    own.saved = &before.results;
    Lowered result = lower_function(a, program, own, options);
    append(result.assumptions, before.assumptions);
    append(result.of_sizes, before.of_sizes);
    append(result.of_indices, before.of_indices);
    result.texts_of_sizes.insert(before.texts_of_sizes.begin(), before.texts_of_sizes.end());
    append(result.impossible, before.impossible);
    result.loops_before = before.loops;
    for (Need need : before.needs) {  // of no result of its own
      need.result = std::nullopt, need.where.clear();
      result.needs.push_back(std::move(need));
    }
    return result;
  }
  template <class T>
  static void append(std::vector<T>& to, const std::vector<T>& from) {
    to.insert(to.end(), from.begin(), from.end());
  }

  algebra::Budget budget(int limit) const {
    algebra::Budget result = options.budget;
    result.limit = limit;
    if (options.seals == Seals::none) return result;
    result.steps *= 3, result.nodes *= 3;  // with seals, cost is linear in the program's length
    return result;
  }

  /// True if all results are equal. Reports only the assumptions of the results proved at this
  /// level.
  bool level(int limit) {
    const std::vector<bool> asked = open;
    if (lowered_level(limit)) return true;
    const std::vector<bool> left = open;
    for (size_t i = 0; i < open.size(); ++i) open[i] = asked[i] && !left[i];
    if (std::find(open.begin(), open.end(), true) != open.end()) lowered_level(limit);
    open = left;
    return false;
  }

  /// Compares the open results; records their assumptions if all of them are equal.
  bool lowered_level(int limit) {
    const std::vector<bool> asked = open;
    const auto algebra = std::make_shared<Algebra>(budget(limit));
    Algebra& a = *algebra;
    report.limit = limit;
    Variables variables;
    const Lowered right = right_side(a, variables);
    const Obligations obligations = a.obligations();
    const Lowered left = left_side(a, variables);
    if (left.results.size() != right.results.size())
      throw std::logic_error("results differ in number");
    const bool all = shares ? same_with_shared_values(a, left, right) : all_same(a, left, right);
    if (all || limit == 1)
      for (const auto& texts : {left.impossible, right.impossible, never_met(a)})
        for (const std::string& text : texts) add(report.impossible, text);
    if (!all) return false;
    for (const Lowered* side : {&right, &left}) {
      for (const std::string& text : side->assumptions)
        add(report.assumptions, with_names(text, *side));
      for (const auto& [text, sizes] : side->texts_of_sizes)
        report.texts_of_sizes[with_names(text, *side)].insert(sizes.begin(), sizes.end());
    }
    Excuses excuses{a, obligations, right, left, claimant().implements_grad};
    if (!cuts.plan.empty() && needs_more(excuses, asked)) return open = asked, false;
    Assumed assumed{algebra, {}, {}};
    Instances instances(a);
    for (size_t i = 0; i < asked.size(); ++i)
      if (asked[i])
        for (const Obligation& o : excuses.missing(i)) {
          const std::string text = in_each_step(text_of(a, o), left, excuses.in_branches(o, i));
          add(report.assumptions, text);
          if (const auto* operand = excuses.operand(o); operand && is_shortened(text))
            report.shortened.try_emplace(text, Shortened{*operand, sign_of(o)});
          if (auto base = sizes_alone(a, o.base))
            add_of_sizes(o, std::move(*base));
          else
            instances.add(condition_of(a, o), assumed.conditions);
          if (!excuses.anywhere(o, i)) continue;
          const bool root = o.kind == Obligation::positive;
          if (auto condition = indices_alone(a, text, o.base, root ? ">=" : "!="))
            report.of_indices.push_back(std::move(*condition));
        }
    if (!left.bounds.empty())
      for (const Need& need : right.needs)
        if (need.certain && need.where.empty() && (!need.result || asked.at(*need.result)) &&
            !speaks_of_a_step(a, need.what.base))
          instances.add(condition_of(a, need.what), assumed.conditions);
    if (!assumed.conditions.empty()) {
      for (const Condition& each : left.bounds) instances.add(each, assumed.conditions);
      append(assumed.conditions, right.conditions);
      append(assumed.conditions, left.conditions);
      report.of_values.push_back(std::move(assumed));
    }
    append(report.of_sizes, right.of_sizes);
    append(report.of_sizes, left.of_sizes);
    append(report.of_indices, right.of_indices);
    append(report.of_indices, left.of_indices);
    return true;
  }

  /// Whether a result needs what its model does not. With cuts, that would be about their leaves.
  static bool needs_more(Excuses& excuses, const std::vector<bool>& asked) {
    for (size_t i = 0; i < asked.size(); ++i)
      if (asked[i] && !excuses.missing(i).empty()) return true;
    return false;
  }

  bool all_same(Algebra& a, const Lowered& left, const Lowered& right) {
    bool all = true;
    for (size_t i = open.size(); i-- > 0;) {
      if (!open[i]) continue;
      try {
        open[i] = !same(a, left.results[i], right.results[i]);
      } catch (const algebra::BudgetExceeded&) {  // another level may need fewer steps
        report.budget_ended = true;
      }
      all = all && !open[i];
      if (open[i]) report.result = i;
    }
    return all;
  }

  /// Compares the open results with values that both sides have as leaves. What is needed for these
  /// to be defined stands in the comparison that found them. At limit 1 there are fewer terms.
  bool same_with_shared_values(Algebra& a, const Lowered& left, const Lowered& right) {
    for (const Shared which : {Shared::named, Shared::all}) {
      const SharedValues shared = shared_values(a, program, {plan, &left}, {model, &right}, which);
      if (shared.plan.empty()) return false;
      for (const int limit : {1, 24}) {
        Algebra own(budget(limit));
        Variables variables;
        Request of_plan = request(plan, variables), of_model = request(model, variables);
        of_plan.shared = &shared.plan, of_model.shared = &shared.model;
        of_plan.keeps_values = of_model.keeps_values = false;
        of_model.reach = Reach::at_least;
        const Lowered model_side = lower_function(own, program, of_model, options);
        const Lowered plan_side = lower_function(own, program, of_plan, options);
        if (all_same(own, plan_side, model_side)) return true;
      }
    }
    return false;
  }

  void add_of_sizes(const Obligation& o, ir::Arith base) {
    const ir::Arith zero{ir::Arith::Kind::number, "0", ir::no_value, {}};
    report.of_sizes.push_back({ir::Arith::Kind::op,
                               o.kind == Obligation::positive ? ">" : "!=",
                               ir::no_value,
                               {std::move(base), zero}});
  }
  static void add(std::vector<std::string>& texts, const std::string& text) {
    if (std::find(texts.begin(), texts.end(), text) == texts.end()) texts.push_back(text);
  }

  /// Explains the first result that no level proved, at limit 1, where the terms are still close to
  /// those of the source.
  void explain_result() {
    const size_t i = report.result;
    open.assign(open.size(), false);
    open.at(i) = true;
    options.explained = options.apart ? options.apart() : std::nullopt;
    Algebra a(budget(1));
    Variables variables;
    const Lowered right = right_side(a, variables), left = left_side(a, variables);
    const Nf plan_body = aligned(a, left.results[i], right.results[i]);
    report.residue = a.show(a.sub(plan_body, right.results[i].body));
    report.origin = returned().at(i);
    const std::optional<Parting> parting = first_difference(a, left, right, options.explained);
    if (parting) report.origin = parting->value;
    const algebra::Written written{inequalities_of(program, plan), inequalities_of(program, model)};
    report.difference = explain_loops(a, left, right, written);
    if (!report.difference && parting)
      report.difference = explain(a, parting->plan, parting->model, "", written);
    if (!report.difference)
      report.difference = algebra::explain(a, plan_body, right.results[i].body, written);
    report.residue = with_names(report.residue, left);
    if (report.difference)
      for (std::string* text : {&report.difference->text, &report.difference->plan_part,
                                &report.difference->model_part})
        *text = with_names(*text, left);
  }

  template <class F>
  bool guarded(F step) {
    try {
      return step();
    } catch (const algebra::BudgetExceeded&) {
      report.budget_ended = out_of_steps = true;
    } catch (const algebra::Overflow&) {
      report.budget_ended = true;
    } catch (const Unsupported& e) {
      report.unsupported = e.what(), report.unsupported_at = e.place;
      report.unsupported_words = e.words, report.unsupported_hint = e.hint;
    } catch (const std::logic_error& e) {
      report.unsupported = e.what();
    }
    return false;
  }

  /// Both sides take gradients, mostly of the same function: they can often stay opaque.
  bool both_differentiate() const {
    return claimant().uses_gradients && program.functions.at(model).uses_gradients &&
           !claimant().implements_grad;
  }

  bool gradient() const { return claimant().implements_grad; }

  bool opaque_level() {
    if (!both_differentiate()) return false;
    options.opaque_gradients = true;
    for (Seals seals : {Seals::additions, Seals::none}) {  // a loss in chunks cannot be sealed
      options.seals = seals;
      report.equal = guarded([&] { return level(1); });
      if (report.equal || report.unsupported) break;
    }
    options.opaque_gradients = false;
    options.seals = Seals::none;
    if (report.equal) report.closed_by = "algebra, limit 1";
    return report.equal;
  }

  /// Looks into calls of functions that are not proved too. Nothing in a ring is sealed, so a value
  /// that the model seals would have no counterpart.
  bool has_ring(size_t function, std::set<size_t>* seen) const {
    if (!seen->insert(function).second) return false;
    bool found = false;
    for_each_instr(program.functions.at(function).body, [&](const ir::Instr& instr) {
      found = found || std::holds_alternative<ir::Ring>(instr.op);
      const auto* call = std::get_if<ir::Call>(&instr.op);
      const bool stands =
          call && options.use_models && options.proved && options.proved->at(call->function);
      if (call && !stands) found = found || has_ring(call->function, seen);
    });
    return found;
  }

  /// Equal values on both sides become opaque (sealed), so the cost is linear in the program's
  /// length.
  bool sealed_level(bool contracted) {
    options.seals = gradient() ? Seals::sums : Seals::additions;
    options.contracted = contracted;
    report.equal = guarded([&] { return level(1); });
    options.contracted = false;
    options.seals = Seals::none;
    if (report.equal) report.closed_by = "algebra, limit 1";
    return report.equal;
  }

  /// The level in another way; `words` name it.
  bool level_in(bool& way, int limit, const std::string& words) {
    way = true;
    report.equal = guarded([&] { return level(limit); });
    way = false;
    if (report.equal) report.closed_by = "algebra, limit " + std::to_string(limit) + words;
    return report.equal;
  }

  /// For a model that treats a whole dim at once where the plan loops over it.
  bool entries_apart() { return level_in(options.entries_apart, 1, ", entries of loops apart"); }

  bool has_scan() const {
    std::set<size_t> reached{plan};
    add_reached(program, claimant(), reached);
    return std::any_of(reached.begin(), reached.end(), [&](size_t f) {
      bool found = false;
      for_each_instr(program.functions.at(f).body, [&](const ir::Instr& instr) {
        found = found || std::holds_alternative<ir::Scan>(instr.op);
      });
      return found;
    });
  }

  /// For a loop on one side and its closed form on the other.
  bool decays() { return level_in(options.decays, 1, "") || level_in(options.decays, 24, ""); }

  bool shared_level(int limit) { return !gradient() && level_in(shares, limit, ", shared"); }

  /// The first values of one side.
  Lowered values_of(Algebra& a, size_t function, Variables& variables, size_t& first) {
    Request own = request(function, variables);
    own.keeps_values = true, own.first_values = &first;
    return lower_function(a, program, own, options);
  }
  /// How many values of one side are reached with a part of the budget.
  size_t reach(int limit, size_t function) {
    algebra::Budget part = budget(limit);
    part.steps /= 16;
    Algebra a(part);
    Variables variables;
    size_t first = ~size_t{0};
    guarded([&] { return values_of(a, function, variables, first), true; });
    return first;
  }
  /// Adds values that plan and model share to the cuts; false if there are no others, or no steps
  /// left.
  bool cut_further(int limit, Shared which, long& steps) {
    size_t of_model = reach(limit, model), of_plan = reach(limit, plan);
    Algebra a(budget(limit));
    Variables variables;
    const Lowered right = values_of(a, model, variables, of_model),
                  left = values_of(a, plan, variables, of_plan);
    SharedValues more = shared_values(a, program, {plan, &left}, {model, &right}, which);
    const std::string before = std::to_string(cuts.plan.size()) + ".";
    for (auto* side : {&more.plan, &more.model})
      for (auto& [value, leaf] : *side) leaf.name = "cut " + before + leaf.name;
    steps -= a.steps();
    const size_t known = cuts.plan.size();
    cuts.plan.merge(more.plan), cuts.model.merge(more.model);
    return cuts.plan.size() > known && steps > 0;
  }
  /// For a long program of steps that are the same on both sides: what is made of a value that
  /// both have is compared for any value in its place.
  bool shown_with_cuts() {
    constexpr size_t most_values = 2000;  // pairs of them are compared
    if (gradient() || claimant().after || !report.budget_ended) return false;
    if (claimant().values.size() > most_values) return false;
    long steps = 2 * budget(1).steps;
    for (const Shared which : {Shared::named, Shared::all})
      for (const int limit : {1, 24}) {
        cuts = {};
        guarded([&] {
          while (cut_further(limit, which, steps)) continue;
          return true;
        });
        if (cuts.plan.empty()) continue;
        report.equal = guarded([&] { return level(limit); });
        if (report.equal)
          report.closed_by = "algebra, limit " + std::to_string(limit) + ", value by value";
        if (report.equal) return true;
      }
    cuts = {};
    return false;
  }

  bool differ(Look look) const { return options.differ && options.differ(look); }

  bool shown() {
    if (opaque_level() || report.unsupported) return true;
    // Every other level is expensive for a step with gradients: compare numbers first.
    const bool step = both_differentiate();
    if (step && differ(Look::all)) return false;
    out_of_steps = false;
    std::set<size_t> seen;
    const bool sealed = !has_ring(plan, &seen);
    if (sealed && (sealed_level(gradient()) || report.unsupported)) return true;
    if (sealed && gradient() && differ(Look::all)) return false;
    if (out_of_steps)  // the other levels take more steps
      return (step || !differ(Look::all)) && shown_with_cuts();
    if (sealed && gradient() && sealed_level(false)) return true;
    // The gradient of a ring is seldom shown at 1, and numbers of it are dear.
    const bool of_ring = gradient() && !sealed;
    for (int limit : of_ring ? std::array{24, 1, 200} : std::array{1, 24, 200}) {
      report.equal = guarded([&] { return level(limit); });
      if (report.equal) report.closed_by = "algebra, limit " + std::to_string(limit);
      if (report.equal || report.unsupported) return true;
      if (limit < 200 && differ(limit == 1 && !of_ring ? Look::few : Look::all)) break;
      if (limit == 200 && entries_apart()) return true;
      if (limit == 200 && has_scan() && decays()) return true;
    }
    // What a level above has shown needs no leaves. With numbers that differ, nothing is shown.
    return !differ(Look::all) && (shared_level(24) || shared_level(200) || shown_with_cuts());
  }

  /// An id that is read from a parameter is assumed to be in range, but that is no fact about a
  /// leaf. If it does not suffice, assume the range for the whole parameter.
  bool shown_with_wider_ids() {
    if (!report.impossible.empty()) return false;
    IdRanges wider = merged(program, plan, model, true);
    if (wider == ids) return false;
    Comparer again{program, plan, model, options, std::move(wider), {}, {}};
    again.open.assign(open.size(), true);
    if (!again.shown() || !again.report.equal) return false;
    report = std::move(again.report);
    return true;
  }

  /// For a loop on one side that the other writes as several, or as single steps.
  bool shown_with_loops_in_parts() {
    if (!report.impossible.empty() || differ(Look::all)) return false;
    constexpr size_t most_orders = 3;
    for (size_t order = 0, orders = 1; order < std::min(orders, most_orders); ++order) {
      const auto split = with_loops_in_parts(program, plan, order);
      if (!split) return false;
      orders = split->orders;
      Comparer again{split->program, plan, model, options, ids, {}, {}};
      again.open.assign(open.size(), true);
      if (!again.shown() || !again.report.equal || !again.report.impossible.empty()) continue;
      report = std::move(again.report);
      report.closed_by += ", loops in parts";
      return true;
    }
    return false;
  }

  void run() {
    if (shown() || shown_with_wider_ids() || shown_with_loops_in_parts()) return;
    // With opaque gradients the difference is shorter.
    options.opaque_gradients = both_differentiate();
    guarded([&] { return explain_result(), true; });
    if (!std::exchange(options.opaque_gradients, false) || report.difference) return;
    guarded([&] { return explain_result(), true; });
  }
};

}  // namespace

std::optional<Parting> first_difference(Algebra& a, const Lowered& plan, const Lowered& model,
                                        const std::optional<Apart>& apart) {
  for (const Named& p : plan.named)
    for (const Named& m : model.named) {
      const bool pair = apart ? p.value == apart->plan && m.value == apart->model
                              : !p.name.empty() && p.name == m.name;
      if (!pair || p.tensor.index.size() != m.tensor.index.size()) continue;
      const std::optional<TensorExpr> here = p.block ? block_of(a, p, m.tensor) : m.tensor;
      if (here && !same(a, p.tensor, *here)) return Parting{p.value, p.tensor, *here};
    }
  return std::nullopt;
}

Comparison compare_functions(const ir::Program& program, size_t plan, size_t model,
                             const Options& options) {
  Comparer comparer{program, plan, model, options, merged(program, plan, model, false), {}, {}};
  comparer.open.assign(program.functions.at(plan).returned.size(), true);
  comparer.run();
  return comparer.report;
}

}  // namespace shardproof::lower
