#include "spec/prove/schedule_proof.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

using smt::conj;
using smt::disj;
using smt::negate;
using smt::Term;
using syntax::Expr;
using syntax::ScheduleStatement;
using Kind = Expr::Kind;

const Name position = "#";  // not a name in any text

/// The reason why a schedule is not proved.
struct Open {
  std::string what;
};

/// `expr` with `#` in place of `part`.
Expr abstracted(const Expr& expr, const std::string& part) {
  Expr result = expr;
  if (print(expr) == part) {
    result.kind = Kind::name;
    result.text = position;
    result.args.clear();
    return result;
  }
  for (Expr& arg : result.args) arg = abstracted(arg, part);
  return result;
}

const Expr* first_call(const Expr& expr) {
  if (expr.kind == Kind::call) return &expr;
  for (const Expr& arg : expr.args)
    if (const Expr* found = first_call(arg)) return found;
  return nullptr;
}

/// A step F(e), B(e) or W(e) of a loop: its position e, its microbatch and its chunk.
struct Work {
  size_t loop = 0, place = 0;
  Expr at, microbatch;
  std::optional<Expr> chunk;
};

/// Numbers of a stage as terms. Quotients and minima become new variables with defining facts.
class Numbers {
 public:
  explicit Numbers(const syntax::ScheduleDecl& schedule) {
    for (const ScheduleStatement& step : schedule.steps)
      if (step.kind == ScheduleStatement::Kind::let) lets_[step.name] = &step;
    at_ = {{"p", smt::integer("p")}, {"A", smt::integer("A")}};
    for (const Name& name : schedule.params) at_[name] = smt::integer(name);
    facts_ = {less_equal(1, at_.at("p")), less_equal(1, at_.at("A")), less_equal(1, chunks())};
    for (const ScheduleStatement& step : schedule.steps)
      if (step.kind == ScheduleStatement::Kind::require) require(step.exprs[0]);
  }

  using Names = std::map<Name, Term>;

  Term stages() const { return at_.at("p"); }
  Term microbatches() const { return at_.at("A"); }
  Term chunks() const { return at_.count("C") ? at_.at("C") : Term(1); }
  Term fresh() { return smt::integer("x" + std::to_string(count_++)); }
  const std::vector<Term>& facts() const { return facts_; }
  /// One of these holds: the operands of an `or`.
  const std::vector<Term>& cases() const { return cases_; }
  /// Facts about products that the solver would have to find: quotients, or the larger of two,
  /// times a positive size.
  std::vector<Term> hints() const {
    std::vector<Term> result, quotients;
    for (const auto& [a, b, q, r] : divisions_) quotients.push_back(q);
    for (const Term& factor : {stages(), chunks(), stages() * chunks()}) {
      if (factor.is_number(1)) continue;
      for (const auto& [a, b, q, r] : divisions_) {
        result.push_back(equal(factor * a, factor * q * b + factor * r));
        result.push_back(less_equal(0, factor * r));
        result.push_back(less_equal(factor * r, factor * b - factor));
      }
      for (size_t i = 0; i < quotients.size(); ++i)
        for (size_t j = 0; j < quotients.size(); ++j) {
          if (i == j) continue;
          const Term &x = quotients[i], &y = quotients[j];
          result.push_back(disj({less_equal(y, x), less_equal(factor * x + factor, factor * y)}));
          result.push_back(disj({less(x, y), less_equal(factor * y, factor * x)}));
          result.push_back(disj({less(x + 1, y), less_equal(factor * y, factor * x + factor)}));
        }
    }
    return result;
  }
  /// Each must be positive; the facts about its quotients assume that.
  const std::vector<Term>& divisors() const { return divisors_; }

  Term value(const Expr& expr, const Names& names) {
    if (++parts_ > most_parts)
      throw Open{"its numbers have more than " + std::to_string(most_parts) +
                 " parts with calls inlined"};
    if (expr.kind == Kind::number) return std::stoll(expr.text);
    if (expr.kind == Kind::name) return named(expr.text, names);
    if (expr.kind == Kind::unary) return Term(0) - value(expr.args[0], names);
    if (expr.kind == Kind::call) return call(expr, names);
    if (expr.kind != Kind::binary)
      throw Open{"`" + print(expr) + "` is not a number that is known"};
    return binary(expr.text, value(expr.args[0], names), value(expr.args[1], names));
  }

