#include "spec/check/tried_fixes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "spec/check/as_the_model.h"
#include "spec/check/fixes.h"
#include "spec/check/instances_told.h"
#include "spec/check/needs.h"
#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

enum class AfterEdit { proved, fewer_errors, no_help };

bool told_as_error(const Diagnostic& diagnostic) { return diagnostic.severity == Severity::error; }

/// A syntax error hides all other errors of the file.
bool of_syntax(const Diagnostic& diagnostic) { return diagnostic.code.starts_with("E00"); }

struct ErrorCount {
  size_t all = 0, syntax = 0;

  /// A plan that rests on one with an error need not be wrong itself: not counted `own`.
  void add(const std::vector<Diagnostic>& diagnostics, bool own = false) {
    for (const Diagnostic& each : diagnostics) {
      if (!told_as_error(each) || (own && each.code == "U0005")) continue;
      ++all;
      if (of_syntax(each)) ++syntax;
    }
  }
};

ErrorCount count_errors(const std::vector<PlanReport>& plans,
                        const std::vector<Diagnostic>& of_file, bool own = false) {
  ErrorCount errors;
  errors.add(of_file);
  for (const PlanReport& plan : plans) errors.add(plan.diagnostics, own);
  return errors;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  for (size_t end; (end = text.find('\n')) != std::string_view::npos; text.remove_prefix(end + 1))
    lines.push_back(text.substr(0, end));
  lines.push_back(text);
  return lines;
}

/// Edits that turn `from` into `to`: one per differing line. None if the number of lines differs.
std::vector<Edit> line_edits(int32_t file, std::string_view from, std::string_view to) {
  const auto before = lines_of(from), after = lines_of(to);
  std::vector<Edit> edits;
  if (before.size() != after.size()) return edits;
  for (size_t i = 0; i < before.size(); ++i) {
    const std::string_view one = before[i], two = after[i];
    if (one == two) continue;
    const size_t least = std::min(one.size(), two.size());
    size_t same = 0, tail = 0;
    while (same < least && one[same] == two[same]) ++same;
    while (tail < least - same && one[one.size() - 1 - tail] == two[two.size() - 1 - tail]) ++tail;
    const auto begin = static_cast<uint32_t>(one.data() - from.data());
    edits.push_back({{file, begin + static_cast<uint32_t>(same),
                      begin + static_cast<uint32_t>(one.size() - tail)},
                     std::string(two.substr(same, two.size() - tail - same))});
  }
  return edits;
}

/// `all_reduce("B {U_d U_t} -> B {U_t}", x)` inside of `all_reduce("B {U_t} -> B", ..)`, as one.
std::string joined_reductions(std::string text) {
  const std::string call = "all_reduce(\"", arrow = " -> ", end = "\", ";
  for (size_t at = 0; (at = text.find(call, at)) != text.npos; ++at) {
    const size_t first = at + call.size(), stop = text.find(end, first), inside = stop + end.size(),
                 to = text.find(arrow, first);
    if (stop == text.npos || to > stop || text.compare(inside, call.size(), call) != 0) continue;
    const size_t from = inside + call.size(), between = text.find(arrow, from),
                 last = text.find(end, from);
    if (last == text.npos || between > last) continue;
    const std::string_view left = std::string_view(text).substr(first, to - first);
    if (text.compare(between + arrow.size(), last - between - arrow.size(), left) != 0) continue;
    size_t close = last;  // of the inner call
    for (int depth = 1; depth > 0 && ++close < text.size();)
      depth += (text[close] == '(') - (text[close] == ')');
    if (close >= text.size()) return text;
    const std::string source = text.substr(from, between - from);
    text.erase(close, 1);
    text.erase(stop + end.size(), last + end.size() - inside);
    text.replace(first, to - first, source);
  }
  return text;
}

/// The texts that result from an edit plus each fix of the plan's next error.
struct NextTexts {
  std::vector<std::pair<std::string, std::string>> texts;  ///< message of the fix, text of the file
};

