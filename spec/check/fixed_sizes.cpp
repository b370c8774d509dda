#include "spec/check/fixed_sizes.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>

#include "spec/denote/geometry.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

bool is_constant(const ir::Arith& arith) {
  using Kind = ir::Arith::Kind;
  return arith.kind != Kind::size && arith.kind != Kind::axis && arith.kind != Kind::value &&
         std::all_of(arith.args.begin(), arith.args.end(), is_constant);
}

void names_in(const ir::Program& program, const ir::Arith& arith, std::set<Name>& names) {
  const bool seen = arith.kind != ir::Arith::Kind::number && arith.kind != ir::Arith::Kind::op &&
                    !names.insert(arith.text).second;
  if (arith.kind == ir::Arith::Kind::size && !seen)
    for (const Name& base : program.base(Dim{{arith.text}})) {
      names.insert(base);
      if (auto found = program.dims.find(base); found != program.dims.end() && found->second.size)
        names_in(program, *found->second.size, names);
    }
  for (const ir::Arith& arg : arith.args) names_in(program, arg, names);
}

/// Visits the function, its model and all callees, each once.
template <class Visit>
void for_each_function(const ir::Program& program, size_t function, std::set<size_t>& seen,
                       const Visit& visit) {
  if (!seen.insert(function).second) return;
  const ir::Function& own = program.functions.at(function);
  visit(function);
  if (own.model) for_each_function(program, *own.model, seen, visit);
  if (own.after) for_each_function(program, *own.after, seen, visit);
  for_each_instr(own.body, [&](const ir::Instr& instr) {
    if (const auto callee = callee_of(instr.op)) for_each_function(program, *callee, seen, visit);
  });
}

template <class Visit>
void for_each_instr_below(const ir::Program& program, size_t function, const Visit& visit) {
  std::set<size_t> seen;
  for_each_function(program, function, seen,
                    [&](size_t f) { for_each_instr(program.functions.at(f).body, visit); });
}

bool has_dim(const Shape& shape, const Dim& dim) {
  return std::any_of(shape.dims.begin(), shape.dims.end(),
                     [&](const Split& each) { return each.dim == dim; });
}

/// The dims of a slice whose sizes are added or compared: those in brackets, and those that some of
/// its shapes lack.
std::vector<Dim> sliced(const ir::Op& op) {
  const bool slices = std::holds_alternative<ir::Read>(op) ||
                      std::holds_alternative<ir::Write>(op) ||
                      std::holds_alternative<ir::Concat>(op);
  if (auto* entry = std::get_if<ir::Entry>(&op)) return {entry->dim};
  if (!slices) return {};
  const ir::Pattern& pattern = *ir::pattern_of(op);
  std::vector<Shape> shapes = pattern.left;
  shapes.push_back(pattern.right);
  std::vector<Dim> dims;
  if (pattern.left_bracket)
    dims.push_back(pattern.left.at(pattern.bracket_operand).dims.at(*pattern.left_bracket).dim);
  if (pattern.right_bracket) dims.push_back(pattern.right.dims.at(*pattern.right_bracket).dim);
  for (const Shape& shape : shapes)
    for (const Split& split : shape.dims) {
      const auto has = [&](const Shape& other) { return has_dim(other, split.dim); };
      if (!std::all_of(shapes.begin(), shapes.end(), has)) dims.push_back(split.dim);
    }
  return dims;
}

/// Finds the dims whose sizes a slice needs: those of concats whose pieces have the size of the
/// whole at the file's sizes only, and those read or written at a number other than 0.
class NeededSizes {
 public:
  NeededSizes(const ir::Program& program, size_t plan) : program_(program) {
    for (const auto& [name, info] : program.dims)
      if (info.size && is_constant(*info.size)) fixed_.dims.insert(name);
    if (fixed_.dims.empty()) return;
    std::set<size_t> seen;
    for_each_function(program, plan, seen, [&](size_t f) {
      numbers_.assign(program.functions.at(f).values.size(), std::nullopt);
      for_each_instr(program.functions[f].body, [&](const ir::Instr& instr) { look(instr); });
    });
  }