  Term condition(const Expr& expr, const Names& names) {
    const std::string& op = expr.text;
    if (op == "and" || op == "or" || op == "not") {
      std::vector<Term> args;
      for (const Expr& arg : expr.args) args.push_back(condition(arg, names));
      return op == "and" ? conj(args) : op == "or" ? disj(args) : negate(args[0]);
    }
    const Term a = value(expr.args.at(0), names), b = value(expr.args.at(1), names);
    if (op == "==") return equal(a, b);
    if (op == "!=") return negate(equal(a, b));
    if (op == "<") return less(a, b);
    if (op == ">") return less(b, a);
    if (op == "<=") return less_equal(a, b);
    if (op == ">=") return less_equal(b, a);
    throw Open{"`" + print(expr) + "` is not a condition that is known"};
  }

 private:
  Term named(const Name& name, const Names& names) {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    if (const auto found = at_.find(name); found != at_.end()) return found->second;
    const auto let = lets_.find(name);
    if (let == lets_.end() || !let->second->params.empty())
      throw Open{"`" + name + "` is not known"};
    return body(let->second->exprs[0], of_stage(names));
  }

  Term body(const Expr& expr, const Names& names) {
    if (++depth_ > most_calls) throw Open{"its calls nest more than 200 deep"};
    Term result = value(expr, names);
    --depth_;
    return result;
  }

  static Names of_stage(const Names& names) {
    Names result;
    if (const auto s = names.find("s"); s != names.end()) result.insert(*s);
    return result;
  }

  Term call(const Expr& expr, const Names& names) {
    if (expr.text == "min" || expr.text == "max") {
      const Term a = value(expr.args.at(0), names), b = value(expr.args.at(1), names);
      return extremum(expr.text == "min", a, b);
    }
    const auto let = lets_.find(expr.text);
    if (let == lets_.end()) throw Open{"`" + expr.text + "` is not known"};
    Names inner = of_stage(names);
    for (size_t i = 0; i < expr.args.size(); ++i)
      inner[let->second->params.at(i)] = value(expr.args[i], names);
    return body(let->second->exprs[0], inner);
  }

  Term binary(const std::string& op, const Term& a, const Term& b) {
    if (op == "+") return a + b;
    if (op == "-") return a - b;
    if (op == "*") return a * b;
    if (op == "//") return divide(a, b).first;
    if (op == "%") return divide(a, b).second;
    throw Open{"`" + op + "` is not known"};
  }

  Term extremum(bool least, const Term& a, const Term& b) {
    const auto [found, is_new] =
        made_.try_emplace((least ? "min " : "max ") + to_smtlib(a) + " " + to_smtlib(b));
    if (!is_new) return found->second.first;
    const Term x = fresh();
    facts_.push_back(least ? less_equal(x, a) : less_equal(a, x));
    facts_.push_back(least ? less_equal(x, b) : less_equal(b, x));
    facts_.push_back(disj({equal(x, a), equal(x, b)}));
    found->second = {x, x};
    return x;
  }

  void require(const Expr& expr) {
    if (expr.text == "or" && cases_.empty())
      for (const Expr& arg : expr.args) cases_.push_back(condition(arg, {}));
    else
      facts_.push_back(condition(expr, {}));
  }

  std::pair<Term, Term> divide(const Term& a, const Term& b) {
    const auto [found, is_new] = made_.try_emplace("div " + to_smtlib(a) + " " + to_smtlib(b));
    if (!is_new) return found->second;
    const Term q = fresh(), r = fresh();
    facts_.push_back(equal(a, q * b + r));
    facts_.push_back(less_equal(0, r));
    facts_.push_back(less(r, b));
    divisors_.push_back(b);
    divisions_.push_back({a, b, q, r});
    return found->second = {q, r};
  }

  std::map<Name, const ScheduleStatement*> lets_;
  Names at_;
  std::map<std::string, std::pair<Term, Term>> made_;
  std::vector<Term> facts_, cases_, divisors_;
  struct Division {
    Term a, b, quotient, rest;
  };
  std::vector<Division> divisions_;
  size_t count_ = 0, parts_ = 0, depth_ = 0;
  static constexpr size_t most_parts = 100'000, most_calls = 200;
};

class Proof {
 public:
  Proof(const syntax::ScheduleDecl& schedule, smt::Solver& solver)
      : schedule_(schedule), solver_(solver) {}

  ScheduleProof run() {
    try {
      read();
      for (const auto& [kind, works] : works_) counts(kind), covers(kind);
      orders();
      depends();
      messages('F');
      messages('B');
      result_.proved = true;
    } catch (const Open& open) {
      result_.open = open.what;
    } catch (const std::out_of_range&) {
      result_.open = "a number is beyond 64 bits, or a call has too few arguments";
    }
    return result_;
  }

