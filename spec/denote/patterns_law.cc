// Ops over groups, aliases, opened and renamed positions: what a rule accepts is right on devices,
// and on one device an einsum is the sum over its indices.
#include "spec/denote/along.h"
#include "spec/denote/law.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"
#include "spec/rules/rule.h"

namespace shardproof::denote::law {
namespace {

using Dims = std::vector<Dim>;

/// dim H = (K D), S T = L, A = H and |E| = 1, on d and t.
ir::Program named_program() {
  ir::Program program = testing::program({"d", "t"});
  for (const char* plain : {"B", "K", "D", "L", "M", "N"}) program.dims[plain] = {};
  program.dims["A"] = {ir::DimInfo::Kind::alias, {"H"}, {}, "", false, {}};
  program.dims["E"].size = ir::Arith{ir::Arith::Kind::number, "1", ir::no_value, {}};
  return program;
}

/// Names that a position of the same type may have in a pattern.
const std::vector<std::vector<Dims>> names{
    {{Dim{{"B"}}}},
    {{Dim{{"M"}}}},
    {{Dim{{"K"}}}},
    {{Dim{{"D"}}}},
    {{Dim{{"L"}}}, {Dim{{"S"}}}, {Dim{{"T"}}}},
    {{Dim{{"S"}}}, {Dim{{"T"}}}, {Dim{{"L"}}}},
    {{Dim{{"H"}}}, {Dim{{"K", "D"}}}, {Dim{{"K"}}, Dim{{"D"}}}, {Dim{{"A"}}}},
    {{Dim{{"K", "D"}}}, {Dim{{"H"}}}, {Dim{{"K"}}, Dim{{"D"}}}},
    {{Dim{{"A"}}}, {Dim{{"K", "D"}}}, {Dim{{"H"}}}},
    {{Dim{{"E", "B"}}}, {Dim{{"E"}}, Dim{{"B"}}}},
    {{Dim{{"M", "L"}}}, {Dim{{"M"}}, Dim{{"L"}}}},
};

/// A random op with a pattern, its operands' types, and the types of its results without axes.
class Cases {
 public:
  Cases(const ir::Program& program, laws::Dice dice) : program_(program), dice_(std::move(dice)) {}

  struct Case {
    std::string name;
    ir::Op op;
    std::vector<Type> operands;
  };

  /// Nothing: names that no pattern may have.
  std::optional<Case> next(size_t kind) {
    for (const char* axis : {"d", "t"}) split_[axis] = pick(factors);
    Case made;
    ir::Pattern p;
    const auto op = shaped(kind, p, made.operands);
    if (!op) return {};
    made.op = *op;
    made.name = ir::name_of(made.op);
    const std::vector<Shape> shapes(made.operands.begin(), made.operands.end());
    try {
      if (elaborate::elaborate(program_, made.op, shapes)) return {};
    } catch (const std::logic_error&) {
      return {};
    }
    return made;
  }
  static constexpr size_t kinds = 17;

 private:
  static inline const std::vector<Name> factors{"B", "K", "L", "M", "E", ""};

  size_t below(size_t n) { return n == 0 ? 0 : dice_() % n; }
  bool chance(size_t percent) { return below(100) < percent; }
  template <class List>
  const typename List::value_type& pick(const List& list) {
    return list.at(below(list.size()));
  }

  /// A type of up to `most` positions, and its names in the pattern.
  Type operand(size_t most, Dims& written, Dtype dtype = Dtype::f32) {
    Type type;
    type.dtype = dtype;
    for (size_t n = below(most + 1), i = 0; i < n; ++i) {
      const std::vector<Dims>& options = pick(names);
      const Dim& dim = options[0].at(0);
      if (std::any_of(type.dims.begin(), type.dims.end(),
                      [&](const Split& other) { return program_.same_dim(other.dim, dim); }))
        continue;
      add(type, dim);
      const Dims& chosen = chance(60) ? options[0] : pick(options);
      written.insert(written.end(), chosen.begin(), chosen.end());
    }
    if (is_float(dtype) && chance(10)) type.marks["t"] = chance(70) ? Mark::U : Mark::Max;
    for (Split& split : type.dims)
      if (type.marks.count("t")) std::erase(split.axes, "t");
    return type;
  }
  /// Most positions of a factor are split over the axis of the case.
  void add(Type& type, const Dim& dim) {
    type.dims.push_back({dim, {}});
    const auto base = program_.base(dim);
    for (const auto& [axis, factor] : split_)
      if (base[elaborate::leading(program_, dim)] == factor && chance(85) && !uses(type, axis))
        type.dims.back().axes.push_back(axis);
  }
  static bool uses(const Type& type, const Axis& axis) {
    const std::vector<Axis> axes = split_axes(type);
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  }

