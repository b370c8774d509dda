#include "spec/check/as_the_model.h"

#include <algorithm>
#include <set>

#include "spec/check/aligned.h"
#include "spec/check/arguments_by_name.h"
#include "spec/check/fixes.h"
#include "spec/check/in_the_plans_axes.h"
#include "spec/check/off_by_a_factor.h"
#include "spec/check/shown_names.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

constexpr size_t most_edits_of_one = 3, most_fixes = 6;

/// The text of a range in one line.
std::string in_one_line(std::string_view text) {
  constexpr size_t longest = 120;
  std::string line;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '#') i = std::min(text.find('\n', i), text.size() - 1);
    const bool blank = text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r';
    if (!blank)
      line += text[i];
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line.size() <= longest ? line : "";
}

/// The plan's file comes first: its names hide others.
void read_files(const Sources& sources, const ir::Program& program, const ir::Function& plan,
                const ir::Function& model, WrittenFunctions& functions) {
  std::set<int32_t> files{model.source};
  for (const ir::Function& each : program.functions)
    if (each.source >= 0 && !sources.file(each.source).path.starts_with("<"))
      files.insert(each.source);
  const auto read = [&](int32_t file) {
    std::vector<Diagnostic> unused;
    functions.add(syntax::parse(sources, file, unused));
  };
  read(plan.source);
  for (const int32_t file : files)
    if (file != plan.source && file >= 0) read(file);
}

/// Two ways to write the same.
std::vector<std::vector<Edit>> edits_as_the_model(const Sources& sources,
                                                  const ir::Program& program, size_t plan,
                                                  WrittenByFiles& written) {
  const ir::Function &own = program.functions[plan], &model = program.functions[*own.model];
  const auto [known, fresh] = written.try_emplace({own.source, model.source});
  WrittenFunctions& functions = known->second;
  if (fresh) read_files(sources, program, own, model, functions);
  const syntax::FunctionDecl *mine = functions.find(own.name), *theirs = functions.find(model.name);
  if (!mine || !theirs) return {};
  Alignment alignment(sources, functions);
  std::vector<std::vector<Edit>> found;
  for (const bool outermost : {true, false}) {
    found.push_back(alignment.edits_of(*mine, *theirs, outermost));
    std::erase_if(found.back(), [&](const Edit& edit) { return edit.range.file != own.source; });
  }
  return found;
}

bool overlap(const std::vector<Edit>& edits) {
  for (size_t i = 0; i < edits.size(); ++i)
    for (size_t j = i + 1; j < edits.size(); ++j)
      if (edits[i].range.begin < edits[j].range.end && edits[j].range.begin < edits[i].range.end)
        return true;
  return false;
}

/// `sum over |W| instead of |V|` where W pads V.
std::string padding_read(const ir::Program& program, const Diagnostic& error) {
  for (const auto& [wide, info] : program.dims) {
    if (!info.pads) continue;
    const std::string &narrow = *info.pads, both = "|" + wide + "| instead of |" + narrow + "|";
    if (error.label.find(both) == std::string::npos) continue;
    return "the entries of " + wide + " from |" + narrow +
           "| on are padding: leave them out, `where(iota(\"" + wide + "\") < |" + narrow +
           "|, x, 0)`, with the axes of " + wide + "; after exp, not before";
  }
  return "";
}

/// Of a backward that is written by hand: nothing is written for it in the model.
void add_fixes_of_gradient(const ir::Function& backward, const std::vector<Fix>& factors,
                           Diagnostic& error) {
  append(error.fixes, factors);
  error.fixes.push_back({"`--backward` prints a backward that is proved: compare `" +
                             backward.name + "` with it, or leave it out and let `grad` derive it",
                         {},
                         false,
                         ""});
}

}  // namespace

bool about_a_value(const Diagnostic& diagnostic) {
  return diagnostic.severity == Severity::error &&
         (diagnostic.code == "E0401" || diagnostic.code == "E0402" || diagnostic.code == "E0403");
}

