#include "spec/resolve/world.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "spec/resolve/dims_in_one_word.h"
#include "spec/syntax/closest.h"
#include "spec/syntax/other_names.h"

namespace shardproof::resolution {

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

std::string listed(const std::vector<Name>& names, size_t most) {
  std::string text;
  for (size_t i = 0; i < std::min(most, names.size()); ++i)
    text += (i ? ", `" : "`") + names[i] + "`";
  return text + (names.size() > most ? ", .." : "");
}

Diagnostic& World::error(const char* code, SourceRange range, std::string message,
                         std::string label) {
  constexpr size_t most = 1000;  // each prints its line, which may be long
  Diagnostic diagnostic;
  if (diagnostics.size() >= most) {
    if (untold_++ == 0) {
      diagnostic.code = "E0007";
      diagnostic.range = range;
      diagnostic.message =
          "the file has more than 1,000 errors; those after this one are not shown";
      diagnostics.push_back(diagnostic);
    }
    return last_untold_ = {};
  }
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = std::move(message);
  diagnostic.label = std::move(label);
  diagnostics.push_back(std::move(diagnostic));
  return diagnostics.back();
}

/// `x // reduce` where the rest of the line is meant as a comment.
static std::optional<Fix> comment_of_c(const Sources& sources, const SourceRange& range) {
  if (range.file < 0) return std::nullopt;
  const std::string& text = sources.file(range.file).text;
  size_t end = range.begin;
  while (end > 0 && text[end - 1] == ' ') --end;
  if (end < 2 || text.compare(end - 2, 2, "//") != 0) return std::nullopt;
  const auto at = static_cast<uint32_t>(end);
  return Fix{"a comment begins with `#`", {{{range.file, at - 2, at}, "#"}}, false, ""};
}

void World::unknown(const std::string& what, const Name& name, SourceRange range,
                    const std::vector<Name>& known) {
  range = locate(name, range);
  std::optional<Fix> brought;
  if (what != "dim" && what != "axis" && what != "model") brought = syntax::other_name(name);
  if (what == "value" && !syntax::closest(name, known))
    if (auto comment = comment_of_c(sources, range)) brought = std::move(comment);
  if (!brought && what == "dim") brought = dims_in_one_word(name, range, known);
  if (brought && added_to_last(*brought)) return;
  Diagnostic& diagnostic = error("E0101", range, "there is no " + what + " `" + name + "`");
  if (untold_ > 0) return;                        // it is not shown
  constexpr std::string_view called = " called";  // the name follows in the message
  constexpr size_t few = 8;                       // that a reader may choose from
  diagnostic.label =
      "unknown " + what.substr(0, what.size() - (what.ends_with(called) ? called.size() : 0));
  if (const Name same = syntax::same_word(name); brought && !same.empty())
    brought->edits = {{range, same}};  // the same is valid in the notation
  if (brought) {
    diagnostic.fixes.push_back(*std::move(brought));
  } else if (auto other = syntax::closest(name, known)) {
    Fix fix;
    fix.message = "did you mean `" + *other + "`?";
    fix.edits.push_back({range, *other});
    diagnostic.fixes.push_back(std::move(fix));
  } else if (what == "dim") {
    const bool mark = name.starts_with("U_") || name.starts_with("I_") || name.starts_with("Max_");
    const Name other = known.empty() ? "S" : known.front();
    diagnostic.fixes.push_back(
        {mark ? "a mark stands in braces, `{" + name + "}`"
              : "declare it: `dim " + name + "`, or as another name of a dim, `dim " + name +
                    " = " + other + "`",
         mark ? std::vector<Edit>() : declared(what, name, range), false, ""});
  } else if (what == "model" && !known.empty() && known.size() <= few) {
    diagnostic.fixes.push_back({"the functions of this file are " + listed(known), {}, false, ""});
  } else if (what != "axis" && what != "function" && what != "value" && !known.empty() &&
             known.size() <= few) {
    for (const Name& each : known)
      if (what == "field")
        diagnostic.fixes.push_back(
            {"the field `" + each + "` fits here", {{range, each}}, false, "", true});
    diagnostic.fixes.push_back({"known here: " + listed(known), {}, false, ""});
  } else if (what == "schedule") {
    diagnostic.fixes.push_back({"the schedules are " + listed(known), {}, false, ""});
  } else if (what == "axis" && known.size() == 1) {
    diagnostic.fixes.push_back(
        {"the mesh has one axis, `" + known[0] + "`", {{range, known[0]}}, false, "", true});
  } else if (what == "axis" && !known.empty()) {
    diagnostic.fixes.push_back({"the axes of the mesh are " + listed(known), {}, false, ""});
  }
  if (what != "axis") return;
  if (std::vector<Edit> edits = declared(what, name, range); !edits.empty())
    diagnostic.fixes.push_back({"declare it: `mesh .. " + name + "`", std::move(edits), false, ""});
}

std::vector<Edit> World::declared(const std::string& what, const Name& name,
                                  SourceRange use) const {
  constexpr size_t most = 20;  // with more errors each, the file lacks more than a name
  if (diagnostics.size() > most) return {};
  SourceRange last;
  for (const FileScope& file : files) {
    if (!file.ast || file.ast->source != use.file) continue;
    for (const syntax::Declaration& each : file.ast->declarations) {
      if (const auto* mesh = std::get_if<syntax::MeshDecl>(&each); mesh && what == "axis")
        last = mesh->range;
      const auto* dim = std::get_if<syntax::DimDecl>(&each);
      if (dim && what == "dim" && dim->kind == syntax::DimDecl::Kind::plain) last = dim->range;
    }
  }
  if (last.file < 0) return {};
  return {{{last.file, last.end, last.end}, " " + name}};
}

// `"bm,mf->bf"` has one error and one fix.
bool World::added_to_last(const Fix& fix) {
  if (fix.edits.size() != 1 || diagnostics.empty() || diagnostics.back().fixes.empty())
    return false;
  Fix& last = diagnostics.back().fixes.back();
  const auto begins = [](const Fix& each, std::string_view how) {
    return each.message.starts_with(how);
  };
  const std::string_view how =
      begins(fix, words_with_spaces) ? words_with_spaces : called_as_declared;
  if (last.edits.empty() || !begins(last, how) || !begins(fix, how)) return false;
  const SourceRange before = last.edits.back().range, now = fix.edits[0].range;
  if (before.file != now.file || before.end > now.begin ||
      sources.text({now.file, before.end, now.begin}).find('"') != std::string_view::npos)
    return false;
  last.edits.push_back(fix.edits[0]);
  const std::string more = fix.message.substr(how.size());
  if (last.message.find(more) == std::string::npos) last.message += "," + more;
  return true;
}

void World::twice(const Name& name, SourceRange range, SourceRange first,
                  const std::string& message) {
  Diagnostic& diagnostic = error("E0102", range, message, "`" + name + "` again");
  if (first.file >= 0) diagnostic.notes.push_back({first, "`" + name + "` is already here"});
  diagnostic.fixes.push_back({"remove one of them, or give it a name of its own", {}, false, ""});
}

size_t World::errors() const {
  return untold_ + static_cast<size_t>(std::count_if(
                       diagnostics.begin(), diagnostics.end(),
                       [](const Diagnostic& d) { return d.severity == Severity::error; }));
}

SourceRange World::locate(const Name& name, SourceRange range) const {
  if (range.file < 0 || name.empty()) return range;
  const std::string_view text = sources.text(range);
  auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t at = text.find(name); at != text.npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    if ((at > 0 && letter(text[at - 1])) || (end < text.size() && letter(text[end]))) continue;
    range.begin += static_cast<uint32_t>(at);
    range.end = range.begin + static_cast<uint32_t>(name.size());
    return range;
  }
  return range;
}