 private:
  // --- reading the schedule ---

  void read() {
    if (!schedule_.params.empty() && schedule_.params != std::vector<Name>{"C"})
      throw Open{"it has parameters that are not C"};
    names_once();
    for (const ScheduleStatement& step : schedule_.steps) {
      if (step.kind == ScheduleStatement::Kind::work) throw Open{"a step stands outside of a loop"};
      if (step.kind != ScheduleStatement::Kind::loop) continue;
      for (size_t i = 0; i < step.body.size(); ++i) {
        if (step.body[i].kind != ScheduleStatement::Kind::work)
          throw Open{"a loop has more than steps in it"};
        add(step, i);
      }
      loops_.push_back(&step);
    }
    if (works_['F'].empty() || works_['B'].empty()) throw Open{"it has no F or no B"};
    if (works_['W'].empty()) works_.erase('W');
    for (const auto& [kind, works] : works_) {
      const Name time = std::string("time_") + kind;
      for (const ScheduleStatement& step : schedule_.steps)
        if (step.kind == ScheduleStatement::Kind::let && step.name == time &&
            step.params.size() == 1)
          times_[kind] = &step;
      if (!times_.count(kind)) throw Open{"it has no `let " + time + "(k)`"};
      for (const Work& work : works)
        if (print(work.microbatch) != print(works[0].microbatch) ||
            work.chunk.has_value() != works[0].chunk.has_value() ||
            (work.chunk && print(*work.chunk) != print(*works[0].chunk)))
          throw Open{std::string("its steps ") + kind + " number microbatches in several ways"};
    }
  }

  /// A name means the same everywhere here; in a run, the last declaration above.
  void names_once() const {
    std::set<Name> known{"s", "p", "A"};
    known.insert(schedule_.params.begin(), schedule_.params.end());
    for (const ScheduleStatement& step : schedule_.steps)
      if (step.kind == ScheduleStatement::Kind::let && !known.insert(step.name).second)
        throw Open{"`" + step.name + "` is declared twice"};
    for (const ScheduleStatement& step : schedule_.steps)
      if (step.kind == ScheduleStatement::Kind::loop && known.contains(step.name))
        throw Open{"the loop over `" + step.name + "` hides another number of that name"};
  }

  void add(const ScheduleStatement& loop, size_t place) {
    const ScheduleStatement& step = loop.body[place];
    const Expr* call = first_call(step.exprs.at(0));
    const bool known = call && call->args.size() == 1 && call->text != "min" && call->text != "max";
    const Expr& at = known ? call->args[0] : step.exprs[0];
    Work work{loops_.size(), place, at, abstracted(step.exprs[0], print(at)), std::nullopt};
    if (step.exprs.size() > 1) work.chunk = abstracted(step.exprs[1], print(at));
    works_[step.name.at(0)].push_back(std::move(work));
  }

  // --- parts of a claim ---

  struct Place {  // a microbatch and chunk
    Term m, c;
  };

  /// The variables of one claim. Each claim has its own stages.
  struct Claim {
    Numbers numbers;
    std::vector<Term> given = {};
  };
  Claim claim() const { return {Numbers(schedule_)}; }

  Term stage(Claim& to) const {
    const Term s = to.numbers.fresh();
    to.given.push_back(less_equal(0, s));
    to.given.push_back(less(s, to.numbers.stages()));
    return s;
  }
  /// A variable for the position of an F, B or W.
  Term position_in(Claim& to) const {
    const Term k = to.numbers.fresh();
    to.given.push_back(less_equal(0, k));
    to.given.push_back(less(k, to.numbers.microbatches() * to.numbers.chunks()));
    return k;
  }
  Term time(Claim& to, char kind, const Term& s, const Term& k) const {
    const ScheduleStatement& let = *times_.at(kind);
    return to.numbers.value(let.exprs[0], {{"s", s}, {let.params[0], k}});
  }
  /// The microbatch and chunk at position k. They do not depend on the stage.
  Place place(Claim& to, char kind, const Term& k) const {
    const Work& work = works_.at(kind)[0];
    const Numbers::Names names{{position, k}};
    return {to.numbers.value(work.microbatch, names),
            work.chunk ? to.numbers.value(*work.chunk, names) : Term(0)};
  }
  Term begin(Claim& to, const Work& work, const Term& s) const {
    return to.numbers.value(loops_[work.loop]->exprs[0], {{"s", s}});
  }
  Term end(Claim& to, const Work& work, const Term& s) const {
    return to.numbers.value(loops_[work.loop]->exprs[1], {{"s", s}});
  }
  Term at(Claim& to, const Work& work, const Term& s, const Term& i) const {
    return to.numbers.value(work.at, {{"s", s}, {loops_[work.loop]->name, i}});
  }
  /// The iteration of the loop that contains the step.
  Term iteration(Claim& to, const Work& work, const Term& s) const {
    const Term i = to.numbers.fresh();
    to.given.push_back(less_equal(begin(to, work, s), i));
    to.given.push_back(less(i, end(to, work, s)));
    return i;
  }

