#pragma once
// Terms of arithmetic and logic, from which obligations are built; printed as SMT-LIB2 and
// evaluated. There is no division: a quotient is a variable with a defining equation (a witness).
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace shardproof::smt {

enum class Sort { boolean, integer, real };

/// A variable's value: a fraction in lowest terms; booleans are 0 and 1.
struct Fraction {
  int64_t numerator = 0, denominator = 1;
  bool operator==(const Fraction&) const = default;
};
std::string to_string(const Fraction& value);
using Model = std::map<std::string, Fraction>;

class Term {
 public:
  enum class Op { constant, variable, apply, add, mul, eq, le, lt, conj, disj, negation };

  Term(int64_t value = 0);  ///< a number; integer or real as the context needs
  static Term number(Fraction value);
  static Term truth(bool value);
  static Term variable(std::string name, Sort sort);
  /// An uninterpreted function of reals.
  static Term apply(std::string name, std::vector<Term> args);

  Op op() const;
  Sort sort() const;
  const std::string& name() const;  ///< of a variable or a function
  const Fraction& value() const;    ///< of a constant
  const std::vector<Term>& args() const;
  bool is_number(int64_t value) const;  ///< the constant with this value
  const void* identity() const { return node_.get(); }

  friend Term operator+(const Term& a, const Term& b);
  friend Term operator-(const Term& a, const Term& b);
  friend Term operator*(const Term& a, const Term& b);
  friend Term equal(const Term& a, const Term& b);
  friend Term less_equal(const Term& a, const Term& b);
  friend Term less(const Term& a, const Term& b);
  friend Term conj(std::vector<Term> args);
  friend Term disj(std::vector<Term> args);
  friend Term negate(const Term& a);

 private:
  struct Node;
  explicit Term(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  static Term make(Op op, Sort sort, std::vector<Term> args);
  std::shared_ptr<const Node> node_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term equal(const Term& a, const Term& b);
Term less_equal(const Term& a, const Term& b);
Term less(const Term& a, const Term& b);
Term conj(std::vector<Term> args);
Term disj(std::vector<Term> args);
Term negate(const Term& a);
Term product(const std::vector<Term>& factors);
Term integer(const std::string& name);
Term real(const std::string& name);

/// The body with the variable replaced by `witness`: proves `exists x. body`.
Term exists(const std::string& variable, const Term& witness, const Term& body);

/// Variables in order of first occurrence.
std::vector<Term> variables_of(const std::vector<Term>& terms);

/// Nullopt: a variable has no value, there is a function, or a number exceeds 64 bits.
std::optional<Fraction> evaluate(const Term& term, const Model& model);
std::optional<bool> holds(const Term& formula, const Model& model);

/// Prints an SMT-LIB2 expression; `rename` maps variables to names.
std::string to_smtlib(const Term& term, const std::map<std::string, std::string>& rename = {});
/// The smallest logic of SMT-LIB2 that covers the formulas: "QF_NIA", "QF_LRA", ...
std::string logic_of(const std::vector<Term>& formulas);

}  // namespace shardproof::smt
