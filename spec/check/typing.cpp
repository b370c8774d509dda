#include "spec/check/typing.h"

#include <algorithm>
#include <map>
#include <utility>

#include "spec/check/loop_rules.h"
#include "spec/check/record_argument.h"
#include "spec/check/whole_pattern.h"
#include "spec/ir/walk.h"
#include "spec/rules/fixes.h"
#include "spec/rules/ring.h"
#include "spec/rules/words.h"

namespace shardproof {
namespace {

using ir::ValueId;

std::string quoted(const Type& type) { return "`" + to_string(type) + "`"; }

/// A number fits where a scalar that is R on every axis is wanted; 0 may also be U.
bool fits_number(const Type& wanted, std::optional<double> number) {
  if (!number || !wanted.dims.empty() || wanted.dtype == Dtype::boolean ||
      wanted.dtype == Dtype::key)
    return false;
  for (const auto& [axis, mark] : wanted.marks)
    if (mark == Mark::Max || (mark == Mark::U && *number != 0)) return false;
  return true;
}

class Walker {
 public:
  Walker(const ir::Program& program, size_t function, bool is_step)
      : program_(program), function_(program.functions.at(function)), is_step_(is_step) {
    const size_t count = function_.values.size();
    result_.types.resize(count);
    result_.has_gradient.assign(count, false);
    poisoned_.assign(count, false);
    numbers_.assign(count, std::nullopt);
    for (size_t v = 0; v < count; ++v)
      result_.types[v] = without_unit_axes(program_, function_.values[v].type);
  }

  Typing run() {
    for (ValueId v : function_.params) declare(v);
    for (ValueId v : function_.saved_params) declare(v);
    for (const Type& type : function_.results) check_written(type, function_.name_range);
    if (!function_.trusted) {
      walk(function_.body);
      check_return();
    }
    drop_repeated();
    return std::move(result_);
  }

 private:
  void declare(ValueId v) {
    result_.has_gradient[v] = !is_step_ && is_float(type(v).dtype);
    check_written(type(v), function_.values[v].range);
  }

  void check_written(const Type& type, SourceRange range) {
    if (auto refusal = check_type(type)) refuse(*refusal, range, nullptr, {}, {type});
  }

  Type& type(ValueId v) { return result_.types.at(v); }

  void walk(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) step(instr);
  }

  void step(const ir::Instr& instr) {
    for (const ir::Op* loop : loops_)
      if (auto refusal = refuse_communication(program_, instr.op, *loop)) {
        refuse(*refusal, instr.place.range, nullptr, {}, {});
        break;
      }
    if (auto* call = std::get_if<ir::Call>(&instr.op)) return check_call(instr, call->function);
    if (auto* grad = std::get_if<ir::Grad>(&instr.op)) return check_grad(instr, *grad);
    if (const ir::Block* body = body_of(instr.op)) return check_loop(instr, *body);
    check_op(instr);
  }

  /// Operands as the rules see them. An operand with an error has the type that its pattern states;
  /// returns false if there is none.
  bool operands_of(const ir::Instr& instr, std::vector<Operand>& operands) {
    const ir::Pattern* pattern = ir::pattern_of(instr.op);
    operands.reserve(instr.operands.size());
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      const ValueId v = instr.operands[i];
      Operand operand{type(v), result_.has_gradient[v], numbers_[v]};
      if (poisoned_[v]) {
        if (!pattern || pattern->inferred || pattern->left_inferred || i >= pattern->left.size())
          return false;
        static_cast<Shape&>(operand.type) =
            without_unit_axes(program_, Type{pattern->left[i], operand.type.dtype});
      }
      operands.push_back(std::move(operand));
    }
    if (const ir::Created* created = created_of(instr.op); created && created->inferred)
      for (ValueId v : created->axes_from)
        if (v != ir::no_value) {
          if (poisoned_[v]) return false;
          operands.push_back({type(v), result_.has_gradient[v], std::nullopt});
        }
    return true;
  }

