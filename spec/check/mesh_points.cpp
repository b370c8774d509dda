#include "spec/check/mesh_points.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "spec/check/requirements.h"
#include "spec/denote/represent.h"

namespace shardproof {
namespace {

/// The first two axes have sizes 2 and 3, or 3 and 2, or 2 and 2 (for files that fix sizes like 8);
/// others 1 or 2. This keeps the number of devices small.
void draw_mesh(const ir::Program& program, const MeshWish& wish, denote::RandomBits& rng,
               bool equal_axes, denote::Sizes& sizes) {
  std::vector<Axis> axes = program.axis_names();
  std::shuffle(axes.begin(), axes.end(), rng);
  std::stable_partition(axes.begin(), axes.end(),
                        [&](const Axis& axis) { return !wish.axes || wish.axes->contains(axis); });
  const auto first = 2 + static_cast<int64_t>(equal_axes ? 0 : rng() % 2);
  for (size_t i = 0; i < axes.size(); ++i) {
    auto drawn = 1 + static_cast<int64_t>(rng() % 2);
    if (i < 2) drawn = i == 0 || equal_axes ? first : 5 - first;
    if (sizes.devices() > 12 || (wish.axes && !wish.axes->contains(axes[i]))) drawn = 1;
    if (const auto own = wish.given.find(axes[i]); own != wish.given.end()) drawn = own->second;
    sizes.mesh.push_back({axes[i], program.axes.at(axes[i]).size.value_or(drawn)});
  }
}

void multiply(denote::Sizes& sizes, const Name& dim, int64_t factor) {
  if (auto found = sizes.dims.find(dim); found != sizes.dims.end() && factor > 0)
    found->second = std::lcm(found->second, factor);
}

void make_divisible(const ir::Program& program, const Divisibility& condition,
                    denote::Sizes& sizes) {
  int64_t shards = 1;
  for (const Axis& axis : condition.axes) shards *= sizes.axis(axis);
  const std::vector<Name> base = program.base(condition.dim);
  if (!base.empty()) multiply(sizes, base[0], shards);
}

/// The sizes that the condition names.
std::map<Name, int64_t> named_in(const ir::Arith& arith, const denote::Sizes& sizes) {
  std::map<Name, int64_t> named;
  if (const auto dim = sizes.dims.find(arith.text); dim != sizes.dims.end()) named.insert(*dim);
  for (const auto& [axis, extent] : sizes.mesh)
    if (axis == arith.text) named[axis] = extent;
  for (const ir::Arith& arg : arith.args) named.merge(named_in(arg, sizes));
  return named;
}

/// Changes sizes so that a condition holds that ties one size to others: `|F| % n == 0`,
/// `|F| == n`, `|F| >= n`, with `|F| + n` or `|F| - n` for |F|, and conjunctions. Others are left
/// to chance. `apart`: the least distance from the bound of `<=` and `>=`.
void repair(const ir::Program& program, const ir::Arith& condition, int64_t apart,
            denote::Sizes& sizes) {
  using Kind = ir::Arith::Kind;
  if (condition.kind != Kind::op || condition.args.size() != 2) return;
  const ir::Arith &left = condition.args[0], &right = condition.args[1];
  if (condition.text == "and") {
    repair(program, left, apart, sizes);
    return repair(program, right, apart, sizes);
  }
  const auto value = [&](const ir::Arith& arith) {
    return static_cast<int64_t>(ir::evaluate(arith, named_in(arith, sizes)));
  };
  const auto base = [&](const ir::Arith& arith) -> Name {
    if (arith.kind != Kind::size) return "";
    const std::vector<Name> names = program.base(Dim{{arith.text}});
    return names.size() == 1 && sizes.dims.contains(names[0]) ? names[0] : "";
  };
  const bool zero = right.kind == Kind::number && right.text == "0";
  if (condition.text == "==" && zero && left.text == "%" && left.args.size() == 2)
    return multiply(sizes, base(left.args[0]), value(left.args[1]));
  const auto shifted = [&](const ir::Arith& arith) -> std::pair<Name, int64_t> {
    const bool is_sum = arith.kind == Kind::op && (arith.text == "+" || arith.text == "-");
    if (!is_sum || arith.args.size() != 2 || arith.args[1].kind != Kind::number)
      return {base(arith), 0};
    return {base(arith.args[0]), (arith.text == "+" ? 1 : -1) * value(arith.args[1])};
  };
  const auto small = shifted(right), large = shifted(left);
  if (condition.text == "==" && left.kind == Kind::size && right.kind == Kind::size &&
      !large.first.empty() && !small.first.empty()) {
    int64_t &one = sizes.dims[large.first], &other = sizes.dims[small.first];
    one = other = std::max(one, other);  // the larger may be what an axis divides
    return;
  }
  if (condition.text == "==" && !large.first.empty())
    sizes.dims[large.first] = value(right) - large.second;
  if (condition.text == "==" && large.first.empty() && !small.first.empty())
    sizes.dims[small.first] = value(left) - small.second;
  const auto at_least = [&](const std::pair<Name, int64_t>& size, int64_t least) {
    if (int64_t* known = size.first.empty() ? nullptr : &sizes.dims[size.first])
      *known = std::max(*known, least - size.second);
  };
  if (condition.text == ">=") at_least(large, value(right) + apart);
  if (condition.text == ">") at_least(large, value(right) + 1);
  if (condition.text == "<=") at_least(small, value(left) + apart);
  if (condition.text == "<") at_least(small, value(left) + 1);
}

void meet(const ir::Program& program, const std::vector<Divisibility>& conditions,
          const MeshWish& wish, denote::Sizes& sizes, int64_t apart = 0) {
  // What makes one requirement hold may break another condition; multiples stay multiples.
  const int rounds = program.requirements.empty() && wish.requirements.empty() ? 1 : 3;
  for (int round = 0; round < rounds; ++round) {
    for (const auto* requirements : {&program.requirements, &wish.requirements})
      for (const ir::Requirement& each : *requirements) try {
          repair(program, over_plain_dims(program, each.condition), apart, sizes);
        } catch (const std::domain_error&) {
          // The condition has no value at these sizes.
        }
    for (const Divisibility& condition : conditions) make_divisible(program, condition, sizes);
  }
}

bool fits(const ir::Program& program, const std::vector<Divisibility>& conditions,
          const MeshWish& wish, const denote::Sizes& sizes) {
  std::map<Name, int64_t> all = sizes.dims;
  for (const auto& [axis, extent] : sizes.mesh) all[axis] = extent;
  try {
    for (const Divisibility& condition : conditions) {
      int64_t shards = 1;
      for (const Axis& axis : condition.axes) shards *= sizes.axis(axis);
      if (program.size(condition.dim, all) % shards != 0) return false;
    }
    for (const auto& [name, info] : program.dims) {
      const bool plain = info.kind == ir::DimInfo::Kind::plain && !info.size;
      const auto given = plain ? sizes.dims.find(name) : sizes.dims.end();
      if (given == sizes.dims.end() || given->second < 1) program.size(Dim{{name}}, all);
    }
    return hold(program, program.requirements, all) && hold(program, wish.requirements, all);
  } catch (const std::domain_error&) {
    return false;
  }
}

bool has_given(const denote::Sizes& sizes, const std::map<Name, int64_t>& given) {
  return std::all_of(given.begin(), given.end(), [&](const auto& each) {
    const auto dim = sizes.dims.find(each.first);
    return dim == sizes.dims.end() || dim->second == each.second;
  });
}

/// The number of devices, then the sum of the dims' sizes: what "smaller" compares.
std::pair<int64_t, int64_t> extent_of(const denote::Sizes& sizes) {
  std::pair<int64_t, int64_t> sum{sizes.devices(), 0};
  for (const auto& [dim, size] : sizes.dims) sum.second += size;
  return sum;
}

}  // namespace

bool pads_something(const ir::Program& program, const denote::Sizes& sizes) {
  return std::all_of(program.dims.begin(), program.dims.end(), [&](const auto& each) {
    const auto& [name, info] = each;
    return !info.pads ||
           program.size(Dim{{name}}, sizes.dims) > program.size(Dim{{*info.pads}}, sizes.dims);
  });
}

std::vector<Divisibility> all_conditions(const CheckedProgram& checked) {
  std::vector<Divisibility> conditions;
  for (const PlanReport& each : checked.plans())
    conditions.insert(conditions.end(), each.conditions.begin(), each.conditions.end());
  return conditions;
}

std::optional<denote::Sizes> mesh_sizes(const ir::Program& program,
                                        const std::vector<Divisibility>& conditions,
                                        denote::RandomBits& rng, const MeshWish& wish) {
  for (int tries = 0; tries < 400; ++tries) {
    denote::Sizes sizes;
    const bool equal_axes = tries >= 300 || (tries >= 40 && tries % 2 == 1);
    draw_mesh(program, wish, rng, equal_axes, sizes);
    const int64_t least = tries < 100 ? wish.least : 1, end = tries < 200 ? 4 : 12;
    for (const auto& [name, info] : program.dims)
      if (info.kind == ir::DimInfo::Kind::plain)
        sizes.dims[name] =
            wish.small && rng() % 3 > 0
                ? least
                : least + static_cast<int64_t>(rng() % static_cast<uint64_t>(end - least));
    for (const auto& [name, size] : wish.given)
      if (const auto dim = sizes.dims.find(name); dim != sizes.dims.end()) dim->second = size;
    meet(program, conditions, wish, sizes, static_cast<int64_t>(rng() % 2));
    if (tries < 200 && !pads_something(program, sizes)) continue;
    if (has_given(sizes, wish.given) && fits(program, conditions, wish, sizes)) return sizes;
  }
  return std::nullopt;
}

std::vector<denote::Sizes> smaller_sizes(const ir::Program& program,
                                         const std::vector<Divisibility>& conditions,
                                         const denote::Sizes& sizes,
                                         const std::map<Name, int64_t>& given) {
  std::vector<denote::Sizes> found;
  const auto add = [&](denote::Sizes candidate) {
    const bool fit = has_given(candidate, given) && fits(program, conditions, {}, candidate);
    if (fit && extent_of(candidate) < extent_of(sizes)) found.push_back(std::move(candidate));
    return fit;
  };
  const auto add_made_to_meet = [&](denote::Sizes candidate) {
    meet(program, conditions, {}, candidate);
    add(std::move(candidate));
  };
  for (size_t i = 0; i < sizes.mesh.size(); ++i) {
    const Axis& axis = sizes.mesh[i].first;
    if (given.contains(axis) || program.axes.at(axis).size) continue;
    for (int64_t n = 1; n < sizes.mesh[i].second; ++n) {
      denote::Sizes candidate = sizes;
      candidate.mesh[i].second = n;
      if (add(candidate)) continue;
      add_made_to_meet(candidate);
      for (auto& [dim, size] : candidate.dims)
        if (!given.contains(dim)) size = 1;
      add_made_to_meet(std::move(candidate));
    }
  }
  for (const auto& [dim, size] : sizes.dims)
    for (int64_t n = 1; n < size && !given.contains(dim); ++n) {
      denote::Sizes candidate = sizes;
      candidate.dims[dim] = n;
      if (!add(candidate)) add_made_to_meet(std::move(candidate));
    }
  return found;
}

denote::Distributed<double> lay_out(const denote::Geometry& geometry, const Type& type,
                                    denote::Array<double>& x, denote::RandomBits& rng) {
  const bool has_summands = std::any_of(
      type.marks.begin(), type.marks.end(),
      [&](const auto& mark) { return mark.second != Mark::I && geometry.axis(mark.first) > 1; });
  if (!has_summands) return denote::distribute(geometry, type, x, rng);
  const bool whole = std::all_of(x.data.begin(), x.data.end(), [](double each) {
    return each == std::floor(each) && std::abs(each) < 1e15;
  });
  if (!whole) {
    auto held = denote::distribute(geometry, type, x, rng);
    x = denote::represented(geometry, type, held).value();
    return held;
  }
  denote::Array<denote::Rational> exact{x.shape, {}};
  for (double each : x.data) exact.data.emplace_back(static_cast<int64_t>(each));
  const auto parts = denote::distribute(geometry, type, exact, rng);
  denote::Distributed<double> held(parts.size(), parts.shape());
  std::ranges::transform(parts.all(), held.all().begin(), [](const denote::Rational& each) {
    return static_cast<double>(each.numerator());
  });
  return held;
}

}  // namespace shardproof
