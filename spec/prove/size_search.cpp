#include "spec/prove/size_search.h"

#include <stdexcept>

#include "spec/prove/size_terms.h"

namespace shardproof {
namespace {

/// Rewrites over plain dims and axes; a constant in the body becomes its literal. Nullopt: it has a
/// value that is no literal.
std::optional<ir::Arith> expanded(const ir::Program& program, const ir::Arith& arith,
                                  const std::map<ir::ValueId, std::string>& numbers) {
  if (arith.kind == ir::Arith::Kind::size) return program.size(Dim{{arith.text}});
  if (arith.kind == ir::Arith::Kind::value) {
    auto found = numbers.find(arith.value);
    if (found == numbers.end()) return std::nullopt;
    return ir::Arith{ir::Arith::Kind::number, found->second, ir::no_value, {}};
  }
  ir::Arith copy = arith;
  for (ir::Arith& arg : copy.args) {
    auto next = expanded(program, arg, numbers);
    if (!next) return std::nullopt;
    arg = std::move(*next);
  }
  return copy;
}

/// One search, with a fixed order of the names and a bound on every size.
class Search {
 public:
  Search(const ir::Program& program, const std::vector<Constraint>& constraints, int64_t least_axis)
      : least_axis_(least_axis) {
    for (const auto& [axis, info] : program.axes) {
      if (info.size)
        sizes_[axis] = *info.size;
      else
        order_.push_back(axis);
    }
    axes_ = order_.size();
    for (const auto& [dim, info] : program.dims)
      if (info.kind == ir::DimInfo::Kind::plain && !info.size) order_.push_back(dim);
    due_.resize(order_.size() + 1);
    for (const Constraint& constraint : constraints) {
      size_t last = 0;
      for (size_t i = 0; i < order_.size(); ++i)
        if (constraint.names.contains(order_[i])) last = i + 1;
      due_[last].push_back(&constraint);
    }
  }

  std::optional<Sizing> run(int64_t bound) {
    bound_ = bound;
    steps_ = 4000;
    if (hold(0) && place(0)) return sizes_;
    return std::nullopt;
  }

 private:
  bool hold(size_t depth) const {
    for (const Constraint* constraint : due_[depth])
      if (!constraint->holds(sizes_)) return false;
    return true;
  }

  bool place(size_t i) {
    if (i == order_.size()) return true;
    const int64_t first = i < axes_ ? least_axis_ : 1;
    for (int64_t size = first; size <= bound_ && steps_ > 0; ++size, --steps_) {
      sizes_[order_[i]] = size;
      if (hold(i + 1) && place(i + 1)) return true;
    }
    sizes_.erase(order_[i]);
    return false;
  }

  int64_t least_axis_, bound_ = 0, steps_ = 0;
  size_t axes_ = 0;
  std::vector<Name> order_;
  std::vector<std::vector<const Constraint*>> due_;  ///< by the number of names with a size
  Sizing sizes_;
};

}  // namespace

std::vector<Constraint> declared_constraints(const ir::Program& program,
                                             const ir::Function* function) {
  std::vector<Constraint> result;
  const auto numbers = function ? literals_of(*function) : std::map<ir::ValueId, std::string>{};
  for (const ir::Requirement& each : requirements_of(program, function)) {
    const auto condition = expanded(program, each.condition, numbers);
    if (!condition) continue;
    Constraint constraint;
    constraint.names.merge(ir::sizes_in(*condition));
    constraint.holds = [condition = *condition](const Sizing& sizes) {
      try {
        return ir::evaluate(condition, sizes) != 0;
      } catch (const std::domain_error&) {
        return false;
      }
    };
    result.push_back(std::move(constraint));
  }
  for (const auto& [name, info] : program.dims) {
    if (!info.size) continue;
    const Dim dim{{name}};
    result.push_back({ir::sizes_in(program.size(dim)), [&program, dim](const Sizing& sizes) {
                        try {
                          return program.size(dim, sizes) >= 1;
                        } catch (const std::domain_error&) {
                          return false;
                        }
                      }});
  }
  return result;
}

Constraint divides(const ir::Program& program, const Divisibility& condition, bool wanted) {
  Constraint result{ir::sizes_in(program.size(condition.dim)), {}};
  result.names.insert(condition.axes.begin(), condition.axes.end());
  result.holds = [&program, condition, wanted](const Sizing& sizes) {
    int64_t product = 1;
    for (const Axis& axis : condition.axes)
      if (__builtin_mul_overflow(product, sizes.at(axis), &product))
        return !wanted;  // any size is too large
    try {
      return (program.size(condition.dim, sizes) % product == 0) == wanted;
    } catch (const std::domain_error&) {
      return false;
    }
  };
  return result;
}

std::optional<Sizing> search_sizes(const ir::Program& program,
                                   const std::vector<Constraint>& constraints) {
  for (int64_t least : {2, 1})
    for (int64_t bound : {4, 16, 64, 1024})
      if (auto found = Search(program, constraints, least).run(bound)) return found;
  return std::nullopt;
}

}  // namespace shardproof
