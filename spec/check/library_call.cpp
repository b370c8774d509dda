#include "spec/check/library_call.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "spec/check/walk.h"
#include "spec/denote/evaluate.h"

namespace shardproof {
namespace {

/// The instructions of one instance, and the tensor that comes from outside.
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

/// The instance as a fn of one scalar.
std::optional<double> value_at(const ir::Program& program, const ir::Function& plan,
                               const Instance& instance, double x) {
  ir::Program one = program;
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

/// Two devices, one entry, the least sum of absolute integers with f(a) + f(b) != f(a + b).
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
                               name + " of the value: " + four_digits(*at_sum)}};
      }
  return std::nullopt;
}

/// The text between the call's parentheses, where it is the one argument.
std::optional<SourceRange> only_argument(const Sources& sources, const SourceRange& call) {
  if (call.file < 0) return std::nullopt;
  const std::string_view text = sources.text(call);
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
  refused.refusal.fixes.clear();
  if (auto range = only_argument(sources, diagnostic.range)) {
    Shape whole = type;
    whole.marks.erase(axis);
    const std::string wrap = "all_reduce(\"" + to_string(static_cast<const Shape&>(type)) + " -> " +
                             to_string(whole) + "\", ";
    FixHint hint;
    hint.kind = FixHint::Kind::wrap_result;
    hint.message = "reduce before " + name;
    std::string call(sources.text(diagnostic.range));
    const size_t open = range->begin - diagnostic.range.begin;
    hint.text = call.substr(0, open) + wrap + std::string(sources.text(*range)) + "))";
    hint.cost = 2;
    refused.refusal.fixes.push_back(hint);
  }
}

}  // namespace shardproof
