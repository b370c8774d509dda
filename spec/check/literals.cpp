#include "spec/check/literals.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <map>
#include <random>
#include <set>

#include "spec/check/points.h"
#include "spec/check/reached.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// Collects numbers in order of first occurrence.
class Numbers {
 public:
  explicit Numbers(const ir::Program& program) : program_(program) {}

  void add_function(const ir::Function& function) {
    if (!seen_.insert(&function).second) return;
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      if (auto* number = std::get_if<ir::Number>(&instr.op)) add(number->value);
      if (const auto callee = callee_of(instr.op)) below_.push_back(*callee);
    });
    if (function.model) add_function(program_.functions.at(*function.model));
  }
  void add_calls() {
    for (; !below_.empty(); below_.pop_front()) add_function(program_.functions.at(below_.front()));
  }
  void add_arith(const ir::Arith& arith) {
    if (arith.kind == ir::Arith::Kind::number) add(std::strtod(arith.text.c_str(), nullptr));
    for (const ir::Arith& arg : arith.args) add_arith(arg);
  }
  std::vector<double> take() { return std::move(found_); }

 private:
  void add(double number) {
    constexpr double most = 1e9;
    const double size = std::abs(number);
    if (size > 0 && size <= most && std::find(found_.begin(), found_.end(), size) == found_.end())
      found_.push_back(size);
  }

  const ir::Program& program_;
  std::set<const ir::Function*> seen_;
  std::deque<size_t> below_;
  std::vector<double> found_;
};

}  // namespace

std::vector<double> numbers_of(const ir::Program& program, const ir::Function& function) {
  constexpr size_t most = 32;
  Numbers numbers(program);
  numbers.add_function(function);
  for (const ir::Requirement& each : program.requirements) numbers.add_arith(each.condition);
  numbers.add_calls();
  std::vector<double> found = numbers.take();
  if (found.size() > most) found.resize(most);
  return found;
}

std::vector<double> numbers_required(const ir::Program& program,
                                     const std::vector<ir::Requirement>& also) {
  Numbers numbers(program);
  for (const auto* requirements : {&program.requirements, &also})
    for (const ir::Requirement& each : *requirements) numbers.add_arith(each.condition);
  return numbers.take();
}

namespace {

/// The plain dims whose indices are values: of loops, and of iota.
std::set<Name> indexed_dims(const ir::Program& program, size_t function) {
  std::set<Name> found;
  const auto add = [&](const Dim& dim) {
    for (const Name& name : program.base(dim)) found.insert(name);
  };
  for (const size_t each : reached_functions(program, function))
    for_each_instr(program.functions.at(each).body, [&](const ir::Instr& instr) {
      if (const auto* scan = std::get_if<ir::Scan>(&instr.op)) add(scan->dim);
      if (const auto* iota = std::get_if<ir::Iota>(&instr.op))
        add(program.functions[each].values.at(instr.results.at(0)).type.dims.at(iota->dim).dim);
    });
  return found;
}

/// Sizings with one dim or axis at a number of the program or beside it, without repetition.
class SizesAtLiterals {
 public:
  SizesAtLiterals(const ir::Program& program, const denote::Sizes& sizes) : program_(program) {
    add(sizes);
    found_.clear();
  }

  void add_dims(const denote::Sizes& others, int64_t size) {
    for (const auto& [dim, own] : others.dims) {
      denote::Sizes more = others;
      more.dims[dim] = size;
      add(more);
    }
  }
  void add_axes(const denote::Sizes& others, int64_t size) {
    for (size_t i = 0; i < others.mesh.size(); ++i) {
      denote::Sizes more = others;
      more.mesh[i].second = size;
      if (!program_.axes.at(more.mesh[i].first).size) add(more);
    }
  }
  void add_together(denote::Sizes sizes, const std::set<Name>& dims, int64_t number) {
    for (auto& [dim, size] : sizes.dims)
      if (dims.contains(dim)) size *= number / size + 1;
    add(sizes);
  }
  std::vector<denote::Sizes> take() { return std::move(found_); }

 private:
  void add(const denote::Sizes& sizes) {
    if (tried_.insert({sizes.dims, sizes.mesh}).second && sizes_hold(program_, sizes))
      found_.push_back(sizes);
  }

  const ir::Program& program_;
  std::set<std::pair<std::map<Name, int64_t>, std::vector<std::pair<Axis, int64_t>>>> tried_;
  std::vector<denote::Sizes> found_;
};

}  // namespace

