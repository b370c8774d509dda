#pragma once
// A plan on all devices of one small mesh against its model on one device, for all real inputs: the
// question whether they can differ, and the solver's answer tried in double.
#include <cmath>
#include <functional>
#include <random>

#include "spec/check/check.h"
#include "spec/check/one_device.h"
#include "spec/denote/evaluator.h"
#include "spec/denote/represent.h"
#include "spec/denote/runner.h"
#include "spec/prove/smt.h"
#include "spec/prove/symbolic.h"

namespace shardproof::properties {

using smt::Term;

/// A parameter: what the devices hold, and the tensor they make.
template <class S>
struct Held {
  denote::Array<S> whole;
  denote::Distributed<S> local;
};

/// `draw(index, device)` is any number, for each entry that a device holds as its own: copies
/// repeat it, summands of one entry are added up.
template <class S, class Draw>
Held<S> hold(const denote::Geometry& geometry, const Type& type, Draw draw) {
  for (const auto& [axis, mark] : type.marks)
    if (mark == Mark::Max) throw denote::Unsupported("a parameter that is a maximum");
  const auto shape = geometry.global_shape(type);
  Held<S> held{{shape, std::vector<S>(static_cast<size_t>(denote::count(shape)), S(0))}, {}};
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    const int64_t copied = denote::leader(geometry, type, device, false, true);
    if (copied != device) {
      held.local.push_back(held.local[static_cast<size_t>(copied)]);
      continue;
    }
    denote::Array<S> own{geometry.local_shape(type), {}};
    for (int64_t index : geometry.global_indices(type, device)) {
      own.data.push_back(draw(index, device));
      S& entry = denote::at(held.whole, index);
      entry = entry + own.data.back();
    }
    held.local.push_back(own);
  }
  return held;
}

/// What has to hold for the devices to represent `whole` at `type`.
inline std::vector<Term> represents(const denote::Geometry& geometry, const Type& type,
                                    const denote::Distributed<Symbolic>& local,
                                    const denote::Array<Symbolic>& whole) {
  std::vector<Term> result;
  const auto same = [&](const Term& a, const Term& b) {
    if (a.identity() != b.identity()) result.push_back(equal(a, b));
  };
  std::map<int64_t, std::vector<Term>> parts;
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    const auto own = local.on(static_cast<size_t>(device));
    const int64_t copied = denote::leader(geometry, type, device, false, true);
    const auto indices = geometry.global_indices(type, device);
    if (own.size() != indices.size()) return {Term::truth(false)};
    for (size_t k = 0; k < indices.size(); ++k)
      if (copied != device)
        same(own[k].term(), local.on(static_cast<size_t>(copied))[k].term());
      else
        parts[indices[k]].push_back(own[k].term());
  }
  const bool maximum = std::any_of(type.marks.begin(), type.marks.end(),
                                   [](const auto& mark) { return mark.second == Mark::Max; });
  for (const auto& [index, terms] : parts) {
    const Term& wanted = denote::at(whole, index).term();
    Term sum(0);
    std::vector<Term> reached;
    for (const Term& term : terms) {
      sum = sum + term;
      reached.push_back(equal(term, wanted));
      if (maximum) result.push_back(less_equal(term, wanted));
    }
    maximum ? result.push_back(smt::disj(reached)) : same(sum, wanted);
  }
  return result;
}

/// Nodes, those of shared terms counted each time.
inline size_t size_of(const Term& term, std::map<const void*, size_t>& known) {
  auto [found, fresh] = known.try_emplace(term.identity(), 1);
  if (!fresh) return found->second;
  size_t size = 1;
  for (const Term& arg : term.args()) size = std::min<size_t>(size + size_of(arg, known), 1 << 30);
  return known[term.identity()] = size;
}

struct Verdict3 {
  enum class Kind {
    equal,      ///< for all inputs
    differs,    ///< at inputs that were tried in double
    in_doubt,   ///< the solver has inputs; in double the values there agree, or are none
    undecided,  ///< budget
    no_run      ///< it cannot be run so
  } kind = Kind::undecided;
  std::string text;
};

