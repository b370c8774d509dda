#include "spec/check/library_call.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "spec/check/fixes.h"
#include "spec/denote/evaluate.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

/// The instructions of one inlined call, and the tensor argument.
struct Instance {
  std::vector<ir::Instr> instrs;
  ir::ValueId argument = ir::no_value;
  bool pointwise = true;
};

bool is_pointwise(const ir::Op& op) {
  return std::holds_alternative<ir::Unary>(op) || std::holds_alternative<ir::Binary>(op) ||
         std::holds_alternative<ir::Where>(op) || std::holds_alternative<ir::Cast>(op) ||
         std::holds_alternative<ir::Number>(op) || std::holds_alternative<ir::StopGrad>(op);
}

Instance instance_of(const ir::Function& plan, const std::vector<Type>& types,
                     const ir::Instr& inside) {
  Instance instance;
  std::set<ir::ValueId> made;
  for_each_instr(plan.body, [&](const ir::Instr& instr) {
    const bool same = instr.place.inner && instr.place.range == inside.place.range &&
                      instr.place.through.front() == inside.place.through.front();
    if (!same) return;
    instance.pointwise = instance.pointwise && is_pointwise(instr.op);
    for (ir::ValueId v : instr.operands) {
      if (made.count(v) || types.at(v).dtype == Dtype::number) continue;
      if (instance.argument != ir::no_value && instance.argument != v) instance.pointwise = false;
      instance.argument = v;
    }
    made.insert(instr.results.begin(), instr.results.end());
    instance.instrs.push_back(instr);
  });
  return instance;
}