SourceRange World::locate_next(const Name& name, SourceRange& rest) const {
  const SourceRange found = locate(name, rest);
  if (rest.file >= 0 && !(found == rest)) rest.begin = found.end;
  return found;
}

Dim World::local_dim(const Name& function, const Name& name, ir::DimInfo info) {
  std::string key = function + "." + name + "=" + (info.size ? ir::to_string(*info.size) : "");
  for (const Name& factor : info.of) key += " " + factor;
  auto [known, fresh] = local_dims.try_emplace(key, name);
  if (fresh) {
    for (int n = 2; program.dims.count(known->second); ++n)
      known->second = name + "." + std::to_string(n);
    info.local = true;
    info.shown = name;
    program.dims[known->second] = std::move(info);
  }
  return Dim{{known->second}};
}

std::vector<size_t> instances(const World& world, size_t entity) {
  const auto& of = world.functions.at(entity).decl->instance;
  if (!of) return {entity};
  std::vector<size_t> all(of->count);
  std::iota(all.begin(), all.end(), entity - of->number);
  return all;
}

bool is_number(const Name& name) {
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0]));
}

std::optional<Dtype> dtype_of(const std::string& word) {
  static const std::map<Name, Dtype, ByName> dtypes = [] {
    std::map<Name, Dtype, ByName> all;
    for (Dtype dtype : {Dtype::f64, Dtype::f32, Dtype::bf16, Dtype::f16, Dtype::f8, Dtype::i32,
                        Dtype::u32, Dtype::boolean, Dtype::key})
      all[to_string(dtype)] = dtype;
    return all;
  }();
  const auto found = dtypes.find(word);
  return found == dtypes.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace shardproof::resolution