  void show(Claim& claim, const Term& goal, const std::string& what) {
    const std::vector<Term> divisors = claim.numbers.divisors();
    std::vector<Term> all = claim.numbers.facts();
    all.insert(all.end(), claim.given.begin(), claim.given.end());
    for (const Term& divisor : divisors) {
      std::vector<Term> without{less_equal(1, claim.numbers.stages()),
                                less_equal(1, claim.numbers.microbatches()),
                                less_equal(1, claim.numbers.chunks()), less(divisor, 1)};
      decide(without, "it divides by a number that may not be positive");
    }
    for (const Term& hint : claim.numbers.hints()) all.push_back(hint);
    all.push_back(negate(goal));
    if (claim.numbers.cases().empty()) return decide(all, what);
    for (const Term& each : claim.numbers.cases()) {
      std::vector<Term> in_case = all;
      in_case.push_back(each);
      decide(in_case, what);
    }
  }

  void decide(const std::vector<Term>& formulas, const std::string& what) {
    if (solver_.satisfy(formulas).kind != smt::Satisfaction::Kind::unsat) throw Open{what};
    ++result_.claims;
  }

  // --- the claims ---

  static std::string of(char kind) { return std::string(1, kind); }

  /// Positions enumerate each microbatch and chunk exactly once.
  void counts(char kind) {
    {
      Claim to = claim();
      const Place at = place(to, kind, position_in(to));
      show(to,
           conj({less_equal(0, at.m), less(at.m, to.numbers.microbatches()), less_equal(0, at.c),
                 less(at.c, to.numbers.chunks())}),
           of(kind) + " is of a microbatch or chunk that exists");
    }
    Claim to = claim();
    const Term k = position_in(to), l = position_in(to);
    const Place a = place(to, kind, k), b = place(to, kind, l);
    to.given.push_back(less(k, l));
    show(to, negate(conj({equal(a.m, b.m), equal(a.c, b.c)})), "no " + of(kind) + " is done twice");
  }

  /// The loops of a stage run each position exactly once.
  void covers(char kind) {
    for (const Work& work : works_.at(kind)) {
      Claim to = claim();
      const Term s = stage(to), i = to.numbers.fresh();
      show(to, equal(at(to, work, s, i), at(to, work, s, 0) + i), of(kind) + " goes up one by one");
    }
    Claim to = claim();
    const Term s = stage(to), k = position_in(to);
    std::vector<Term> in;
    for (const Work& work : works_.at(kind)) in.push_back(has(to, work, s, k));
    show(to, disj(in), "every " + of(kind) + " is done");
    for (const Work& work : works_.at(kind)) {
      Claim inside = claim();
      const Term own = stage(inside), each = at(inside, work, own, iteration(inside, work, own));
      show(inside,
           conj({less_equal(0, each),
                 less(each, inside.numbers.microbatches() * inside.numbers.chunks())}),
           of(kind) + " is of a position that exists");
      for (const Work& other : works_.at(kind)) {
        if (&other == &work) break;
        Claim both = claim();
        const Term t = stage(both), l = position_in(both);
        show(both, negate(conj({has(both, work, t, l), has(both, other, t, l)})),
             "no " + of(kind) + " is in two loops");
      }
    }
  }

  Term has(Claim& to, const Work& work, const Term& s, const Term& k) const {
    const Term i = k - at(to, work, s, 0);
    return conj({less_equal(begin(to, work, s), i), less(i, end(to, work, s))});
  }

  /// Times increase along a stage's text, and with the position.
  void orders() {
    for (const auto& [first, firsts] : works_)
      for (const auto& [second, seconds] : works_)
        for (const Work& a : firsts)
          for (const Work& b : seconds) order(first, a, second, b);
    for (const auto& [kind, works] : works_) {
      Claim to = claim();
      const Term s = stage(to), k = position_in(to), l = position_in(to);
      to.given.push_back(less(k, l));
      show(to, less(time(to, kind, s, k), time(to, kind, s, l)), of(kind) + " is done in order");
    }
  }

