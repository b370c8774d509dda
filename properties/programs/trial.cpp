#include "properties/programs/trial.h"

#include <algorithm>
#include <numeric>

#include "spec/check/conditions.h"
#include "spec/denote/geometry.h"

namespace shardproof::programs {

using properties::PlanCase;

Program load(const std::string& text) {
  CheckOptions options;
  options.fixes = false;
  return Program::load(
      "random.shard",
      [&](const std::string& path) -> std::optional<std::string> {
        return path == "random.shard" ? std::optional(text) : std::nullopt;
      },
      options);
}

namespace {

int64_t entries(const ir::Program& program, const denote::Sizes& sizes) {
  const denote::Geometry geometry(program, sizes);
  int64_t most = 0;
  for (const ir::Function& function : program.functions)
    for (const ir::Value& value : function.values) {
      int64_t count = 1;
      for (const Split& split : value.type.dims) count *= geometry.size(split.dim);
      most = std::max(most, count);
    }
  return most;
}

std::vector<Divisibility> conditions_of_plans(const CheckedProgram& checked) {
  std::vector<Divisibility> conditions;
  for (size_t f = 0; f < checked.program().functions.size(); ++f)
    if (checked.program().functions[f].kind == ir::Function::Kind::plan)
      for (const Divisibility& each : conditions_of(checked.program(), checked.types(f)))
        conditions.push_back(each);
  return conditions;
}

denote::Sizes sizes_on(const CheckedProgram& checked, const std::vector<int>& mesh,
                       const Choices& choices, int least) {
  const ir::Program& program = checked.program();
  denote::Sizes sizes;
  size_t i = 0;
  for (const Axis& axis : program.axis_names()) sizes.mesh.push_back({axis, mesh.at(i++)});
  i = 0;
  for (const auto& [name, info] : program.dims)
    if (info.kind == ir::DimInfo::Kind::plain && !info.size)
      sizes.dims[name] = choices.dims.at(i++ % choices.dims.size());
  for (const Divisibility& condition : conditions_of_plans(checked)) {
    int64_t shards = 1;
    for (const Axis& axis : condition.axes) shards *= sizes.axis(axis);
    for (const Name& base : program.base(condition.dim))
      if (auto found = sizes.dims.find(base); found != sizes.dims.end()) {
        found->second = std::lcm(found->second, shards);
        break;
      }
  }
  const bool ids = std::any_of(
      program.functions.begin(), program.functions.end(), [](const ir::Function& function) {
        return std::any_of(function.params.begin(), function.params.end(), [&](ir::ValueId v) {
          return is_integer(function.values[v].type.dtype);
        });
      });
  for (auto& [dim, size] : sizes.dims)
    if (size < (ids ? 2 : least)) size = 2;
  return sizes;
}

}  // namespace

denote::Sizes point(const CheckedProgram& checked, const Choices& choices, int attempt) {
  std::vector<int> mesh = choices.mesh;
  std::rotate(mesh.begin(), mesh.begin() + attempt % 4, mesh.end());
  mesh.resize(checked.program().axis_names().size());
  for (;;) {
    const denote::Sizes sizes = sizes_on(checked, mesh, choices, attempt ? 2 : 1);
    const auto largest = std::max_element(mesh.begin(), mesh.end());
    if (*largest == 1 ||
        (sizes.devices() <= choices.ranks && entries(checked.program(), sizes) <= 5000))
      return sizes;
    --*largest;
  }
}

namespace {

PlanCase case_of(const Program& program, const Name& plan) {
  const CheckedProgram& checked = program.checked();
  return {{&checked.program(), &checked.types(), &program.sources(), program.plan(plan).function},
          any_backwards(program),
          {},
          {},
          {}};
}

std::map<Word, int64_t> all_dims(const denote::Sizes& sizes) {
  std::map<Word, int64_t> dims(sizes.dims.begin(), sizes.dims.end());
  dims["P"] = dims["Q"] = 2;
  return dims;
}

std::string at(const PlanCase& one, const char* precision, const std::string& found) {
  return found.empty() ? "" : properties::text(one) + ", " + precision + ": " + found;
}

/// Bit for bit where all numbers fit the mantissa.
void compare(const PlanCase& one, const std::vector<oracle::Tensor>& wanted, bool bitwise,
             bool bitwise_f32, Outcome& outcome) {
  outcome.ran = true;
  outcome.bitwise = bitwise;
  outcome.bitwise_f32 = bitwise_f32;
  const Bounds none(wanted.size());
  const properties::RoundingBounds bounds = bitwise && bitwise_f32
                                                ? properties::RoundingBounds{none, none}
                                                : properties::rounding_bounds(one, wanted);
  const Bounds &f64 = bitwise ? none : bounds.f64, &f32 = bitwise_f32 ? none : bounds.f32;
  outcome.sharp = properties::would_see_a_factor(wanted, f32);
  const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
  outcome.difference = at(one, "f64", properties::difference(got, wanted, f64));
  if (!outcome.difference.empty()) return;
  if (got != properties::run_on_ranks(one, {.precision = Precision::f64, .reuse_memory = false}))
    outcome.difference = at(one, "f64", "other bits the second time");
  if (!outcome.difference.empty()) return;
  if (got != properties::run_on_ranks(one, {.precision = Precision::f64, .overlap = true}))
    outcome.difference = at(one, "f64", "other bits with overlap");
  if (!outcome.difference.empty()) return;
  const auto rough = properties::run_on_ranks(one, {.precision = Precision::f32});
  outcome.difference = at(one, "f32", properties::difference(rough, wanted, f32));
}

/// On which side of a kink a number is, rounding to bf16 may decide.
void compare_written(const PlanCase& one, const std::vector<oracle::Tensor>& wanted, bool bitwise,
                     bool kinks, Outcome& outcome) {
  if (kinks && !bitwise) return;
  const auto bounds = bitwise ? Bounds(wanted.size()) : properties::written_bounds(one, wanted);
  const auto got = properties::run_on_ranks(one, {.precision = Precision::as_written});
  outcome.difference = at(one, "as written", properties::difference(got, wanted, bounds));
  outcome.written = true;
}

Outcome try_plan(const Program& program, const Name& plan, const Choices& choices, int attempt,
                 const std::function<void(PlanCase&, const std::vector<oracle::Tensor>&, Outcome&)>&
                     compare_with) {
  Outcome outcome;
  PlanCase one = case_of(program, plan);
  one.sizes = point(program.checked(), choices, attempt);
  const unsigned seed = choices.data + static_cast<unsigned>(attempt);
  const auto wanted = properties::draw_inputs(one, seed, choices.exact);
  if (!wanted) return outcome;
  try {
    compare_with(one, *wanted, outcome);
  } catch (const std::exception& error) {
    outcome.ran = true;
    outcome.difference = at(one, "fails", error.what());
  }
  return outcome;
}

}  // namespace

Outcome try_values(const Program& program, const RandomProgram& drafted, const Choices& choices,
                   int attempt) {
  return try_plan(
      program, "p", choices, attempt, [&](PlanCase& one, const auto& wanted, Outcome& outcome) {
        const auto dims = all_dims(one.sizes);
        const double bits = exact_bits(drafted, dims);
        compare(one, wanted, choices.exact && bits <= 53, choices.exact && bits <= 24, outcome);
        if (outcome.difference.empty() && drafted.shortened)
          compare_written(one, wanted, choices.exact && bits <= 8, drafted.kinks, outcome);
      });
}

Outcome try_gradients(const Program& program, const RandomProgram& drafted,
                      const Choices& choices) {
  return try_plan(
      program, "step", choices, 0, [&](PlanCase& one, const auto& wanted, Outcome& outcome) {
        const auto dims = all_dims(one.sizes);
        double weighted = 5;  // the weight's bits, and those of the degree
        for (const Piece& each : drafted.values.back().layout.dims)
          weighted += std::log2(static_cast<double>(dims.at(each.dim)));
        const double bits = exact_bits(drafted, dims) + weighted;
        compare(one, wanted, choices.exact && bits <= 53, choices.exact && bits <= 24, outcome);
      });
}

void run_oracle(const Program& program, const Choices& choices) {
  PlanCase one = case_of(program, "p");
  one.sizes = point(program.checked(), choices, 0);
  properties::draw_inputs(one, choices.data, true);
}

Seen try_unchecked(const Program& program, const Choices& choices, int meshes) {
  int ran = 0;
  for (int attempt = 0; attempt < meshes; ++attempt) {
    try {
      PlanCase one = case_of(program, "p");
      one.sizes = point(program.checked(), choices, attempt);
      const unsigned seed = choices.data + static_cast<unsigned>(attempt);
      const auto wanted = properties::draw_inputs(one, seed, attempt % 2 == 0);
      if (!wanted) continue;
      const auto got = properties::run_on_ranks(one, {.precision = Precision::f64});
      if (!properties::difference_in_double(one, got, *wanted).empty()) return Seen::differs;
      ++ran;
    } catch (const std::exception&) {
      return Seen::unfit;
    }
  }
  return ran ? Seen::equal : Seen::unfit;
}

}  // namespace shardproof::programs