std::vector<denote::Sizes> sizes_at_literals(const ir::Program& program, size_t function,
                                             const std::vector<double>& numbers,
                                             const denote::Sizes& sizes, bool of_axes) {
  constexpr double least = 2, together = 16, ordinary = 5000, largest = 200000;
  const auto visit = [&](double most, const auto& add) {
    for (double number : numbers)
      if (number >= least && number <= most && number == std::floor(number))
        add(static_cast<int64_t>(number));
  };
  SizesAtLiterals found(program, sizes);
  denote::Sizes small = sizes;  // for one dim that is much larger than the others
  for (auto& [dim, size] : small.dims) size = 2;
  for (auto& [axis, size] : small.mesh) size = program.axes.at(axis).size.value_or(2);
  if (of_axes)
    visit(ordinary, [&](int64_t n) {
      for (int64_t size : {n + 1, n, n - 1}) found.add_axes(sizes, std::max<int64_t>(1, size));
    });
  for (const denote::Sizes& others : {small, sizes})
    for (size_t way = 0; way < 5; ++way)
      visit(ordinary, [&](int64_t n) {
        found.add_dims(others, std::vector<int64_t>{n + 1, n, 2 * n + 1, 2 * n, n - 1}.at(way));
      });
  const std::set<Name> indexed = indexed_dims(program, function);
  visit(together, [&](int64_t n) { found.add_together(small, indexed, n); });
  visit(largest, [&](int64_t n) { found.add_dims(small, n + 2); });  // a vocabulary
  return found.take();
}

namespace {

/// The parameters on which each value depends: in one pass, so a loop's carry has only its start.
class MadeOf {
 public:
  MadeOf(const ir::Program& program, const ir::Function& function,
         std::vector<std::set<size_t>> params, std::vector<std::vector<double>>& found)
      : program_(program), of_(function.values.size()), found_(found) {
    for (size_t i = 0; i < function.params.size() && i < params.size(); ++i)
      of_.at(function.params[i]) = std::move(params[i]);
    look(function.body);
  }

 private:
  void look(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) look(instr);
  }
  void look(const ir::Instr& instr) {
    std::set<size_t> all;
    for (ir::ValueId operand : instr.operands)
      if (operand != ir::no_value) all.insert(of_.at(operand).begin(), of_[operand].end());
    meet(instr, all);
    if (const ir::Block* body = body_of(instr.op)) {
      for (size_t i = 0; i < body->params.size(); ++i)
        of_.at(body->params[i]) = i == 0 ? std::set<size_t>() : all;
      look(*body);
    }
    if (auto* call = std::get_if<ir::Call>(&instr.op)) {
      std::vector<std::set<size_t>> params;
      for (ir::ValueId operand : instr.operands) params.push_back(of_.at(operand));
      MadeOf(program_, program_.functions.at(call->function), std::move(params), found_);
    }
    for (ir::ValueId result : instr.results)
      if (result != ir::no_value) of_.at(result) = all;
  }
  /// Records a literal, or a value computed from literals, that is an operand next to a parameter.
  void meet(const ir::Instr& instr, const std::set<size_t>& params) {
    if (auto* number = std::get_if<ir::Number>(&instr.op))
      numbers_[instr.results.at(0)] = {std::abs(number->value)};
    std::set<double> here;
    for (ir::ValueId operand : instr.operands)
      if (auto found = numbers_.find(operand); found != numbers_.end())
        here.insert(found->second.begin(), found->second.end());
    const bool pointwise = std::holds_alternative<ir::Binary>(instr.op) ||
                           std::holds_alternative<ir::Unary>(instr.op) ||
                           std::holds_alternative<ir::Cast>(instr.op);
    if (!pointwise || here.empty()) return;
    if (params.empty()) numbers_[instr.results.at(0)].insert(here.begin(), here.end());
    for (size_t param : params)
      for (double number : here)
        if (auto& own = found_.at(param);
            number != 0 && std::find(own.begin(), own.end(), number) == own.end())
          own.push_back(number);
  }

  const ir::Program& program_;
  std::vector<std::set<size_t>> of_;  ///< by value
  std::map<ir::ValueId, std::set<double>> numbers_;
  std::vector<std::vector<double>>& found_;  ///< by parameter
};

}  // namespace

std::vector<std::vector<double>> numbers_of_params(const ir::Program& program,
                                                   const ir::Function& function) {
  std::vector<std::vector<double>> found(function.params.size());
  std::vector<std::set<size_t>> params;
  for (size_t i = 0; i < function.params.size(); ++i) params.push_back({i});
  MadeOf(program, function, params, found);
  if (function.model) MadeOf(program, program.functions.at(*function.model), params, found);
  return found;
}

namespace {

/// Draws the parameters one after another.
class DrawAtLiterals {
 public:
  DrawAtLiterals(const Literals& literals, const denote::Sizes& sizes, unsigned round,
                 bool indexes_tables)
      : literals_(literals),
        sizes_(sizes),
        round_(round),
        rng_(round),
        indexes_tables_(indexes_tables) {}

  std::vector<double> entries(size_t param, const Type& type, size_t count) {
    choose(param, type);
    std::vector<double> drawn;
    for (size_t i = 0; i < count; ++i) drawn.push_back(entry(type, i, count));
    return drawn;
  }

 private:
  enum class Way { ordinary, near, shared, spread };
  static constexpr unsigned neighbours = 8;

  unsigned below(size_t n) { return static_cast<unsigned>(rng_() % n); }
  double any_of(const std::vector<double>& numbers) { return numbers.at(below(numbers.size())); }