  Dims shuffled(Dims dims) {
    for (size_t i = dims.size(); i > 1; --i) std::swap(dims[i - 1], dims[below(i)]);
    return dims;
  }
  Dims some(const Dims& dims, size_t percent) {
    Dims result;
    for (const Dim& dim : dims)
      if (chance(percent)) result.push_back(dim);
    return result;
  }
  /// Neighbours in one group, and groups opened.
  Dims regrouped(const Dims& dims) {
    Dims result;
    for (const Dim& dim : dims) {
      if (!result.empty() && chance(20))
        result.back().factors.insert(result.back().factors.end(), dim.factors.begin(),
                                     dim.factors.end());
      else if (dim.factors.size() > 1 && chance(40))
        for (const Name& factor : dim.factors) result.push_back({{factor}});
      else if (dim == Dim{{"H"}} && chance(40))
        result.insert(result.end(), {Dim{{"K"}}, Dim{{"D"}}});
      else
        result.push_back(dim);
    }
    return result;
  }
  static Shape bare(const Dims& dims) {
    Shape shape;
    for (const Dim& dim : dims) shape.dims.push_back({dim, {}});
    return shape;
  }

  std::optional<ir::Op> shaped(size_t kind, ir::Pattern& p, std::vector<Type>& types) {
    if (kind == 0) return einsum(p, types);
    if (kind == 1) return index(p, types);
    if (kind == 2) return index_add(p, types);
    if (kind == 3) return concat(p, types);
    Dims left;
    types.push_back(operand(kind == 6 ? 2 : 4, left));
    p.left = {bare(left)};
    if (left.empty() && kind >= 8 && kind <= 14) return std::nullopt;
    const size_t at = below(left.size());
    Dims right = left;
    switch (kind) {
      case 4:
      case 5:
        p.right = bare(regrouped(some(left, 60)));
        return ir::Reduce{kind == 4 ? ir::ReduceFn::sum : ir::ReduceFn::max, p, {}};
      case 6:
        return expand(p, std::move(right));
      case 7:
        for (Dim& dim : right)
          if ((dim == Dim{{"S"}} || dim == Dim{{"L"}}) && chance(40)) dim = Dim{{"T"}};
        p.right = bare(regrouped(shuffled(right)));
        return ir::Rearrange{p};
      case 8:
        return read(p, types, std::move(right), at);
      case 9:
        return write(p, types, left, at);
      case 10:
      case 11:
        p.left_bracket = p.right_bracket = at;
        types.push_back(law::bare("", Dtype::i32));
        p.right = bare(left);
        if (kind == 10) return ir::Roll{p};
        return ir::Ppermute{p};
      case 12:
        p.right = bare(left);
        return ir::Ordered{chance(50) ? ir::OrderedFn::cumsum : ir::OrderedFn::argsort, p, at};
      case 13:
        right.erase(right.begin() + static_cast<std::ptrdiff_t>(at));
        p.right = bare(right);
        return ir::Argmax{p};
      case 14:
        right[at] = Dim{{"N"}};
        p.right = bare(right);
        return ir::TopK{p};
      case 15:
        p.right = bare(left);
        return ir::Collective{static_cast<ir::CollectiveFn>(below(8)), p};
      default: {
        Type narrow = types[0];
        std::erase_if(narrow.dims, [&](const Split&) { return chance(40); });
        types.push_back(narrow);
        return ir::Binary{chance(50) ? ir::BinaryFn::add : ir::BinaryFn::mul};
      }
    }
  }
  ir::Op expand(ir::Pattern& p, Dims right) {
    for (size_t n = 1 + below(2), i = 0; i < n; ++i)
      right.insert(right.begin() + static_cast<std::ptrdiff_t>(below(right.size() + 1)),
                   pick(names)[0][0]);
    p.right = bare(regrouped(right));
    return ir::Expand{p};
  }
  ir::Op read(ir::Pattern& p, std::vector<Type>& types, Dims right, size_t at) {
    p.left_bracket = at;
    types.push_back(law::bare("", Dtype::i32));
    if (chance(50))
      right[at] = Dim{{"N"}};
    else
      right.erase(right.begin() + static_cast<std::ptrdiff_t>(at));
    p.right = bare(right);
    return ir::Read{p};
  }
  std::optional<ir::Op> write(ir::Pattern& p, std::vector<Type>& types, const Dims& left,
                              size_t at) {
    p.left_bracket = at;
    Type part = types[0];
    if (part.dims.size() != left.size()) return std::nullopt;
    Dims right = left;
    const auto place = static_cast<std::ptrdiff_t>(at);
    if (chance(50)) {
      part.dims[at] = {Dim{{"N"}}, {}}, right[at] = Dim{{"N"}};
    } else {
      part.dims.erase(part.dims.begin() + place);
      right.erase(right.begin() + place);
    }
    types.insert(types.end(), {part, law::bare("", Dtype::i32)});
    p.left.push_back(bare(right));
    p.right = bare(left);
    return ir::Write{p};
  }
  ir::Op einsum(ir::Pattern& p, std::vector<Type>& types) {
    Dims all;
    for (size_t n = 1 + below(3), i = 0; i < n; ++i) {
      Dims left;
      types.push_back(operand(i == 0 ? 4 : 2, left));
      p.left.push_back(bare(left));
      for (const Dim& dim : some(left, 60))
        if (std::find(all.begin(), all.end(), dim) == all.end()) all.push_back(dim);
    }
    p.right = bare(regrouped(shuffled(all)));
    return ir::Einsum{p, {}};
  }
  std::optional<ir::Op> index(ir::Pattern& p, std::vector<Type>& types) {
    Dims table, ids;
    types = {operand(3, table), operand(2, ids, Dtype::i32)};
    if (table.empty()) return std::nullopt;
    p.left = {bare(table), bare(ids)};
    p.left_bracket = below(table.size());
    Dims right = ids;
    for (size_t i = 0; i < table.size(); ++i)
      if (i != p.left_bracket && std::find(ids.begin(), ids.end(), table[i]) == ids.end())
        right.push_back(table[i]);
    p.right = bare(regrouped(shuffled(right)));
    if (chance(50)) return ir::IndexUnreduced{p};
    return ir::Index{p};
  }
  ir::Op index_add(ir::Pattern& p, std::vector<Type>& types) {
    Dims ids, x;
    Type of_ids = operand(2, ids, Dtype::i32), of_x = operand(2, x);
    of_x.dims.insert(of_x.dims.begin(), of_ids.dims.begin(), of_ids.dims.end());
    x.insert(x.begin(), ids.begin(), ids.end());
    types = {of_ids, of_x};
    p.left = {bare(ids), bare(x)};
    Dims right = shuffled(some(x, 70));
    p.right_bracket = below(right.size() + 1);
    right.insert(right.begin() + static_cast<std::ptrdiff_t>(*p.right_bracket),
                 pick(names)[0].at(0));
    p.right = bare(right);
    return ir::IndexAdd{p};
  }
  std::optional<ir::Op> concat(ir::Pattern& p, std::vector<Type>& types) {
    Dims left;
    Type part = operand(3, left);
    const bool lacks = chance(50);
    const size_t at = below(left.size() + 1);
    if (part.dims.size() != left.size()) return std::nullopt;
    Dims right = left;
    right.insert(right.begin() + static_cast<std::ptrdiff_t>(at), Dim{{lacks ? "2" : "4"}});
    if (!lacks) {
      part.dims.insert(part.dims.begin() + static_cast<std::ptrdiff_t>(at), {Dim{{"N"}}, {}});
      left.insert(left.begin() + static_cast<std::ptrdiff_t>(at), Dim{{"N"}});
    }
    types = {part, part};
    p.left = {bare(left), bare(left)};
    p.right = bare(right);
    p.right_bracket = at;
    return ir::Concat{p};
  }

