#include "spec/prove/smt.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>
#include <z3++.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <iostream>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>

#include "spec/prove/relax.h"

namespace shardproof::smt {

using Clock = std::chrono::steady_clock;

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

/// Held shared by each use of Z3, except by threads that were left behind.
std::shared_mutex& z3_in_use() {
  static auto* const mutex = new std::shared_mutex;
  return *mutex;
}

}  // namespace

/// Z3 hears no interrupt in the middle of an algebraic number. So it works on a thread of its own,
/// which is left behind where it does not stop, and interrupted until it ends: see `outlive`.
struct Solver::Engine {
  z3::context context;
  std::optional<z3::solver> solver;

  /// Without Z3's own timeout: its timer is locked as long as a check does not stop, and later ones
  /// wait for it.
  void put(const std::vector<Term>& formulas, Use use, unsigned resources) {
    solver = use == Use::reals ? z3::tactic(context, "qfnra-nlsat").mk_solver()
                               : z3::solver(context, z3::solver::simple());
    z3::params params(context);
    params.set("rlimit", resources);
    solver->set(params);
    Translation translate(context);
    for (size_t i = 0; i < formulas.size(); ++i) {
      const z3::expr formula = translate(formulas[i], Sort::boolean);
      if (use == Use::core)
        solver->add(formula, ("fact!" + std::to_string(i)).c_str());
      else
        solver->add(formula);
    }
  }

  /// The engine is a new one where it was interrupted: that one would give up on all that follows.
  static Z3_lbool answer(std::unique_ptr<Engine>& engine, std::chrono::milliseconds limit,
                         uint64_t growth) {
    engine->begin();
    auto found = engine->answer_within(limit);
    if (found) return *found;
    // An interrupt between two steps is lost. What counts is the thread's own time: on a busy
    // machine it may not have run for seconds.
    const double begin = engine->seconds();
    const auto last = Clock::now() + longest_interrupted;
    while (!found && engine->seconds() - begin < deaf_after && Clock::now() < last) {
      engine->context.interrupt();
      found = engine->answer_within(std::chrono::milliseconds(50));
    }
    if (!found) leave(std::move(engine), Z3_get_estimated_alloc_size() + growth);
    engine = std::make_unique<Engine>();
    return Z3_L_UNDEF;
  }

 private:
  void begin() {
    answer_.reset();
    thread_ = std::thread([this] {
      const Z3_lbool found = Z3_solver_check(context, *solver);
      std::lock_guard lock(mutex_);
      answer_ = found;
      answered_.notify_one();
    });
  }

  /// Of a processor, that the check has taken; 0 where its thread has ended.
  double seconds() {
    clockid_t clock;
    timespec taken;
    if (pthread_getcpuclockid(thread_.native_handle(), &clock) != 0 ||
        clock_gettime(clock, &taken) != 0)
      return 0;
    return static_cast<double>(taken.tv_sec) + 1e-9 * static_cast<double>(taken.tv_nsec);
  }

  std::optional<Z3_lbool> answer_within(std::chrono::milliseconds limit) {
    std::unique_lock lock(mutex_);
    if (!answered_.wait_for(lock, limit, [&] { return answer_.has_value(); })) return std::nullopt;
    lock.unlock();
    thread_.join();
    return answer_;
  }

  /// A process ends without the destructors of globals then: the threads use Z3's.
  static void leave(std::unique_ptr<Engine> engine, uint64_t most) {
    static const int once = on_exit(
        [](int status, void*) {
          std::cout.flush();
          std::fflush(nullptr);
          _exit(status);
        },
        nullptr);
    static_cast<void>(once);
    std::thread(outlive, std::move(engine), most).detach();
  }

  /// Interrupts the check until it hears. Where Z3 has grown beyond `most` bytes, takes all memory
  /// from it for a moment, again and again, while no solver uses it: a check that grows in such a
  /// moment gives up. Not sooner: Z3 may crash where it gets no memory.
  static void outlive(std::unique_ptr<Engine> engine, uint64_t most) {
    for (bool ended = false; !ended; std::this_thread::sleep_for(std::chrono::milliseconds(95))) {
      engine->context.interrupt();
      std::unique_lock alone(z3_in_use());
      const bool large = Z3_get_estimated_alloc_size() > most;
      if (large) Z3_global_param_set("memory_max_size", "1");
      ended = engine->answer_within(std::chrono::milliseconds(5)).has_value();
      if (large) Z3_global_param_set("memory_max_size", "0");
      if (ended) engine.reset();
    }
  }

  static constexpr double deaf_after = 1;  ///< seconds of a processor
  static constexpr std::chrono::seconds longest_interrupted{20};

  std::thread thread_;
  std::mutex mutex_;
  std::condition_variable answered_;
  std::optional<Z3_lbool> answer_;
};

Solver::Solver(Limits limits) : limits_(limits) {}

Solver::~Solver() {
  std::shared_lock in_use(z3_in_use());
  engine_.reset();
}

const char* to_string(Result result) {
  return result == Result::proved ? "proved" : result == Result::refuted ? "refuted" : "unknown";
}

Satisfaction Solver::satisfy(const std::vector<Term>& formulas) {
  return check(formulas, Use::core);
}

Satisfaction Solver::check(const std::vector<Term>& formulas, Use use) {
  ++questions_;
  const double left = limits_.seconds - seconds_;
  if (left <= 0) return {};
  const auto milliseconds =
      std::min(limits_.milliseconds, static_cast<unsigned>(std::max(1.0, 1e3 * left)));
  std::shared_lock in_use(z3_in_use());
  const auto begin = Clock::now();
  // It takes 2 ms, a third of a run in which nothing is asked.
  if (!engine_) engine_ = std::make_unique<Engine>();
  Satisfaction result;
  try {
    engine_->put(formulas, use, limits_.resources);
    const Z3_lbool answer =
        Engine::answer(engine_, std::chrono::milliseconds(milliseconds), limits_.growth);
    if (answer == Z3_L_TRUE) {
      result.model = model_of(engine_->context, engine_->solver->get_model(), formulas);
      result.kind = Satisfaction::Kind::sat;
    } else if (answer == Z3_L_FALSE) {
      if (use == Use::core)
        for (const z3::expr& label : engine_->solver->unsat_core())
          result.core.push_back(std::stoul(label.decl().name().str().substr(5)));
      result.kind = Satisfaction::Kind::unsat;
    }
  } catch (const z3::exception&) {
    result = {};
  }
  engine_->solver.reset();
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
