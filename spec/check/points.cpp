#include "spec/check/points.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>
#include <stdexcept>

#include "spec/check/literals.h"
#include "spec/check/params_of_ids.h"
#include "spec/check/requirements.h"
#include "spec/denote/few_draws.h"
#include "spec/ir/walk.h"

namespace shardproof {

bool sizes_hold(const ir::Program& program, const denote::Sizes& sizes,
                const std::vector<ir::Requirement>& also) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, extent] : sizes.mesh) all[axis] = extent;
  try {
    for (const auto& [name, info] : program.dims) program.size(Dim{{name}}, all);
    return hold(program, program.requirements, all) && hold(program, also, all);
  } catch (const std::domain_error&) {
    return false;
  }
}

namespace {

using Random = denote::FewDraws<std::mt19937>;

/// Sizes for requirements that small sizes do not satisfy: their numbers, the neighbours and
/// doubles of these.
std::vector<int64_t> required_sizes(const ir::Program& program,
                                    const std::vector<ir::Requirement>& also) {
  constexpr double most = 1e6;
  std::vector<int64_t> pool{1, 2, 3, 4, 6, 8};
  for (double number : numbers_required(program, also)) {
    if (number != std::floor(number) || number > most) continue;
    const auto n = static_cast<int64_t>(number);
    pool.insert(pool.end(), {std::max<int64_t>(1, n - 1), n, n + 1, 2 * n});
  }
  return pool;
}

/// `|P| == 2*|L|`: the size that is required, from those that were drawn.
void equate(const ir::Program& program, const std::vector<ir::Requirement>& requirements,
            denote::Sizes& sizes) {
  for (const ir::Requirement& each : requirements) {
    const ir::Arith& equal = each.condition;
    if (equal.kind != ir::Arith::Kind::op || equal.text != "==") continue;
    for (const size_t side : {1, 0}) {
      const auto dim = sizes.dims.find(equal.args.at(side).text);
      if (equal.args[side].kind != ir::Arith::Kind::size || dim == sizes.dims.end()) continue;
      std::map<Name, int64_t> all = sizes.dims;
      for (const auto& [axis, size] : sizes.mesh) all[axis] = size;
      try {
        const double size = ir::evaluate(over_plain_dims(program, equal.args[1 - side]), all);
        if (size >= 1 && size == std::floor(size)) dim->second = static_cast<int64_t>(size);
      } catch (const std::domain_error&) {  // it needs a value of the body
      }
      break;
    }
  }
}

/// Only dims of which much is required stay large: runs take time.
void reduce(const ir::Program& program, const std::vector<ir::Requirement>& also, Random& rng,
            denote::Sizes& sizes) {
  for (auto& [name, size] : sizes.dims) {
    const int64_t large = size;
    size = std::min<int64_t>(large, 2 + static_cast<int64_t>(rng() % 3));
    if (!sizes_hold(program, sizes, also)) size = large;
  }
}

}  // namespace

std::optional<denote::Sizes> small_sizes(const ir::Program& program, unsigned attempt,
                                         const std::vector<ir::Requirement>& also) {
  Random rng(attempt * 7919 + 1);
  constexpr int tries_of_a_pool = 200;
  std::vector<int64_t> pool{2, 3, 4, 2, 3};
  for (int tries = 0; tries < 4 * tries_of_a_pool; ++tries) {
    if (tries == tries_of_a_pool) pool = {1, 2, 3, 4, 6, 8};
    if (tries == 2 * tries_of_a_pool) pool = required_sizes(program, also);
    denote::Sizes sizes;
    for (const auto& [name, info] : program.dims)
      if (info.kind == ir::DimInfo::Kind::plain) sizes.dims[name] = pool[rng() % pool.size()];
    for (const auto& [axis, info] : program.axes)
      sizes.mesh.push_back({axis, info.size.value_or(2 + static_cast<int64_t>(rng() % 2))});
    for (const auto* required : {&program.requirements, &also}) equate(program, *required, sizes);
    if (!sizes_hold(program, sizes, also)) continue;
    if (tries >= 2 * tries_of_a_pool) reduce(program, also, rng, sizes);
    return sizes;
  }
  return std::nullopt;
}

namespace {

bool indexes_tables(const ir::Program& program) {
  bool found = false;
  for (const ir::Function& function : program.functions)
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      found = found || std::holds_alternative<ir::Index>(instr.op) ||
              std::holds_alternative<ir::IndexUnreduced>(instr.op) ||
              std::holds_alternative<ir::IndexAdd>(instr.op);
    });
  return found;
}

bool requires_of_values(const ir::Program& program) {
  return std::any_of(
      program.functions.begin(), program.functions.end(),
      [](const ir::Function& function) { return shardproof::requires_of_values(function); });
}

/// The number with either sign, or a neighbour.
double near_literal(Random& rng, double literal) {
  return (rng() % 2 ? literal : -literal) + static_cast<double>(rng() % 3) - 1;
}