void add_fixes_as_the_model(const Sources& sources, const ir::Program& program, size_t plan,
                            bool search, WrittenByFiles& written,
                            std::vector<Diagnostic>& diagnostics) {
  const ir::Function& own = program.functions[plan];
  const auto error = std::find_if(diagnostics.begin(), diagnostics.end(), about_a_value);
  if (error == diagnostics.end() || !own.model) return;
  std::vector<Fix> factors = fixes_of_factor(sources, *error);
  if (own.implements_grad) return add_fixes_of_gradient(own, factors, *error);
  const std::string in_model = "`" + program.functions[*own.model].name + "`";
  const std::string message = "compute it as " + in_model + " does";
  std::vector<Edit> single;
  std::vector<Fix> several;
  std::vector<std::vector<Edit>> found;
  if (search) found = edits_as_the_model(sources, program, plan, written);
  for (std::vector<Edit>& edits : found) {
    std::stable_partition(edits.begin(), edits.end(), [&](const Edit& edit) {
      return edit.range.begin < error->range.end && error->range.begin < edit.range.end;
    });
    if (edits.size() > 1 && edits.size() <= most_edits_of_one && !overlap(edits))
      several.push_back({message, edits, false, "", true});
    for (const Edit& edit : edits)
      if (std::none_of(single.begin(), single.end(), [&](const Edit& known) {
            return known.range == edit.range && known.text == edit.text;
          }))
        single.push_back(edit);
  }
  const auto others = std::stable_partition(factors.begin(), factors.end(), [](const Fix& fix) {
    const Edit& edit = fix.edits[0];  // the smallest change: something left out or exchanged
    return edit.text.size() <= edit.range.end - edit.range.begin;
  });
  error->fixes.insert(error->fixes.end(), factors.begin(), others);
  for (Fix& fix : fixes_of_argument_names(sources, own)) error->fixes.push_back(std::move(fix));
  for (size_t i = 0; i < single.size() && i < most_fixes; ++i)
    error->fixes.push_back({message, {single[i]}, false, "", true});
  error->fixes.insert(error->fixes.end(), several.begin(), several.end());
  error->fixes.insert(error->fixes.end(), others, factors.end());
  if (const auto rolled = search ? roll_for_ppermute(sources, error->range) : std::nullopt)
    error->fixes.push_back({"ppermute moves whole blocks: gather, roll and slice to move entries",
                            {*rolled},
                            false,
                            "",
                            true});
  if (const std::string padding = padding_read(program, *error); !padding.empty())
    return error->fixes.push_back({padding, {}, false, ""});
  std::string meant;
  for (const Label& note : error->notes)
    if (note.text == "the model's value" && note.range.file >= 0) {
      meant = in_one_line(sources.text(note.range));
      if (!meant.empty() && search)
        for (const Edit& edit : edits_in_the_plans_axes(
                 sources, own.range, value_of(sources, error->range), note.range))
          error->fixes.push_back({message, {edit}, false, "", true});
    }
  // No value of the model is missed: its result, in place of all.
  if (meant.empty() && factors.empty() && search)
    for (const Edit& edit :
         edits_in_the_plans_axes(sources, own.range, value_of(sources, own.return_range),
                                 value_of(sources, program.functions[*own.model].return_range)))
      error->fixes.push_back({message, {edit}, false, "", true});
  const bool number = meant.find_first_not_of("0123456789.") == meant.npos;
  const bool name = std::all_of(meant.begin(), meant.end(), in_word);
  error->fixes.push_back(
      {number ? "write each value as " + in_model +
                    " does, with axes and collectives; `--test` runs both"
       : name ? in_model + " uses its `" + meant + "` there"
              : in_model + " has `" + meant + "` there: write the same, with the plan's axes",
       {},
       false,
       ""});
}

}  // namespace shardproof