  const std::set<Name>& dims() const { return found_; }

 private:
  void look(const ir::Instr& instr) {
    if (auto* number = std::get_if<ir::Number>(&instr.op))
      numbers_.at(instr.results.at(0)) = number->value;
    if (auto* concat = std::get_if<ir::Concat>(&instr.op)) {
      if (!adds_up_at_other_sizes(concat->pattern)) need(instr);
    } else if (!sliced(instr.op).empty() && numbers_.at(instr.operands.back()).value_or(0) != 0) {
      need(instr);
    }
  }
  void need(const ir::Instr& instr) {
    for (const Dim& dim : sliced(instr.op))
      for (const Name& name : open().base(dim)) found_.insert(name);
  }
  const ir::Program& open() {
    if (!open_) open_ = with_open_sizes(without_functions(program_), fixed_);
    return *open_;
  }
  bool adds_up_at_other_sizes(const ir::Pattern& pattern) {
    std::map<Name, int64_t> sizes;
    for (const Name& name : fixed_.dims) sizes[name] = program_.size(Dim{{name}}, {});
    for (auto& [name, size] : sizes) {
      const int64_t own = size;
      size = 3 * own;  // |D|/2 stays a whole number
      try {
        if (!adds_up(pattern, sizes)) return false;
      } catch (const std::domain_error&) {
        return false;
      }
      size = own;
    }
    return true;
  }
  bool adds_up(const ir::Pattern& pattern, const std::map<Name, int64_t>& sizes) {
    int64_t left = open().size(pattern.right.dims.at(pattern.right_bracket.value()).dim, sizes);
    for (const Shape& piece : pattern.left) {
      int64_t part = 1;
      for (const Split& split : piece.dims)
        if (!has_dim(pattern.right, split.dim)) part *= open().size(split.dim, sizes);
      left -= part;
    }
    return left == 0;
  }

  const ir::Program& program_;
  FixedSizes fixed_;
  std::optional<ir::Program> open_;  ///< the dims with these sizes open; made for the first slice
  std::vector<std::optional<double>> numbers_;  ///< by value of the function that is looked at
  std::set<Name> found_;
};

/// Finds sizes |M| that are compared, added to another number, or passed to a function. A size that
/// is only multiplied or divided is positive at all sizes.
class SizesInSums {
 public:
  SizesInSums(const ir::Program& program, const ir::Function& function, std::set<Name>& found)
      : program_(program), of_(function.values.size()), found_(found) {
    for_each_instr(function.body, [&](const ir::Instr& instr) { look(instr); });
  }

 private:
  /// The names in a value that depends on sizes and constants only; none for other values.
  std::optional<std::set<Name>> names(const ir::Instr& instr) const {
    std::set<Name> all;
    if (std::holds_alternative<ir::Number>(instr.op)) return all;
    if (auto* size = std::get_if<ir::SizeOf>(&instr.op)) {
      names_in(program_, {ir::Arith::Kind::size, size->name, ir::no_value, {}}, all);
      all.insert(size->name);
      return all;
    }
    const bool arithmetic = std::holds_alternative<ir::Unary>(instr.op) ||
                            std::holds_alternative<ir::Binary>(instr.op) ||
                            std::holds_alternative<ir::Cast>(instr.op);
    if (!arithmetic) return std::nullopt;
    for (ir::ValueId operand : instr.operands) {
      if (!of_.at(operand)) return std::nullopt;
      all.insert(of_[operand]->begin(), of_[operand]->end());
    }
    return all;
  }
  void look(const ir::Instr& instr) {
    const auto made_of = names(instr);
    auto* binary = std::get_if<ir::Binary>(&instr.op);
    const bool scales =
        binary && (binary->fn == ir::BinaryFn::mul || binary->fn == ir::BinaryFn::div);
    auto* unary = std::get_if<ir::Unary>(&instr.op);
    const bool root = unary && (unary->fn == ir::UnaryFn::sqrt || unary->fn == ir::UnaryFn::rsqrt);
    const bool cast = std::holds_alternative<ir::Cast>(instr.op);
    if (made_of && !scales && !root && !cast && !std::holds_alternative<ir::SizeOf>(instr.op))
      found_.insert(made_of->begin(), made_of->end());
    if (std::holds_alternative<ir::Call>(instr.op) || std::holds_alternative<ir::Grad>(instr.op))
      for (ir::ValueId operand : instr.operands)
        if (of_.at(operand)) found_.insert(of_[operand]->begin(), of_[operand]->end());
    if (made_of && instr.results.at(0) != ir::no_value) of_.at(instr.results[0]) = made_of;
  }

