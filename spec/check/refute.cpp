#include "spec/check/refute.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "spec/check/one_device.h"
#include "spec/check/walk.h"
#include "spec/denote/evaluate.h"

namespace shardproof {
namespace {

using Inputs = std::vector<denote::Array<double>>;

bool holds(const ir::Program& program, const std::map<Name, int64_t>& sizes) {
  const auto all = [&](const std::vector<ir::Requirement>& requirements) {
    return std::all_of(requirements.begin(), requirements.end(),
                       [&](const ir::Requirement& requirement) {
                         return ir::evaluate(requirement.condition, sizes) != 0;
                       });
  };
  try {
    for (const auto& [name, info] : program.dims) program.size(Dim{{name}}, sizes);
    return all(program.requirements);
  } catch (const std::domain_error&) {
    return false;
  }
}

std::string number(double value) {
  if (std::isnan(value)) return "no value";
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return text;
}

/// Index of the element that differs most, relative to the model's largest value; nullopt when they
/// agree.
std::optional<size_t> differs(const denote::Array<double>& a, const denote::Array<double>& b) {
  double scale = 1e-12;
  for (double x : b.data) scale = std::max(scale, std::abs(x));
  std::optional<size_t> worst;
  double most = 1e-6 * scale;
  for (size_t i = 0; i < b.data.size(); ++i) {
    if (!std::isfinite(b.data[i]) || std::isinf(a.data[i])) return std::nullopt;
    if (std::isnan(a.data[i])) return i;  // no value where the model has one
    if (std::abs(a.data[i] - b.data[i]) > most) most = std::abs(a.data[i] - b.data[i]), worst = i;
  }
  return worst;
}

std::string place(const denote::Array<double>& array, size_t flat) {
  std::string text;
  for (size_t d = array.shape.size(); d-- > 0;) {
    const auto extent = static_cast<size_t>(array.shape[d]);
    text = std::to_string(flat % extent) + (text.empty() ? "" : ", ") + text;
    flat /= extent;
  }
  return "[" + text + "]";
}

std::string sizes_text(const denote::Sizes& sizes) {
  std::string text;
  for (const auto& [name, size] : sizes.mesh)
    text += (text.empty() ? "|" : " |") + name + "|=" + std::to_string(size);
  for (const auto& [name, size] : sizes.dims)
    text += (text.empty() ? "" : " ") + name + "=" + std::to_string(size);
  return text;
}

Refutation describe(const denote::Sizes& sizes, size_t result, size_t at,
                    const denote::Array<double>& plan, const denote::Array<double>& model) {
  Refutation refutation;
  refutation.result = result;
  refutation.numbers.mesh = "one device";
  refutation.numbers.sizes = sizes_text(sizes);
  refutation.numbers.lines.push_back("at " + place(model, at) + " the model gives " +
                                     number(model.data[at]) + ", the plan " +
                                     number(plan.data[at]));
  double cross = 0, square = 0;
  for (size_t i = 0; i < model.data.size(); ++i) {
    cross += plan.data[i] * model.data[i];
    square += model.data[i] * model.data[i];
  }
  refutation.ratio = square > 0 ? cross / square : 0;
  refutation.uniform = true;
  refutation.entries = model.data.size();
  for (const auto& [name, size] : sizes.dims)
    if (size < 2) refutation.entries = 1;  // a sum over one entry is a factor that is none
  for (size_t i = 0; i < model.data.size(); ++i)
    if (!(std::abs(plan.data[i] - refutation.ratio * model.data[i]) <= 1e-9 * std::sqrt(square)))
      refutation.uniform = false;
  return refutation;
}

}  // namespace

std::optional<denote::Sizes> small_sizes(const ir::Program& program, unsigned attempt) {
  std::mt19937 rng(attempt * 7919 + 1);
  for (int tries = 0; tries < 400; ++tries) {
    denote::Sizes sizes;
    std::vector<int64_t> pool =
        tries < 200 ? std::vector<int64_t>{2, 3, 4, 2, 3} : std::vector<int64_t>{1, 2, 3, 4, 6, 8};
    for (const auto& [name, info] : program.dims)
      if (info.kind == ir::DimInfo::Kind::plain) sizes.dims[name] = pool[rng() % pool.size()];
    std::map<Name, int64_t> all = sizes.dims;
    for (const auto& [axis, info] : program.axes) {
      const int64_t extent = info.size.value_or(2 + static_cast<int64_t>(rng() % 2));
      all[axis] = extent;
      sizes.mesh.push_back({axis, extent});
    }
    for (auto& [name, size] : sizes.dims) all[name] = size;
    if (holds(program, all)) return sizes;
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

/// `require s > 0` in a body: other signs are outside the claim.
bool requires_of_values(const ir::Program& program) {
  return std::any_of(program.functions.begin(), program.functions.end(),
                     [](const ir::Function& function) {
                       bool found = !function.body.requirements.empty();
                       for_each_instr(function.body, [&](const ir::Instr& instr) {
                         if (const ir::Block* body = body_of(instr.op))
                           found = found || !body->requirements.empty();
                       });
                       return found;
                     });
}

double draw_number(std::mt19937& rng, const Type& type, Draw draw, bool free_integers) {
  if (type.dtype == Dtype::boolean) return static_cast<double>(rng() % 2);
  if (type.dtype == Dtype::key) return static_cast<double>(rng() % 100000);
  const bool wide = free_integers && (draw == Draw::signs || draw == Draw::ties);
  if (is_integer(type.dtype))
    return wide ? static_cast<double>(rng() % 15) - (type.dtype == Dtype::i32 ? 7 : 0)
                : static_cast<double>(rng() % 2);
  if (draw == Draw::ties) return static_cast<double>(rng() % 5) - 2;
  const bool signs = draw == Draw::signs || (draw == Draw::mixed && !type.dims.empty());
  const double magnitude =
      std::uniform_real_distribution<double>(0.3, 2.0)(rng) * (draw == Draw::tiny ? 1e-4 : 1);
  return signs && rng() % 2 ? -magnitude : magnitude;
}

}  // namespace

Inputs random_inputs(const ir::Program& program, const ir::Function& function,
                     const denote::Sizes& sizes, unsigned seed, Draw draw) {
  std::mt19937 rng(seed);
  const bool free_integers = !indexes_tables(program);
  if (requires_of_values(program)) draw = seed % 2 ? Draw::positive : Draw::mixed;
  Inputs inputs;
  for (ir::ValueId v : function.params) {
    const Type& type = function.values[v].type;
    denote::Array<double> array;
    size_t count = 1;
    for (const Split& split : type.dims) {
      array.shape.push_back(program.size(split.dim, sizes.dims));
      count *= static_cast<size_t>(array.shape.back());
    }
    for (size_t i = 0; i < count; ++i)
      array.data.push_back(draw_number(rng, type, draw, free_integers));
    inputs.push_back(std::move(array));
  }
  return inputs;
}

std::optional<Refutation> refute(const ir::Program& program, size_t plan, size_t model,
                                 std::string* why) {
  for (unsigned attempt = 0; attempt < 15; ++attempt) {
    const auto sizes = small_sizes(program, attempt);
    if (!sizes) {
      if (why) *why = "no small sizes satisfy the file's requirements";
      return std::nullopt;
    }
    const Inputs inputs = random_inputs(program, program.functions[model], *sizes, attempt,
                                        static_cast<Draw>(attempt % 5));
    try {
      const ir::Program one = at_mesh_sizes(program, *sizes);
      const auto left = denote::evaluate<double>(one, plan, *sizes, inputs);
      const auto right = denote::evaluate<double>(one, model, *sizes, inputs);
      for (size_t r = 0; r < right.size() && r < left.size(); ++r)
        if (auto at = differs(left[r], right[r]))
          return describe(*sizes, r, *at, left[r], right[r]);
    } catch (const std::exception& error) {
      if (why) *why = error.what();
    }
  }
  return std::nullopt;
}

}  // namespace shardproof