/// Evaluates the call as a function of one scalar.
std::optional<double> value_at(const ir::Program& program, const ir::Function& plan,
                               const Instance& instance, double x) {
  ir::Program one = without_functions(program);
  ir::Function f;
  f.values = plan.values;
  for (ir::Value& value : f.values) value.type.dims.clear(), value.type.marks.clear();
  f.params = {instance.argument};
  f.body.instrs = instance.instrs;
  f.returned = {instance.instrs.back().results.at(0)};
  f.results = {Type{{}, Dtype::f32}};
  one.functions = {f};
  try {
    return denote::evaluate<double>(one, 0, {}, {{{}, {x}}}).at(0).data.at(0);
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::string four_digits(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value == 0 ? 0 : value);
  return text;
}

/// The values on two devices, and their sum next to the expected one.
HeldValue of_two(const Axis& axis, const std::string& name, double first, double second, double sum,
                 std::optional<double> wanted = {}) {
  HeldValue value{name, wanted.has_value(), {}};
  value.held = {{axis + "=0", {}, {first}}, {axis + "=1", {}, {second}}, {"sum", {}, {sum}}};
  if (wanted) {
    value.held.back().expected = {*wanted};
    value.held.push_back({"wanted", {}, {*wanted}});
  }
  return value;
}

/// Two devices, one entry each: the integers with least sum of absolute values and f(a) + f(b) !=
/// f(a + b).
std::optional<Counterexample> smallest(const ir::Program& program, const ir::Function& plan,
                                       const Instance& instance, const Axis& axis,
                                       const std::string& name) {
  for (int total = 1; total <= 6; ++total)
    for (int a = -total; a <= total; ++a)
      for (int b : {std::abs(a) - total, total - std::abs(a)}) {
        const auto at_a = value_at(program, plan, instance, a),
                   at_b = value_at(program, plan, instance, b);
        const auto at_sum = value_at(program, plan, instance, a + b);
        if (!at_a || !at_b || !at_sum || !std::isfinite(*at_a + *at_b + *at_sum)) continue;
        if (std::abs(*at_a + *at_b - *at_sum) < 1e-6 * (1 + std::abs(*at_sum))) continue;
        const Name& held = plan.values[instance.argument].name;
        return Counterexample{axis + "=2",
                              "one entry",
                              {(held.empty() ? "" : held + ": ") + "device " + axis + "=0 holds " +
                                   four_digits(a) + ", " + axis + "=1 holds " + four_digits(b) +
                                   ": the value is " + four_digits(a + b),
                               name + " on each: " + four_digits(*at_a) + " and " +
                                   four_digits(*at_b) + ", sum " + four_digits(*at_a + *at_b),
                               name + " of the value: " + four_digits(*at_sum)},
                              {of_two(axis, held, a, b, a + b),
                               of_two(axis, name, *at_a, *at_b, *at_a + *at_b, *at_sum)}};
      }
  return std::nullopt;
}

/// The plain names among a call's arguments, with their offsets in its text.
std::vector<std::pair<Name, size_t>> named_arguments(std::string_view call) {
  std::vector<std::pair<Name, size_t>> names;
  size_t at = call.find('(');
  while (at < call.size()) {
    ++at;
    while (at < call.size() && call[at] == ' ') ++at;
    const size_t end = std::min(call.find_first_of(",()[]\"", at), call.size());
    if (end < call.size() && (call[end] == ',' || call[end] == ')'))
      names.push_back({Name(call.substr(at, end - at)), at});
    if (end == call.size() || call[end] != ',') break;
    at = end;
  }
  return names;
}

/// The layout of parameter `name` in the plan's text, `Shards` or `Shards[N]`; empty if it is no
/// record.
std::string layout_of(std::string_view plan, const Name& name) {
  for (size_t at = plan.find(name + ": "); at != std::string_view::npos;
       at = plan.find(name + ": ", at + 1)) {
    const bool whole = at > 0 && (plan[at - 1] == ' ' || plan[at - 1] == '(');
    const std::string_view type = plan.substr(at + name.size() + 2);
    const std::string layout(type.substr(0, type.find_first_of(" ,)[{\n")));
    const std::string_view rest = type.substr(layout.size());
    const bool array = rest.starts_with("[");
    const size_t close = array ? rest.find(']') : 0;
    const bool record = !array || std::isupper(static_cast<unsigned char>(layout[0]));
    if (whole && !layout.empty() && record && close != rest.npos)
      return layout + std::string(rest.substr(0, array ? close + 1 : 0));
  }
  return "";
}

/// An argument that is unreduced, such as a gradient passed to an optimizer before its reduction.
struct UnreducedArgument {
  Name name;                  ///< as written in the call
  Name field;                 ///< the first value of it that is unreduced: "g.w"
  size_t at = 0, length = 0;  ///< in the text of the call
  Shape from;                 ///< of the field
  Axis axis;
};

std::optional<UnreducedArgument> unreduced_argument(std::string_view call, const ir::Function& plan,
                                                    const std::vector<Type>& types,
                                                    const std::vector<Axis>& refused) {
  for (const auto& [name, at] : named_arguments(call))
    for (size_t v = 0; v < types.size(); ++v) {
      const Name& held = plan.values[v].name;
      if (held != name && !held.starts_with(name + ".")) continue;
      for (const auto& [axis, mark] : types[v].marks)
        if (mark == Mark::U && std::find(refused.begin(), refused.end(), axis) != refused.end())
          return UnreducedArgument{name, held, at, name.size(), types[v], axis};
    }
  return std::nullopt;
}

/// The same, of `g` after `g = gu`: values have their first names.
std::optional<UnreducedArgument> unreduced_under_another_name(std::string_view call,
                                                              const ir::Function& plan,
                                                              const std::vector<Type>& types,
                                                              const ir::Instr& refused,
                                                              const std::vector<Axis>& axes) {
  const auto is_own = [&](const Name& name) {
    return std::any_of(plan.values.begin(), plan.values.end(), [&](const ir::Value& value) {
      return value.name == name || value.name.starts_with(name + ".");
    });
  };
  std::vector<std::pair<Name, size_t>> others = named_arguments(call);
  std::erase_if(others, [&](const auto& each) { return each.first.empty() || is_own(each.first); });
  if (others.size() != 1) return std::nullopt;
  const auto& [name, at] = others[0];
  for (const ir::ValueId v : refused.operands) {
    const Name& held = plan.values[v].name;
    const size_t dot = held.find('.');
    for (const Axis& axis : axes)
      if (const auto mark = types[v].marks.find(axis);
          dot != Name::npos && mark != types[v].marks.end() && mark->second == Mark::U)
        return UnreducedArgument{name, name + held.substr(dot), at, name.size(), types[v], axis};
  }
  return std::nullopt;
}

/// The unreduced argument that is an expression: the widest one in the call.
std::optional<UnreducedArgument> unreduced_expression(const SourceRange& call,
                                                      const ir::Function& plan,
                                                      const std::vector<Type>& types,
                                                      const std::vector<Axis>& refused) {
  std::optional<UnreducedArgument> widest;
  for (size_t v = 0; v < types.size(); ++v) {
    const SourceRange& own = plan.values[v].range;
    const bool inside = own.file == call.file && own.begin > call.begin && own.end < call.end;
    if (!inside || (widest && own.end - own.begin < widest->length)) continue;
    for (const auto& [axis, mark] : types[v].marks)
      if (mark == Mark::U && std::find(refused.begin(), refused.end(), axis) != refused.end())
        widest =
            UnreducedArgument{"", "", own.begin - call.begin, own.end - own.begin, types[v], axis};
  }
  return widest;
}

/// Suggests the missing all_reduce, and states the error in terms of the call.
void tell_unreduced_argument(const Sources& sources, const ir::Function& plan,
                             const std::vector<Type>& types, RefusedOp& refused) {
  Diagnostic& diagnostic = refused.diagnostic;
  if (diagnostic.range.file < 0) return;
  const std::string call(sources.text(diagnostic.range));
  auto argument = unreduced_argument(call, plan, types, refused.refusal.axes);
  if (!argument)
    argument =
        unreduced_under_another_name(call, plan, types, *refused.instr, refused.refusal.axes);
  if (!argument)
    argument = unreduced_expression(diagnostic.range, plan, types, refused.refusal.axes);
  if (!argument) return;
  const std::string& function = refused.instr->place.through.front();
  std::vector<std::string> patterns;
  const bool of_record = argument->field != argument->name || call.starts_with("each ");
  if (!of_record) {
    Shape whole = argument->from;
    std::erase_if(whole.marks, [](const auto& each) { return each.second == Mark::U; });
    patterns.push_back(to_string(argument->from) + " -> " + to_string(whole));
  } else {
    for (const auto& [name, at] : named_arguments(call))
      if (const auto layout = layout_of(sources.text(plan.range), name); !layout.empty())
        patterns.push_back("-> " + layout);
    if (patterns.empty())  // a norm has no weights beside the gradient
      for (const auto& [name, count] : plan.param_groups)
        if (const auto layout = layout_of(sources.text(plan.range), name);
            !layout.empty() && std::isupper(layout[0]) &&
            std::find(patterns.begin(), patterns.end(), "-> " + layout) == patterns.end())
          patterns.push_back("-> " + layout);
  }
  const std::string named = argument->name.empty() ? "" : "`" + argument->name + "`";
  const std::string field = argument->name.empty() ? "" : "`" + argument->field + "`";
  diagnostic.message = function + " of " + (field.empty() ? "a value that" : field + ", which") +
                       " is unreduced over " + argument->axis;
  diagnostic.label = "each device of " + argument->axis + " holds one term of " +
                     (field.empty() ? "it" : field) + ": add them before " + function;
  refused.refusal.fixes.clear();
  for (const std::string& pattern : patterns) {
    FixHint hint;
    hint.kind = FixHint::Kind::wrap_result;
    hint.message = "reduce " + (named.empty() ? "it" : named) + " before " + function;
    hint.text = call;
    hint.text.replace(
        argument->at, argument->length,
        "all_reduce(\"" + pattern + "\", " + call.substr(argument->at, argument->length) + ")");
    hint.cost = 2;
    refused.refusal.fixes.push_back(hint);
  }
}

/// The text between the call's parentheses, if there is exactly one argument; else the argument
/// that is this name.
std::optional<SourceRange> argument_of(const Sources& sources, const SourceRange& call,
                                       const Name& named) {
  if (call.file < 0) return std::nullopt;
  const std::string_view text = sources.text(call);
  for (const auto& [name, at] : named_arguments(text))
    if (!name.empty() && name == named)
      return SourceRange{call.file, call.begin + static_cast<uint32_t>(at),
                         call.begin + static_cast<uint32_t>(at + name.size())};
  const size_t open = text.find('(');
  if (open == std::string_view::npos || text.back() != ')') return std::nullopt;
  int depth = 0;
  for (size_t i = open + 1; i + 1 < text.size(); ++i) {
    if (text[i] == '"') i = text.find('"', i + 1);
    if (i >= text.size()) return std::nullopt;
    if (text[i] == '(' || text[i] == '[') ++depth;
    if (text[i] == ')' || text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) return std::nullopt;
  }
  return SourceRange{call.file, call.begin + static_cast<uint32_t>(open) + 1, call.end - 1};
}

}  // namespace

