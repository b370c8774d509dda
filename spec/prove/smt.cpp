#include "spec/prove/smt.h"

#include <z3++.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "spec/prove/relax.h"

namespace shardproof::smt {

using Clock = std::chrono::steady_clock;

/// Interrupts a context that exceeds its deadline.
class Watchdog {
 public:
  explicit Watchdog(z3::context& context) : context_(context), thread_([this] { watch(); }) {}
  ~Watchdog() {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    thread_.join();
  }
  void start(std::chrono::milliseconds limit) {
    {
      std::lock_guard lock(mutex_);
      deadline_ = Clock::now() + limit, busy_ = true;
    }
    changed_.notify_one();
  }
  void done() {
    std::lock_guard lock(mutex_);
    busy_ = false;
  }

 private:
  void watch() {
    std::unique_lock lock(mutex_);
    while (!stop_) {
      if (!busy_)
        changed_.wait(lock, [&] { return stop_ || busy_; });
      else if (changed_.wait_until(lock, deadline_) == std::cv_status::timeout && busy_ &&
               Clock::now() >= deadline_) {
        context_.interrupt();
        deadline_ = Clock::now() + std::chrono::milliseconds(50);  // again, until it reacts
      }
    }
  }

  z3::context& context_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool busy_ = false, stop_ = false;
  Clock::time_point deadline_;
  std::thread thread_;
};

namespace {

/// Converts our terms to Z3's.
class Translation {
 public:
  explicit Translation(z3::context& context) : context_(context) {}

  z3::expr operator()(const Term& term, Sort wanted) {
    if (term.op() == Term::Op::constant) return constant(term, wanted);
    z3::expr result = nested(term);
    return wanted == Sort::real && term.sort() == Sort::integer ? z3::to_real(result) : result;
  }

 private:
  z3::sort sort(Sort sort) {
    return sort == Sort::boolean   ? context_.bool_sort()
           : sort == Sort::integer ? context_.int_sort()
                                   : context_.real_sort();
  }

  z3::expr constant(const Term& term, Sort wanted) {
    const Fraction& value = term.value();
    if (term.sort() == Sort::boolean) return context_.bool_val(value.numerator != 0);
    const std::string text = to_string(value);
    return wanted == Sort::real ? context_.real_val(text.c_str()) : context_.int_val(text.c_str());
  }

  z3::expr nested(const Term& term) {
    if (term.op() == Term::Op::variable)
      return context_.constant(term.name().c_str(), sort(term.sort()));
    Sort inner = term.sort();
    if (inner == Sort::boolean && term.op() <= Term::Op::lt)
      for (const Term& arg : term.args()) inner = std::max(inner, arg.sort());
    z3::expr_vector args(context_);
    for (const Term& arg : term.args()) args.push_back((*this)(arg, inner));
    return combine(term, args);
  }

  z3::expr combine(const Term& term, const z3::expr_vector& args) {
    switch (term.op()) {
      case Term::Op::add:
        return z3::sum(args);
      case Term::Op::mul: {
        z3::expr result = args[0];
        for (unsigned i = 1; i < args.size(); ++i) result = result * args[static_cast<int>(i)];
        return result;
      }
      case Term::Op::eq:
        return args[0] == args[1];
      case Term::Op::le:
        return args[0] <= args[1];
      case Term::Op::lt:
        return args[0] < args[1];
      case Term::Op::conj:
        return z3::mk_and(args);
      case Term::Op::disj:
        return z3::mk_or(args);
      case Term::Op::negation:
        return !args[0];
      case Term::Op::constant:
      case Term::Op::variable:
      case Term::Op::apply:
        break;
    }
    z3::sort_vector domain(context_);
    for (unsigned i = 0; i < args.size(); ++i) domain.push_back(context_.real_sort());
    return context_.function(term.name().c_str(), domain, context_.real_sort())(args);
  }