  bool entry_of_loop(const ir::Instr& instr) {
    auto* entry = std::get_if<ir::Entry>(&instr.op);
    if (!entry || instr.operands.size() < 2) return false;
    auto loop = loop_of_index_.find(instr.operands[1]);
    if (loop == loop_of_index_.end()) return false;
    const ValueId from = instr.operands[0], v = instr.results.at(0);
    auto own = entry_in_loop(program_, type(from), entry->dim, *loop->second, pipeline_axis());
    if (!own) return false;
    poisoned_[v] = poisoned_[from];
    if (auto* ring = std::get_if<ir::Ring>(loop->second); ring && !poisoned_[from])
      if (auto refusal = refuse_entry(program_, function_.values[from].name, from, type(from),
                                      entry->dim, *ring))
        refuse(*refusal, instr.place.range, nullptr, {{type(from), true, std::nullopt}}, {});
    type(v) = *std::move(own);
    result_.has_gradient[v] = result_.has_gradient[from];
    return true;
  }

  Axis pipeline_axis() const {
    for (const ir::Op* loop : loops_)
      if (auto* pipeline = std::get_if<ir::Pipeline>(loop)) return pipeline->axis;
    return "";
  }

  void check_op(const ir::Instr& instr) {
    if (entry_of_loop(instr)) return;
    std::vector<Operand> operands;
    if (!operands_of(instr, operands)) {
      for (ValueId v : instr.results) poisoned_[v] = true;
      field_not_judged(instr);
      return;
    }
    RuleResult rule = apply_rule(program_, instr.op, operands);
    if (rule.refusal)
      field_not_judged(instr);
    else
      rule.refusal = no_field_reduced(instr, operands, rule.types);
    const ir::Pattern* pattern = ir::pattern_of(instr.op);
    const bool stated =
        ((pattern && !pattern->inferred) || std::holds_alternative<ir::Ascribe>(instr.op)) &&
        !std::holds_alternative<ir::Ordered>(instr.op);
    std::vector<Type> results;
    if (rule.refusal && stated) results = rule.types;
    const bool gradient = gradient_flows(instr, operands);
    for (size_t i = 0; i < instr.results.size(); ++i) {
      const ValueId v = instr.results[i];
      if (i < rule.types.size()) type(v) = std::move(rule.types[i]);
      if (rule.refusal && !stated) poisoned_[v] = true;
      result_.has_gradient[v] = gradient && is_float(type(v).dtype);
      if (auto* number = std::get_if<ir::Number>(&instr.op))
        numbers_[v] = number->value;
      else if (type(v).dtype == Dtype::number)
        numbers_[v] = 1;  // some number, not known to be 0
    }
    if (!rule.refusal) return;
    if (rule.refusal->code == "E0301" || rule.refusal->code == "E0306")
      add_whole_pattern(instr, operands, rule.refusal->fixes);
    refuse(*rule.refusal, instr.place.range, &instr, operands, results);
  }

  void add_whole_pattern(const ir::Instr& instr, const std::vector<Operand>& operands,
                         std::vector<FixHint>& fixes) const {
    auto hint = all_types_of_pattern(program_, instr.op, operands);
    const bool known = hint && std::any_of(fixes.begin(), fixes.end(), [&](const FixHint& other) {
                         return other.text == hint->text;
                       });
    if (hint && !known) fixes.insert(fixes.begin(), *std::move(hint));
  }

  /// A field with an error of its own proves nothing about the record.
  void field_not_judged(const ir::Instr& instr) {
    const auto* op = std::get_if<ir::Collective>(&instr.op);
    reduces_a_field_ = op && op->applied == ir::Applied::to_field;
  }

