// A plan as equations: $x[B_d,T,M]\{U_t\} = ...$, one a line, for notes and papers.
#include <algorithm>
#include <map>
#include <set>

#include "spec/cli/report.h"

namespace shardproof::cli {
namespace {

using namespace ir;

std::string escaped(const std::string& text) {
  std::string result;
  for (char c : text)
    result += c == '_' || c == '%' || c == '#' ? std::string("\\") + c : std::string(1, c);
  return result;
}

std::string word(const std::string& text) { return "\\text{" + escaped(text) + "}"; }

std::string joined(const std::vector<std::string>& list, const char* between) {
  std::string text;
  for (const std::string& each : list) text += (text.empty() ? "" : between) + each;
  return text;
}

std::string axes_text(const std::vector<Axis>& axes) {
  if (axes.empty()) return "";
  const std::string list = joined(axes, ",");
  return list.size() == 1 ? "_" + list : "_{" + list + "}";
}

/// `[B_d,T,M]\{U_t\}`; nothing for a scalar without marks.
std::string shape_text(const Type& type) {
  std::vector<std::string> dims, marks;
  for (const Split& split : type.dims) {
    std::string dim = escaped(to_string(split.dim));
    if (split.dim.is_group()) dim = "(" + joined(split.dim.factors, "\\,") + ")";
    dims.push_back(dim + axes_text(split.axes));
  }
  for (const auto& [axis, mark] : type.marks)
    marks.push_back(std::string(mark == Mark::U   ? "U"
                                : mark == Mark::I ? "I"
                                                  : "\\text{Max}") +
                    axes_text({axis}));
  return (dims.empty() ? "" : "[" + joined(dims, ",") + "]") +
         (marks.empty() ? "" : "\\{" + joined(marks, "\\,") + "\\}");
}

const char* collective_name(CollectiveFn fn) {
  switch (fn) {
    case CollectiveFn::all_gather:
      return "AllGather";
    case CollectiveFn::all_reduce:
      return "AllReduce";
    case CollectiveFn::psum_scatter:
      return "ReduceScatter";
    case CollectiveFn::all_to_all:
      return "AllToAll";
    case CollectiveFn::slice:
      return "Slice";
    case CollectiveFn::fan_out:
      return "FanOut";
    case CollectiveFn::zero_nonroot:
      return "ZeroNonroot";
    case CollectiveFn::zero_pad:
      return "ZeroPad";
  }
  return "?";
}

/// The axes on which a collective changes the state: those of one side alone.
std::vector<Axis> changed_axes(const Type& from, const Type& to) {
  auto states = [](const Type& type) {
    std::set<std::string> result;
    for (const Split& split : type.dims)
      for (const Axis& axis : split.axes) result.insert(axis + " " + to_string(split.dim));
    for (const auto& [axis, mark] : type.marks)
      result.insert(axis + " " + std::to_string(static_cast<int>(mark)));
    return result;
  };
  std::set<Axis> axes;
  const auto a = states(from), b = states(to);
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)})
    for (const std::string& state : one)
      if (!other.count(state)) axes.insert(state.substr(0, state.find(' ')));
  return {axes.begin(), axes.end()};
}

class Equations {
 public:
  Equations(const CheckedProgram& checked, size_t function, std::ostream& out)
      : program_(checked.program()),
        function_(program_.functions.at(function)),
        types_(checked.types(function)),
        out_(out) {
    index(function_.body);
  }

  void print() {
    block(function_.body, "");
    std::vector<std::string> returned;
    for (ValueId id : function_.returned) returned.push_back(expression(id, 0));
    if (!returned.empty()) out_ << "- return $" << joined(returned, ",\\ ") << "$\n";
  }

 private:
  void index(const Block& block) {
    for (const Instr& instr : block.instrs) {
      for (ValueId id : instr.results) made_by_[id] = &instr;
      if (const Block* body = body_of(instr)) index(*body);
    }
  }

  static const Block* body_of(const Instr& instr) {
    return std::visit(
        [](const auto& op) -> const Block* {
          if constexpr (requires { op.body; }) return op.body.get();
          return nullptr;
        },
        instr.op);
  }

  bool named(ValueId id) const { return !function_.values.at(id).name.empty(); }

  std::string value(ValueId id) const {
    return escaped(function_.values.at(id).name) + shape_text(types_.at(id));
  }

