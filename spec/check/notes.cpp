#include "spec/check/notes.h"

#include <algorithm>
#include <utility>

#include "spec/cost/cost.h"
#include "spec/ir/walk.h"
#include "spec/rules/rule.h"

namespace shardproof {
namespace {

using ir::ValueId;

const ir::Collective* collective(const ir::Instr& instr, ir::CollectiveFn fn) {
  auto* found = std::get_if<ir::Collective>(&instr.op);
  return found && found->fn == fn ? found : nullptr;
}

/// A value that could stay unreduced over `axes`: all ops between the reductions and this value are
/// linear, and nothing else uses the values in between.
struct Deferred {
  std::vector<const ir::Instr*> reductions;
  std::vector<Axis> axes;
};

class Notes {
 public:
  Notes(const ir::Program& program, size_t function, const std::vector<Type>& types)
      : program_(program),
        function_(program.functions.at(function)),
        types_(types),
        values_(function_.values.size()) {
    count_uses(function_.body);
    for (ValueId v : function_.returned) ++values_[v].uses;
  }

  std::vector<Diagnostic> run() {
    for_each_instr(function_.body, [&](const ir::Instr& instr) {
      sliced(instr);
      narrow(instr);
    });
    for (ValueId v = 0; v < values_.size(); ++v)
      if (values_[v].maker) summed(v, *values_[v].maker);
    fed_back();
    return std::move(notes_);
  }

 private:
  struct Value {
    int uses = 0;
    const ir::Instr* user = nullptr;     ///< the last one
    const ir::Instr* maker = nullptr;    ///< null for a loop's
    const ir::Block* block = nullptr;    ///< the maker's
    bool asked = false, passed = false;  ///< whether `deferred` and `through` are known
    std::optional<Deferred> deferred = {}, through = {};
  };

  const Type& type(ValueId v) const { return types_.at(v); }

  void count_uses(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) {
      for (ValueId v : instr.operands) {
        ++values_[v].uses;
        values_[v].user = &instr;
      }
      for (ValueId v : instr.results)
        if (v != ir::no_value && !body_of(instr.op))
          values_[v].maker = &instr, values_[v].block = &block;
      if (const ir::Block* body = body_of(instr.op)) count_uses(*body);
    }
    for (ValueId v : block.next) ++values_[v].uses;
    for (ValueId v : block.emit) ++values_[v].uses;
  }

  /// The axes over which an all_reduce sums.
  std::vector<Axis> summed_axes(const ir::Instr& instr) const {
    std::vector<Axis> axes;
    const Type &from = type(instr.operands.at(0)), &to = type(instr.results.at(0));
    for (const auto& [axis, mark] : from.marks)
      if (mark == Mark::U && !to.marks.count(axis)) axes.push_back(axis);
    return axes;
  }

  const std::optional<Deferred>& deferred(ValueId v) {
    if (!std::exchange(values_[v].asked, true)) values_[v].deferred = find_deferred(v);
    return values_[v].deferred;
  }

  std::optional<Deferred> find_deferred(ValueId v) {
    if (!values_[v].maker || values_[v].uses != 1) return std::nullopt;
    const ir::Instr& instr = *values_[v].maker;
    if (collective(instr, ir::CollectiveFn::all_reduce)) {
      Deferred result{{&instr}, summed_axes(instr)};
      if (result.axes.empty()) return std::nullopt;
      return result;
    }
    return through(instr);
  }

  /// What stays unreduced through the op; computed once for each, by its first result.
  const std::optional<Deferred>& through(const ir::Instr& instr) {
    static const std::optional<Deferred> none;
    if (instr.results.size() != 1) return none;
    Value& result = values_[instr.results[0]];
    if (!std::exchange(result.passed, true)) result.through = find_through(instr);
    return result.through;
  }

  /// Tries the op with all of its deferred operands unreduced, then with one of them.
  std::optional<Deferred> find_through(const ir::Instr& instr) {
    if (std::holds_alternative<ir::Call>(instr.op) || std::holds_alternative<ir::Grad>(instr.op) ||
        std::holds_alternative<ir::Collective>(instr.op))
      return std::nullopt;
    std::vector<size_t> all;
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      const ValueId v = instr.operands[i];
      if (values_[v].maker && values_[v].block == values_[instr.results[0]].block && deferred(v))
        all.push_back(i);
    }
    if (all.size() > 1)
      if (auto result = linear(instr, all)) return result;
    for (size_t i : all)
      if (auto result = linear(instr, {i})) return result;
    return std::nullopt;
  }

