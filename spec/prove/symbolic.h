#pragma once
// A scalar for spec/denote that is a term: running the denotation on it gives a formula about all
// values. Where the denotation branches (a maximum, a `where`), the run is repeated for each
// outcome.
#include <functional>
#include <vector>

#include "spec/denote/scalar.h"
#include "spec/prove/term.h"

namespace shardproof {

/// The branch outcomes of one run as formulas, and the definitions of quotients.
class Path {
 public:
  /// Runs `body` once for each sequence of outcomes, and passes it the finished path.
  static void explore(const std::function<void(Path&)>& body);
  bool decide(const smt::Term& question);
  smt::Term quotient(const smt::Term& a, const smt::Term& b);
  const std::vector<smt::Term>& answers() const { return answers_; }
  const std::vector<smt::Term>& definitions() const { return definitions_; }
  static Path& current();  ///< throws denote::Unsupported outside explore

 private:
  std::vector<bool> decisions_;
  size_t next_ = 0;
  std::vector<smt::Term> answers_, definitions_;
  std::map<std::string, smt::Term> quotients_;
  std::map<std::string, bool> asked_;
};

class Symbolic {
 public:
  Symbolic(int64_t value = 0) : term_(value) {}
  explicit Symbolic(smt::Term term) : term_(std::move(term)) {}
  const smt::Term& term() const { return term_; }
  friend Symbolic operator+(const Symbolic& a, const Symbolic& b) {
    return Symbolic(a.term_ + b.term_);
  }
  friend Symbolic operator-(const Symbolic& a, const Symbolic& b) {
    return Symbolic(a.term_ - b.term_);
  }
  friend Symbolic operator*(const Symbolic& a, const Symbolic& b) {
    return Symbolic(a.term_ * b.term_);
  }
  friend Symbolic operator/(const Symbolic& a, const Symbolic& b) {
    return Symbolic(Path::current().quotient(a.term_, b.term_));
  }
  friend bool operator==(const Symbolic& a, const Symbolic& b) {
    return Path::current().decide(equal(a.term_, b.term_));
  }

 private:
  smt::Term term_;
};

namespace denote {

template <>
struct Scalar<Symbolic> {
  static Symbolic number(const std::string& text, double value);  ///< the decimal, exactly
  static int64_t integer(const Symbolic& x);  ///< throws Unsupported unless it is a constant
  static Symbolic of_key(uint64_t key) { return Symbolic(static_cast<int64_t>(key)); }
  static uint64_t key(const Symbolic& x) { return static_cast<uint64_t>(integer(x)); }
  static Symbolic apply(ir::UnaryFn fn, const Symbolic& x);  ///< an uninterpreted function
  static Symbolic apply(ir::BinaryFn fn, const Symbolic& a, const Symbolic& b);
  static bool less(const Symbolic& a, const Symbolic& b) {
    return Path::current().decide(smt::less(a.term(), b.term()));
  }
  static bool same(const Symbolic& a, const Symbolic& b) { return a == b; }
  static Symbolic truncated(const Symbolic& x);
  static Symbolic random(RandomBits& rng);
  static Symbolic draw(ir::RandomFn fn, const Symbolic& key, int64_t index);
  static Symbolic fold(const Symbolic& key, const std::string* tag, const Symbolic& n);
  static std::string text(const Symbolic& x) { return to_smtlib(x.term()); }
};

}  // namespace denote
}  // namespace shardproof
