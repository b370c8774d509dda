#include "spec/check/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "spec/check/fixed_sizes.h"
#include "spec/check/other_calls.h"
#include "spec/check/refute.h"
#include "spec/check/requirements.h"
#include "spec/check/unknown.h"
#include "spec/check/what_helps.h"
#include "spec/ir/walk.h"
#include "spec/lower/lower.h"

namespace shardproof {
namespace {

const char* code_of(const std::optional<algebra::Difference>& difference) {
  using Kind = algebra::Difference::Kind;
  if (!difference) return "E0401";
  switch (difference->kind) {
    case Kind::factor:
      return "E0402";
    case Kind::missing_summand:
    case Kind::extra_summand:
      return "E0403";
    case Kind::operand:
    case Kind::index:
    case Kind::inside:
    case Kind::other:
      break;
  }
  return "E0401";
}

std::string result_name(const ir::Function& plan, size_t result) {
  const bool named = result < plan.result_names.size() && !plan.result_names[result].empty();
  if (named) return "result `" + plan.result_names[result] + "` of " + plan.name;
  return plan.results.size() == 1 ? plan.name
                                  : "result " + std::to_string(result + 1) + " of " + plan.name;
}

/// "what ffn computes", "the gradient of ffn with respect to x".
std::string model_result(const ir::Program& program, const ir::Function& plan, size_t result) {
  const ir::Function& model = program.functions[*plan.model];
  if (!plan.implements_grad) return "what " + model.name + " computes";
  const Name& by = model.values.at(model.params.at(plan.wrt.at(result))).name;
  return "the gradient of " + model.name + " with respect to " + by;
}

SourceRange place_of(const ir::Function& plan, const lower::Comparison& compared) {
  if (compared.origin && plan.values.at(*compared.origin).range.file >= 0)
    return plan.values[*compared.origin].range;
  return plan.return_range.file >= 0 ? plan.return_range : plan.name_range;
}

/// Whether the algebra's place in a plan with a loop is better: it is earlier, where the numbers
/// may show a value that depends on the wrong one; or it is the whole loop, and they show its end.
/// A ring is right where the model has the same value.
bool better_in_a_loop(const ir::Function& plan, const lower::Comparison& by_algebra,
                      const SourceRange& compared, const FirstWrong& first) {
  if (first.repair || compared.file != first.range.file) return false;
  const ir::Instr* made =
      by_algebra.origin ? defining_instr(plan.body, *by_algebra.origin) : nullptr;
  if (first.meant && made && std::holds_alternative<ir::Ring>(made->op) &&
      !first.suspects.contains(*by_algebra.origin))
    return false;
  const bool around = compared.begin <= first.range.begin && first.range.end <= compared.end;
  return (plan.uses_loops_undecided && compared.end <= first.range.begin) ||
         (first.last_of_a_loop && around);
}

/// Whether no function of an index is in it, and its numbers are those of a file: -1e10 of a mask
/// becomes 9999999970 beside others.
bool can_be_read(const std::string& text) {
  constexpr int longest = 7;
  if (text.find("\\_") != text.npos) return false;
  int digits = 0;
  return std::none_of(text.begin(), text.end(), [&](char c) {
    digits = std::isdigit(static_cast<unsigned char>(c)) ? digits + 1 : 0;
    return digits > longest;
  });
}

/// What the algebra says, or the part of it that can be read: "a term is off by the factor |d|".
std::string in_words(const std::string& text) {
  if (can_be_read(text)) return text;
  const size_t factor = text.rfind(" is off by the factor ");
  const std::string part = factor == text.npos ? "" : "a term" + text.substr(factor);
  return !part.empty() && can_be_read(part) ? part : "differs from the model";
}

/// Reports the line at which numbers go wrong. The algebra's words, if it compared other values,
/// are about these.
void add_line(const ir::Program& program, const FirstWrong& first,
              const lower::Comparison& compared, Diagnostic& diagnostic) {
  const bool same = diagnostic.range == first.range;
  diagnostic.range = first.range;
  if (first.repair) {
    const std::string& words = first.repair->words;
    if (!first.repair->edits.empty())
      diagnostic.fixes.push_back({"write it " + words, first.repair->edits, false, "", true});
    const bool names_a_gradient =  // in place of the model's: no help
        first.meant && compared.difference &&
        compared.difference->kind == algebra::Difference::operand;
    if (names_a_gradient || first.exchanged || (!first.meant && !same))
      diagnostic.label = "the numbers are right " + words;
  }
  if (!first.meant) return;
  const ir::Function& model = program.functions.at(first.meant->function);
  const Name& name = model.values.at(first.meant->value).name;
  const bool computed =
      std::find(model.params.begin(), model.params.end(), first.meant->value) == model.params.end();
  const bool other = compared.origin != first.own.value ||
                     (compared.difference && !can_be_read(compared.difference->text));
  if (other && (computed || first.of_gradient) && !name.empty())
    diagnostic.label = first.of_gradient ? "is not the gradient of `" + name + "`"
                                         : "is not `" + name + "` of the model";
  if (first.returned) diagnostic.label = "the model has this value too, and returns another";
  if (first.meant_range.file >= 0)
    diagnostic.notes.push_back({first.meant_range, "the model's value"});
}

Diagnostic difference(const ir::Program& program, size_t plan, const lower::Comparison& compared,
                      const Refutation& refutation) {
  const ir::Function& function = program.functions[plan];
  Diagnostic diagnostic;
  diagnostic.code = code_of(compared.difference);
  diagnostic.range = place_of(function, compared);
  diagnostic.message = result_name(function, compared.result) + " is not " +
                       model_result(program, function, compared.result);
  diagnostic.label =
      compared.difference ? in_words(compared.difference->text) : "differs from the model";
  const auto& first = refutation.first_wrong;
  if (first && first->range.file >= 0 &&
      !better_in_a_loop(function, compared, diagnostic.range, *first))
    add_line(program, *first, compared, diagnostic);
  for (std::string& call : calls_that_differ(program, plan))
    diagnostic.details.push_back(std::move(call));
  if (auto mask = masked_by_a_number(program, plan)) diagnostic.details.push_back(*std::move(mask));
  if (!(diagnostic.range == function.return_range) && function.return_range.file >= 0)
    diagnostic.notes.push_back({function.return_range, "it reaches the result here"});
  return diagnostic;
}

/// Says which of the further results differ: "`b`, `c` differ there too".
void add_other_results(const ir::Function& plan, const Refutation& refutation,
                       Diagnostic& diagnostic) {
  constexpr size_t most = 5;
  std::string names;
  size_t shown = 0;
  for (const size_t result : refutation.others)
    if (result < plan.result_names.size() && !plan.result_names[result].empty() && shown++ < most)
      names += (names.empty() ? "`" : ", `") + plan.result_names[result] + "`";
  if (shown == 0) return;
  if (shown > most) names += " and " + std::to_string(shown - most) + " more";
  diagnostic.details.push_back(names + (shown == 1 ? " differs there too" : " differ there too"));
}

/// If the numbers show that the whole result is off by one factor, the code is E0402.
void add_numbers(Diagnostic& diagnostic, const Refutation& refutation, bool gradient) {
  diagnostic.counterexample = refutation.numbers;
  if (diagnostic.code == "E0402" && !refutation.uniform) diagnostic.code = "E0401";
  if (!refutation.outside.empty())
    diagnostic.details.push_back("where " + refutation.outside +
                                 " no difference is seen: if the model is meant for that alone, it "
                                 "can say `assume " +
                                 refutation.outside + "`");
  if (!refutation.uniform) return;
  if (std::abs(refutation.ratio) < 1e-9) {
    if (diagnostic.code == "E0402") diagnostic.code = "E0401";
    diagnostic.details.push_back("at these sizes the plan gives 0 in every entry");
    return;
  }
  // One number is always some multiple of another.
  if (diagnostic.code != "E0402" && refutation.entries < 2) return;
  if (diagnostic.code == "E0401") diagnostic.code = "E0402";
  char factor[32];
  std::snprintf(factor, sizeof factor, "%.6g", refutation.ratio);
  diagnostic.details.push_back("at these sizes the plan is " + std::string(factor) + " times " +
                               (gradient ? "the gradient" : "the model") + ", entry by entry");
}

/// For an unknown verdict: what is known about the plan, and what the user can do.
void add_what_is_known(const ir::Program& program, size_t index, Diagnostic& diagnostic) {
  const ir::Function& plan = program.functions.at(index);
  const Name& model = program.functions.at(plan.model.value()).name;
  if (auto mask = masked_by_a_number(program, index))
    diagnostic.details.push_back(*std::move(mask));
  tell_what_is_known(diagnostic, "types, layouts and collectives",
                     "whether the values are those of `" + model + "`" +
                         (plan.implements_grad ? "'s gradient" : ""),
                     "`--test` compares the plan with its model on random meshes");
}

Diagnostic undecided(const ir::Program& program, size_t index, const lower::Comparison& compared) {
  constexpr size_t long_residue = 200;
  const ir::Function& plan = program.functions.at(index);
  Diagnostic diagnostic;
  diagnostic.range = plan.name_range;
  if (compared.unsupported) {
    diagnostic.code = "U0006";
    diagnostic.message =
        "`" + *compared.unsupported + "` has no normal form, so the model cannot be compared";
    if (compared.unsupported_at && compared.unsupported_at->range.file >= 0)
      diagnostic.range = compared.unsupported_at->range;
    if (!compared.unsupported_words.empty()) {
      diagnostic.code = "U0001";
      diagnostic.message = compared.unsupported_words;
      if (!compared.unsupported_hint.empty()) diagnostic.details = {compared.unsupported_hint};
    }
    add_what_is_known(program, index, diagnostic);
    return diagnostic;
  }
  diagnostic.code = "U0003";
  diagnostic.range = place_of(plan, compared);
  diagnostic.message = plan.implements_grad
                           ? result_name(plan, compared.result) + " is not proved to be " +
                                 model_result(program, plan, compared.result)
                           : "the checker found neither a proof nor a difference";
  if (compared.budget_ended)
    diagnostic.details.push_back(
        "the comparison exceeded its budget of steps or of coefficient size");
  if (plan.results.size() > 1)
    diagnostic.details.push_back("the first result without a proof: " +
                                 result_name(plan, compared.result));
  if (!compared.residue.empty())
    diagnostic.details.push_back("plan - model simplifies to: " + compared.residue);
  if (compared.budget_ended || compared.residue.size() > long_residue)
    for (std::string& sentence : what_helps(program, index))
      diagnostic.details.push_back(std::move(sentence));
  add_what_is_known(program, index, diagnostic);
  return diagnostic;
}

bool too_long(const ir::Program& program, size_t plan, size_t model) {
  return ops_written_out(program, plan) > most_ops_written_out ||
         ops_written_out(program, model) > most_ops_written_out;
}

ComparedPlan not_compared(const ir::Program& program, size_t plan) {
  lower::Comparison none;
  none.budget_ended = true;
  ComparedPlan result;
  result.diagnostics.push_back(undecided(program, plan, none));
  return result;
}

}  // namespace

namespace {

/// Whether a condition on sizes holds at the sizes of the file; none if these do not decide it.
std::optional<bool> holds_at_fixed_sizes(const ir::Program& program, const ir::Arith& condition) {
  try {
    return hold(program, {{condition, {}}}, fixed_axes(program));
  } catch (const std::domain_error&) {
    return std::nullopt;
  }
}

/// The sizes that were open.
std::map<Name, int64_t> numbers_of(const ir::Program& program, const FixedSizes& sizes) {
  std::map<Name, int64_t> numbers;
  for (const Name& dim : sizes.dims) numbers[dim] = program.size(Dim{{dim}}, {});
  for (const Axis& axis : sizes.axes) numbers[axis] = program.axes.at(axis).size.value();
  return numbers;
}

/// Whether what was assumed of sizes that were opened holds at those of the file; drops it then.
template <class Assuming>
bool met_by_sizes(const ir::Program& program, Assuming& assumed) {
  for (const ir::Arith& condition : assumed.of_sizes)
    if (!holds_at_fixed_sizes(program, condition).value_or(false)) return false;
  assumed.of_sizes.clear();
  std::erase_if(assumed.assumptions, [&](const std::string& text) {
    const auto read = assumed.texts_of_sizes.find(text);
    return read != assumed.texts_of_sizes.end() &&
           std::all_of(read->second.begin(), read->second.end(),
                       [&](const Name& name) { return is_fixed(program, name); });
  });
  return true;
}

/// Compares with these sizes made symbolic: equality at all sizes implies equality at the fixed
/// ones. None if not proved, or only under conditions that do not hold at the sizes of the file.
/// `search`: a difference at other sizes, which are smaller, ends the attempt; it refutes nothing.
std::optional<lower::Comparison> shown_with_open(const FixedSizes& sizes,
                                                 const ir::Program& program, size_t plan,
                                                 lower::Options options, Search search) {
  for (const auto& requirements : {program.requirements, requirements_of_claim(program, plan)})
    for (const ir::Requirement& each : requirements)
      if (!holds_at_fixed_sizes(program, each.condition).value_or(true)) return std::nullopt;
  const ir::Program open = with_open_sizes(program, sizes);
  bool differs = search == Search::none;
  lower::Look looked = lower::Look::none;
  options.differ = [&](lower::Look look) {
    if (!differs && look > looked)
      differs =
          refute(open, plan, nullptr, FileBudget::of_a_glance, Confirm::yes, look).has_value();
    looked = std::max(looked, look);
    return differs;
  };
  lower::Comparison compared =
      lower::compare_functions(open, plan, *program.functions[plan].model, options);
  if (!compared.equal || !compared.impossible.empty()) return std::nullopt;
  if (!met_by_sizes(program, compared)) return std::nullopt;
  for (lower::Assumed& each : compared.of_values) each.sizes = numbers_of(program, sizes);
  return compared;
}

std::optional<lower::Comparison> shown_at_all_sizes(const ir::Program& program, size_t plan,
                                                    const lower::Options& options, Search search) {
  for (const FixedSizes& open : sizes_to_open(program, plan))
    if (auto shown = shown_with_open(open, program, plan, options, search)) return shown;
  return std::nullopt;
}

}  // namespace

void name_operands(const Sources& sources, int32_t file, ComparedPlan& compared) {
  for (std::string& each : compared.assumptions) {
    const auto found = compared.shortened.find(each);
    if (found == compared.shortened.end() || found->second.operand.range.file < 0) continue;
    const auto& [range, words] = found->second.operand;
    const std::string line = std::to_string(sources.locate(range.file, range.begin).line);
    const std::string of = range.file == file ? "" : " of " + sources.file(range.file).path;
    each = words + " in line " + line + of + found->second.sign;
  }
}

ComparedPlan compare_with_model(const ir::Program& program, size_t plan,
                                const std::vector<bool>& proved, bool inline_plans,
                                const std::vector<bool>* where_assumed, Search search,
                                bool sizes_first) {
  const size_t model = *program.functions[plan].model;
  if (too_long(program, plan, model)) return not_compared(program, plan);
  lower::Options options;
  options.use_models = !inline_plans;
  options.proved = &proved;
  options.equal = where_assumed == nullptr ? &proved : where_assumed;
  std::optional<Refutation> refutation;
  double searched = 0;  // seconds
  lower::Look looked = lower::Look::none;
  const auto differs_within = [&](double seconds, lower::Look look) {
    if (refutation || (searched >= seconds && looked >= look)) return refutation.has_value();
    const double begin = seconds_of_thread();
    refutation = refute(program, plan, nullptr, seconds,
                        search == Search::unconfirmed ? Confirm::no : Confirm::yes, look);
    const bool ended = seconds_of_thread() - begin >= seconds;
    searched = ended ? seconds : FileBudget::of_points;
    looked = std::max(looked, look);
    return refutation.has_value();
  };
  options.differ = [&](lower::Look look) {
    if (search == Search::none) return true;  // only the cheap levels: the caller wants no search
    return differs_within(FileBudget::of_a_glance, look);
  };
  const auto apart = [&]() -> std::optional<lower::Apart> {
    if (search == Search::none || !options.differ(lower::Look::all) || !refutation->first_wrong)
      return std::nullopt;
    const FirstWrong& first = *refutation->first_wrong;
    if (program.functions[plan].uses_loops_undecided || !first.same_order || first.of_gradient ||
        first.own.function != plan || first.meant->function != model)
      return std::nullopt;
    return lower::Apart{first.own.value, first.meant->value};
  };
  const auto at_its_sizes = [&] {
    lower::Options own = options;
    own.apart = apart;
    return lower::compare_functions(program, plan, model, own);
  };
  std::optional<lower::Comparison> found, other;
  if (sizes_first) other = at_its_sizes();
  if (!other || !other->equal) found = shown_at_all_sizes(program, plan, options, search);
  ComparedPlan result;
  result.needs_its_sizes = !found && !sizes_to_open(program, plan).empty();
  if (!found) found = other ? std::move(other) : at_its_sizes();
  const lower::Comparison& compared = *found;
  result.assumptions = compared.assumptions;
  result.shortened = compared.shortened;
  result.of_sizes = compared.of_sizes;
  for (const lower::Assumed& each : compared.of_values)
    result.of_values.push_back(std::make_shared<lower::Assumed>(each));
  result.of_indices = compared.of_indices;
  std::set<std::string> impossible(compared.impossible.begin(), compared.impossible.end());
  if (compared.equal)
    for (const ir::OfIndices& each : compared.of_indices)
      if (!hold_at_all_indices(program, each, fixed_axes(program)).value_or(true))
        impossible.insert(each.text + " for each index");
  if (!impossible.empty()) {
    Diagnostic diagnostic;
    diagnostic.code = "E0111";
    diagnostic.range = program.functions[plan].name_range;
    diagnostic.message = "an assumption of the plan or its model never holds";
    for (const std::string& text : impossible) diagnostic.details.push_back("it needs " + text);
    result.verdict = Verdict::invalid;
    result.diagnostics.push_back(std::move(diagnostic));
    return result;
  }
  if (compared.equal) {
    result.verdict = Verdict::proved;
    result.proof = compared.closed_by;
    return result;
  }
  if (search != Search::none && differs_within(FileBudget::of_points, lower::Look::all)) {
    lower::Comparison at = compared;
    at.result = refutation->result;
    result.verdict = Verdict::refuted;
    result.diagnostics.push_back(difference(program, plan, at, *refutation));
    add_numbers(result.diagnostics.back(), *refutation, program.functions[plan].implements_grad);
    add_other_results(program.functions[plan], *refutation, result.diagnostics.back());
    return result;
  }
  result.verdict = Verdict::unknown;
  result.diagnostics.push_back(undecided(program, plan, compared));
  return result;
}

std::vector<std::string> assumptions_of(const ir::Program& program, size_t plan) {
  const auto lowered = [&](const ir::Program& at) {
    algebra::Algebra algebra;
    return lower::lower_function(algebra, at, plan, {});
  };
  try {
    for (const FixedSizes& open : sizes_to_open(program, plan)) {
      lower::Lowered all = lowered(with_open_sizes(program, open));
      if (met_by_sizes(program, all)) return all.assumptions;
    }
  } catch (const std::exception&) {  // a size that is no number, or no normal form at other sizes
  }
  try {
    return lowered(program).assumptions;
  } catch (const std::runtime_error&) {
    return {};  // without a normal form the algebra assumes nothing
  }
}

namespace {

bool names_axis(const ir::Arith& arith) {
  return arith.kind == ir::Arith::Kind::axis ||
         std::any_of(arith.args.begin(), arith.args.end(), names_axis);
}

}  // namespace

namespace {

/// The function that a call means: a plan with a model means that model once it is proved.
size_t meant(const ir::Program& program, size_t function) {
  const ir::Function& f = program.functions.at(function);
  return f.kind == ir::Function::Kind::plan && f.model && !f.implements_grad ? *f.model : function;
}

class MeshSizes {
 public:
  explicit MeshSizes(const ir::Program& program) : program_(program) {}

