#pragma once
// A thin wrapper around Z3; no other file includes Z3. A claim is proved only if Z3 answers unsat
// and the assumptions have a model. Any doubt gives `unknown`.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "spec/prove/obligation.h"

namespace shardproof::smt {

enum class Result { proved, refuted, unknown };
const char* to_string(Result result);

struct Answer {
  Result result = Result::unknown;
  Model model;      ///< if refuted: values that violate the claim
  std::string why;  ///< if unknown: the solver's reason
};

/// Limits per query, except `seconds`. Z3 does not always stop when it is interrupted:
/// after a second more a query is unknown, and Z3 goes on behind it until it wants more memory.
struct Limits {
  unsigned milliseconds = 5000;     ///< a backstop for `resources`: time differs between machines
  unsigned resources = 20'000'000;  ///< Z3's rlimit: the same on every machine
  double seconds = 8;               ///< for all queries together; later ones are unknown
  uint64_t growth = 64u << 20;      ///< bytes for a query that hears no interrupt
};

struct Satisfaction {
  enum class Kind { sat, unsat, unknown } kind = Kind::unknown;
  Model model;               ///< sat
  std::vector<size_t> core;  ///< if unsat: positions of formulas that contradict each other
};

/// One context and one cache for many queries. Not thread-safe.
class Solver {
 public:
  explicit Solver(Limits limits = {});
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  Answer prove(const Obligation& obligation);
  Satisfaction satisfy(const std::vector<Term>& formulas);
  double seconds() const { return seconds_; }  ///< spent in Z3
  size_t questions() const { return questions_; }
  size_t cache_hits() const { return cache_hits_; }

 private:
  struct Engine;
  Answer decide(const Obligation& obligation);
  enum class Use { plain, core, reals };  ///< reals: a solver for polynomials over reals
  Satisfaction check(const std::vector<Term>& formulas, Use use);
  Limits limits_;
  std::unique_ptr<Engine> engine_;
  std::unordered_map<std::string, Answer> cache_;  ///< models use canonical names
  double seconds_ = 0;
  size_t questions_ = 0, cache_hits_ = 0;
};

}  // namespace shardproof::smt