  /// `all_reduce("-> Shards", g)` is refused at its last field if it reduced none.
  std::optional<Refusal> no_field_reduced(const ir::Instr& instr,
                                          const std::vector<Operand>& operands,
                                          const std::vector<Type>& results) {
    const auto* op = std::get_if<ir::Collective>(&instr.op);
    if (!op || !op->pattern.left_inferred || op->applied == ir::Applied::to_tensor) return {};
    for (const auto& [axis, mark] : operands.at(0).type.marks)
      reduces_a_field_ = reduces_a_field_ ||
                         (mark != Mark::I && !results.at(0).marks.count(axis)) ||
                         (mark != Mark::I && results.at(0).marks.at(axis) == Mark::I);
    for (const auto& [name, axis] : program_.axes)
      reduces_a_field_ = reduces_a_field_ || axis.size == 1;  // it may be the axis to reduce
    if (op->applied == ir::Applied::to_field) return {};
    if (std::exchange(reduces_a_field_, false)) return {};
    return Refusal{.code = "E0205",
                   .message = "all_reduce of a record whose fields are reduced already",
                   .label =
                       "no field is unreduced over an axis on which the result is not: there is "
                       "nothing to add",
                   .fixes = {{.kind = FixHint::Kind::replace_op,
                              .text = "$",
                              .message = "remove it; no communication"}}};
  }

  bool gradient_flows(const ir::Instr& instr, const std::vector<Operand>& operands) const {
    if (std::holds_alternative<ir::StopGrad>(instr.op) || created_of(instr.op)) return false;
    return std::any_of(operands.begin(), operands.end(),
                       [](const Operand& o) { return o.has_gradient; });
  }

  bool agrees(ValueId v, const Type& wanted) {
    if (fits_number(wanted, numbers_[v])) return true;
    if (type(v) == wanted) return wanted.dtype != Dtype::number;
    Type have = type(v), want = without_unit_axes(program_, wanted);
    if (have.dtype == Dtype::number) return false;
    return same_type(program_, as_seen(std::move(have), result_.has_gradient[v]),
                     as_seen(std::move(want), result_.has_gradient[v]));
  }

  /// An I without gradient counts as R.
  static Type as_seen(Type type, bool has_gradient) {
    if (!has_gradient)
      std::erase_if(type.marks, [](const auto& mark) { return mark.second == Mark::I; });
    return type;
  }

  void expect(ValueId v, const Type& wanted, SourceRange range, const char* code,
              const std::string& what, const std::optional<Layouts>& layouts = std::nullopt) {
    if (poisoned_[v] || agrees(v, wanted)) return;
    Refusal refusal;
    refusal.code = code;
    refusal.message = what + " is " + quoted(wanted) + ", and this is " + quoted(type(v));
    refusal.label = mismatch(type(v), wanted);
    refusal.axes = differing_axes(type(v), wanted);
    const bool alike = result_.has_gradient[v];
    if (auto hint = rules::conversion(program_, as_seen(type(v), alike), as_seen(wanted, alike)))
      refusal.fixes.push_back(layouts ? for_the_record(*hint, *layouts) : *hint);
    Diagnostic& diagnostic =
        refuse(refusal, range, nullptr, {{type(v), true, std::nullopt}}, {wanted});
    result_.refused.back().layouts = layouts;
    for (const Axis& axis : refusal.axes)
      if (auto origin = origin_of_mark(function_, result_.types, v, axis))
        diagnostic.notes.push_back(*origin);
  }

  static std::vector<Axis> differing_axes(const Type& have, const Type& wanted) {
    std::vector<Axis> axes;
    for (const auto& [axis, mark] : have.marks)
      if (!wanted.marks.count(axis) || wanted.marks.at(axis) != mark) axes.push_back(axis);
    return axes;
  }

  static std::string mismatch(const Type& have, const Type& wanted) {
    for (const auto& [axis, mark] : have.marks) {
      if (mark == Mark::U && !wanted.marks.count(axis))
        return "each device of " + axis + " holds one term; the value is the sum over " + axis;
      if (mark == Mark::Max && !wanted.marks.count(axis))
        return "the value is the maximum over " + axis;
    }
    for (const auto& [axis, mark] : wanted.marks)
      if (mark == Mark::U && !have.marks.count(axis))
        return "read as a sum over " + axis + ", this copy would count |" + axis + "| times";
    for (const auto& [axis, mark] : wanted.marks)
      if (mark == Mark::I && rules::state(have, axis) == rules::State::R)
        return "the value is right, but its gradient is one term on each device of " + axis +
               ": nothing in it is {I_" + axis + "}";
    return "this is " + to_string(have);
  }