  std::optional<std::string> of(size_t f) {
    if (!seen_.insert(f).second) return std::nullopt;
    const ir::Function& function = program_.functions.at(f);
    for (const ir::Value& value : function.values)
      for (const Split& split : value.type.dims) look(split.dim, function);
    for_each_instr(function.body, [&](const ir::Instr& instr) {
      if (auto* size = std::get_if<ir::SizeOf>(&instr.op)) read(*size, function);
      if (auto* scan = std::get_if<ir::Scan>(&instr.op)) look(scan->dim, function);
      if (const auto callee = callee_of(instr.op)) below(*callee);
    });
    return found_;
  }

 private:
  void below(size_t function) { of(meant(program_, function)); }
  void tell(const std::string& size, const ir::Function& function) {
    if (!found_) found_ = size + " in `" + function.name + "`";
  }
  void look(const Dim& dim, const ir::Function& function) {
    if (names_axis(program_.size(dim))) tell("the size of " + to_string(dim), function);
  }
  /// |t| in a plan's own body is reported at its location.
  void read(const ir::SizeOf& size, const ir::Function& function) {
    if (!size.axis) return look(Dim{{size.name}}, function);
    if (function.kind == ir::Function::Kind::fn) tell("|" + size.name + "|", function);
  }

  const ir::Program& program_;
  std::set<size_t> seen_;
  std::optional<std::string> found_;
};

}  // namespace

std::optional<std::string> size_of_mesh(const ir::Program& program, size_t function) {
  return MeshSizes(program).of(function);
}

}  // namespace shardproof