  const ir::Program& program_;
  std::vector<std::optional<std::set<Name>>> of_;  ///< by value
  std::set<Name>& found_;
};

/// The sizes that values are compared with: in what a function assumes of its floats, such as
/// x > |M|, and in its requirements. Bounds of ids, 0 <= i < |V|, move with |V|.
std::set<Name> bounds_of_values(const ir::Program& program, size_t plan) {
  std::set<Name> names;
  std::set<size_t> seen;
  for_each_function(program, plan, seen, [&](size_t f) {
    const ir::Function& function = program.functions.at(f);
    for (const ir::Assumption& each : program.assumptions(function))
      if (is_float(function.values.at(function.params.at(each.leaf)).type.dtype))
        for (const ir::Assumption::Bound& bound : each.bounds) names_in(program, bound.to, names);
    for_each_block(function.body, [&](const ir::Block& block) {
      for (const ir::Requirement& each : block.requirements)
        if (ir::uses_values(each.condition)) names_in(program, each.condition, names);
    });
  });
  return names;
}

FixedSizes sizes_above(const ir::Program& program, int64_t dim, int64_t axis) {
  FixedSizes sizes;
  for (const auto& [name, info] : program.dims)
    if (info.size && is_constant(*info.size) && program.size(Dim{{name}}, {}) > dim)
      sizes.dims.insert(name);
  for (const auto& [name, info] : program.axes)
    if (info.size.value_or(0) > axis) sizes.axes.insert(name);
  return sizes;
}

}  // namespace

bool is_fixed(const ir::Program& program, const Name& name) {
  if (auto axis = program.axes.find(name); axis != program.axes.end())
    return axis->second.size.has_value();
  return program.dims.contains(name) && is_constant(program.size(Dim{{name}}));
}

std::map<Name, int64_t> fixed_axes(const ir::Program& program) {
  std::map<Name, int64_t> sizes;
  for (const auto& [name, info] : program.axes)
    if (info.size) sizes[name] = *info.size;
  return sizes;
}

FixedSizes large_sizes(const ir::Program& program) {
  constexpr int64_t small_dim = 8, small_axis = 4;
  return sizes_above(program, small_dim, small_axis);
}

FixedSizes sizes_to_reduce(const ir::Program& program, size_t plan) {
  constexpr int64_t small = 2;
  FixedSizes sizes = sizes_above(program, small, small);
  if (sizes.empty()) return sizes;
  const FixedSizes large = large_sizes(program);
  for (const Name& name : bounds_of_values(program, plan))
    sizes.dims.erase(name), sizes.axes.erase(name);
  const NeededSizes needed(program, plan);
  for (const Name& name : needed.dims())
    if (!large.dims.contains(name)) sizes.dims.erase(name);
  return sizes;
}

FixedSizes without_those_read(const ir::Program& program, size_t plan, FixedSizes fixed) {
  for_each_instr_below(program, plan, [&](const ir::Instr& instr) {
    auto* size = std::get_if<ir::SizeOf>(&instr.op);
    if (!size) return;
    if (size->axis) {
      fixed.axes.erase(size->name);
      return;
    }
    std::set<Name> read;
    names_in(program, {ir::Arith::Kind::size, size->name, ir::no_value, {}}, read);
    for (const Name& name : read) fixed.dims.erase(name);
  });
  return fixed;
}