/// `literal`: used for half of the entries.
double draw_number(Random& rng, const Type& type, Draw draw, bool free_integers,
                   std::optional<double> literal) {
  const bool counts = is_integer(type.dtype) || is_float(type.dtype);
  if (counts && literal && rng() % 2) {
    const double number = near_literal(rng, *literal);
    if (type.dtype == Dtype::u32) return std::abs(std::floor(number));
    if (is_integer(type.dtype)) return std::floor(number);
    if (std::abs(number) <= 1001) return number;
  }
  if (type.dtype == Dtype::boolean) return static_cast<double>(rng() % 2);
  if (type.dtype == Dtype::key) return static_cast<double>(rng() % 100000);
  const bool wide = free_integers && (draw == Draw::signs || draw == Draw::ties);
  // A step counter: at 0 an optimizer is undefined.
  const bool one = draw == Draw::positive && type.dims.empty();
  if (is_integer(type.dtype) && one) return 1;
  if (is_integer(type.dtype))
    return wide ? static_cast<double>(rng() % 15) - (type.dtype == Dtype::i32 ? 7 : 0)
                : static_cast<double>(rng() % 2);
  if (draw == Draw::ties) return static_cast<double>(rng() % 5) - 2;
  const bool signs = draw == Draw::signs || (draw == Draw::mixed && !type.dims.empty());
  const double magnitude =
      std::uniform_real_distribution<double>(0.3, 2.0)(rng) * (draw == Draw::tiny ? 1e-4 : 1);
  return draw == Draw::negative || (signs && rng() % 2) ? -magnitude : magnitude;
}

}  // namespace

denote::Array<double> zeros(const ir::Program& program, const Type& type,
                            const denote::Sizes& sizes) {
  denote::Array<double> array;
  size_t count = 1;
  array.shape.reserve(type.dims.size());
  for (const Split& split : type.dims) {
    array.shape.push_back(program.size(split.dim, sizes.dims));
    count *= static_cast<size_t>(array.shape.back());
  }
  array.data.resize(count);
  return array;
}

DrawRules::DrawRules(const ir::Program& program)
    : small_integers(indexes_tables(program)), of_values(requires_of_values(program)) {}

DrawRules DrawRules::of(const ir::Program& program, const ir::Function& function) const {
  DrawRules own = *this;
  own.ids =
      small_integers ? params_of_ids(program, function) : std::vector<bool>(function.params.size());
  return own;
}

std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw) {
  return random_inputs(program, function, sizes, seed, draw,
                       DrawRules(program).of(program, function));
}

std::vector<denote::Array<double>> random_inputs(const ir::Program& program,
                                                 const ir::Function& function,
                                                 const denote::Sizes& sizes, unsigned seed,
                                                 Draw draw, const DrawRules& rules) {
  Random rng(seed);
  std::optional<double> literal;
  if (draw == Draw::literals) {
    constexpr double least = 3, most = 1e6;
    std::vector<double> numbers = numbers_of(program, function);
    std::erase_if(numbers, [](double number) { return number < least || number > most; });
    if (!numbers.empty()) literal = numbers[seed % numbers.size()];
    draw = Draw::mixed;
  }
  if (rules.of_values) {
    draw = seed % 2 ? Draw::positive : Draw::mixed;
    literal.reset();
  }
  std::vector<denote::Array<double>> inputs;
  inputs.reserve(function.params.size());
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Type& type = function.values[function.params[i]].type;
    denote::Array<double> array = zeros(program, type, sizes);
    // For some tensors only: a label may be -100 where an id may not.
    const bool own = literal && rng() % 2;
    for (double& entry : array.data)
      entry = draw_number(rng, type, draw, !rules.ids.at(i), own ? literal : std::nullopt);
    inputs.push_back(std::move(array));
  }
  satisfy_assumptions(program, function, sizes, inputs);
  return inputs;
}

void satisfy_assumptions(const ir::Program& program, const ir::Function& function,
                         const denote::Sizes& sizes, std::vector<denote::Array<double>>& inputs) {
  if (program.assumptions(function).empty()) return;
  for (size_t leaf = 0; leaf < inputs.size(); ++leaf)
    for (double& entry : inputs[leaf].data)
      entry = program.satisfying(function, leaf, entry, sizes.dims);
}

void scale_floats(const ir::Function& function, double scale,
                  std::vector<denote::Array<double>>& inputs) {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (is_float(function.values[function.params.at(i)].type.dtype))
      for (double& entry : inputs[i].data) entry *= scale;
}

void draw_apart(const ir::Function& function, unsigned way,
                std::vector<denote::Array<double>>& inputs) {
  constexpr unsigned parts = apart_draws / 2;
  const bool zeros = way >= parts;
  unsigned tensor = 0;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Type& type = function.values[function.params[i]].type;
    if (!is_float(type.dtype) || type.dims.empty()) continue;
    // Not just tensor % parts: a weight and its moments may be that many tensors apart.
    const bool tall = (tensor + tensor / parts) % parts == way % parts;
    ++tensor;
    const double scale = zeros ? tall : tall ? 1e3 : 1e-3;
    for (double& x : inputs[i].data) x *= scale;
  }
}

}  // namespace shardproof
