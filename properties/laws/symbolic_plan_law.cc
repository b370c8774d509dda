// The solver on the smallest shape: every axis 2 and every dim the least that divides, a whole
// small plan run symbolically on all devices, its results put together at the stated types, against
// the model on one device. It must agree with the checker. Functions are uninterpreted: what the
// solver finds is tried in double before it counts.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <numeric>

#include "properties/generators/shard_files.h"
#include "properties/laws/symbolic_plan.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/ir/claim.h"

namespace shardproof::properties {
namespace {

using Kind = Verdict3::Kind;

constexpr size_t most_ops = 60;

bool full() { return std::getenv("SHARDPROOF_FULL") != nullptr; }

/// Refused plans that give the model's values at every small shape, as `file plan`.
const std::map<std::string, const char*> right_values = {
    {"order_of_digits_broken pairs_c", "|U| is |W| where all sizes are least"},
    {"clip_by_division_broken larger_d", "too many cases of its comparisons"},
    {"choices_of_values_broken balance_d", "top_k of more entries than there are"},
    {"sizes_required_equal_broken means_c", "|c| is |P| where all sizes are least"},
    {"sizes_required_equal_broken shifted_c", "a block has one row where all sizes are least"},
    {"mask_in_its_denominator chosen_d", "no entry is compared where any denominator is 0"},
    {"mask_in_its_denominator first_apart_d", "no entry is compared where any denominator is 0"},
    {"mask_in_its_denominator scaled_d", "no entry is compared where any denominator is 0"},
    {"clipped_counts_broken signed_d", "its integers are 0 and 1 here"},
    {"clipped_counts_broken count_d", "its integers are 0 and 1 here"},
    {"owed any_d", "only what it calls assumes more than is known"},
    {"b07_all_reduce_copy_broken p", "its pattern names no axis: nothing would be added"},
    {"b07_all_reduce_invariant_broken p", "its pattern names no axis"},
    {"e0205_all_reduce p", "its pattern names no axis"},
    {"b13_same_dim_broken p", "its pattern moves nothing"},
    {"e0206_all_gather p", "its pattern moves nothing"},
    {"c03_no_fan_out_broken p", "only the gradient is wrong"},
    {"c05_step_broken p", "only the gradient is wrong"},
    {"c05_wrong_exit_broken p", "only the gradient is wrong"},
    {"c07_broken keys_t", "only the gradient is wrong"},
    {"e0203_copy p", "only the gradient is wrong"},
    {"e0203_split p", "only the gradient is wrong"},
    {"e0203_reduced_to_copy f_t", "only the gradient is wrong"},
    {"e0203_stored_as_copy f_t", "only the gradient is wrong"},
    {"e0209_result p", "the value refused is not used"},
    {"e0306_mark p", "only the gradient is wrong"},
    {"d07_repeated_dim_broken p", "a name stands for two indices"},
    {"e0305_new_dim p", "the names of its dims"},
    {"e0305_order p", "the names of its dims"},
    {"e0305_pointwise p", "the names of its dims"},
    {"e0305_reduce_to p", "the names of its dims"},
    {"d04_broken p", "the names of its dims"},
    {"e0404_axis_size p", "equal, by the size that it may not name"},
    {"c02_fraction_broken p",
     "a copy over |t| is counted |t| times: right, and refused as a sum with a copy"},
    {"e0210_exp p", "too many cases"},
    {"e0224_ring_emit without_block", "what it emits has no block to put together"},
    {"e0224_ring_emit in_a_group", "what it emits has no block to put together"},
    {"e0224_ring_emit whole_beside_it",
     "the values are right; its type has the block beside the whole"},
    {"e0221_ring reduced", "the values are right; its devices would wait for one another"},
    {"e0221_ring in_a_callee", "the values are right; its devices would wait for one another"},
    {"e0221_ring in_a_scan", "the values are right; its devices would wait for one another"},
    {"e0221_ring a_ring_inside", "the values are right; its devices would wait for one another"},
    {"e0222_ring copy", "the last carry is a copy, those before are not"},
    {"e0222_ring marked", "what is marked is not used"},
};

/// Makes no claim about exponentials of such numbers.
constexpr char too_large[] = "a rational with more than 64 bits";

/// Why a refused plan cannot be run on devices at all: that is a difference too.
bool cannot_run(const std::string& why) {
  if (why.starts_with("an array of another shape than its type")) return true;
  for (const char* text :
       {" there", "is not one op", "would move data between devices", "gains or loses axes",
        "beyond the end of a dim", "operands of different shapes", "no small shape",
        "a parameter that is a maximum"})
    if (why.ends_with(text)) return true;
  return false;
}

/// Gradients take seconds a file to check.
bool left_out(const std::string& path) {
  return !full() && disk_reader()(path).value().find("grad(") != std::string::npos;
}

std::string name_of(const std::string& path, const ir::Function& function) {
  return std::filesystem::path(path).stem().string() + " " + function.name;
}

size_t ops_of(const ir::Program& program, const ir::Block& block) {
  size_t count = 0;
  for (const ir::Instr& instr : block.instrs) {
    ++count;
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      count += ops_of(program, program.functions.at(call->function).body);
    if (auto* scan = std::get_if<ir::Scan>(&instr.op)) count += 2 * ops_of(program, *scan->body);
  }
  return count;
}

/// Every dim at least 2 (shape 0) or unequal (shape 1 and on), and a multiple of the axes on it; a
/// dim that pads another is larger.
std::optional<denote::Sizes> smallest_sizes(const CheckedProgram& checked, unsigned shape) {
  const ir::Program& program = checked.program();
  denote::Sizes sizes;
  std::map<Name, int64_t> all;
  for (const auto& [axis, info] : program.axes) {
    sizes.mesh.push_back({axis, info.size.value_or(2)});
    all[axis] = sizes.mesh.back().second;
  }
  int64_t next = 0;
  for (const auto& [name, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain) sizes.dims[name] = 2 + (shape * ++next) % 3;
  for (const auto& [name, info] : program.dims)
    if (info.pads && sizes.dims.count(name)) sizes.dims[name] = sizes.dims[*info.pads] + 2;
  const auto divide = [&](const Shape& type) {
    for (const Split& split : type.dims) {
      int64_t shards = 1;
      for (const Axis& axis : split.axes) shards *= sizes.axis(axis);
      const std::vector<Name> base = program.base(split.dim);
      if (auto dim = sizes.dims.find(base.empty() ? "" : base[0]); dim != sizes.dims.end())
        dim->second = std::lcm(dim->second, shards);
    }
  };
  for (size_t f = 0; f < program.functions.size(); ++f)
    for (const Type& type : checked.types(f)) divide(type);
  for (const auto& [name, size] : sizes.dims) all[name] = size;
  try {
    for (const ir::Requirement& requirement : program.requirements)
      if (ir::evaluate(requirement.condition, all) == 0) return std::nullopt;
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
  return sizes.devices() <= 8 ? std::optional(sizes) : std::nullopt;
}

/// By code of a plan's first error; "" of one that is proved.
std::string code_of(const PlanReport& plan) {
  for (const Diagnostic& each : plan.diagnostics)
    if (each.severity == Severity::error) return each.code;
  return "";
}

struct Tally {
  std::map<std::string, std::map<Kind, int>> found;  ///< by code
  std::map<std::string, int> reasons;
  int larger = 0;
};

const char* name(Kind kind) {
  switch (kind) {
    case Kind::equal:
      return "equal";
    case Kind::differs:
      return "differs";
    case Kind::in_doubt:
      return "in doubt";
    case Kind::undecided:
      return "undecided";
    case Kind::no_run:
      return "not run";
  }
  return "";
}

bool has_integers(const ir::Function& function) {
  return std::any_of(function.params.begin(), function.params.end(),
                     [&](ir::ValueId v) { return !is_float(function.values.at(v).type.dtype); });
}

Verdict3 run(const CheckedProgram& checked, size_t plan, const denote::Sizes& sizes, unsigned draw,
             smt::Solver& solver) try {
  const PlanBudget budget{.cases = full() ? 24u : 8u, .nodes = full() ? 4000u : 2000u};
  return SymbolicPlan(checked, plan, sizes, draw, solver, budget).run();
} catch (const std::exception& error) {  // sizes that its dims cannot have
  return {Kind::no_run, error.what()};
}

/// For a plan that is proved, the worst of what is found at the first shape that it allows; for
/// others the first difference at some shape.
Verdict3 judge(const CheckedProgram& checked, size_t plan, bool proved, smt::Solver& solver) {
  Verdict3 result{Kind::no_run, "no small shape"};
  const ir::Program& program = checked.program();
  const unsigned draws = has_integers(program.functions.at(plan)) ? 2 : 1;
  const std::vector<ir::Requirement> required = requirements_of_claim(program, plan);
  for (unsigned shape = 0; shape < 3; ++shape) {
    if (proved && result.text != "no small shape") break;
    const auto sizes = smallest_sizes(checked, shape);
    if (proved && sizes && !sizes_hold(program, *sizes, required)) continue;
    for (unsigned draw = 0; sizes && draw < draws; ++draw) {
      const Verdict3 next = run(checked, plan, *sizes, draw, solver);
      if (next.kind == Kind::differs) return next;
      if (result.text == "no small shape" || next.kind > result.kind) result = next;
    }
  }
  return result;
}

bool mentions_param(const ir::Function& function, const ir::Arith& arith) {
  return (arith.kind == ir::Arith::Kind::value &&
          std::count(function.params.begin(), function.params.end(), arith.value)) ||
         std::any_of(arith.args.begin(), arith.args.end(),
                     [&](const ir::Arith& each) { return mentions_param(function, each); });
}

bool requires_of_params(const ir::Function& function) {
  const std::vector<ir::Requirement>& all = function.body.requirements;
  return std::any_of(all.begin(), all.end(), [&](const ir::Requirement& each) {
    return mentions_param(function, each.condition);
  });
}

void run_file(const std::string& path, smt::Solver& solver, Tally& tally) {
  Sources sources;
  CheckOptions options;
  options.fixes = false;
  const CheckedProgram checked = check(sources, path, disk_reader(), options);
  if (!checked.readable() || checked.verdict() == Verdict::invalid) return;
  for (const PlanReport& plan : checked.plans()) {
    const size_t claim = ir::claim_of(checked.program(), plan.function);
    const ir::Function& function = checked.program().functions.at(claim);
    const bool proved = plan.verdict == Verdict::proved;
    // Symbols stand for any number.
    if (function.model && !checked.program().functions.at(*function.model).assumptions.empty())
      continue;
    if (proved && requires_of_params(function)) continue;
    if (proved && function.model &&
        requires_of_params(checked.program().functions.at(*function.model)))
      continue;
    if (plan.imported || function.trusted || function.implements_grad || function.uses_gradients)
      continue;
    if (!proved && plan.verdict != Verdict::refuted) continue;
    const std::string name_here = name_of(path, function);
    if (ops_of(checked.program(), function.body) > most_ops) {
      ++tally.larger;
      continue;
    }
    const std::string code = proved ? "" : code_of(plan);
    const Verdict3 found = judge(checked, claim, proved, solver);
    ++tally.found[code][found.kind];
    if (found.kind != Kind::equal && found.kind != Kind::differs) ++tally.reasons[found.text];
    if (proved) {
      EXPECT_NE(found.kind, Kind::differs) << name_here << ": " << found.text;
    } else if (found.text != too_large) {
      const bool shown =
          found.kind == Kind::differs || (found.kind == Kind::no_run && cannot_run(found.text));
      EXPECT_NE(shown, right_values.count(name_here) == 1)
          << name_here << " " << code << " " << name(found.kind) << " " << found.text;
    }
  }
}

std::vector<std::string> files() {
  std::vector<std::string> paths =
      properties::shard_files({SHARDPROOF_SOURCE_DIR "/spec/tests"}, {"/syntax/", "/impossible/"});
  std::erase_if(paths, left_out);
  return paths;
}

TEST(SymbolicPlans, AgreeWithTheCheckerOnTheSmallestShape) {
  // Bounded by resources: a loaded machine changes nothing.
  smt::Solver solver(
      {.milliseconds = full() ? 2000u : 200u, .resources = 1'000'000, .seconds = 300});
  Tally tally;
  for (const std::string& path : files()) run_file(path, solver, tally);
  EXPECT_GE(tally.found[""][Kind::equal], 100);
  for (const auto& [code, kinds] : tally.found) {
    std::cout << "    " << (code.empty() ? "proved" : code) << ":";
    for (const auto& [kind, count] : kinds) std::cout << " " << name(kind) << " " << count;
    std::cout << "\n";
  }
  for (const auto& [reason, count] : tally.reasons)
    std::cout << "      " << count << "  " << reason << "\n";
  std::cout << "    " << tally.larger << " plans of more than " << most_ops << " ops left out; "
            << solver.questions() << " questions, " << solver.seconds() << " s in the solver\n";
}

}  // namespace
}  // namespace shardproof::properties
