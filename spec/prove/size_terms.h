#pragma once
// Sizes, requirements and divisibilities as terms over the sizes of axes and plain dims. A quotient
// is a variable with a defining equation (a witness), never `div`.
#include <map>
#include <string>
#include <vector>

#include "spec/check/check.h"
#include "spec/prove/term.h"

namespace shardproof {

/// One assumption on sizes.
struct SizeFact {
  smt::Term formula;
  std::string words;  ///< "require |K| >= |t|", "t*d | M"
  SourceRange range;
  bool stated = false;  ///< a require; else a declaration or a condition
};

/// Translates one program's arithmetic; collects the witnesses that the translation needs.
class SizeTerms {
 public:
  explicit SizeTerms(const ir::Program& program) : program_(program) {}

  /// |D|, an integer >= 1. Throws std::domain_error if the arithmetic exceeds 64 bits.
  smt::Term size(const Dim& dim);
  smt::Term axis(const Axis& name) const;
  smt::Term axes(const std::vector<Axis>& names) const;
  /// The condition with a witness: |D| = axes * k, where k >= 1 is a new variable.
  smt::Term condition(const Divisibility& condition);
  /// A requirement. `numbers` has the values in the body that are literals.
  smt::Term requirement(const ir::Arith& condition,
                        const std::map<ir::ValueId, std::string>& numbers = {});

  /// Sizes are at least 1, and the definitions of all witnesses made so far.
  std::vector<SizeFact> definitions() const;

 private:
  struct Fraction {
    smt::Term numerator, denominator;
  };
  Fraction fraction(const ir::Arith& arith);
  Fraction operation(const ir::Arith& arith);
  smt::Term floor_of(const Fraction& a, const Fraction& b);
  smt::Term truth(const ir::Arith& arith, bool stated);
  smt::Term comparison(const ir::Arith& arith, bool stated);
  smt::Term known(const std::string& name);
  smt::Term fresh(const std::string& stem);
  void define(const smt::Term& formula, const std::string& words);

  const ir::Program& program_;
  std::map<std::string, smt::Term> sizes_;  ///< plain dims, axes, and sized dims with a denominator
  std::map<std::string, smt::Term> quotients_;
  std::vector<SizeFact> definitions_;
  std::map<ir::ValueId, std::string> numbers_;
  size_t count_ = 0;
};

/// The literals in a function's body, for its requirements.
std::map<ir::ValueId, std::string> literals_of(const ir::Function& function);

/// All requirements on a program's sizes: those of the file and, with `function`, of its body, its
/// model, and all that these call.
std::vector<ir::Requirement> requirements_of(const ir::Program& program,
                                             const ir::Function* function);

}  // namespace shardproof