  void check_arguments(const ir::Instr& instr, const ir::Function& callee) {
    for (size_t i = 0; i < instr.operands.size() && i < callee.params.size(); ++i) {
      const ir::Value& param = callee.values.at(callee.params[i]);
      expect(instr.operands[i], param.type, argument_range(instr, i), "E0303",
             "parameter `" + param.name + "` of " + callee.name,
             layouts_of_argument(function_, callee, instr, i));
    }
  }

  size_t arguments_that_fit(const ir::Instr& instr, const ir::Function& callee) {
    size_t count = 0;
    for (size_t i = 0; i < instr.operands.size() && i < callee.params.size(); ++i)
      count += poisoned_[instr.operands[i]] ||
               agrees(instr.operands[i], callee.values.at(callee.params[i]).type);
    return count;
  }

  /// The first instance that all arguments fit, else the first that most do.
  size_t pick(const ir::Instr& instr, size_t written) {
    const std::vector<size_t>& instances = program_.functions.at(written).instances;
    size_t best = instances.empty() ? written : instances[0], most = 0;
    for (size_t each : instances) {
      const size_t fit = arguments_that_fit(instr, program_.functions.at(each));
      if (fit <= most) continue;
      best = each;
      most = fit;
    }
    if (!instances.empty()) result_.picked[&instr] = best;
    return best;
  }

  void check_call(const ir::Instr& instr, size_t written) {
    const ir::Function& callee = program_.functions.at(pick(instr, written));
    check_arguments(instr, callee);
    for (size_t i = 0; i < instr.results.size() && i < callee.results.size(); ++i) {
      type(instr.results[i]) = without_unit_axes(program_, callee.results[i]);
      result_.has_gradient[instr.results[i]] = !is_step_ && is_float(callee.results[i].dtype);
    }
  }

  static SourceRange argument_range(const ir::Instr& instr, size_t i) {
    return i < instr.operand_ranges.size() && instr.operand_ranges[i].file >= 0
               ? instr.operand_ranges[i]
               : instr.place.range;
  }

  void check_grad(const ir::Instr& instr, const ir::Grad& grad) {
    const ir::Function& callee = program_.functions.at(grad.function);
    check_arguments(instr, callee);
    std::vector<Axis> axes;
    for (const Axis& axis : callee.axes)
      if (!(program_.axes.count(axis) && program_.axes.at(axis).size == 1)) axes.push_back(axis);
    const size_t own = callee.params.size();
    for (size_t i = own; i < instr.operands.size() && i - own < callee.results.size(); ++i)
      expect(instr.operands[i], dual(callee.results[i - own], axes), argument_range(instr, i),
             "E0303", "the gradient of " + callee.name + "'s result");
    // The resolver wrote the types of the gradients, the duals. The value has the callee's type.
    for (size_t i = 0; grad.with_value && i < callee.results.size() && i < instr.results.size();
         ++i) {
      type(instr.results[i]) = without_unit_axes(program_, callee.results[i]);
      for (const Axis& axis : axes)
        if (!callee.results[i].marks.count(axis)) return refuse_seed(instr, callee, axis);
    }
  }

  /// A cotangent of 1 on every device fits a sum or an I; for a copy it gives |t| times the
  /// gradient.
  void refuse_seed(const ir::Instr& instr, const ir::Function& callee, const Axis& axis) {
    const std::string n = "|" + axis + "|";
    Refusal refusal;
    refusal.code = "E0218";
    refusal.message = "the loss of " + callee.name + " is a copy on " + axis +
                      ": its gradient, 1 on every device, would count " + n + " times";
    refusal.label = "every gradient of this would be " + n + " times too large";
    refusal.axes = {axis};
    Type once = callee.results[0];
    once.marks[axis] = Mark::U;
    refusal.fixes = {{.kind = FixHint::Kind::advice,
                      .message = "count it once: let " + callee.name + " return zero_nonroot(\"" +
                                 rules::arrow(program_, callee.results[0], once) + "\", ...), an " +
                                 to_string(once)}};
    Diagnostic& told = refuse(refusal, instr.place.range, nullptr, {}, {callee.results[0]});
    Counterexample numbers;
    numbers.mesh = axis + "=2";
    numbers.lines = {"loss(x) = x, a copy on each device of " + axis + ", and so is x",
                     "1 is the gradient of both copies: the devices hold 1 and 1",
                     "as a sum over " + axis + " the gradient of x is 1 + 1 = 2, and it is 1"};
    told.counterexample = std::move(numbers);
  }

