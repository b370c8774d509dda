#include "spec/check/owed.h"

#include <algorithm>
#include <stdexcept>

#include "spec/check/fixed_sizes.h"
#include "spec/check/requirements.h"
#include "spec/check/unknown.h"
#include "spec/ir/claim.h"
#include "spec/ir/walk.h"
#include "spec/lower/lower.h"

namespace shardproof {
namespace {

bool owes(const ir::Program& program, const ir::Function& function) {
  bool found = false;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    const auto callee = callee_of(instr.op);
    found = found || (callee && !program.assumptions(program.functions.at(*callee)).empty());
  });
  return found;
}

/// Whether all entries of the result are entries of the operand.
bool copies(const ir::Op& op) {
  return std::holds_alternative<ir::Save>(op) || std::holds_alternative<ir::StopGrad>(op) ||
         std::holds_alternative<ir::Ascribe>(op) || std::holds_alternative<ir::Collective>(op) ||
         std::holds_alternative<ir::Rearrange>(op) || std::holds_alternative<ir::Expand>(op) ||
         std::holds_alternative<ir::Entry>(op) || std::holds_alternative<ir::Read>(op) ||
         std::holds_alternative<ir::Roll>(op) || std::holds_alternative<ir::Rev>(op) ||
         std::holds_alternative<ir::Ppermute>(op);
}

/// The parameter from which a value takes its entries.
std::optional<size_t> parameter_of(const ir::Function& function, ir::ValueId value) {
  for (;;) {
    for (size_t leaf = 0; leaf < function.params.size(); ++leaf)
      if (function.params[leaf] == value) return leaf;
    const ir::Instr* instr = defining_instr(function.body, value);
    if (!instr || !copies(instr->op)) return std::nullopt;
    value = instr->operands.at(0);
  }
}

/// The offset after the `{` of the body: the first one after the results, whose types have no marks
/// in a function.
std::optional<SourceRange> begin_of_body(const Sources& sources, const ir::Function& fn) {
  if (fn.range.file < 0) return std::nullopt;
  const std::string_view text = sources.text(fn.range);
  const size_t arrow = text.find("->"), brace = text.find('{', arrow);
  if (arrow == text.npos || brace == text.npos) return std::nullopt;
  const uint32_t at = fn.range.begin + static_cast<uint32_t>(brace) + 1;
  return SourceRange{fn.range.file, at, at};
}

Fix fix_of(const Sources& sources, const ir::Program& program, const ir::Function& caller,
           const lower::Unmet& unmet) {
  const bool plan = caller.kind == ir::Function::Kind::plan;
  const auto& model = ir::claimed_model(program, caller);
  if (plan && !model) return {"state what it implements: its model can assume it", {}, false, ""};
  const ir::Function& fn = plan ? program.functions.at(*model) : caller;
  const auto leaf = parameter_of(caller, unmet.argument);
  if (!leaf || *leaf >= fn.params.size())
    return {
        "compute the argument so that this holds; it is not one of the parameters", {}, false, ""};
  const std::string text = "assume " + unmet.assumption.text(fn.values.at(fn.params[*leaf]).name);
  Fix fix{"write `" + text + "` in `" + fn.name + "`", {}, false, ""};
  if (const auto at = begin_of_body(sources, fn)) {
    const std::string_view rest = sources.text(fn.range).substr(at->begin - fn.range.begin);
    const size_t next = rest.find_first_not_of(" \t");
    const bool alone = next == rest.npos || rest[next] == '\n' || rest[next] == '#';
    fix.edits.push_back({*at, "\n    " + text + (alone ? "" : "\n   ")});
  }
  return fix;
}

/// Whether the caller leaves the argument open: a parameter of which nothing is known.
bool is_open(const ir::Program& program, const ir::Function& caller, const lower::Unmet& unmet) {
  const auto leaf = parameter_of(caller, unmet.argument);
  if (!leaf || requires_of_values(caller)) return false;
  const std::vector<ir::Assumption> known = program.assumptions(caller);
  return std::none_of(known.begin(), known.end(),
                      [&](const ir::Assumption& each) { return each.leaf == *leaf; });
}

Diagnostic refusal(const Sources& sources, const ir::Program& program, const ir::Function& caller,
                   const lower::Unmet& unmet) {
  const ir::Function& callee = program.functions.at(unmet.callee);
  const Name& param = callee.values.at(callee.params.at(unmet.assumption.leaf)).name;
  Diagnostic diagnostic;
  const bool open = is_open(program, caller, unmet);
  diagnostic.code = open ? "E0406" : "U0012";
  diagnostic.range = unmet.range;
  diagnostic.message = "`" + callee.name + "` assumes " + unmet.assumption.text(param) +
                       ", which " +
                       (open ? "`" + caller.name + "` does not guarantee" : "is not shown here");
  diagnostic.label = "the argument `" + param + "` of this call " +
                     (open ? "can be any value" : "is not shown to satisfy it");
  diagnostic.notes.push_back({unmet.assumption.range, "assumed here"});
  if (!open)
    diagnostic.details.push_back(
        "checked: types, layouts and collectives. Not decided: whether this argument always "
        "satisfies it");
  diagnostic.fixes.push_back(fix_of(sources, program, caller, unmet));
  return diagnostic;
}

Diagnostic undecided(const ir::Function& caller, const std::string& why) {
  Diagnostic diagnostic;
  diagnostic.code = "U0003";
  diagnostic.range = caller.name_range;
  diagnostic.message = "not decided whether its calls satisfy the callees' assumptions";
  diagnostic.details.push_back(why);
  tell_what_is_known(diagnostic, "types, layouts and collectives",
                     "whether each argument satisfies what its callee assumes",
                     "state what the arguments satisfy as an `assume` of `" + caller.name + "`");
  return diagnostic;
}

/// With seals first: most assumptions do not depend on what a sum is made of.
std::vector<lower::Unmet> unmet_in(const ir::Program& program, size_t function) {
  std::vector<lower::Unmet> unmet;
  for (lower::Seals seals : {lower::Seals::additions, lower::Seals::none}) {
    algebra::Algebra algebra;
    lower::Options options;
    options.opaque_gradients = true;  // assumptions do not depend on a gradient's value
    options.seals = seals;
    unmet = lower::lower_function(algebra, program, function, options).unmet;
    if (unmet.empty()) break;
  }
  return unmet;
}

/// Whether the calls satisfy what the callees assume at all sizes, also where the file fixes them.
bool met_at_all_sizes(const ir::Program& program, size_t function) {
  const std::vector<FixedSizes> ways = sizes_to_open(program, function);
  return std::any_of(ways.begin(), ways.end(), [&](const FixedSizes& open) {
    try {
      return unmet_in(with_open_sizes(program, open), function).empty();
    } catch (const std::exception&) {
      return false;
    }
  });
}

}  // namespace

std::vector<Diagnostic> unmet_assumptions(const Sources& sources, const ir::Program& program,
                                          size_t function) {
  const ir::Function& caller = program.functions.at(function);
  std::vector<Diagnostic> result;
  if (!owes(program, caller) || met_at_all_sizes(program, function)) return result;
  try {
    for (const lower::Unmet& unmet : unmet_in(program, function))
      result.push_back(refusal(sources, program, caller, unmet));
  } catch (const lower::Unsupported& op) {
    result.push_back(undecided(caller, std::string("`") + op.what() + "` has no normal form"));
  } catch (const std::exception& error) {
    result.push_back(undecided(caller, error.what()));
  }
  return result;
}

}  // namespace shardproof