std::vector<FixedSizes> sizes_to_open(const ir::Program& program, size_t plan) {
  std::set<Name> tied = NeededSizes(program, plan).dims();
  const auto others = [&] {
    FixedSizes free;
    for (const auto& [name, info] : program.dims)
      if (info.size && is_constant(*info.size) && !tied.contains(name) &&
          program.size(Dim{{name}}, {}) > 1)
        free.dims.insert(name);
    for (const auto& [name, info] : program.axes)
      if (info.size.value_or(1) > 1 && !tied.contains(name)) free.axes.insert(name);
    return free;
  };
  std::vector<FixedSizes> ways{others()};
  const size_t before = tied.size();
  std::set<size_t> seen;
  for_each_function(program, plan, seen,
                    [&](size_t f) { SizesInSums(program, program.functions.at(f), tied); });
  if (tied.size() != before)
    if (const FixedSizes apart = others(); apart != ways[0]) ways.push_back(apart);
  std::erase_if(ways, [](const FixedSizes& way) { return way.empty(); });
  return ways;
}

bool may_write_a_size(const ir::Program& program, size_t plan, const FixedSizes& fixed) {
  constexpr double small = 8;
  std::vector<double> sizes;
  double most = 0;
  for (const Name& dim : fixed.dims)
    sizes.push_back(static_cast<double>(program.size(Dim{{dim}}, {})));
  for (const Axis& axis : fixed.axes)
    sizes.push_back(static_cast<double>(*program.axes.at(axis).size));
  for (double size : sizes) most = std::max(most, size);
  bool found = false;
  for_each_instr_below(program, plan, [&](const ir::Instr& instr) {
    auto* number = std::get_if<ir::Number>(&instr.op);
    if (!number || !(number->value > 0)) return;
    const double value = number->value;
    if (value > small && value <= most) found = true;
    for (double size : sizes) {  // 8, 1/4096, 1/sqrt(64)
      if (value == size) found = true;
      const double parts = 1 / value / std::sqrt(size);
      if (size > small && (std::abs(parts - 1) < 1e-6 ||
                           std::abs(parts / std::sqrt(size) - 1) < 1e-6 || value * value == size))
        found = true;
    }
  });
  return found;
}

ir::Program with_open_sizes(ir::Program program, const FixedSizes& open) {
  for (const Name& dim : open.dims)
    if (auto found = program.dims.find(dim); found != program.dims.end()) {
      found->second.kind = ir::DimInfo::Kind::plain;
      found->second.size.reset();
    }
  for (const Axis& axis : open.axes)
    if (auto found = program.axes.find(axis); found != program.axes.end())
      found->second.size.reset();
  return program;
}

bool names_mesh_sizes(const ir::Program& program, size_t plan) {
  bool found = false;
  for_each_instr_below(program, plan, [&](const ir::Instr& instr) {
    const auto* size = std::get_if<ir::SizeOf>(&instr.op);
    found = found || (size && size->axis) || std::holds_alternative<ir::Ppermute>(instr.op) ||
            std::holds_alternative<ir::Ring>(instr.op);
  });
  return found;
}

std::set<Axis> axes_of_plan(const ir::Program& program, const denote::Types& types, size_t plan) {
  std::set<Axis> axes;
  const auto add = [&](const Type& type) {
    for (const Split& split : type.dims) axes.insert(split.axes.begin(), split.axes.end());
    for (const auto& [axis, mark] : type.marks) axes.insert(axis);
  };
  std::set<size_t> seen;
  for_each_function(program, plan, seen, [&](size_t f) {
    for (const Type& type : types.at(f)) add(type);
    for (const Type& type : program.functions.at(f).results) add(type);
    for_each_instr(program.functions.at(f).body, [&](const ir::Instr& instr) {
      if (auto* size = std::get_if<ir::SizeOf>(&instr.op); size && size->axis)
        axes.insert(size->name);
    });
  });
  return axes;
}

}  // namespace shardproof