  z3::context& context_;
};

std::optional<Fraction> number_of(const z3::expr& value) {
  if (value.is_bool()) return Fraction{value.is_true(), 1};
  if (!value.is_numeral()) return std::nullopt;
  Fraction result;
  if (value.is_int()) {
    if (!value.is_numeral_i64(result.numerator)) return std::nullopt;
    return result;
  }
  const z3::expr numerator = value.numerator(), denominator = value.denominator();
  if (!numerator.is_numeral_i64(result.numerator) ||
      !denominator.is_numeral_i64(result.denominator))
    return std::nullopt;
  return result;
}

Model model_of(z3::context& context, const z3::model& found, const std::vector<Term>& formulas) {
  Translation translate(context);
  Model model;
  for (const Term& variable : variables_of(formulas))
    if (auto value = number_of(found.eval(translate(variable, variable.sort()), true)))
      model[variable.name()] = *value;
  return model;
}

bool all_hold(const std::vector<Term>& formulas, const Model& model) {
  return std::all_of(formulas.begin(), formulas.end(),
                     [&](const Term& formula) { return holds(formula, model) == true; });
}

}  // namespace

struct Solver::Engine {
  z3::context context;
  Watchdog watchdog{context};
};

Solver::Solver(Limits limits) : limits_(limits), engine_(std::make_unique<Engine>()) {}
Solver::~Solver() = default;

const char* to_string(Result result) {
  return result == Result::proved ? "proved" : result == Result::refuted ? "refuted" : "unknown";
}

Satisfaction Solver::satisfy(const std::vector<Term>& formulas) {
  return check(formulas, Use::core);
}

Satisfaction Solver::check(const std::vector<Term>& formulas, Use use) {
  Satisfaction result;
  const bool want_core = use == Use::core;
  ++questions_;
  const double left = limits_.seconds - seconds_;
  if (left <= 0) return result;
  const auto milliseconds =
      std::min(limits_.milliseconds, static_cast<unsigned>(std::max(1.0, 1e3 * left)));
  const auto begin = Clock::now();
  try {
    z3::context& context = engine_->context;
    z3::solver solver = use == Use::reals ? z3::tactic(context, "qfnra-nlsat").mk_solver()
                                          : z3::solver(context, z3::solver::simple());
    z3::params params(context);
    params.set("timeout", milliseconds);
    params.set("rlimit", limits_.resources);
    solver.set(params);
    Translation translate(context);
    for (size_t i = 0; i < formulas.size(); ++i) {
      const z3::expr formula = translate(formulas[i], Sort::boolean);
      if (want_core)
        solver.add(formula, ("fact!" + std::to_string(i)).c_str());
      else
        solver.add(formula);
    }
    engine_->watchdog.start(std::chrono::milliseconds(milliseconds + 100));
    const z3::check_result answer = solver.check();
    engine_->watchdog.done();
    if (answer == z3::sat) {
      result.kind = Satisfaction::Kind::sat;
      result.model = model_of(context, solver.get_model(), formulas);
    } else if (answer == z3::unsat) {
      result.kind = Satisfaction::Kind::unsat;
      if (want_core)
        for (const z3::expr& label : solver.unsat_core())
          result.core.push_back(std::stoul(label.decl().name().str().substr(5)));
    }
  } catch (const z3::exception&) {
    engine_->watchdog.done();
    result = {};
  }
  seconds_ += std::chrono::duration<double>(Clock::now() - begin).count();
  return result;
}

Answer Solver::decide(const Obligation& obligation) {
  const std::vector<Term> formulas = asserted(obligation);
  Satisfaction found;
  if (logic_of(formulas) == "QF_NIA")
    if (const auto reals = relaxed(formulas)) found = check(*reals, Use::reals);
  if (found.kind != Satisfaction::Kind::unsat) found = check(formulas, Use::plain);
  if (found.kind == Satisfaction::Kind::unknown) return {Result::unknown, {}, "the solver gave up"};
  const bool sat = found.kind == Satisfaction::Kind::sat;
  if (sat) {
    // Check the model by our own evaluation. For functions and algebraic numbers we trust the
    // solver.
    for (const Term& formula : formulas)
      if (holds(formula, found.model) == false)
        return {Result::unknown, {}, "the solver's model does not hold"};
    return {obligation.satisfiable ? Result::proved : Result::refuted, found.model, ""};
  }
  if (obligation.satisfiable) return {Result::refuted, {}, "no values satisfy the assumptions"};
  if (all_hold(obligation.assumptions, obligation.example)) return {Result::proved, {}, ""};
  const Satisfaction assumed = check(obligation.assumptions, Use::plain);
  if (assumed.kind == Satisfaction::Kind::sat) return {Result::proved, {}, ""};
  return {Result::unknown,
          {},
          assumed.kind == Satisfaction::Kind::unsat
              ? "the assumptions contradict each other: the claim says nothing"
              : "the assumptions may contradict each other: the solver gave up"};
}

Answer Solver::prove(const Obligation& obligation) {
  std::vector<std::string> names;
  const std::string key = canonical_text(obligation, &names);
  auto found = cache_.find(key);
  if (found != cache_.end()) {
    ++cache_hits_;
  } else {
    Answer answer = decide(obligation);
    Model canonical;
    for (size_t i = 0; i < names.size(); ++i)
      if (auto value = answer.model.find(names[i]); value != answer.model.end())
        canonical["x" + std::to_string(i)] = value->second;
    answer.model = std::move(canonical);
    found = cache_.emplace(key, std::move(answer)).first;
  }
  Answer answer = found->second;
  Model model;
  for (size_t i = 0; i < names.size(); ++i)
    if (auto value = answer.model.find("x" + std::to_string(i)); value != answer.model.end())
      model[names[i]] = value->second;
  answer.model = std::move(model);
  return answer;
}

}  // namespace shardproof::smt