  void check_loop(const ir::Instr& instr, const ir::Block& body) {
    for (size_t i = 0; i < body.params.size(); ++i) {
      const ValueId v = body.params[i];
      result_.has_gradient[v] = !is_step_ && is_float(type(v).dtype);
      check_written(type(v), function_.values[v].range);
    }
    const size_t carries = body.next.size();
    for (size_t i = 0; i + carries < body.params.size(); ++i)
      loop_of_index_[body.params[i]] = &instr.op;
    const size_t first = body.params.size() - std::min(carries, body.params.size());
    for (size_t i = 0; i < carries && i < instr.operands.size(); ++i)
      expect(instr.operands[i], type(body.params[first + i]), argument_range(instr, i), "E0304",
             "carry `" + function_.values[body.params[first + i]].name + "`");
    check_ring_carries(instr, body, first);
    loops_.push_back(&instr.op);
    walk(body);
    loops_.pop_back();
    check_pipeline(instr);
    for (size_t i = 0; i < carries; ++i)
      expect(body.next[i], type(body.params[first + i]), body.next_range, "E0304",
             "carry `" + function_.values[body.params[first + i]].name + "`");
    loop_results(instr, body, first);
  }

  void check_ring_carries(const ir::Instr& instr, const ir::Block& body, size_t first) {
    auto* ring = std::get_if<ir::Ring>(&instr.op);
    if (!ring) return;
    for (size_t i = first; i < body.params.size(); ++i) {
      const ir::Value& carry = function_.values[body.params[i]];
      if (auto refusal = refuse_carry(carry.name, type(body.params[i]), *ring))
        refuse(*refusal, carry.range, nullptr, {}, {type(body.params[i])});
    }
  }

  /// Reports the reason for a refusal once.
  void check_pipeline(const ir::Instr& instr) {
    auto* pipeline = std::get_if<ir::Pipeline>(&instr.op);
    if (!pipeline) return;
    for (const Misplaced& each :
         misplaced_values(program_, function_, result_.types, poisoned_, *pipeline)) {
      const bool told =
          std::any_of(result_.refused.begin(), result_.refused.end(),
                      [&](const RefusedOp& other) { return other.diagnostic.range == each.range; });
      if (told) continue;
      Diagnostic& diagnostic = refuse(each.refusal, each.range, nullptr, {}, {});
      if (each.origin) diagnostic.notes.push_back(*each.origin);
    }
  }

  void loop_results(const ir::Instr& instr, const ir::Block& body, size_t first) {
    for (size_t i = 0; i < instr.results.size(); ++i) {
      const ValueId v = instr.results[i];
      if (i < body.next.size()) {
        type(v) = type(body.params[first + i]);
      } else if (i - body.next.size() < body.emit.size()) {
        const ValueId emitted = body.emit[i - body.next.size()];
        poisoned_[v] = poisoned_[emitted];
        if (auto* ring = std::get_if<ir::Ring>(&instr.op))
          emitted_by(*ring, body, instr, emitted, v);
        else
          type(v) = stacked(instr, type(emitted), type(v));
      }
      result_.has_gradient[v] = !is_step_ && is_float(type(v).dtype);
    }
  }

