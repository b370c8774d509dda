#include "spec/check/fixes_of_origin.h"

#include <algorithm>

#include "spec/check/shown_names.h"
#include "spec/ir/walk.h"
#include "spec/rules/words.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

using rules::State;

bool known(const SourceRange& range) { return range.file >= 0; }

Fix guess(std::string message, std::vector<Edit> edits) {
  return {std::move(message), std::move(edits), false, "", true};
}

/// Whether the value has one of the refused axes in that state.
bool is_in(const std::vector<Type>& types, ir::ValueId v, const std::vector<Axis>& axes,
           State wanted) {
  return std::any_of(axes.begin(), axes.end(),
                     [&](const Axis& axis) { return rules::state(types.at(v), axis) == wanted; });
}

/// The gradient that an unreduced operand began as: its instruction and its result.
std::pair<const ir::Instr*, ir::ValueId> gradient_behind(const ir::Function& plan,
                                                         const std::vector<Type>& types,
                                                         ir::ValueId value,
                                                         const std::vector<Axis>& axes) {
  while (const ir::Instr* maker = defining_instr(plan.body, value)) {
    if (std::holds_alternative<ir::Grad>(maker->op)) return {maker, value};
    const auto from = std::find_if(maker->operands.begin(), maker->operands.end(),
                                   [&](ir::ValueId v) { return is_in(types, v, axes, State::U); });
    if (body_of(maker->op) || from == maker->operands.end()) break;
    value = *from;
  }
  return {nullptr, value};
}

/// `U_d U_t`.
std::string marked(std::string_view mark, const std::vector<Axis>& axes) {
  std::string marks;
  for (const Axis& axis : axes) marks += (marks.empty() ? "" : " ") + std::string(mark) + axis;
  return marks;
}

// --- a gradient ---

/// The result of a gradient that has this leaf: its place among the names, and its written type.
struct GradientResult {
  size_t name = 0;
  std::string type;  ///< of a record: `Layer[N]`
};

std::optional<GradientResult> gradient_result(const ir::Function& differentiated,
                                              const ir::Grad& grad, size_t result) {
  GradientResult found;
  if (grad.with_value) {
    if (result < differentiated.results.size()) return std::nullopt;
    found.name = differentiated.results.size();
    result -= differentiated.results.size();
  }
  size_t leaf = 0;
  for (size_t g = 0; g < differentiated.param_groups.size(); ++g) {
    const size_t end = leaf + differentiated.param_groups[g].second;
    const auto inside = [&](size_t each) { return each >= leaf && each < end; };
    if (result < grad.wrt.size() && inside(grad.wrt[result])) {
      const ir::WrittenType& type = differentiated.param_types.at(g);
      if (!type.name.empty() && !type.visible) return std::nullopt;
      found.type = type.name;
      if (!type.name.empty() && !type.dims.empty())
        found.type += "[" + to_string(Shape{type.dims, {}}) + "]";
      return found;
    }
    found.name += std::any_of(grad.wrt.begin(), grad.wrt.end(), inside);
    leaf = end;
  }
  return std::nullopt;
}

