// The rows of the table of rules on one axis: ops with every tuple of operand states.
#include <algorithm>
#include <functional>
#include <stdexcept>

#include "spec/elaborate/elaborate.h"
#include "spec/prove/rule_proofs.h"

namespace shardproof {
namespace {

using Dims = std::vector<Name>;

/// Every state on axis t of a value with these dims.
std::vector<Type> states(const Dims& dims) {
  std::vector<Type> result;
  Type whole;
  for (const Name& dim : dims) whole.dims.push_back({Dim{{dim}}, {}});
  result.push_back(whole);
  for (Mark mark : {Mark::I, Mark::U, Mark::Max}) {
    result.push_back(whole);
    result.back().marks["t"] = mark;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    result.push_back(whole);
    result.back().dims[i].axes = {"t"};
  }
  return result;
}

/// An op as a function of the types of its operands and its result.
struct Row {
  std::string name;
  std::vector<Dims> operands;
  Dims result;
  std::function<ir::Op(const ir::Pattern&)> make;
  bool communicates = false;  ///< each stated result is a separate row
};

std::vector<Row> rows() {
  using namespace ir;
  const Dims m{"M"}, mk{"M", "K"}, kf{"K", "F"}, mf{"M", "F"}, k{"K"}, none{};
  std::vector<Row> result;
  const auto unary = [&](UnaryFn fn) {
    result.push_back({name_of(Unary{fn}), {m}, m, [fn](const Pattern&) { return Unary{fn}; }});
  };
  const auto binary = [&](BinaryFn fn) {
    result.push_back({name_of(Binary{fn}), {m, m}, m, [fn](const Pattern&) { return Binary{fn}; }});
  };
  for (UnaryFn fn : {UnaryFn::neg, UnaryFn::exp, UnaryFn::abs}) unary(fn);
  for (BinaryFn fn :
       {BinaryFn::add, BinaryFn::sub, BinaryFn::mul, BinaryFn::div, BinaryFn::maximum})
    binary(fn);
  const auto pattern = [&](std::string name, std::vector<Dims> operands, Dims to, auto make,
                           bool communicates = false) {
    result.push_back({std::move(name), std::move(operands), std::move(to), make, communicates});
  };
  const auto einsum = [](const Pattern& p) { return Einsum{p, {}}; };
  pattern("einsum", {mk, kf}, mf, einsum);
  pattern("einsum", {m, m}, none, einsum);
  pattern("sum", {mk}, k, [](const Pattern& p) { return Reduce{ReduceFn::sum, p, {}}; });
  pattern("max", {mk}, k, [](const Pattern& p) { return Reduce{ReduceFn::max, p, {}}; });
  pattern("expand", {m}, mk, [](const Pattern& p) { return Expand{p}; });
  pattern("rearrange", {mk}, {"K", "M"}, [](const Pattern& p) { return Rearrange{p}; });
  for (CollectiveFn fn :
       {CollectiveFn::all_gather, CollectiveFn::all_reduce, CollectiveFn::psum_scatter,
        CollectiveFn::all_to_all, CollectiveFn::slice, CollectiveFn::fan_out,
        CollectiveFn::zero_nonroot, CollectiveFn::zero_pad})
    pattern(
        name_of(Collective{fn, {}}), {mk}, mk,
        [fn](const Pattern& p) {
          return Collective{fn, p};
        },
        true);
  return result;
}

/// Refused tuples are tried with every state but I, which has the same values as R.
void add_tuple(const Row& row, const std::vector<Type>& operands, const std::vector<Type>& results,
               std::vector<RuleTuple>& table) {
  RuleTuple tuple;
  for (const Type& result : results) {
    ir::Pattern pattern;
    for (const Type& operand : operands) pattern.left.push_back(operand);
    pattern.right = result;
    RuleCase rule{row.name, elaborated(row.make(pattern), operands), operands, result};
    std::vector<Operand> typed;
    for (const Type& operand : operands) typed.push_back({operand, true, {}});
    const RuleResult said = apply_rule(rule_program(), rule.instr, typed);
    const bool accepted =
        !said.refusal && said.types.size() == 1 && same_type(rule_program(), said.types[0], result);
    tuple.gradient_only |= said.refusal && said.refusal->gradient_only;
    tuple.candidates.push_back(std::move(rule));
    tuple.accepted.push_back(accepted);
  }
  tuple.base = tuple.candidates.at(0);
  table.push_back(std::move(tuple));
}

void add_row(const Row& row, std::vector<RuleTuple>& table) {
  std::vector<std::vector<Type>> tuples{{}};
  for (const Dims& dims : row.operands) {
    std::vector<std::vector<Type>> longer;
    for (const auto& tuple : tuples)
      for (const Type& state : states(dims)) {
        longer.push_back(tuple);
        longer.back().push_back(state);
      }
    tuples = std::move(longer);
  }
  for (const auto& operands : tuples) {
    const std::vector<Type> results = states(row.result);
    if (!row.communicates) add_tuple(row, operands, results, table);
    for (size_t i = 0; row.communicates && i < results.size(); ++i)
      add_tuple(row, operands, {results[i]}, table);
  }
}

}  // namespace

const ir::Program& rule_program() {
  static const ir::Program program = [] {
    ir::Program result;
    result.axes["t"];
    for (const char* dim : {"M", "K", "F"}) result.dims[dim];
    return result;
  }();
  return program;
}

ir::Op elaborated(ir::Op op, const std::vector<Type>& operands) {
  const std::vector<Shape> shapes(operands.begin(), operands.end());
  if (const auto problem = elaborate::elaborate(rule_program(), op, shapes))
    throw std::logic_error(problem->message);
  return op;
}

std::string RuleCase::text() const {
  std::string text = op + ":";
  for (size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : " ") + to_string(operands[i]);
  return text + " -> " + to_string(result);
}

const std::vector<RuleTuple>& rule_table() {
  static const std::vector<RuleTuple> table = [] {
    std::vector<RuleTuple> made;
    for (const Row& row : rows()) add_row(row, made);
    return made;
  }();
  return table;
}

}  // namespace shardproof
