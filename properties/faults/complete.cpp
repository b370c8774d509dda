#include "properties/faults/complete.h"

#include <algorithm>
#include <map>

#include "properties/faults/action.h"
#include "properties/faults/fault.h"
#include "spec/check/loop_rules.h"
#include "spec/rules/rule.h"

namespace shardproof::faults {
namespace {

using ir::ValueId;

/// The axes and marks of `type` at the positions of `shape`, whose names stay.
void take_axes(Shape& shape, const Shape& type) {
  for (size_t i = 0; i < shape.dims.size() && i < type.dims.size(); ++i)
    shape.dims[i].axes = type.dims[i].axes;
  shape.marks = type.marks;
}

bool same_axes(const Shape& a, const Shape& b) {
  return a.marks == b.marks &&
         std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [](const Split& x, const Split& y) { return x.axes == y.axes; });
}

ir::Created* created_in(ir::Op& op) {
  return std::visit(
      [](auto& each) -> ir::Created* {
        if constexpr (requires { each.created; })
          return each.created.inferred ? nullptr : &each.created;
        return nullptr;
      },
      op);
}

bool pointwise(const ir::Op& op) {
  return std::holds_alternative<ir::Unary>(op) || std::holds_alternative<ir::Binary>(op) ||
         std::holds_alternative<ir::Where>(op) || std::holds_alternative<ir::Cast>(op);
}

class Completer {
 public:
  Completer(const ir::Program& program, ir::Function& function, bool is_step)
      : program_(program), function_(function), is_step_(is_step) {
    for (const ir::Value& value : function.values) {
      types_.push_back(without_unit_axes(program, value.type));
      has_gradient_.push_back(!is_step && is_float(value.type.dtype));
    }
    numbers_.resize(types_.size());
  }

  void run() { complete(function_.body); }

 private:
  void complete(ir::Block& block) {
    for (ir::Instr& instr : block.instrs) {
      for (ValueId v : instr.results)
        if (v != ir::no_value) makers_[v] = &instr;
      step(instr);
    }
  }

  void step(ir::Instr& instr) {
    if (auto* scan = std::get_if<ir::Scan>(&instr.op)) return loop(instr, *scan->body);
    if (ir::Block* body = body_of(instr.op)) return inside(instr, *body);
    if (auto* entry = std::get_if<ir::Entry>(&instr.op); entry && entry_of_loop(instr, entry->dim))
      return;
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      return called(instr, program_.functions.at(call->function));
    if (auto* grad = std::get_if<ir::Grad>(&instr.op)) {
      if (grad->with_value) called(instr, program_.functions.at(grad->function));
      return;  // gradients have the types that the resolver wrote
    }
    rewrite(instr);
    follow_others(instr);
    conclude(instr);
  }