  const ir::Program& program_;
  laws::Dice dice_;
  std::map<Axis, Name> split_;
};

struct DrawnOp {
  std::optional<Cases::Case> made;
};
/// What RapidCheck prints of the smallest failure.
void showValue(const DrawnOp& drawn, std::ostream& out) {
  if (!drawn.made) return;
  const ir::Pattern* pattern = ir::pattern_of(drawn.made->op);
  out << "\n" << drawn.made->name << "(\"";
  for (size_t i = 0; pattern && i < pattern->left.size(); ++i)
    out << (i ? ", " : "") << to_string(pattern->left[i]);
  if (pattern) out << " -> " << to_string(pattern->right);
  out << "\") of";
  for (const Type& type : drawn.made->operands) out << " " << to_string(type);
}
rc::Gen<DrawnOp> drawn_ops(const ir::Program& program, rc::Gen<int> kinds) {
  return rc::gen::apply(
      [&](int kind, std::vector<uint64_t> words) {
        Cases cases(program, laws::Dice(std::move(words)));
        return DrawnOp{cases.next(static_cast<size_t>(kind))};
      },
      std::move(kinds), laws::dice_words(60));
}
/// For sizes and entries.
RandomBits drawn_bits() { return RandomBits(static_cast<uint64_t>(*laws::below(1 << 20))); }

Sizes sizes_of(RandomBits& rng) {
  Sizes sizes{{{"d", 2}}, {{"N", 2}}};
  if (rng() % 2) sizes.mesh.push_back({"t", 2});
  for (const char* dim : {"B", "K", "D", "L", "M"}) sizes.dims[dim] = rng() % 3 ? 2 : 4;
  return sizes;
}

int64_t entries(const Geometry& geometry, const std::vector<Type>& types) {
  int64_t total = 0;
  for (const Type& type : types) total += count(geometry.global_shape(type));
  return total;
}

/// The op with its operands' axes and those of `result` in its pattern.
ir::Op stated(const Cases::Case& made, const Type& result) {
  ir::Op op = made.op;
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.pattern; }) {
          for (size_t i = 0; i < each.pattern.left.size(); ++i) {
            const Type& type = made.operands.at(i);
            for (size_t k = 0; k < type.dims.size(); ++k)
              each.pattern.left[i].dims.at(k).axes = type.dims[k].axes;
            each.pattern.left[i].marks = type.marks;
          }
          static_cast<Shape&>(each.pattern.right) = result;
        }
      },
      op);
  return op;
}