struct PlanBudget {
  size_t cases, nodes;
};

class SymbolicPlan {
 public:
  SymbolicPlan(const CheckedProgram& checked, size_t plan, const denote::Sizes& sizes,
               unsigned draw, smt::Solver& solver, const PlanBudget& budget)
      : program_(checked.program()),
        plan_(plan),
        function_(program_.functions.at(plan)),
        erased_(function_.model ? program_ : at_mesh_sizes(program_, sizes)),
        model_(function_.model.value_or(plan)),
        sizes_(sizes),
        mesh_(program_, sizes),
        one_(erased_, denote::Sizes{{}, sizes.dims}),
        draw_(draw),
        solver_(solver),
        budget_(budget) {
    for (size_t f = 0; f < program_.functions.size(); ++f) types_.push_back(checked.types(f));
    model_types_ = denote::types_of(erased_);
  }

  Verdict3 run() {
    Verdict3 verdict = solved();
    if (verdict.kind != Verdict3::Kind::equal && verdict.kind != Verdict3::Kind::differs)
      if (const std::string numbers = random_difference(); !numbers.empty())
        return {Verdict3::Kind::differs, numbers};
    return verdict;
  }

 private:
  template <class S>
  using Values = std::vector<denote::Distributed<S>>;

  /// One sequence of answers to the questions of the run: what is known then, and what has to hold.
  struct Case {
    std::vector<Term> given, goal;
  };

  Verdict3 solved() try {
    std::vector<Case> cases;
    Path::explore([&](Path& path) {
      if (cases.size() == budget_.cases) throw denote::Unsupported("too many cases");
      cases.push_back(run_on(path));
    });
    Verdict3 worst{Verdict3::Kind::equal, ""};
    for (const Case& each : cases) {
      const Verdict3 next = all_hold(each);
      if (next.kind == Verdict3::Kind::differs) return next;
      if (next.kind > worst.kind) worst = next;
      if (next.kind == Verdict3::Kind::undecided) break;
    }
    return worst;
  } catch (const denote::OutOfRange& error) {
    return {Verdict3::Kind::differs, error.what()};
  } catch (const std::exception& error) {
    return {Verdict3::Kind::no_run, error.what()};
  }

  Case run_on(Path& path) {
    Values<Symbolic> whole, local;
    hold_all<Symbolic>([](const std::string& name) { return Symbolic(smt::real(name)); }, whole,
                       local);
    Values<Symbolic> wanted;
    try {
      wanted = denote::Evaluator<Symbolic>(one_, model_types_).call(model_, std::move(whole));
    } catch (const denote::OutOfRange& error) {
      throw denote::Unsupported(error.what());  // the model has no value there
    }
    const Values<Symbolic> held =
        denote::Evaluator<Symbolic>(mesh_, types_).call(plan_, std::move(local));
    Case result{path.answers(), {}};
    result.given.insert(result.given.end(), path.definitions().begin(), path.definitions().end());
    for (size_t r = 0; r < held.size(); ++r)
      for (Term& each : represents(mesh_, function_.results.at(r), held[r], wanted.at(r)[0]))
        result.goal.push_back(std::move(each));
    return result;
  }

  /// Entry by entry: a polynomial identity closes at once where a disjunction of them does not.
  Verdict3 all_hold(const Case& one) {
    Verdict3 worst{Verdict3::Kind::equal, ""};
    for (const Term& each : one.goal) {
      std::vector<Term> formulas = one.given;
      formulas.push_back(negate(each));
      const Verdict3 next = answer(formulas);
      if (next.kind == Verdict3::Kind::differs) return next;
      if (next.kind > worst.kind) worst = next;
      if (next.kind == Verdict3::Kind::undecided) break;
    }
    return worst;
  }

