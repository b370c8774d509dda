#pragma once
// Tests the typing rules against the denotation: runs spec/denote on symbolic reals on a mesh with
// one axis. An accepted rule is proved for all local values. A refusal is refuted at every type
// that the result could have.
#include <string>
#include <vector>

#include "spec/prove/smt.h"
#include "spec/rules/rule.h"

namespace shardproof {

/// One op with types of its operands and one type of the result.
struct RuleCase {
  std::string op;  ///< the row of RULES: "einsum", "all_gather"
  ir::Op instr;
  std::vector<Type> operands;
  Type result;
  std::string text() const;  ///< "einsum: f32[M K/t], f32[K/t F] -> f32[M F]{U_t}"
};

/// A row of the table: an op with operand types, and every type that its result could have.
struct RuleTuple {
  RuleCase base;  ///< with the first candidate as its result
  std::vector<RuleCase> candidates;
  std::vector<bool> accepted;  ///< by candidate: the answer of spec/rules
  bool gradient_only = false;  ///< refused for its gradient only: the value is right
};
const std::vector<RuleTuple>& rule_table();

/// The program of the table: one axis t, dims M K F.
const ir::Program& rule_program();

/// The op with the indices of its pattern, for these operands.
ir::Op elaborated(ir::Op op, const std::vector<Type>& operands);

/// Local values that represent the operands give local values that represent the result, on a mesh
/// with |t| = `devices` and dims of that size. Throws denote::Error if the op has no value.
smt::Obligation rule_obligation(const RuleCase& rule, int64_t devices);

/// The obligations of the accepted candidates of an op.
std::vector<smt::Obligation> accepted_obligations(const std::string& op);

/// Why a row is refused although its value is right; "" if there is no such reason. "nothing to
/// do": a collective whose pattern moves nothing. "Max": sums, products and copies of maxima are
/// not supported; they have no gradient. "another collective": a collective with another name makes
/// this move.
std::string stricter_than_values(const RuleCase& rule);

/// The outcome of a row.
struct RuleOutcome {
  size_t proved = 0;       ///< accepted, and proved for all values
  size_t refuted = 0;      ///< refused, with a counterexample for every candidate
  size_t gradient = 0;     ///< refused for its gradient only: not checked by Z3
  size_t stricter = 0;     ///< refused, though the value is right: see stricter_than_values
  size_t meaningless = 0;  ///< refused, and the op has no value for these types
  std::vector<std::string> failures;
};
RuleOutcome check_rule(const std::vector<RuleTuple>& table, const std::string& op,
                       smt::Solver& solver);

}  // namespace shardproof