void tell_as_call(const Sources& sources, const ir::Program& program, const ir::Function& plan,
                  const std::vector<Type>& types, RefusedOp& refused) {
  const Refusal& refusal = refused.refusal;
  if (!refused.instr || !refused.instr->place.inner || refused.instr->place.through.empty() ||
      refusal.axes.empty())
    return;
  tell_unreduced_argument(sources, plan, types, refused);
  const Instance instance = instance_of(plan, types, *refused.instr);
  const Axis& axis = refusal.axes.front();
  if (!instance.pointwise || instance.argument == ir::no_value) return;
  const Type& type = types.at(instance.argument);
  if (!type.marks.count(axis) || type.marks.at(axis) != Mark::U) return;
  const std::string name = refused.instr->place.through.front();
  Diagnostic& diagnostic = refused.diagnostic;
  diagnostic.message = name + " of a value that is unreduced over " + axis;
  diagnostic.label = name + "(p0 + p1) is not " + name + "(p0) + " + name +
                     "(p1): each device of " + axis + " holds only one term";
  diagnostic.types = {to_string(type)};
  if (auto numbers = smallest(program, plan, instance, axis, name))
    diagnostic.counterexample = numbers;
  if (auto range = argument_of(sources, diagnostic.range, plan.values.at(instance.argument).name)) {
    refused.refusal.fixes.clear();
    const auto reduced_to = [&](const Shape& whole, const std::string& as) {
      const std::string wrap = "all_reduce(\"" + to_string(static_cast<const Shape&>(type)) +
                               " -> " + to_string(whole) + "\", ";
      FixHint hint;
      hint.kind = FixHint::Kind::wrap_result;
      hint.message = "reduce before " + name + as;
      std::string call(sources.text(diagnostic.range));
      hint.text = call.replace(range->begin - diagnostic.range.begin, range->end - range->begin,
                               wrap + std::string(sources.text(*range)) + ")");
      hint.cost = 2;
      refused.refusal.fixes.push_back(hint);
    };
    Shape whole = type;
    whole.marks.erase(axis);
    reduced_to(whole, "");
    if (!alike_axes(plan).contains(axis)) return;
    whole.marks[axis] = Mark::I;
    reduced_to(whole, ", as {I_" + axis + "}");
  }
}

}  // namespace shardproof