  Verdict3 answer(const std::vector<Term>& formulas) {
    std::map<const void*, size_t> sizes;
    size_t nodes = 0;
    for (const Term& formula : formulas) nodes += size_of(formula, sizes);
    if (nodes > budget_.nodes) return {Verdict3::Kind::undecided, "too large"};
    const smt::Satisfaction found = solver_.satisfy(formulas);
    if (found.kind == smt::Satisfaction::Kind::unsat) return {Verdict3::Kind::equal, ""};
    if (found.kind == smt::Satisfaction::Kind::unknown)
      return {Verdict3::Kind::undecided, "the solver's budget"};
    const std::string numbers = difference_at(found.model);
    if (!numbers.empty()) return {Verdict3::Kind::differs, numbers};
    return {Verdict3::Kind::in_doubt, "functions that are none of ours"};
  }

  /// Floats are `any(name)`; whole numbers are fixed: indices are no terms.
  template <class S, class Any>
  void hold_all(Any any, Values<S>& whole, Values<S>& local) const {
    std::mt19937_64 rng(draw_);
    for (size_t i = 0; i < function_.params.size(); ++i) {
      const Type& type = types_[plan_].at(function_.params[i]);
      std::map<int64_t, uint64_t> numbers;
      Held<S> held = hold<S>(mesh_, type, [&](int64_t index, int64_t device) -> S {
        if (is_float(type.dtype))
          return any("x" + std::to_string(i) + "." + std::to_string(index) + ".on" +
                     std::to_string(device));
        auto [number, fresh] = numbers.try_emplace(index, 0);
        if (!fresh) return S(0);
        number->second = draw_ == 0 ? static_cast<uint64_t>(index) % 2 : rng() % 2;
        if (type.dtype == Dtype::key) return denote::Scalar<S>::of_key(number->second);
        return S(static_cast<int64_t>(number->second));
      });
      whole.push_back({std::move(held.whole)});
      local.push_back(std::move(held.local));
    }
  }

  /// The same at a few random inputs: for what the solver does not settle.
  std::string random_difference() const try {
    std::mt19937_64 rng(17 + draw_);
    for (int point = 0; point < 4; ++point) {
      std::map<std::string, double> drawn;
      const auto any = [&](const std::string& name) {
        auto [found, fresh] = drawn.try_emplace(name, 0);
        if (fresh) found->second = static_cast<double>(rng() % 4096) / 1024.0 - 1.5;
        return found->second;
      };
      if (std::string found = difference_at(any); !found.empty()) return found;
    }
    return "";
  } catch (const std::exception&) {
    return "";
  }

  std::string difference_at(const smt::Model& model) const {
    return difference_at([&](const std::string& name) {
      auto value = model.find(name);
      return value == model.end() ? 1.0
                                  : static_cast<double>(value->second.numerator) /
                                        static_cast<double>(value->second.denominator);
    });
  }

  /// What the devices and the model give at these inputs, where that is not the same.
  std::string difference_at(const std::function<double(const std::string&)>& value) const {
    Values<double> whole, local;
    hold_all<double>(value, whole, local);
    const Values<double> wanted =
        denote::Evaluator<double>(one_, model_types_).call(model_, std::move(whole));
    const Values<double> held =
        denote::Evaluator<double>(mesh_, types_).call(plan_, std::move(local));
    for (size_t r = 0; r < held.size(); ++r) {
      const auto found = denote::represented(mesh_, function_.results.at(r), held[r]);
      if (!found) return "result " + std::to_string(r) + ": copies that differ";
      const auto right = wanted.at(r)[0];
      for (size_t k = 0; k < right.data.size(); ++k) {
        const double a = found->data.at(k), b = right.data[k];
        if (std::isfinite(a) && std::isfinite(b) &&
            std::abs(a - b) > 1e-7 * std::max({1e-3, std::abs(a), std::abs(b)}))
          return "entry " + std::to_string(k) + " is " + std::to_string(a) + ", and " +
                 std::to_string(b) + " of the model";
      }
    }
    return "";
  }

  const ir::Program& program_;
  size_t plan_;
  const ir::Function& function_;
  ir::Program erased_;
  size_t model_;
  denote::Sizes sizes_;
  denote::Geometry mesh_, one_;
  unsigned draw_;
  smt::Solver& solver_;
  PlanBudget budget_;
  denote::Types types_, model_types_;
};

}  // namespace shardproof::properties