/// The axes of `{?_t}` on the plan's parameters.
std::set<Axis> open_axes(const ir::Program& program, const ir::Function& plan) {
  std::set<Axis> axes;
  if (plan.instances.empty()) return axes;
  const ir::Function& first = program.functions.at(plan.instances.front());
  const ir::Function& last = program.functions.at(plan.instances.back());
  for (size_t i = 0; i < last.params.size(); ++i)
    for (const Axis& axis :
         open_axes(first.values.at(first.params.at(i)).type, last.values.at(last.params[i]).type))
      axes.insert(axis);
  return axes;
}

/// Writes `{?_t}` in place of an instance's `{I_t}`: its text is that of the others too.
void for_all_instances(const std::set<Axis>& axes, std::vector<Fix>& fixes) {
  for (Fix& fix : fixes)
    for (Edit& edit : fix.edits)
      for (const Axis& axis : axes)
        for (size_t at = 0; (at = edit.text.find("I_" + axis, at)) != edit.text.npos; ++at) {
          const char before = at == 0 ? ' ' : edit.text[at - 1];
          const size_t end = at + axis.size() + 2;
          const char after = end < edit.text.size() ? edit.text[end] : ' ';
          if ((before == ' ' || before == '{') && (after == ' ' || after == '}'))
            edit.text[at] = '?';
        }
}

class FixTrial {
 public:
  FixTrial(const TriedFile& file, const std::vector<PlanReport>& plans,
           const std::vector<Diagnostic>& of_file, FileBudget& budget)
      : file_(file), plans_(plans), of_file_(of_file), budget_(budget), once_(budget.spent()) {
    for (const PlanReport& each : plans)
      for (size_t need : own_errors(each) > 0 ? needs_of(of(each)) : std::vector<size_t>{})
        needed_by_wrong_.insert(need);
  }

  /// `plan` is null for an error of the file.
  AfterEdit run(const Diagnostic& diagnostic, const PlanReport* plan,
                const std::vector<Edit>& edits, NextTexts* next = nullptr) {
    if (edits[0].range.file < 0 || !within_budget()) return AfterEdit::no_help;
    const FileBudget::Part part(budget_, budget_.fixes);
    const bool alone = plan && of(*plan).instances.empty() && stays_inside(*plan, edits);
    Sources sources;
    const CheckedProgram checked = check_edited(sources, edits, alone ? plan->name : "");
    const PlanReport* same = plan ? find(sources, checked, *plan) : nullptr;
    if (same ? proved_in_all_instances(checked, *same) : checked.verdict() == Verdict::proved)
      return AfterEdit::proved;
    if (next && same) {
      const SourceFile& file = file_.sources.file(edits[0].range.file);
      *next =
          next_texts(sources, *same, file.path, apply_edits(file.text, edits[0].range.file, edits));
    }
    if (plan && !same) return AfterEdit::no_help;
    ErrorCount before = count_errors(plans_, of_file_);
    if (alone) {
      before = count_errors({}, of_file_);
      before.add(plan->diagnostics, true);
    }
    const ErrorCount after = count_errors(checked.plans(), checked.diagnostics(), alone);
    const bool fewer = after.all < before.all;
    const bool read = of_syntax(diagnostic) && after.syntax < before.syntax;
    return fewer || read ? AfterEdit::fewer_errors : AfterEdit::no_help;
  }

  /// Of a fix of the plan's signature that proves it: the other plans whose errors are gone too.
  /// Null if it does not prove the plan, or if another plan gets an error.
  const std::set<size_t>* run_of_head(const PlanReport& plan, const Fix& fix) {
    const SourceRange& place = fix.edits[0].range;
    const auto [known, fresh] =
        heads_.try_emplace({place.file, place.begin, place.end, fix.edits[0].text});
    if (fresh) known->second = cleared_by_head(plan, fix);
    return known->second ? &*known->second : nullptr;
  }