  void block(const Block& block, const std::string& indent) {
    for (const Instr& instr : block.instrs) {
      if (const Block* body = body_of(instr)) {
        loop(instr, *body, indent);
        continue;
      }
      // A value of a library's body has a name there; it is part of the call.
      if (instr.results.empty() || !named(instr.results[0])) continue;
      if (instr.place.inner && part_of_call(instr, block)) continue;
      std::vector<std::string> results;
      for (ValueId id : instr.results) results.push_back(value(id));
      out_ << indent << "- $" << joined(results, ",\\ ") << " = "
           << made(instr, instr.results[0], 0) << "$\n";
    }
  }

  /// The result is used only by the same library call.
  bool part_of_call(const Instr& instr, const Block& block) const {
    const auto& returned = function_.returned;
    bool used_inside = false;
    for (ValueId id : instr.results) {
      if (std::find(returned.begin(), returned.end(), id) != returned.end()) return false;
      for (const Instr& user : block.instrs) {
        if (std::find(user.operands.begin(), user.operands.end(), id) == user.operands.end())
          continue;
        if (!same_call(user, instr)) return false;
        used_inside = true;
      }
    }
    return used_inside;
  }

  static bool same_call(const Instr& a, const Instr& b) {
    return a.place.inner && b.place.inner && a.place.range == b.place.range &&
           !a.place.through.empty() && !b.place.through.empty() &&
           a.place.through[0] == b.place.through[0];
  }

  void loop(const Instr& instr, const Block& body, const std::string& indent) {
    std::string dim = "each";
    if (const auto* scan = std::get_if<Scan>(&instr.op))
      dim = to_string(scan->dim) + (scan->reverse ? ", last first" : "");
    if (const auto* ring = std::get_if<Ring>(&instr.op)) dim = "blocks of " + to_string(ring->dim);
    if (const auto* pipeline = std::get_if<Pipeline>(&instr.op)) dim = to_string(pipeline->dim);
    std::vector<std::string> starts;
    for (size_t i = 0; i < instr.operands.size() && i + 1 < body.params.size(); ++i)
      starts.push_back("$" + value(body.params[i + 1]) + " \\leftarrow " +
                       expression(instr.operands[i], 0) + "$");
    out_ << indent << "- " << name_of(instr.op) << " over " << dim;
    if (!starts.empty()) out_ << ", from " << joined(starts, ", ");
    out_ << ":\n";
    block(body, indent + "  ");
    for (const auto& [list, what] :
         {std::pair(&body.next, "next"), std::pair(&body.emit, "emit")}) {
      std::vector<std::string> values;
      for (ValueId id : *list) values.push_back(expression(id, 0));
      if (!values.empty())
        out_ << indent << "  - " << what << " $" << joined(values, ",\\ ") << "$\n";
    }
    std::vector<std::string> results;
    for (ValueId id : instr.results)
      if (named(id)) results.push_back("$" + value(id) + "$");
    if (!results.empty()) out_ << indent << "  - giving " << joined(results, ", ") << "\n";
  }

  /// Precedence: 0 anything, 1 an operand of +, 2 of a product.
  std::string expression(ValueId id, int level) {
    auto made_here = made_by_.find(id);
    const bool inner = made_here != made_by_.end() && made_here->second->place.inner;
    if ((named(id) && !(inner && inside_ == made_here->second->place.range)) ||
        made_here == made_by_.end())
      return named(id) ? value(id) : "?";
    return made(*made_here->second, id, level);
  }

  std::string operand(const Instr& instr, size_t i, int level = 0) {
    return i < instr.operands.size() ? expression(instr.operands[i], level) : "?";
  }

  std::string arguments(const Instr& instr) {
    std::vector<std::string> list;
    for (size_t i = 0; i < instr.operands.size(); ++i) list.push_back(operand(instr, i));
    return "(" + joined(list, ",\\ ") + ")";
  }

