#include "spec/to_jax/body.h"

#include "spec/ir/walk.h"
#include "spec/to_jax/expressions.h"

namespace shardproof::to_jax {
namespace {

using namespace ir;

/// How often each value of a function is used.
void count_uses(const Block& block, std::map<ValueId, int>& uses) {
  for (const Instr& instr : block.instrs) {
    for (const ValueId id : instr.operands) ++uses[id];
    if (const Block* body = body_of(instr.op)) count_uses(*body, uses);
  }
  for (const auto* list : {&block.next, &block.emit})
    for (const ValueId id : *list) uses[id] += 2;
}

/// It gives its operand.
bool is_same(const Op& op) {
  const auto* collective = std::get_if<Collective>(&op);
  return std::holds_alternative<Save>(op) || std::holds_alternative<Ascribe>(op) ||
         (collective && collective->fn == CollectiveFn::fan_out);
}

class Body {
 public:
  Body(Sizes& sizes, size_t function, const std::vector<Type>& types,
       const std::map<size_t, std::string>& functions, Names names, bool differentiated)
      : program_(sizes.program()),
        function_(sizes.program().functions.at(function)),
        types_(types),
        functions_(functions),
        names_(std::move(names)),
        expressions_(sizes, types, texts_),
        differentiated_(differentiated) {}

  std::string print(const std::string& name, const std::string& indent) {
    count_uses(function_.body, uses_);
    for_each_instr(function_.body, [&](const Instr& instr) {
      if (is_same(instr.op) && !function_.values.at(instr.results.at(0)).name.empty())
        later_[instr.operands.at(0)] = function_.values[instr.results[0]].name;
    });
    for (const ValueId id : function_.returned) uses_[id] += 2;
    std::vector<std::string> params;
    for (const ValueId id : function_.params) params.push_back(bind(id));
    text_ = indent + "def " + name + "(" + joined(params) + "):\n";
    block(function_.body, indent + "    ");
    std::vector<std::string> results;
    for (size_t i = 0; i < function_.returned.size(); ++i)
      results.push_back(result(function_.returned[i], function_.results.at(i)));
    text_ += indent + "    return " + (results.size() == 1 ? results[0] : tuple(results)) + "\n";
    return text_;
  }

 private:
  std::string result(ValueId id, const Type& type) const {
    return types_.at(id).dtype == Dtype::number
               ? "jnp.asarray(" + texts_.at(id).text + ", " + dtype_name(type.dtype) + ")"
               : texts_.at(id).text;
  }

  std::string bind(ValueId id) {
    const Name& own = function_.values.at(id).name;
    const auto later = later_.find(id);
    const std::string name =
        names_.fresh(own.empty() && later != later_.end() ? later->second : own);
    texts_[id] = {name, true};
    return name;
  }

  void block(const Block& block, const std::string& indent) {
    for (const Instr& instr : block.instrs) {
      if (const auto* op = std::get_if<Scan>(&instr.op)) {
        scan(*op, instr, indent);
        continue;
      }
      if (const auto* op = std::get_if<Call>(&instr.op)) {
        call(*op, instr, indent);
        continue;
      }
      if (const auto* op = std::get_if<Grad>(&instr.op)) {
        gradient(*op, instr, indent);
        continue;
      }
      const Text text = expressions_.of(instr);
      if (instr.results.size() == 1 && (inlined(instr) || is_same(instr.op))) {
        texts_[instr.results[0]] = text;
        continue;
      }
      assign(instr, text.text, indent);
    }
  }

  /// A number, or what is used once in a larger formula.
  bool inlined(const Instr& instr) const {
    const ValueId id = instr.results[0];
    if (std::holds_alternative<Number>(instr.op) || std::holds_alternative<SizeOf>(instr.op) ||
        types_.at(id).dtype == Dtype::number)
      return true;
    const bool pointwise = std::holds_alternative<Unary>(instr.op) ||
                           std::holds_alternative<Binary>(instr.op) ||
                           std::holds_alternative<Cast>(instr.op);
    const auto uses = uses_.find(id);
    return pointwise && function_.values.at(id).name.empty() && uses != uses_.end() &&
           uses->second == 1;
  }

  void assign(const Instr& instr, const std::string& text, const std::string& indent) {
    std::vector<std::string> left;
    for (const ValueId id : instr.results) left.push_back(id == no_value ? "_" : bind(id));
    text_ += indent + joined(left) + " = " + text + "\n";
  }

  void call(const Call& op, const Instr& instr, const std::string& indent) {
    const auto found = functions_.find(op.function);
    if (found == functions_.end()) throw NotPrinted("a call", instr.place.range);
    std::vector<std::string> arguments;
    for (const ValueId id : instr.operands) arguments.push_back(texts_.at(id).text);
    assign(instr, found->second + "(" + joined(arguments) + ")", indent);
  }