  /// The body of a pipeline, of its stages, or of a ring.
  void inside(const ir::Instr& instr, ir::Block& body) {
    const size_t indices = body.params.size() - body.next.size();
    for (size_t i = 0; i < indices; ++i) loop_of_index_[body.params[i]] = &instr.op;
    if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op)) axis_ = pipeline->axis;
    complete(body);
  }

  bool entry_of_loop(const ir::Instr& instr, const Dim& dim) {
    if (instr.operands.size() < 2) return false;
    auto loop = loop_of_index_.find(instr.operands[1]);
    if (loop == loop_of_index_.end()) return false;
    auto own = entry_in_loop(program_, types_.at(instr.operands[0]), dim, *loop->second, axis_);
    if (!own) return false;
    types_.at(instr.results.at(0)) = *std::move(own);
    has_gradient_.at(instr.results[0]) = has_gradient_.at(instr.operands[0]);
    return true;
  }

  void called(const ir::Instr& instr, const ir::Function& callee) {
    for (size_t i = 0; i < instr.results.size() && i < callee.results.size(); ++i)
      types_.at(instr.results[i]) = without_unit_axes(program_, callee.results[i]);
  }

  std::vector<Operand> operands(const ir::Instr& instr) const {
    std::vector<Operand> result;
    const auto add = [&](ValueId v) {
      result.push_back({types_.at(v), has_gradient_.at(v), numbers_.at(v)});
    };
    for (ValueId v : instr.operands) add(v);
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.created; })
            for (ValueId v : op.created.axes_from)
              if (v != ir::no_value && op.created.inferred) add(v);
        },
        instr.op);
    return result;
  }

  RuleResult rule(const ir::Instr& instr, const ir::Op& op) const {
    return apply_rule(program_, op, operands(instr));
  }

  void conclude(const ir::Instr& instr) {
    const RuleResult result = rule(instr, instr.op);
    bool flows = false;
    for (ValueId v : instr.operands) flows = flows || has_gradient_.at(v);
    if (std::holds_alternative<ir::StopGrad>(instr.op)) flows = false;
    for (size_t i = 0; i < instr.results.size() && i < result.types.size(); ++i) {
      const ValueId v = instr.results[i];
      if (v == ir::no_value) continue;
      types_.at(v) = result.types[i];
      has_gradient_.at(v) = flows && is_float(result.types[i].dtype);
      if (const auto* number = std::get_if<ir::Number>(&instr.op))
        numbers_.at(v) = number->value;
      else if (types_[v].dtype == Dtype::number)
        numbers_.at(v) = 1;
    }
  }

  void rewrite(ir::Instr& instr) {
    if (auto* op = std::get_if<ir::Ascribe>(&instr.op)) {
      const Type& type = types_.at(instr.operands.at(0));
      if (type.dtype != Dtype::number) take_axes(op->type, type);
    } else if (auto* op = std::get_if<ir::Collective>(&instr.op)) {
      const Shape& operand = types_.at(instr.operands.at(0));
      if (same_axes(operand, op->pattern.left.at(0))) return;
      const ir::Pattern other = applied(action_of(op->pattern), operand, op->pattern);
      take_axes(op->pattern.left[0], other.left[0]);
      take_axes(op->pattern.right, other.right);
    } else if (ir::Pattern* pattern = ir::pattern_of(instr.op); pattern && !pattern->inferred) {
      rewrite(instr, *pattern);
    }
  }

  /// New dims keep their axes where the rule allows it.
  void rewrite(ir::Instr& instr, ir::Pattern& pattern) {
    bool same = true;
    for (size_t i = 0; i < pattern.left.size() && i < instr.operands.size(); ++i) {
      same = same && same_axes(pattern.left[i], types_.at(instr.operands[i]));
      take_axes(pattern.left[i], types_.at(instr.operands[i]));
    }
    if (same && !rule(instr, instr.op).refusal) return;
    const Shape stated = pattern.right;
    pattern.inferred = true;
    const RuleResult result = rule(instr, instr.op);
    pattern.inferred = false;
    if (result.refusal) return;
    pattern.right = result.completed.right;
    if (!makes_dims(instr.op)) return;
    const Shape without = pattern.right;
    for (size_t i = 0; i < stated.dims.size(); ++i)
      if (pattern.right.dims[i].axes.empty()) pattern.right.dims[i].axes = stated.dims[i].axes;
    if (rule(instr, instr.op).refusal) pattern.right = without;
  }

  static bool makes_dims(const ir::Op& op) {
    return std::holds_alternative<ir::Expand>(op) || std::holds_alternative<ir::IndexAdd>(op);
  }

  /// A created operand of a pointwise op takes the axes of the other operands' dims.
  void follow_others(ir::Instr& instr) {
    if (!pointwise(instr.op) || !rule(instr, instr.op).refusal) return;
    for (ValueId v : instr.operands) {
      if (!free(v)) continue;
      for (ValueId other : instr.operands)
        if (!free(other) && types_.at(other).dtype != Dtype::number) give_axes(v, types_[other]);
    }
  }

  /// Made of created tensors and numbers alone.
  bool free(ValueId v) const {
    if (numbers_.at(v)) return false;
    auto found = makers_.find(v);
    if (found == makers_.end()) return false;
    if (created_in(found->second->op)) return true;
    if (!pointwise(found->second->op)) return false;
    const std::vector<ValueId>& from = found->second->operands;
    return std::all_of(from.begin(), from.end(),
                       [&](ValueId each) { return numbers_.at(each) || free(each); });
  }

  void give_axes(ValueId v, const Shape& shape) {
    ir::Instr& maker = *makers_.at(v);
    for (ValueId from : maker.operands)
      if (free(from)) give_axes(from, shape);
    if (ir::Created* created = created_in(maker.op))
      for (Split& split : created->shape.dims)
        if (const Split* same = find(shape, split.dim)) split.axes = same->axes;
    conclude(maker);
  }

  /// Tries the carries' stated types, then those that the body ends with.
  void loop(ir::Instr& instr, ir::Block& body) {
    const size_t carries = body.next.size(), first = body.params.size() - carries;
    const std::vector<ValueId> params(body.params.begin() + static_cast<std::ptrdiff_t>(first),
                                      body.params.end());
    const ir::Block original = deep_copy(body);
    const std::vector<Type> stated = carried(params);
    for (int attempt = 0; attempt < 3; ++attempt) {
      complete(body);
      if (closes(instr, body, params)) return finish(instr, body);
      if (!adopt(instr, body, params)) break;
      body = deep_copy(original);
    }
    for (size_t i = 0; i < carries; ++i) set_carry(params[i], stated[i]);
    body = deep_copy(original);
    complete(body);
    finish(instr, body);
  }

  std::vector<Type> carried(const std::vector<ValueId>& params) const {
    std::vector<Type> types;
    for (ValueId v : params) types.push_back(types_.at(v));
    return types;
  }

  bool closes(const ir::Instr& instr, const ir::Block& body,
              const std::vector<ValueId>& params) const {
    for (size_t i = 0; i < params.size(); ++i)
      if (!fits(body.next[i], types_[params[i]]) || !fits(instr.operands[i], types_[params[i]]))
        return false;
    return true;
  }

  bool fits(ValueId v, const Shape& type) const {
    return numbers_.at(v) || same_axes(types_.at(v), type);
  }

  /// The carries' types become what the body ends with, and where it started is rewritten to that;
  /// false: it cannot be.
  bool adopt(const ir::Instr& instr, const ir::Block& body, const std::vector<ValueId>& params) {
    for (size_t i = 0; i < params.size(); ++i) {
      Type wanted = types_[params[i]];
      if (!fits(body.next[i], wanted)) {
        if (types_.at(body.next[i]).dims.size() != wanted.dims.size()) return false;
        take_axes(wanted, types_[body.next[i]]);
      }
      if (!fits(instr.operands[i], wanted) && !start_as(instr.operands[i], wanted)) {
        wanted = types_[params[i]];
        take_axes(wanted, types_.at(instr.operands[i]));
      }
      set_carry(params[i], wanted);
    }
    return true;
  }

  /// A created start is written with the carry's type.
  bool start_as(ValueId v, const Shape& type) {
    auto found = makers_.find(v);
    ir::Created* created = found == makers_.end() ? nullptr : created_in(found->second->op);
    if (!created || created->shape.dims.size() != type.dims.size()) return false;
    const Shape before = created->shape;
    take_axes(created->shape, type);
    conclude(*found->second);
    if (fits(v, type)) return true;
    created->shape = before;
    conclude(*found->second);
    return false;
  }

  void set_carry(ValueId v, const Type& type) {
    take_axes(types_.at(v), type);
    take_axes(function_.values.at(v).type, type);
  }

  void finish(const ir::Instr& instr, const ir::Block& body) {
    const size_t first = body.params.size() - body.next.size();
    for (size_t i = 0; i < instr.results.size(); ++i) {
      const bool carry = i < body.next.size();
      const ValueId from = carry ? body.params[first + i] : body.emit.at(i - body.next.size());
      Type& type = types_.at(instr.results[i]);
      const size_t skipped =
          type.dims.size() - std::min(type.dims.size(), types_[from].dims.size());
      for (size_t k = skipped; k < type.dims.size(); ++k)
        type.dims[k].axes = types_[from].dims[k - skipped].axes;
      type.marks = types_[from].marks;
    }
  }

  const ir::Program& program_;
  ir::Function& function_;
  bool is_step_;
  std::map<ValueId, const ir::Op*> loop_of_index_;  ///< of pipelines, stages and rings
  Axis axis_;                                       ///< of the pipeline
  std::vector<Type> types_;
  std::vector<bool> has_gradient_;
  std::vector<std::optional<double>> numbers_;
  std::map<ValueId, ir::Instr*> makers_;
};

}  // namespace

void complete(const ir::Program& program, ir::Function& function, bool is_step) {
  Completer(program, function, is_step).run();
}

}  // namespace shardproof::faults