  std::optional<Deferred> linear(const ir::Instr& instr, const std::vector<size_t>& operands) {
    Deferred result;
    result.axes = deferred(instr.operands[operands[0]])->axes;
    for (size_t i : operands) {
      const Deferred& each = *deferred(instr.operands[i]);
      if (each.axes != result.axes) return std::nullopt;
      result.reductions.insert(result.reductions.end(), each.reductions.begin(),
                               each.reductions.end());
    }
    return accepts(instr, operands, result.axes) ? std::optional(result) : std::nullopt;
  }

  /// Whether the rule accepts these unreduced operands and gives the same result, unreduced.
  bool accepts(const ir::Instr& instr, const std::vector<size_t>& unreduced,
               const std::vector<Axis>& axes) const {
    std::vector<Operand> operands;
    operands.reserve(instr.operands.size());
    for (ValueId v : instr.operands) operands.push_back({type(v), false, std::nullopt});
    for (size_t i : unreduced)
      for (const Axis& axis : axes) operands[i].type.marks[axis] = Mark::U;
    for (const Axis& axis : axes)
      if (refuses_unreduced(instr.op, operands, axis)) return false;
    ir::Op op = instr.op;
    std::visit(
        [](auto& each) {
          if constexpr (requires { each.pattern; }) each.pattern.inferred = true;
        },
        op);
    Type wanted = type(instr.results[0]);
    for (const Axis& axis : axes) wanted.marks[axis] = Mark::U;
    const RuleResult rule = apply_rule(program_, op, operands);
    return !rule.refusal && rule.types.size() == 1 && same_type(program_, rule.types[0], wanted);
  }

  cost::Amount bytes(ir::CollectiveFn fn, const Type& from, const Type& to) const {
    return cost::received(program_, fn, from, to);
  }
  cost::Amount bytes(const Deferred& deferred) const {
    cost::Amount sum;
    for (const ir::Instr* instr : deferred.reductions)
      sum += bytes(ir::CollectiveFn::all_reduce, type(instr->operands[0]), type(instr->results[0]));
    return sum;
  }
  Type unreduced(ValueId v, const std::vector<Axis>& axes) const {
    Type result = type(v);
    for (const Axis& axis : axes) result.marks[axis] = Mark::U;
    return result;
  }

  /// An all_reduce followed, directly or not, by a slice over the same axes.
  void sliced(const ir::Instr& instr) {
    if (!collective(instr, ir::CollectiveFn::slice)) return;
    const ValueId v = instr.operands.at(0);
    if (!deferred(v)) return;
    std::vector<Axis> axes = split_axes(type(instr.results.at(0)));
    for (const Axis& kept : split_axes(type(v))) std::erase(axes, kept);
    std::sort(axes.begin(), axes.end());
    if (axes != deferred(v)->axes) return;
    tell(instr, *deferred(v),
         bytes(ir::CollectiveFn::psum_scatter, unreduced(v, axes), type(instr.results[0])),
         "one psum_scatter here is enough",
         "keep it unreduced until here, and write psum_scatter instead of this slice");
  }

  /// A sum of reduced values whose own users need it reduced.
  void summed(ValueId v, const ir::Instr& instr) {
    const std::optional<Deferred>& here = through(instr);
    if (!here || here->reductions.size() < 2) return;
    const ir::Instr* user = values_[v].uses == 1 ? values_[v].user : nullptr;
    if (user && through(*user)) return;  // reported at that op
    if (user && collective(*user, ir::CollectiveFn::slice)) return;
    tell(instr, *here, bytes(ir::CollectiveFn::all_reduce, unreduced(v, here->axes), type(v)),
         "the sum could be reduced once",
         "keep the terms unreduced, and write one all_reduce after the sum");
  }

