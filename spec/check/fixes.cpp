#include "spec/check/fixes.h"

#include <algorithm>
#include <set>

#include "spec/check/fixes_of_head.h"
#include "spec/check/fixes_of_origin.h"
#include "spec/check/library_pattern.h"
#include "spec/check/record_argument.h"
#include "spec/check/result_type.h"
#include "spec/check/shown_names.h"
#include "spec/rules/words.h"

namespace shardproof {
namespace {

std::string with_operand(const std::string& wrap, std::string_view operand) {
  std::string text = wrap;
  for (size_t at = text.find('$'); at != std::string::npos;
       at = text.find('$', at + operand.size()))
    text.replace(at, 1, operand);
  return text;
}

/// The first string literal in a range, without quotes: the pattern of an op.
std::optional<SourceRange> pattern_range(const Sources& sources, SourceRange range) {
  const std::string_view text = sources.text(range);
  const size_t begin = text.find('"');
  if (begin == std::string_view::npos) return std::nullopt;
  const size_t end = text.find('"', begin + 1);
  if (end == std::string_view::npos) return std::nullopt;
  return SourceRange{range.file, range.begin + static_cast<uint32_t>(begin) + 1,
                     range.begin + static_cast<uint32_t>(end)};
}

std::optional<Edit> edit_of(const Sources& sources, const RefusedOp& refused, const FixHint& hint) {
  const SourceRange whole = value_of(sources, refused.diagnostic.range);
  if (whole.file < 0) return std::nullopt;
  switch (hint.kind) {
    case FixHint::Kind::advice:
      return std::nullopt;
    case FixHint::Kind::wrap_result:
      return Edit{whole, with_operand(hint.text, sources.text(whole))};
    case FixHint::Kind::replace_pattern:
      if (constexpr std::string_view bare = "total(";  // its marks may be left out
          sources.text(whole).starts_with(bare) && sources.text(whole)[bare.size()] != '"') {
        const auto at = whole.begin + static_cast<uint32_t>(bare.size());
        return Edit{{whole.file, at, at}, "\"" + hint.text + "\", "};
      }
      if (auto range = pattern_range(sources, whole)) return Edit{*range, hint.text};
      return std::nullopt;
    case FixHint::Kind::wrap_operand:
    case FixHint::Kind::replace_op:
      break;
  }
  if (!refused.instr || refused.instr->place.inner ||
      hint.operand >= refused.instr->operand_ranges.size())
    return std::nullopt;
  const SourceRange range = refused.instr->operand_ranges[hint.operand];
  if (range.file < 0) return std::nullopt;
  return Edit{hint.kind == FixHint::Kind::replace_op ? whole : range,
              with_operand(hint.text, sources.text(range))};
}

/// Adds the pattern edit of a hint that wraps an operand and changes the op's pattern. If it is
/// inside a wrapped result, both become one edit.
void add_pattern(const Sources& sources, const RefusedOp& refused, const FixHint& hint, Fix& fix) {
  if (hint.pattern.empty()) return;
  const SourceRange whole = refused.diagnostic.range;
  const auto range = pattern_range(sources, whole);
  if (!range) return;
  if (hint.kind != FixHint::Kind::wrap_result) {
    fix.edits.push_back({*range, hint.pattern});
    return;
  }
  std::string op(sources.text(whole));
  op.replace(range->begin - whole.begin, range->end - range->begin, hint.pattern);
  fix.edits[0].text = with_operand(hint.text, op);
}

/// `all_reduce("Wt{U_d} -> Wt", g)` of a record with a field that is unreduced over t too: the form
/// that reduces each field as it needs. The hints of the field have patterns of a tensor.
std::optional<Fix> reduced_by_fields(const Sources& sources, const RefusedOp& refused) {
  if (!refused.instr) return std::nullopt;
  const auto* op = std::get_if<ir::Collective>(&refused.instr->op);
  const auto* passed_on = std::get_if<ir::Ascribe>(&refused.instr->op);  // `"S -> S"`
  const bool of_record =
      op ? op->fn == ir::CollectiveFn::all_reduce && op->applied != ir::Applied::to_tensor
         : passed_on && passed_on->library_argument && refused.diagnostic.range.file >= 0 &&
               sources.text(refused.diagnostic.range).starts_with("all_reduce(");
  if (!of_record) return std::nullopt;
  const auto range = pattern_range(sources, refused.diagnostic.range);
  if (!range) return std::nullopt;
  const std::string text(sources.text(*range));
  const size_t arrow = text.find("->");
  if (arrow == std::string::npos || arrow == 0) return std::nullopt;
  const std::string each = text.substr(arrow);
  return Fix{"reduce each field over what it is unreduced over, `" + each + "`",
             {{*range, each}},
             false,
             ""};
}

/// `p: f32[B T] = ...` of a value f32[B T/t]: its range is that of the type.
std::optional<Fix> stated_as_it_is(const RefusedOp& refused) {
  if (!refused.instr || refused.diagnostic.code != "E0302" || refused.operands.empty())
    return std::nullopt;
  const auto* stated = std::get_if<ir::Ascribe>(&refused.instr->op);
  if (!stated || stated->library_argument) return std::nullopt;
  const std::string type = to_string(refused.operands[0].type);
  return Fix{"state the value's type, `" + type + "`",
             {{refused.diagnostic.range, type}},
             false,
             "no communication"};
}

Fix fix_of_hint(const Sources& sources, const RefusedOp& refused, const FixHint& hint) {
  Fix fix{hint.message, {}, false, ""};
  if (auto edit = edit_of(sources, refused, hint)) {
    fix.cost = hint.cost == 0 ? "no communication" : "";
    fix.edits.push_back(*edit);
    add_pattern(sources, refused, hint, fix);
  }
  return fix;
}

std::vector<Fix> fixes_of_op(const Sources& sources, const RefusedOp& refused) {
  if (auto fix = stated_as_it_is(refused)) return {*std::move(fix)};
  if (auto fix = reduced_by_fields(sources, refused)) return {*std::move(fix)};
  std::vector<FixHint> hints = refused.refusal.fixes;
  std::stable_sort(hints.begin(), hints.end(),
                   [](const FixHint& a, const FixHint& b) { return a.cost < b.cost; });
  std::vector<Fix> fixes;
  for (const FixHint& hint : hints) fixes.push_back(fix_of_hint(sources, refused, hint));
  return fixes;
}

/// The operand reduced to a copy that is used alike, `-> M {I_t}`, where the plan has such values.
std::vector<Fix> reduced_alike(const Sources& sources, const ir::Program& program,
                               const ir::Function& plan, const RefusedOp& refused) {
  const std::set<Axis> alike = alike_axes(plan);
  std::vector<Fix> fixes;
  for (const FixHint& hint : refused.refusal.fixes) {
    if (hint.kind != FixHint::Kind::wrap_operand || !hint.text.starts_with("all_reduce(") ||
        hint.operand >= refused.operands.size())
      continue;
    const Type& from = refused.operands[hint.operand].type;
    Type to = from;
    bool other = false;
    for (const Axis& axis : alike)
      if (rules::state(from, axis) == rules::State::U) to.marks[axis] = Mark::I, other = true;
    if (!other) continue;
    std::erase_if(to.marks, [](const auto& each) { return each.second == Mark::U; });
    FixHint again = hint;
    again.text = "all_reduce(\"" + rules::arrow(program, from, to) + "\", $)";
    again.message += ", as " + to_string(to.marks);
    again.pattern = "";
    fixes.push_back(fix_of_hint(sources, refused, again));
    fixes.back().guess = true;
  }
  return fixes;
}

/// `eps: f32[]` of the plan's parameters as `eps: f32[]{I_t}`, for a scalar beside an {I_t} value.
std::optional<Fix> alike_parameter(const Sources& sources, const ir::Function& plan,
                                   const RefusedOp& refused) {
  if (refused.diagnostic.code != "E0203" || !refused.instr || plan.range.file < 0) return {};
  for (const ir::ValueId id : refused.instr->operands) {
    if (std::find(plan.params.begin(), plan.params.end(), id) == plan.params.end()) continue;
    const ir::Value& value = plan.values.at(id);
    if (!value.type.dims.empty() || !value.type.marks.empty()) continue;
    const SourceRange rest{plan.range.file, plan.name_range.end, plan.range.end};
    const std::string written = value.name + ": " + to_string(value.type);
    const size_t found = sources.text(rest).find(written);
    if (found == std::string_view::npos) continue;
    const auto begin = rest.begin + static_cast<uint32_t>(found);
    Type alike = value.type;
    for (const Axis& axis : refused.refusal.axes) alike.marks[axis] = Mark::I;
    Fix fix{"give `" + value.name + "` the type `" + to_string(alike) +
                "`: its gradient is then summed too",
            {{{rest.file, begin, begin + static_cast<uint32_t>(written.size())},
              value.name + ": " + to_string(alike)}},
            false,
            ""};
    fix.guess = true;
    return fix;
  }
  return {};
}

}  // namespace

SourceRange value_of(const Sources& sources, SourceRange range) {
  constexpr std::string_view word = "return ";
  if (range.file >= 0 && sources.text(range).starts_with(word)) range.begin += word.size();
  return range;
}

std::set<Axis> alike_axes(const ir::Function& plan) {
  std::set<Axis> axes;
  const auto add = [&](const Type& type) {
    for (const auto& [axis, mark] : type.marks)
      if (mark == Mark::I) axes.insert(axis);
  };
  for (const ir::ValueId id : plan.params) add(plan.values.at(id).type);
  for (const Type& type : plan.results) add(type);
  return axes;
}

std::vector<Fix> make_fixes(const Sources& sources, const ir::Program& program, size_t function,
                            const std::vector<Type>& types, const RefusedOp& refused) {
  const ir::Function& plan = program.functions.at(function);
  std::vector<Fix> fixes = fixes_of_library_pattern(sources, plan, types, refused);
  std::vector<Fix> of_op = fixes_of_op(sources, refused);
  const std::vector<Fix> of_loss = fixes_of_copied_loss(sources, program, plan, refused);
  const std::vector<Fix> of_head = fixes_of_head(sources, plan, types, refused);
  // Their edits do what the words of the op say.
  if (!fixes.empty() || !of_loss.empty())
    std::erase_if(of_op, [](const Fix& fix) { return fix.edits.empty(); });
  // A loss that is reduced to a copy counts often in its gradient.
  if (!of_head.empty() && refused.diagnostic.code == "E0302" &&
      is_differentiated(program, function))
    of_op.clear();
  // A parameter that would be moved to other axes where it is read is rather declared with these.
  const bool moved = refused.diagnostic.code != "E0302" &&
                     std::any_of(refused.refusal.fixes.begin(), refused.refusal.fixes.end(),
                                 [](const FixHint& hint) { return hint.to_other_axes; });
  if (moved) append(fixes, of_head);
  for (const std::vector<Fix>& more :
       {fixes_of_plain_copy(sources, plan, refused),
        fixes_of_record_parameter(sources, plan, refused), of_op, of_loss,
        reduced_alike(sources, program, plan, refused),
        fixes_of_record_argument(sources, plan, refused),
        fixes_of_unreduced_origin(sources, program, plan, types, refused),
        moved ? std::vector<Fix>{} : of_head})
    append(fixes, more);
  if (auto fix = alike_parameter(sources, plan, refused)) fixes.push_back(*std::move(fix));
  return fixes;
}

std::vector<Fix> fixes_of_stop_grad(const Sources& sources, SourceRange call) {
  constexpr std::string_view name = "stop_grad";
  if (call.file < 0 || !sources.text(call).starts_with(name)) return {};
  std::string operand(sources.text(call).substr(name.size()));
  if (std::all_of(operand.begin() + 1, operand.end() - 1, in_word))
    operand = operand.substr(1, operand.size() - 2);
  return {{"remove the stop_grad", {{call, operand}}, false, ""}};
}

std::string apply_edits(const std::string& text, int32_t file, std::vector<Edit> edits) {
  std::sort(edits.begin(), edits.end(),
            [](const Edit& a, const Edit& b) { return a.range.begin > b.range.begin; });
  std::string result = text;
  for (const Edit& edit : edits)
    if (edit.range.file == file)
      result.replace(edit.range.begin, edit.range.end - edit.range.begin, edit.text);
  return result;
}

}  // namespace shardproof