  void emitted_by(const ir::Ring& ring, const ir::Block& body, const ir::Instr& instr,
                  ValueId emitted, ValueId v) {
    if (poisoned_[v]) return;
    if (auto result = rules::emitted_by_ring(type(emitted), ring.dim, ring.block)) {
      type(v) = *std::move(result);
      return;
    }
    poisoned_[v] = true;
    const ir::Value& value = function_.values[emitted];
    SourceRange place = body.next.empty() ? body.next_range : value.range;
    if (place.file < 0) place = instr.place.range;
    Diagnostic& error =
        refuse(refuse_emitted(program_, value.name, ring), place, nullptr, {}, {type(emitted)});
    if (value.range.file >= 0 && !(value.range == place))
      error.notes.push_back({value.range, "this is the value"});
  }

  /// An emitted value with the loop's dims in front. Each stage of a pipeline has the values of its
  /// own layers; any other emitted value exists on the last stage only.
  Type stacked(const ir::Instr& instr, const Type& emitted, const Type& resolved) const {
    const auto* stages = std::get_if<ir::Stages>(&instr.op);
    Type result = emitted;
    const size_t steps = stages ? stages->dims.size() : 1;
    if (resolved.dims.size() == emitted.dims.size() + steps)
      for (size_t i = steps; i-- > 0;)
        result.dims.insert(result.dims.begin(), Split{resolved.dims[i].dim, {}});
    if (stages) {
      result.dims.at(steps - 1).axes = {pipeline_axis()};
      return without_unit_axes(program_, result);
    }
    if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op)) {
      const std::vector<Axis> split = split_axes(result);
      if (!std::count(split.begin(), split.end(), pipeline->axis))
        result.marks[pipeline->axis] = Mark::U;
    }
    return result;
  }

  void check_return() {
    for (size_t i = 0; i < function_.returned.size() && i < function_.results.size(); ++i) {
      const std::string& name = i < function_.result_names.size() ? function_.result_names[i] : "";
      SourceRange range = function_.values.at(function_.returned[i]).range;
      if (range.file < 0 || range.begin < function_.return_range.begin ||
          range.end > function_.return_range.end)
        range = i < function_.returned_ranges.size() ? function_.returned_ranges[i]
                                                     : function_.return_range;
      expect(function_.returned[i], function_.results[i], range, "E0302",
             name.empty() ? "the result of " + function_.name
                          : "result `" + name + "` of " + function_.name);
    }
  }

  /// Reports the same mistake in one library call once, and types that differ at one place in one
  /// diagnostic: the fields of a record.
  void drop_repeated() {
    constexpr size_t most = 4;
    auto& all = result_.refused;
    for (size_t i = 0; i < all.size(); ++i) {
      size_t others = 0;
      std::erase_if(all, [&](const RefusedOp& later) {
        const Diagnostic &first = all[i].diagnostic, &other = later.diagnostic;
        if (&later <= &all[i] || other.code != first.code || !(other.range == first.range))
          return false;
        if (!later.instr && other.message != first.message && ++others <= most)
          all[i].diagnostic.details.push_back("also: " + other.message);
        return true;
      });
      if (others > most)
        all[i].diagnostic.details.push_back("and " + std::to_string(others - most) + " more");
    }
  }

  Diagnostic& refuse(const Refusal& refusal, SourceRange range, const ir::Instr* instr,
                     std::vector<Operand> operands, std::vector<Type> result_types) {
    RefusedOp refused;
    Diagnostic& d = refused.diagnostic;
    d.code = refusal.code;
    d.range = range;
    d.message = refusal.message;
    d.label = refusal.label;
    d.details = refusal.details;
    for (const Operand& each : operands) d.types.push_back(to_string(each.type));
    for (const Type& each : result_types) d.types.push_back(to_string(each));
    if (instr) add_place(*instr, refusal, d);
    refused.refusal = refusal;
    refused.instr = instr;
    refused.operands = std::move(operands);
    refused.result_types = std::move(result_types);
    result_.refused.push_back(std::move(refused));
    return result_.refused.back().diagnostic;
  }

  void add_place(const ir::Instr& instr, const Refusal& refusal, Diagnostic& d) {
    if (instr.place.inner) {
      std::string names;
      for (const std::string& name : instr.place.through)
        names += (names.empty() ? "" : ", in ") + name;
      d.notes.push_back({*instr.place.inner, "in " + names});
      name_the_call(instr, d);
    }
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      if (refusal.operand && *refusal.operand != i) continue;
      for (const Axis& axis : refusal.axes)
        if (auto origin = origin_of_mark(function_, result_.types, instr.operands[i], axis)) {
          if (!(origin->range == d.range)) d.notes.push_back(*origin);
          return;
        }
    }
  }

  /// Rewrites "erf of a value that ..." inside gelu as "gelu of a value that ..." for the caller.
  static void name_the_call(const ir::Instr& instr, Diagnostic& d) {
    const std::string inner = ir::name_of(instr.op) + std::string(" of ");
    if (instr.place.through.empty() || d.message.compare(0, inner.size(), inner) != 0) return;
    d.message = instr.place.through.front() + " of " + d.message.substr(inner.size());
  }

  const ir::Program& program_;
  const ir::Function& function_;
  bool is_step_;
  Typing result_;
  std::vector<bool> poisoned_;
  std::vector<std::optional<double>> numbers_;
  std::map<ValueId, const ir::Op*> loop_of_index_;
  std::vector<const ir::Op*> loops_;  ///< enclosing loops, outermost first
  bool reduces_a_field_ = false;      ///< of the record that is being reduced
};

}  // namespace