  /// If an edit leaves the plan with another error, tries that error's fixes too, recursively.
  /// Returns true, and extends `fix`, if the plan is then proved.
  bool run_on(const Diagnostic& diagnostic, const PlanReport& plan, Fix& fix, int depth = 2) {
    NextTexts next;
    const AfterEdit outcome = run(diagnostic, &plan, fix.edits, &next);
    fix.checked = outcome == AfterEdit::proved;
    if (fix.checked || depth == 0 || next.texts.empty()) return fix.checked;
    const int32_t file = fix.edits[0].range.file;
    const std::string& own = file_.sources.file(file).text;
    const bool joins = joined_reductions(own) == own;  // no edit of what is not in question
    for (const auto& [message, text] : next.texts) {
      // A step of the same kind at another place is in the edit.
      const bool again = fix.message.ends_with(message);
      constexpr std::string_view first = " first";
      const size_t end = message.size() - (message.ends_with(first) ? first.size() : 0);
      Fix both{again ? fix.message : fix.message + ", then " + message.substr(0, end),
               line_edits(file, own, joins ? joined_reductions(text) : text), false, "", fix.guess};
      if (both.edits.empty() || !run_on(diagnostic, plan, both, depth - 1)) continue;
      fix = std::move(both);
      return true;
    }
    return false;
  }

  /// The same for an error of a fn's signature, where `plan` is null: it proves the file.
  bool proves_as_head(const Diagnostic& diagnostic, const PlanReport* plan, const Fix& fix) {
    return plan ? run_of_head(*plan, fix) != nullptr
                : run(diagnostic, nullptr, fix.edits) == AfterEdit::proved;
  }

  /// Whether a plan that has errors calls this one: a signature may be at fault for both.
  bool called_by_wrong(const PlanReport& plan) const {
    return needed_by_wrong_.count(plan.function) > 0;
  }

 private:
  std::optional<std::set<size_t>> cleared_by_head(const PlanReport& plan, const Fix& fix) {
    if (fix.edits[0].range.file < 0 || !within_budget()) return std::nullopt;
    const FileBudget::Part part(budget_, budget_.fixes);
    Sources sources;
    const CheckedProgram checked = check_edited(sources, fix.edits, "");
    const PlanReport* same = find(sources, checked, plan);
    if (!same || !proved_in_all_instances(checked, *same)) return std::nullopt;
    std::set<size_t> cleared;
    for (const PlanReport& each : plans_) {
      const PlanReport* after = find(sources, checked, each);
      const size_t had = own_errors(each), has = after ? own_errors(*after) : 1;
      if (has > had) return std::nullopt;
      if (has == 0 && had > 0 && each.function != plan.function) cleared.insert(each.function);
    }
    return cleared;
  }

  bool within_budget() const { return budget_.fixes + once_ <= FileBudget::of_fixes; }

