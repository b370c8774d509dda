#pragma once
// The type rules against the denotation: spec/denote run on symbolic reals on a mesh of one axis.
// A rule that accepts is proved for all local values; one that refuses is refuted at every type its
// result could have.
#include <string>
#include <vector>

#include "spec/prove/smt.h"
#include "spec/rules/rule.h"

namespace shardproof {

/// One op at one tuple of operand types and one type of the result.
struct RuleCase {
  std::string op;  ///< the row of RULES: "einsum", "all_gather"
  ir::Op instr;
  std::vector<Type> operands;
  Type result;
  std::string text() const;  ///< "einsum: f32[M K/t], f32[K/t F] -> f32[M F]{U_t}"
};

/// A row of the table: an op at operand types, with every type its result could have.
struct RuleTuple {
  RuleCase base;  ///< its result: the first candidate
  std::vector<RuleCase> candidates;
  std::vector<bool> accepted;  ///< by candidate: what spec/rules says
  bool gradient_only = false;  ///< refused for its gradient: the value is right
};
std::vector<RuleTuple> rule_table();

/// The program of the table: one axis t, dims M K F.
const ir::Program& rule_program();

/// The op with the indices of its pattern, at these operands.
ir::Op elaborated(ir::Op op, const std::vector<Type>& operands);

/// Local values that represent the operands give local values that represent the result, on a mesh
/// with |t| = `devices` and dims of that size. Throws denote::Error where the op has no value.
smt::Obligation rule_obligation(const RuleCase& rule, int64_t devices);

/// The obligations of the accepted candidates of an op.
std::vector<smt::Obligation> accepted_obligations(const std::string& op);

/// Why a row is refused that would have the right value: "" where there is no such reason.
/// "nothing to do": a collective that names a move and has none; "Max": no sums, products or copies
/// of maxima in this version, they have no gradient; "another collective": the values are right,
/// and the collective that moves them so has another name.
std::string stricter_than_values(const RuleCase& rule);

/// How a row came out.
struct RuleOutcome {
  size_t proved = 0;       ///< accepted, and so for all values
  size_t refuted = 0;      ///< refused, with a model for every candidate
  size_t gradient = 0;     ///< refused for its gradient alone: by argument
  size_t stricter = 0;     ///< refused, though the value is right: see stricter_than_values
  size_t meaningless = 0;  ///< refused, and the op has no value there
  std::vector<std::string> failures;
};
RuleOutcome check_rule(const std::vector<RuleTuple>& table, const std::string& op,
                       smt::Solver& solver);

}  // namespace shardproof