Typing type_plan(const ir::Program& program, size_t function, bool is_step) {
  return Walker(program, function, is_step).run();
}

namespace {

void call_the_picked(ir::Block& block, const Typing& typing) {
  for (ir::Instr& instr : block.instrs) {
    if (const auto found = typing.picked.find(&instr); found != typing.picked.end())
      instr.op = ir::Call{found->second};
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.body; }) call_the_picked(*op.body, typing);
        },
        instr.op);
  }
}

}  // namespace

Typing type_and_pick(ir::Program& program, size_t function, bool is_step) {
  Typing typing = type_plan(program, function, is_step);
  if (!typing.picked.empty()) call_the_picked(program.functions.own().at(function).body, typing);
  return typing;
}

std::vector<bool> find_steps(const ir::Program& program) {
  std::vector<bool> steps(program.functions.size(), false);
  for (size_t f = 0; f < steps.size(); ++f) {
    const ir::Function& function = program.functions[f];
    bool is_step = function.implements_grad || function.uses_gradients;
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      if (auto* call = std::get_if<ir::Call>(&instr.op)) is_step = is_step || steps[call->function];
    });
    steps[f] = is_step && function.kind == ir::Function::Kind::plan;
  }
  return steps;
}

std::optional<Label> origin_of_mark(const ir::Function& function, const std::vector<Type>& types,
                                    ir::ValueId value, const Axis& axis) {
  const auto has = [&](ValueId v) { return types.at(v).marks.count(axis) > 0; };
  while (has(value)) {
    const ir::Instr* maker = defining_instr(function.body, value);
    if (!maker) return std::nullopt;
    const auto source = std::find_if(maker->operands.begin(), maker->operands.end(), has);
    if (source != maker->operands.end() && !body_of(maker->op)) {
      value = *source;
      continue;
    }
    const Name& name = function.values[value].name;
    const Marks marks{{axis, types[value].marks.at(axis)}};
    std::string text = (name.empty() ? "this" : name) + " is " + to_string(marks);
    for (size_t i = 0; i < maker->operands.size(); ++i)
      for (const Split& split : types[maker->operands[i]].dims)
        if (std::count(split.axes.begin(), split.axes.end(), axis) && ir::pattern_of(maker->op) &&
            !find(types[value], split.dim))
          return Label{maker->place.range,
                       text + ": " + to_string(split.dim) + " is " +
                           (std::holds_alternative<ir::IndexUnreduced>(maker->op) ? "indexed"
                                                                                  : "contracted") +
                           " here and split over " + axis};
    return Label{maker->place.range, text + " from here on"};
  }
  return std::nullopt;
}

}  // namespace shardproof