/// The names left of `=` in the line of a call.
std::vector<SourceRange> names_before(const Sources& sources, const SourceRange& call) {
  const std::string& text = sources.file(call.file).text;
  size_t at = call.begin;
  const auto skip_blanks = [&] {
    while (at > 0 && text[at - 1] == ' ') --at;
  };
  skip_blanks();
  std::vector<SourceRange> names;
  if (at == 0 || text[at - 1] != '=') return names;
  do {
    --at;
    skip_blanks();
    const size_t end = at;
    while (at > 0 && in_word(text[at - 1])) --at;
    if (at == end) return {};
    names.insert(names.begin(), {call.file, static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
    skip_blanks();
  } while (at > 0 && text[at - 1] == ',');
  return names;
}

std::optional<Fix> gradient_reduced(const Sources& sources, const ir::Program& program,
                                    const std::vector<Type>& types, const ir::Instr& maker,
                                    ir::ValueId leaf) {
  const auto& grad = std::get<ir::Grad>(maker.op);
  const auto at = std::find(maker.results.begin(), maker.results.end(), leaf);
  const SourceRange call = maker.place.range;
  if (at == maker.results.end() || !known(call)) return std::nullopt;
  const auto result = gradient_result(program.functions.at(grad.function), grad,
                                      static_cast<size_t>(at - maker.results.begin()));
  const std::vector<SourceRange> names = names_before(sources, call);
  if (!result || result->name >= names.size()) return std::nullopt;
  std::string pattern = "-> " + result->type;
  if (result->type.empty()) {
    Shape whole = types.at(leaf);
    std::erase_if(whole.marks, [](const auto& each) { return each.second == Mark::U; });
    pattern = to_string(static_cast<const Shape&>(types.at(leaf))) + " -> " + to_string(whole);
  }
  const std::string name(sources.text(names[result->name]));
  const std::string reduce = "all_reduce(\"" + pattern + "\", ";
  const std::string message = "reduce `" + name + "` where it is computed";
  if (names.size() == 1)
    return guess(message, {{call, reduce + std::string(sources.text(call)) + ")"}});
  const std::string& text = sources.file(call.file).text;
  const std::string terms = name + "_terms";
  if (text.find(terms) != text.npos) return std::nullopt;
  const size_t line = text.rfind('\n', call.begin) + 1;
  const size_t indent = text.find_first_not_of(' ', line) - line;
  const SourceRange after{call.file, call.end, call.end};
  return guess(message,
               {{names[result->name], terms},
                {after, "\n" + std::string(indent, ' ') + name + " = " + reduce + terms + ")"}});
}

// --- a sum that is read more than once ---

size_t count_reads(const ir::Function& plan, ir::ValueId value) {
  auto count = std::count(plan.returned.begin(), plan.returned.end(), value);
  for_each_instr(plan.body, [&](const ir::Instr& instr) {
    count += std::count(instr.operands.begin(), instr.operands.end(), value);
  });
  return static_cast<size_t>(count);
}

/// `y = einsum(..)` as `y = all_reduce(.., einsum(..))`, for `y * y`, or for two lines that read y.
std::optional<Fix> reduced_once(const Sources& sources, const ir::Program& program,
                                const ir::Function& plan, const std::vector<Type>& types,
                                ir::ValueId value) {
  const ir::Instr* maker = defining_instr(plan.body, value);
  const Name& name = plan.values.at(value).name;
  if (!maker || name.empty() || !known(maker->place.range) || maker->results.size() != 1 ||
      body_of(maker->op) || count_reads(plan, value) < 2)
    return std::nullopt;
  Shape whole = types.at(value);
  std::erase_if(whole.marks, [](const auto& each) { return each.second == Mark::U; });
  const SourceRange range = maker->place.range;
  return guess("reduce `" + name + "` where it is computed",
               {{range, "all_reduce(\"" + rules::arrow(program, types.at(value), whole) + "\", " +
                            std::string(sources.text(range)) + ")"}});
}

// --- a carry ---

/// `all_reduce("..", x)` as x.
std::optional<Edit> without_reduction(const Sources& sources, const ir::Instr& maker) {
  const auto* op = std::get_if<ir::Collective>(&maker.op);
  if (!op || op->fn != ir::CollectiveFn::all_reduce || maker.operand_ranges.empty() ||
      !known(maker.place.range) || !known(maker.operand_ranges[0]))
    return std::nullopt;
  return Edit{maker.place.range, std::string(sources.text(maker.operand_ranges[0]))};
}

/// `s: Layer = zeros(Layer)` with the axes as {U} in both types.
std::vector<Edit> carry_unreduced(const Sources& sources, const ir::Function& plan,
                                  const Name& name, const std::vector<Axis>& axes) {
  const SourceRange body{plan.range.file, plan.name_range.end, plan.range.end};
  const std::string_view text = sources.text(body);
  const std::string marks = "{" + marked("U_", axes) + "}";
  for (size_t at = 0; (at = text.find(name + ": ", at)) != text.npos; ++at) {
    if (in_word(text[at - 1])) continue;
    const size_t begin = at + name.size() + 2, equals = text.find(" = ", begin);
    if (equals == text.npos) return {};
    const std::string type(text.substr(begin, equals - begin));
    const std::string zeros = "zeros(" + type + ")";
    if (type.find_first_of("\n({,") != type.npos || !text.substr(equals + 3).starts_with(zeros))
      continue;
    std::vector<Edit> edits;
    for (const size_t end : {equals, equals + 3 + zeros.size() - 1}) {
      const auto place = body.begin + static_cast<uint32_t>(end);
      edits.push_back({{body.file, place, place}, marks});
    }
    return edits;
  }
  return {};
}

/// The carry that an operand of the refused op is: a value that no instruction makes.
bool is_carry(const ir::Function& plan, ir::ValueId value) {
  return !defining_instr(plan.body, value) &&
         std::find(plan.params.begin(), plan.params.end(), value) == plan.params.end() &&
         !plan.values.at(value).name.empty();
}

// --- a plain copy beside {I} ---

/// `"B {U_t} -> B"` as `"B {U_t} -> B {I_t}"`.
std::optional<Edit> reduced_to_alike(const Sources& sources, const ir::Instr& maker,
                                     const std::vector<Axis>& axes) {
  if (!without_reduction(sources, maker)) return std::nullopt;
  const Marks& sums = std::get<ir::Collective>(maker.op).pattern.left.at(0).marks;
  for (const Axis& axis : axes)
    if (!sums.count(axis) || sums.at(axis) != Mark::U) return std::nullopt;
  const SourceRange call = maker.place.range;
  const std::string_view text = sources.text(call);
  const size_t arrow = text.find("->"), quote = text.find('"', arrow),
               brace = text.find('{', arrow);
  if (arrow == text.npos || quote == text.npos) return std::nullopt;
  const std::string marks = marked("I_", axes);
  const bool more = brace < quote;
  const auto at = call.begin + static_cast<uint32_t>(more ? brace + 1 : quote);
  return Edit{{call.file, at, at}, more ? marks + " " : " {" + marks + "}"};
}

/// `g: f32[M]` of the layout that parameter `w` has, for the value `w.g`.
std::optional<Edit> alike_in_layout(const Sources& sources, const ir::Function& plan,
                                    const ir::Value& value, const std::vector<Axis>& axes) {
  const size_t dot = value.name.find('.');
  if (dot == Name::npos || !value.type.marks.empty()) return std::nullopt;
  const Name param = value.name.substr(0, dot), field = value.name.substr(dot + 1);
  Sources again;
  std::vector<Diagnostic> ignored;
  const SourceFile& file = sources.file(plan.range.file);
  for (size_t g = 0; g < plan.param_groups.size(); ++g) {
    const ir::WrittenType& type = plan.param_types[g];
    if (plan.param_groups[g].first != param || type.name == type.record) continue;
    for (const auto& each : syntax::parse(again, again.add("", file.text), ignored).declarations) {
      const auto* layout = std::get_if<syntax::LayoutDecl>(&each);
      if (!layout || layout->name != type.name) continue;
      for (const syntax::Group& fields : layout->fields)
        if (std::find(fields.names.begin(), fields.names.end(), field) != fields.names.end()) {
          Type alike = value.type;
          for (const Axis& axis : axes) alike.marks[axis] = Mark::I;
          SourceRange range = fields.type.range;
          range.file = plan.range.file;
          return Edit{range, to_string(alike)};
        }
    }
  }
  return std::nullopt;
}

}  // namespace

std::vector<Fix> fixes_of_plain_copy(const Sources& sources, const ir::Function& plan,
                                     const RefusedOp& refused) {
  if (refused.diagnostic.code != "E0203" || !refused.instr || !known(plan.range)) return {};
  const std::vector<Axis>& axes = refused.refusal.axes;
  const Name marks = axes.empty() ? "" : "{I_" + axes[0] + "}";
  std::vector<Fix> fixes;
  for (size_t i = 0; i < refused.instr->operands.size() && i < refused.operands.size(); ++i) {
    const ir::ValueId v = refused.instr->operands[i];
    const bool plain = std::all_of(axes.begin(), axes.end(), [&](const Axis& axis) {
      return rules::state(refused.operands[i].type, axis) == State::R;
    });
    if (!plain) continue;
    if (const ir::Instr* maker = defining_instr(plan.body, v)) {
      if (auto edit = reduced_to_alike(sources, *maker, axes))
        fixes.push_back({"reduce it to a copy that is used alike, " + marks, {*edit}, false, ""});
    } else if (auto edit = alike_in_layout(sources, plan, plan.values.at(v), axes)) {
      fixes.push_back({"store `" + plan.values.at(v).name + "` as " + edit->text +
                           ": its gradient is then summed too",
                       {*edit},
                       false,
                       ""});
    }
  }
  return fixes;
}

std::vector<Fix> fixes_of_unreduced_origin(const Sources& sources, const ir::Program& program,
                                           const ir::Function& plan, const std::vector<Type>& types,
                                           const RefusedOp& refused) {
  if (!refused.instr || !known(plan.range)) return {};
  const std::vector<Axis>& axes = refused.refusal.axes;
  std::vector<Fix> fixes;
  for (const ir::ValueId v : refused.instr->operands) {
    if (is_in(types, v, axes, State::U)) {
      if (const auto [maker, leaf] = gradient_behind(plan, types, v, axes); maker)
        if (auto fix = gradient_reduced(sources, program, types, *maker, leaf))
          fixes.push_back(*std::move(fix));
      if (auto fix = reduced_once(sources, program, plan, types, v); fix && fixes.empty())
        fixes.push_back(*std::move(fix));
    } else if (is_carry(plan, v)) {
      const Name name = plan.values.at(v).name.substr(0, plan.values.at(v).name.find('.'));
      if (auto edits = carry_unreduced(sources, plan, name, axes); !edits.empty())
        fixes.push_back(
            guess("keep the carry `" + name + "` unreduced, and reduce it after the loop",
                  std::move(edits)));
    } else if (const ir::Instr* maker = defining_instr(plan.body, v)) {
      if (auto edit = without_reduction(sources, *maker))
        fixes.push_back(guess("remove the all_reduce: the sum is reduced later", {*edit}));
    }
  }
  return fixes;
}

}  // namespace shardproof