  /// The file with the edits, or only one plan of it.
  CheckedProgram check_edited(Sources& sources, const std::vector<Edit>& edits,
                              const Name& only) const {
    const SourceFile& file = file_.sources.file(edits[0].range.file);
    const std::string edited = apply_edits(file.text, edits[0].range.file, edits);
    const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
      return path == file.path ? edited : file_.reader(path);
    };
    CheckOptions options = file_.options;
    options.fixes = false;
    options.confirm = false;
    options.only = only;
    return check(sources, file_.path, reader, options);
  }

  static size_t own_errors(const PlanReport& plan) {
    ErrorCount errors;
    errors.add(plan.diagnostics, true);
    return errors.all;
  }

  static NextTexts next_texts(const Sources& sources, const PlanReport& plan,
                              const std::string& path, const std::string& text) {
    constexpr size_t most = 3;
    NextTexts next;
    const auto error =
        std::find_if(plan.diagnostics.begin(), plan.diagnostics.end(), told_as_error);
    if (error == plan.diagnostics.end()) return next;
    // A copy that is made a sum is reduced again later: the last choice.
    std::vector<Fix> fixes = error->fixes;
    std::stable_partition(fixes.begin(), fixes.end(), [](const Fix& fix) {
      return fix.edits.empty() || fix.edits[0].text.find("zero_nonroot(") == std::string::npos;
    });
    for (const Fix& fix : fixes) {
      if (fix.edits.empty() || next.texts.size() == most) continue;
      const int32_t id = fix.edits[0].range.file;
      if (id >= 0 && sources.file(id).path == path)
        next.texts.push_back({fix.message, apply_edits(text, id, fix.edits)});
    }
    return next;
  }

  const ir::Function& of(const PlanReport& plan) const {
    return file_.program.functions[plan.function];
  }

  /// The instances of a plan with `{?_t}` have one text.
  static bool proved_in_all_instances(const CheckedProgram& checked, const PlanReport& plan) {
    const auto& instances = checked.program().functions[plan.function].instances;
    return plan.verdict == Verdict::proved &&
           std::all_of(checked.plans().begin(), checked.plans().end(), [&](const PlanReport& each) {
             const bool another =
                 std::find(instances.begin(), instances.end(), each.function) == instances.end();
             return another || each.verdict == Verdict::proved;
           });
  }

  /// Whether only this plan must be checked again: the edits are inside it.
  bool stays_inside(const PlanReport& plan, const std::vector<Edit>& edits) const {
    const SourceRange& own = of(plan).range;
    return own.file >= 0 && file_.sources.file(own.file).path == file_.path &&
           std::all_of(edits.begin(), edits.end(), [&](const Edit& edit) {
             return edit.range.file == own.file && edit.range.begin >= own.begin &&
                    edit.range.end <= own.end;
           });
  }

  /// The same plan in the edited file: same name in the same file.
  const PlanReport* find(const Sources& sources, const CheckedProgram& checked,
                         const PlanReport& plan) const {
    const ir::Function& own = of(plan);
    for (const PlanReport& report : checked.plans()) {
      const ir::Function& other = checked.program().functions[report.function];
      if (other.name == own.name &&
          sources.file(other.source).path == file_.sources.file(own.source).path)
        return &report;
    }
    return nullptr;
  }

  const TriedFile& file_;
  const std::vector<PlanReport>& plans_;
  const std::vector<Diagnostic>& of_file_;
  FileBudget& budget_;
  std::set<size_t> needed_by_wrong_;
  /// By the edit: it is a fix of several errors.
  std::map<std::tuple<int32_t, uint32_t, uint32_t, std::string>, std::optional<std::set<size_t>>>
      heads_;
  double once_;  ///< seconds for the check of the whole file
};

/// The fixes that help, those that prove the plan first; then advice. Failed fixes are returned in
/// `failed` with their edits.
std::vector<Fix> tried_fixes(FixTrial& trial, const Diagnostic& diagnostic, const PlanReport* plan,
                             std::vector<Fix>& failed) {
  std::vector<Fix> proved, fewer, advice;
  for (const Fix& fix : diagnostic.fixes) {
    if (fix.of_head) {
      Fix tried = fix;
      tried.checked = (proved.empty() || !fix.guess) && trial.proves_as_head(diagnostic, plan, fix);
      if (tried.checked) proved.push_back(std::move(tried));
      continue;
    }
    if (fix.edits.empty()) {
      if (std::none_of(advice.begin(), advice.end(),
                       [&](const Fix& each) { return each.message == fix.message; }))
        advice.push_back(fix);
      continue;
    }
    if (fix.guess) {
      Fix tried = fix;
      tried.checked =
          proved.empty() && (plan ? trial.run_on(diagnostic, *plan, tried, 1)
                                  : trial.run(diagnostic, plan, fix.edits) == AfterEdit::proved);
      if (tried.checked) proved.push_back(std::move(tried));
      continue;
    }
    const AfterEdit outcome = trial.run(diagnostic, plan, fix.edits);
    std::vector<Fix>& list = outcome == AfterEdit::proved         ? proved
                             : outcome == AfterEdit::fewer_errors ? fewer
                                                                  : failed;
    list.push_back(fix);
    list.back().checked = outcome == AfterEdit::proved;
  }
  // A guess that proves the plan is made where the words do not look.
  if (std::any_of(proved.begin(), proved.end(), [](const Fix& each) { return each.guess; }))
    advice.clear();
  if (proved.empty() && fewer.empty())
    for (size_t i = 0; i < failed.size(); ++i)
      advice.insert(advice.begin() + static_cast<std::ptrdiff_t>(i),
                    {failed[i].message, {}, false, ""});
  else
    failed.clear();
  if (!proved.empty()) fewer.clear();  // they leave another error
  for (const auto* list : {&fewer, &advice})
    proved.insert(proved.end(), list->begin(), list->end());
  return proved;
}