  /// Chooses the number that the entries of a parameter share.
  void choose(size_t param, const Type& type) {
    const bool may_index = indexes_tables_ && is_integer(type.dtype) && !type.dims.empty();
    const std::vector<double>& all = literals_.all;
    const std::vector<double>& own = literals_.of_params.at(param);
    const size_t turn = round_ / 2;
    start_ = static_cast<unsigned>(turn / all.size());
    way_ = may_index && below(2) ? Way::ordinary : Way::near;
    number_ = all[turn % all.size()];
    if (round_ % 2 == 0) {
      if (own.empty())
        way_ = Way::ordinary;
      else
        number_ = any_of(own);
      start_ = turn % neighbours;
    } else if (turn >= 3 * all.size()) {
      start_ = below(neighbours);
      const std::vector<double>& numbers = own.empty() || below(3) == 0 ? all : own;
      number_ = below(2) ? any_of(numbers) : made_of_two(numbers);
      const unsigned way = below(10);
      way_ = way < 2 ? Way::ordinary : way < 7 ? Way::near : way < 8 ? Way::shared : Way::spread;
    }
    if (!std::isfinite(number_)) number_ = any_of(all);  // a / 0
    if (const auto last = last_index(own); last && is_integer(type.dtype))
      number_ = *last, way_ = Way::near, start_ = 0;
  }

  /// A number that is the last index of a dim, or the one before it: an id of the vocabulary.
  std::optional<double> last_index(const std::vector<double>& numbers) const {
    constexpr double least = 64;
    for (double number : numbers)
      for (const auto& [dim, size] : sizes_.dims)
        if (const double after = static_cast<double>(size) - number;
            number >= least && (after == 1 || after == 2))
          return number;
    return std::nullopt;
  }

  /// A bound on 3 * x, x // 10, x - y or x * x needs a value computed from two numbers.
  double made_of_two(const std::vector<double>& numbers) {
    const double a = below(3) ? any_of(numbers) : made_of_two(numbers), b = any_of(numbers);
    switch (below(8)) {
      case 0:
        return a * b;
      case 1:
        return a / b;
      case 2:
        return a + b;
      case 3:
        return std::abs(a - b);
      case 4:
        return std::sqrt(a);
      case 5:  // exp(x) is compared with a, or added to it
        return std::log(a) - 1;
      case 6:
        return std::exp(std::min(a, 30.0));
      default:
        return (a + b) / 2;
    }
  }

  double entry(const Type& type, size_t i, size_t count) {
    if (type.dtype == Dtype::boolean) return below(2);
    if (type.dtype == Dtype::key) return below(100000);
    if (way_ == Way::ordinary) return ordinary(type);
    const bool whole = is_integer(type.dtype);
    double number = number_;
    if (way_ == Way::shared) number = number_ / static_cast<double>(count);
    if (way_ == Way::spread) number = number_ * (static_cast<double>(below(33)) - 16) / 8;
    if (way_ == Way::near) {
      const unsigned neighbour = (start_ + static_cast<unsigned>(i)) % neighbours;
      if (neighbour == 7) return ordinary(type);
      number = beside(number_, neighbour, whole);
    }
    if (!whole) return number;
    number = std::clamp(std::floor(number), -2147483648.0, 2147483647.0);
    return type.dtype == Dtype::u32 ? std::abs(number) : number;
  }

  static double beside(double number, unsigned neighbour, bool whole) {
    switch (neighbour) {
      case 1:
        return number + 1;
      case 2:
        return number - 1;
      case 3:
        return whole ? -number : number * 1.125;
      case 4:
        return whole ? number + 2 : -number;
      case 5:
        return whole ? number * 2 : number + 0.25;
      case 6:
        return whole ? number : number - 0.25;
      default:
        return number;
    }
  }

  double ordinary(const Type& type) {
    if (is_integer(type.dtype)) return below(2);
    const double number = (3 + static_cast<double>(below(14))) / 8;
    return !type.dims.empty() && below(2) ? -number : number;
  }

  const Literals& literals_;
  const denote::Sizes& sizes_;
  const unsigned round_;
  std::mt19937 rng_;
  const bool indexes_tables_;
  double number_ = 0;
  Way way_ = Way::ordinary;
  unsigned start_ = 0;
};

}  // namespace

std::vector<denote::Array<double>> inputs_at_literals(const ir::Program& program,
                                                      const ir::Function& function,
                                                      const Literals& literals,
                                                      const denote::Sizes& sizes, unsigned round) {
  DrawAtLiterals draw(literals, sizes, round, DrawRules(program).small_integers);
  std::vector<denote::Array<double>> inputs;
  for (size_t i = 0; i < function.params.size(); ++i) {
    const Type& type = function.values.at(function.params[i]).type;
    denote::Array<double> array = zeros(program, type, sizes);
    array.data = draw.entries(i, type, array.data.size());
    inputs.push_back(std::move(array));
  }
  satisfy_assumptions(program, function, sizes, inputs);
  return inputs;
}

}  // namespace shardproof