  /// JAX's own gradient of a device's term of the loss. Each device's part of a gradient is a term
  /// too.
  void gradient(const Grad& op, const Instr& instr, const std::string& indent) {
    const auto found = functions_.find(op.function);
    if (found == functions_.end()) throw NotPrinted("a gradient", instr.place.range);
    std::vector<std::string> arguments, which, sums;
    for (const ValueId id : instr.operands) arguments.push_back(texts_.at(id).text);
    for (size_t i = 0; i < op.wrt.size(); ++i) {
      const ValueId result = instr.results.at(i + (op.with_value ? 1 : 0));
      const Type& of = types_.at(instr.operands.at(op.wrt[i]));
      const Type& type = result == no_value ? of : types_.at(result);
      std::vector<std::string> axes;
      for (const Axis& axis : program_.axis_names())
        if (!is_unreduced(type, axis) && !is_split(of, axis)) axes.push_back("\"" + axis + "\"");
      which.push_back(std::to_string(op.wrt[i]));
      sums.push_back(tuple(axes));
    }
    std::vector<std::string> terms;
    for (const auto& [axis, mark] : program_.functions.at(op.function).results.at(0).marks)
      if (mark == Mark::U) terms.push_back("\"" + axis + "\"");
    std::string text = "_value_and_grad(" + found->second + ", " + tuple(arguments) + ", " +
                       tuple(which) + ", " + tuple(terms) + ", " + tuple(sums) + ")";
    if (!op.with_value) text += "[1:]";
    if (instr.results.size() == 1) text += "[0]";
    assign(instr, text, indent);
  }

  static bool is_unreduced(const Type& type, const Axis& axis) {
    const auto mark = type.marks.find(axis);
    return mark != type.marks.end() && mark->second == Mark::U;
  }

  static bool is_split(const Type& type, const Axis& axis) {
    for (const Split& each : type.dims)
      for (const Axis& own : each.axes)
        if (own == axis) return true;
    return false;
  }

  /// The type of a carry of a loop is that of a value that each device has for itself.
  std::string carried(ValueId id, ValueId as) const {
    return differentiated_ ? "_vary(" + array(id, as) + ")" : array(id, as);
  }

  std::string array(ValueId id, ValueId as) const {
    return "jnp.asarray(" + texts_.at(id).text + ", " + dtype_name(types_.at(as).dtype) + ")";
  }

  void scan(const Scan& op, const Instr& instr, const std::string& indent) {
    const Block& body = *op.body;
    std::vector<std::string> start, carries, next, emit;
    for (size_t i = 0; i < instr.operands.size(); ++i)
      start.push_back(carried(instr.operands[i], body.params.at(i + 1)));
    const std::string step = names_.fresh("step"), carry = names_.fresh("carry");
    const std::string index = bind(body.params.at(0)), inner = indent + "    ";
    for (size_t i = 1; i < body.params.size(); ++i) carries.push_back(bind(body.params[i]));
    text_ += "\n" + indent + "def " + step + "(" + carry + ", " + index + "):\n";
    if (!carries.empty()) text_ += inner + tuple(carries) + " = " + carry + "\n";
    block(body, inner);
    for (size_t i = 0; i < body.next.size(); ++i)
      next.push_back(carried(body.next[i], body.params.at(i + 1)));
    for (const ValueId id : body.emit) emit.push_back(array(id, id));
    text_ += inner + "return " + tuple(next) + ", " + tuple(emit) + "\n\n";
    std::vector<std::string> last, stacked;
    for (size_t i = 0; i < instr.results.size(); ++i)
      (i < start.size() ? last : stacked)
          .push_back(instr.results[i] == no_value ? "_" : bind(instr.results[i]));
    text_ += indent + tuple(last) + ", " + tuple(stacked) + " = lax.scan(" + step + ", " +
             tuple(start) + ", jnp.arange(" + expressions_.size(op.dim) + ", dtype=i32)" +
             (op.reverse ? ", reverse=True" : "") + ")\n";
  }

  const Program& program_;
  const Function& function_;
  const std::vector<Type>& types_;
  const std::map<size_t, std::string>& functions_;
  Names names_;
  std::map<ValueId, int> uses_;
  std::map<ValueId, Name> later_;  ///< the name that a value gets by save(..) or a stated type
  Texts texts_;
  Expressions expressions_;
  bool differentiated_;
  std::string text_;
};

}  // namespace

std::string print_function(Sizes& sizes, size_t function, const std::vector<Type>& types,
                           const std::map<size_t, std::string>& functions, Names names,
                           const std::string& indent, bool differentiated) {
  return Body(sizes, function, types, functions, std::move(names), differentiated)
      .print(functions.at(function), indent);
}

}  // namespace shardproof::to_jax