/// A fix of the signature that clears errors of other plans too comes alone: what is done inside
/// of the plan leaves them. Returns these plans, or null.
const std::set<size_t>* tried_heads(FixTrial& trial, Diagnostic& diagnostic,
                                    const PlanReport& plan) {
  for (Fix fix : diagnostic.fixes) {
    if (!fix.of_head) continue;
    const auto* cleared = trial.run_of_head(plan, fix);
    if (!cleared || cleared->empty()) continue;
    fix.checked = true;
    diagnostic.fixes = {std::move(fix)};
    return cleared;
  }
  return nullptr;
}

/// Replaces edits that failed alone by the first edit that proves the plan together with fixes of
/// the next errors.
void try_together(FixTrial& trial, Diagnostic& diagnostic, const PlanReport& plan,
                  const std::vector<Fix>& failed) {
  for (Fix fix : failed) {
    if (!trial.run_on(diagnostic, plan, fix)) continue;
    diagnostic.fixes.erase(diagnostic.fixes.begin(),
                           diagnostic.fixes.begin() + static_cast<std::ptrdiff_t>(failed.size()));
    diagnostic.fixes.insert(diagnostic.fixes.begin(), std::move(fix));
    return;
  }
}

bool has_checked(const Diagnostic& diagnostic) {
  return std::any_of(diagnostic.fixes.begin(), diagnostic.fixes.end(),
                     [](const Fix& fix) { return fix.checked; });
}

/// Where one fix proves the plan, it clears the plan's other errors too: edits of these that do not
/// prove it are not shown.
void leave_to_the_checked(const Sources& sources, PlanReport& plan) {
  const auto proving = std::find_if(plan.diagnostics.begin(), plan.diagnostics.end(), has_checked);
  if (proving == plan.diagnostics.end() || proving->range.file < 0) return;
  const int line = sources.locate(proving->range.file, proving->range.begin).line;
  for (Diagnostic& each : plan.diagnostics) {
    if (!told_as_error(each)) continue;
    std::erase_if(each.fixes, [](const Fix& fix) { return !fix.checked && !fix.edits.empty(); });
    if (each.fixes.empty())
      each.fixes.push_back(
          {"the fix of line " + std::to_string(line) + " clears this too", {}, false, ""});
  }
}

/// What the edits change; none: they are on several lines, or only insert.
std::optional<SourceRange> changed_part(const Sources& sources, const std::vector<Edit>& edits) {
  SourceRange part = edits.at(0).range;
  for (const Edit& edit : edits) {
    if (edit.range.file != part.file) return std::nullopt;
    part.begin = std::min(part.begin, edit.range.begin);
    part.end = std::max(part.end, edit.range.end);
  }
  const bool one_line = sources.text(part).find('\n') == std::string_view::npos;
  return part.begin < part.end && one_line ? std::optional(part) : std::nullopt;
}

/// Whether the text is the whole right side of `a = h`.
bool of_an_alias(const Sources& sources, const SourceRange& part) {
  const std::string& text = sources.file(part.file).text;
  const size_t before = text.find_last_not_of(' ', part.begin - 1);
  const size_t after = std::min(text.find_first_not_of(' ', part.end), text.size());
  return std::all_of(text.begin() + part.begin, text.begin() + part.end, in_word) &&
         part.begin > 1 && before != text.npos && text[before] == '=' &&
         (after == text.size() || text[after] == '\n' || text[after] == '#');
}