TEST(Patterns, WhatARuleAcceptsIsRightOnDevices) {
  const ir::Program program = named_program();
  std::map<std::string, std::pair<int, int>> tally;  // accepted, decided
  const auto right = [&](const DrawnOp& drawn, RandomBits& bits) {
    const auto& made = drawn.made;
    const Geometry geometry(program, sizes_of(bits));
    const std::vector<Type> whole = whole_results(made->op, made->operands);
    std::vector<Operand> operands;
    std::vector<Input> inputs;
    for (const Type& type : made->operands) {
      operands.push_back({type, false, {}});
      inputs.push_back({type});
    }
    for (const Type& result : candidate_types(whole.at(0), {"d", "t"})) {
      const ir::Op op = stated(*made, result);
      const RuleResult rule = apply_rule(program, op, operands);
      if (rule.refusal || !same_type(program, rule.types.at(0), result)) continue;
      try {
        std::vector<Type> results = whole;
        for (Type& type : results) static_cast<Shape&>(type) = result;
        if (entries(geometry, made->operands) + entries(geometry, results) > 700) continue;
        geometry.local_shape(result);
        const Trial trial(geometry, op, inputs);
        const Outcome outcome = value_outcome(trial, results, bits);
        ++tally[made->name].first;
        tally[made->name].second += outcome == Outcome::right;
        if (outcome == Outcome::wrong)
          RC_FAIL(describe({made->name, {}, {}, {}}, made->operands, result));
      } catch (const Mismatch&) {  // axes that do not divide these sizes
      }
    }
  };
  EXPECT_TRUE(laws::holds("what a rule accepts is right on devices", 2'550, 20'000, [&] {
    const DrawnOp drawn = *drawn_ops(program, laws::below(Cases::kinds));
    RandomBits bits = drawn_bits();
    if (drawn.made) right(drawn, bits);
  }));
  for (const auto& [name, times] : tally)
    std::cout << name << ": " << times.first << " accepted, " << times.second << " decided\n";
  for (const char* name : {"einsum", "sum", "max", "expand", "rearrange", "index", "index_add",
                           "read", "write", "concat", "roll", "cumsum", "argmax", "top_k"})
    EXPECT_GT(tally[name].second, 10) << name;
}