  void tell(const ir::Instr& instr, const Deferred& deferred, const cost::Amount& better,
            const std::string& label, const std::string& advice) {
    const cost::Amount now = bytes(deferred);
    if (now.within(better)) return;
    const size_t count = deferred.reductions.size();
    Diagnostic& note =
        add("L0001", instr,
            "correct, but it communicates more than necessary: " + std::to_string(count) +
                (count == 1 ? " all_reduce" : " all_reduces") + " before it");
    note.label = label;
    for (const ir::Instr* each : deferred.reductions)
      note.notes.push_back({each->place.range, "reduced here"});
    note.details = {"bytes received per device: " + now.text() + ", instead of " + better.text(),
                    advice};
  }

  /// A reduction in a narrow dtype whose result is cast to a wide one.
  void narrow(const ir::Instr& instr) {
    if (!collective(instr, ir::CollectiveFn::all_reduce) &&
        !collective(instr, ir::CollectiveFn::psum_scatter))
      return;
    const Dtype dtype = type(instr.operands.at(0)).dtype;
    const ValueId v = instr.results.at(0);
    const ir::Instr* user = values_[v].user;
    auto* cast = user ? std::get_if<ir::Cast>(&user->op) : nullptr;
    const bool wide = cast && (cast->to == Dtype::f32 || cast->to == Dtype::f64);
    if (!is_float(dtype) || dtype == Dtype::f32 || dtype == Dtype::f64 || !wide) return;
    std::string terms;
    for (const auto& [axis, mark] : type(instr.operands[0]).marks)
      if (mark == Mark::U && !type(v).marks.count(axis))
        terms += (terms.empty() ? "|" : "*|") + axis + "|";
    const std::string narrow = to_string(dtype), wider = to_string(cast->to);
    Diagnostic& note = add("L0002", instr,
                           "correct, but it adds " + terms + " terms in " + narrow +
                               ", and the sum becomes " + wider + " afterwards");
    note.label = "a collective adds in the dtype of its operand";
    note.details = {"cast before it to add in " + wider + "; that moves twice the bytes"};
  }

  /// `w1` becomes `w` in the next step.
  void fed_back() {
    if (!function_.uses_gradients || function_.implements_grad) return;
    size_t first = 0;
    for (const auto& [name, count] : function_.param_groups) {
      size_t next = 0;
      for (const auto& [result, leaves] : function_.result_groups) {
        if (result == name + "1" && !same_leaves(first, count, next, leaves))
          not_fed_back(name, first, next);
        next += leaves;
      }
      first += count;
    }
  }
  bool same_leaves(size_t param, size_t params, size_t result, size_t results) const {
    const auto plain = [](Type type) {
      std::erase_if(type.marks, [](const auto& mark) { return mark.second == Mark::I; });
      return type;
    };
    bool same = params == results;
    for (size_t i = 0; same && i < params; ++i)
      same = plain(function_.values.at(function_.params.at(param + i)).type) ==
             plain(function_.results.at(result + i));
    return same;
  }
  void not_fed_back(const Name& name, size_t param, size_t result) {
    Diagnostic note;
    note.code = "L0004";
    note.severity = Severity::note;
    note.range = function_.name_range;
    note.message = "`" + name + "1` cannot take the place of `" + name +
                   "` in the next step: it has another type";
    note.types = {to_string(function_.values.at(function_.params.at(param)).type),
                  to_string(function_.results.at(result))};
    note.details = {"the parameter is " + note.types[0] + ", the result " + note.types[1]};
    notes_.push_back(std::move(note));
  }

  Diagnostic& add(const char* code, const ir::Instr& instr, std::string message) {
    Diagnostic note;
    note.code = code;
    note.severity = Severity::note;
    note.range = instr.place.range;
    note.message = std::move(message);
    notes_.push_back(std::move(note));
    return notes_.back();
  }

  const ir::Program& program_;
  const ir::Function& function_;
  const std::vector<Type>& types_;
  std::vector<Value> values_;
  std::vector<Diagnostic> notes_;
};

}  // namespace

std::vector<Diagnostic> notes_of(const ir::Program& program, size_t function,
                                 const std::vector<Type>& types) {
  return Notes(program, function, types).run();
}

}  // namespace shardproof