  void order(char first, const Work& a, char second, const Work& b) {
    if (b.loop < a.loop) return;
    Claim to = claim();
    const Term s = stage(to), i = iteration(to, a, s), j = iteration(to, b, s);
    if (a.loop == b.loop) to.given.push_back(b.place > a.place ? less_equal(i, j) : less(i, j));
    show(to, less(time(to, first, s, at(to, a, s, i)), time(to, second, s, at(to, b, s, j))),
         of(first) + " and " + of(second) + " have times in the order of their steps");
  }

  /// Each step comes after the steps that it depends on.
  void depends() {
    neighbour('F', -1);
    neighbour('B', 1);
    if (chunked()) {
      wrapped('F', -1);
      wrapped('B', 1);
    }
    after('B', 'F');
    if (works_.count('W')) after('W', 'B');
  }

  bool chunked() const { return !schedule_.params.empty(); }

  /// Depends on the previous or the next stage.
  void neighbour(char kind, int64_t way) {
    Claim to = claim();
    const Term s = stage(to), from = stage(to), k = position_in(to);
    to.given.push_back(equal(from, s + Term(way)));
    show(to, less(time(to, kind, from, k), time(to, kind, s, k)),
         of(kind) + " comes after that of the stage that sends to it");
  }

  /// Depends across the wrap: from the last stage to the first with the next chunk, or back.
  void wrapped(char kind, int64_t way) {
    Claim to = claim();
    const Term first = 0, last = to.numbers.stages() - 1;
    const Term k = position_in(to), from = position_in(to);
    next_chunk(to, kind, k, from, way);
    show(to,
         less(time(to, kind, way < 0 ? last : first, from),
              time(to, kind, way < 0 ? first : last, k)),
         of(kind) + " comes after that of the chunk that sends to it");
  }

  void next_chunk(Claim& to, char kind, const Term& k, const Term& from, int64_t way) const {
    const Place own = place(to, kind, k), other = place(to, kind, from);
    to.given.push_back(equal(own.m, other.m));
    to.given.push_back(equal(other.c, own.c + Term(way)));
  }

  void after(char kind, char needed) {
    Claim to = claim();
    const Term s = stage(to), k = position_in(to), l = position_in(to);
    const Place own = place(to, kind, k), other = place(to, needed, l);
    to.given.push_back(equal(own.m, other.m));
    to.given.push_back(equal(own.c, other.c));
    show(to, less(time(to, needed, s, l), time(to, kind, s, k)),
         of(kind) + " comes after its " + of(needed));
  }

  /// Messages are received in the order in which they are sent, and each before the next one is
  /// sent.
  void messages(char kind) {
    const int64_t way = kind == 'F' ? 1 : -1;
    {
      Claim to = claim();
      const Term s = stage(to), reader = stage(to), k = position_in(to), l = position_in(to);
      to.given.push_back(equal(reader, s + Term(way)));
      to.given.push_back(less(k, l));
      show(to, less_equal(time(to, kind, reader, k), time(to, kind, s, l)),
           of(kind) + " is read before the next one is sent");
    }
    if (!chunked()) return;
    for (const bool in_order : {true, false}) {
      Claim to = claim();
      const Term first = 0, last = to.numbers.stages() - 1;
      const Term k = position_in(to), l = position_in(to), read = position_in(to);
      next_chunk(to, kind, read, k, -way);
      to.given.push_back(less(k, l));
      if (!in_order) {
        show(to,
             less_equal(time(to, kind, way > 0 ? first : last, read),
                        time(to, kind, way > 0 ? last : first, l)),
             of(kind) + " of the next chunk is read before the next one is sent");
        continue;
      }
      const Term later = position_in(to);
      next_chunk(to, kind, later, l, -way);
      show(to, less(read, later), of(kind) + " of the next chunk is read in its turn");
    }
  }

  const syntax::ScheduleDecl& schedule_;
  smt::Solver& solver_;
  std::vector<const ScheduleStatement*> loops_;
  std::map<char, std::vector<Work>> works_;
  std::map<char, const ScheduleStatement*> times_;
  ScheduleProof result_;
};

}  // namespace

ScheduleProof prove_schedule(const syntax::ScheduleDecl& schedule, smt::Solver& solver) {
  return Proof(schedule, solver).run();
}

}  // namespace shardproof