/// The algebra and the numbers may name a parameter that is returned, a whole loop, or the reader
/// of an alias: there the error is at its fix.
void move_to_the_fix(const Sources& sources, const ir::Function& plan, Diagnostic& error) {
  if (!about_a_value(error) || error.fixes.empty() || !error.fixes[0].checked ||
      !error.fixes[0].guess || error.fixes[0].edits.empty())
    return;
  const auto part = changed_part(sources, error.fixes[0].edits);
  const SourceRange old = error.range;
  if (!part || part->file != old.file) return;
  const bool several_lines = sources.text(old).find('\n') != std::string_view::npos;
  const bool inside = several_lines && old.begin <= part->begin && part->end <= old.end;
  const bool of_a_parameter =
      std::any_of(plan.params.begin(), plan.params.end(),
                  [&](ir::ValueId v) { return plan.values.at(v).range == old; });
  if (!inside && !of_a_parameter && !of_an_alias(sources, *part)) return;
  error.range = *part;
  if (inside) return;
  constexpr size_t longest = 40;
  const std::vector<Edit>& edits = error.fixes[0].edits;
  const bool shown = edits.size() == 1 && !edits[0].text.empty() && edits[0].text.size() < longest;
  error.label =
      "the plan is proved with " + (shown ? "`" + edits[0].text + "` here" : "the fix here");
}

}  // namespace

void try_fixes(const TriedFile& file, std::vector<PlanReport>& plans,
               std::vector<Diagnostic>& of_file, FileBudget& budget) {
  WrittenByFiles written;
  for (PlanReport& plan : plans) {
    const bool search = 2 * budget.fixes < FileBudget::of_fixes;  // the rest is to try them
    const FileBudget::Part part(budget, budget.fixes);
    add_fixes_as_the_model(file.sources, file.program, plan.function, search, written,
                           plan.diagnostics);
  }
  FixTrial trial(file, plans, of_file, budget);
  struct Failed {
    PlanReport* plan;
    size_t diagnostic;
    std::vector<Fix> fixes;
  };
  std::vector<Failed> together;
  for (Diagnostic& each : of_file) {
    std::vector<Fix> failed;
    if (told_as_error(each)) each.fixes = tried_fixes(trial, each, nullptr, failed);
  }
  std::set<size_t> cleared;  // plans with errors that the fix of another plan's signature clears
  for (PlanReport& plan : plans) {
    const bool called = trial.called_by_wrong(plan);
    const std::set<Axis> open = open_axes(file.program, file.program.functions[plan.function]);
    for (size_t i = 0; i < plan.diagnostics.size(); ++i) {
      Diagnostic& each = plan.diagnostics[i];
      std::vector<Fix> failed;
      for_all_instances(open, each.fixes);
      if (told_as_error(each) && cleared.count(plan.function) && each.code != "U0005") {
        each.fixes = {{"the fix of the plan that it calls clears this too", {}, false, ""}};
        continue;
      }
      if (const auto* more =
              told_as_error(each) && called ? tried_heads(trial, each, plan) : nullptr) {
        cleared.insert(more->begin(), more->end());
        for (size_t later = i + 1; later < plan.diagnostics.size(); ++later)
          if (told_as_error(plan.diagnostics[later])) plan.diagnostics[later].fixes.clear();
        break;
      }
      if (told_as_error(each)) each.fixes = tried_fixes(trial, each, &plan, failed);
      const bool first =
          std::none_of(plan.diagnostics.begin(),
                       plan.diagnostics.begin() + static_cast<std::ptrdiff_t>(i), told_as_error);
      if (failed.empty() && first && !each.fixes.empty() && !each.fixes[0].checked &&
          !each.fixes[0].edits.empty())
        failed.push_back(each.fixes[0]);
      if (has_checked(each)) continue;
      if (!failed.empty()) together.push_back({&plan, i, std::move(failed)});
    }
  }
  for (const Failed& each : together)
    try_together(trial, each.plan->diagnostics[each.diagnostic], *each.plan, each.fixes);
  for (PlanReport& plan : plans) leave_to_the_checked(file.sources, plan);
  for (PlanReport& plan : plans)
    for (Diagnostic& each : plan.diagnostics) {
      move_to_the_fix(file.sources, file.program.functions[plan.function], each);
      add_help(each);
    }
  for (Diagnostic& each : of_file) add_help(each);
}

}  // namespace shardproof