Extents sizes_along(const Geometry& geometry, const ir::Indices& in) {
  Extents sizes;
  for (const ir::PatternIndex& index : in.all) sizes.push_back(geometry.size(Dim{{index.dim}}));
  return sizes;
}

/// The definition: every index at every place, offsets by Horner's rule, index by index.
Array<Rational> by_definition(ir::ReduceFn fn, const ir::Indices& in, const Geometry& geometry,
                              const std::vector<Array<Rational>>& x, const Extents& shape) {
  const Extents sizes = sizes_along(geometry, in);
  Extents at_(in.all.size(), 0);
  const auto offset = [&](const Positions& positions) {
    int64_t result = 0;
    for (ir::IndexId id : flat(positions)) result = result * sizes[id] + at_[id];
    return result;
  };
  std::map<int64_t, Rational> found;
  for (int64_t step = 0; step < count(sizes); ++step) {
    int64_t rest = step;
    for (size_t id = 0; id < sizes.size(); ++id) at_[id] = rest % sizes[id], rest /= sizes[id];
    Rational product = 1;
    for (size_t i = 0; i < x.size(); ++i) product = product * at(x[i], offset(in.left[i]));
    const auto [entry, added] = found.emplace(offset(in.right), product);
    if (added) continue;
    if (fn == ir::ReduceFn::sum) entry->second = entry->second + product;
    if (fn == ir::ReduceFn::max && entry->second < product) entry->second = product;
  }
  Array<Rational> result = filled(shape, Rational(0));
  for (const auto& [place, value] : found) at(result, place) = value;
  return result;
}

TEST(Patterns, OnOneDeviceAnEinsumIsTheSumOverItsIndices) {
  const ir::Program program = named_program();
  int tried = 0;
  EXPECT_TRUE(laws::holds("an einsum is the sum over its indices", 3'000, 20'000, [&] {
    const int kind = *rc::gen::element(0, 4, 5, 6, 7);
    const auto [made] = *drawn_ops(program, rc::gen::just(kind));
    RandomBits bits = drawn_bits();
    if (!made) return;
    const Geometry one(program, {{}, sizes_of(bits).dims});
    const std::vector<Type> results = whole_results(made->op, made->operands);
    const ir::Indices& in = ir::pattern_of(made->op)->indices;
    if (count(sizes_along(one, in)) > 3000) return;
    std::vector<Array<Rational>> x;
    std::vector<Distributed<Rational>> held;
    for (const Type& type : made->operands) {
      Array<Rational> array = filled(one.global_shape(type), Rational(0));
      for (Rational& entry : array.data) entry = Rational(static_cast<int64_t>(bits() % 9) - 4);
      x.push_back(array), held.push_back({array});
    }
    std::vector<Held<Rational>> operands;
    for (size_t i = 0; i < held.size(); ++i) operands.push_back({made->operands[i], held[i]});
    const auto got = run(one, made->op, operands, results)[0][0];
    const auto fn = kind == 5 ? ir::ReduceFn::max : ir::ReduceFn::sum;
    const Extents shape = one.global_shape(results[0]);
    RC_ASSERT(got == by_definition(fn, in, one, x, shape));
    ++tried;
  }));
  EXPECT_GT(tried, 300);
}

}  // namespace
}  // namespace shardproof::denote::law