  std::string made(const Instr& instr, ValueId id, int level) {
    if (instr.place.inner && !instr.place.through.empty()) return library_call(instr);
    if (const auto* number = std::get_if<Number>(&instr.op)) return number->text;
    if (const auto* size = std::get_if<SizeOf>(&instr.op)) return "|" + escaped(size->name) + "|";
    if (std::holds_alternative<Einsum>(instr.op)) return product(instr, level);
    if (const auto* collective = std::get_if<Collective>(&instr.op))
      return word(collective_name(collective->fn)) +
             axes_text(changed_axes(types_.at(instr.operands.at(0)), types_.at(id))) +
             arguments(instr);
    if (std::holds_alternative<Binary>(instr.op)) return binary(instr, level);
    if (std::holds_alternative<Save>(instr.op) || std::holds_alternative<Ascribe>(instr.op))
      return operand(instr, 0, level);
    if (const auto* call = std::get_if<Call>(&instr.op))
      return word(program_.functions.at(call->function).name) + arguments(instr);
    if (const auto* grad = std::get_if<Grad>(&instr.op))
      return "\\nabla " + word(program_.functions.at(grad->function).name) + arguments(instr);
    if (std::holds_alternative<Entry>(instr.op))
      return operand(instr, 0) + "_{" + operand(instr, 1) + "}";
    if (const auto* unary = std::get_if<Unary>(&instr.op); unary && unary->fn == UnaryFn::neg)
      return parenthesised("-" + operand(instr, 0, 2), level > 0);
    if (std::holds_alternative<Unary>(instr.op))
      return (std::string(name_of(instr.op)) == "exp" ? "\\exp" : word(name_of(instr.op))) +
             arguments(instr);
    return word(name_of(instr.op)) + arguments(instr);
  }

  static std::string parenthesised(const std::string& text, bool yes) {
    return yes ? "(" + text + ")" : text;
  }

  std::string product(const Instr& instr, int level) {
    std::vector<std::string> factors;
    for (size_t i = 0; i < instr.operands.size(); ++i) factors.push_back(operand(instr, i, 3));
    return parenthesised(joined(factors, " \\cdot "), level > 1 && factors.size() > 1);
  }

  std::string binary(const Instr& instr, int level) {
    static const std::map<BinaryFn, std::pair<const char*, int>> signs = {
        {BinaryFn::add, {" + ", 1}},
        {BinaryFn::sub, {" - ", 1}},
        {BinaryFn::mul, {" \\odot ", 2}},
        {BinaryFn::div, {" / ", 2}},
        {BinaryFn::eq, {" = ", 0}},
        {BinaryFn::ne, {" \\neq ", 0}},
        {BinaryFn::lt, {" < ", 0}},
        {BinaryFn::gt, {" > ", 0}},
        {BinaryFn::le, {" \\le ", 0}},
        {BinaryFn::ge, {" \\ge ", 0}},
        {BinaryFn::logical_and, {" \\wedge ", 0}},
        {BinaryFn::logical_or, {" \\vee ", 0}}};
    auto sign = signs.find(std::get<Binary>(instr.op).fn);
    if (sign == signs.end()) return word(name_of(instr.op)) + arguments(instr);
    const auto& [text, strength] = sign->second;
    const bool right_binds = text == std::string(" - ") || text == std::string(" / ");
    return parenthesised(operand(instr, 0, strength) + text +
                             operand(instr, 1, right_binds ? strength + 1 : strength),
                         level > strength || (level > 0 && strength == 0));
  }

  /// `rms_norm(x)`: what the body of a library function computes, by its name and what goes in.
  std::string library_call(const Instr& instr) {
    const auto outer = std::exchange(inside_, instr.place.range);
    std::vector<ValueId> inputs;
    std::set<ValueId> seen;
    auto walk = [&](auto& self, const Instr& each) -> void {
      for (ValueId id : each.operands) {
        if (!seen.insert(id).second) continue;
        auto made_here = made_by_.find(id);
        if (made_here != made_by_.end() && same_call(*made_here->second, instr))
          self(self, *made_here->second);
        else
          inputs.push_back(id);
      }
    };
    walk(walk, instr);
    inside_ = outer;
    std::vector<std::string> list;
    for (ValueId id : inputs) list.push_back(expression(id, 0));
    return word(instr.place.through[0]) + "(" + joined(list, ",\\ ") + ")";
  }

  const ir::Program& program_;
  const Function& function_;
  const std::vector<Type>& types_;
  std::ostream& out_;
  std::map<ValueId, const Instr*> made_by_;
  SourceRange inside_;
};

}  // namespace

void print_latex(const CheckedProgram& checked, std::ostream& out) {
  for (const PlanReport& plan : checked.plans()) {
    const Function& function = checked.program().functions.at(plan.function);
    if (plan.imported || function.trusted) continue;
    out << "**" << plan.name << "** " << plan.claim << " (" << to_string(plan.verdict) << ")\n\n";
    Equations(checked, plan.function, out).print();
    out << "\n";
  }
}

}  // namespace shardproof::cli
