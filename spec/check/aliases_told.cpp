#include "spec/check/aliases_told.h"

#include <algorithm>
#include <set>

#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

/// The dims of the program that a text names.
void add_dims(const ir::Program& program, const std::string& text, std::set<Name>& dims) {
  for (auto at = text.begin(); at != text.end();) {
    at = std::find_if(at, text.end(), in_word);
    const auto end = std::find_if_not(at, text.end(), in_word);
    if (const Name name(at, end); program.dims.contains(name)) dims.insert(name);
    at = end;
  }
}

bool is_of_dims(const Diagnostic& each) {
  return each.code == "E0301" || each.code == "E0302" || each.code == "E0303" ||
         each.code == "E0305";
}

}  // namespace

void tell_aliases(const ir::Program& program, std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    if (!is_of_dims(diagnostic)) continue;
    std::set<Name> named;
    for (const std::string* text : texts_of(diagnostic)) add_dims(program, *text, named);
    for (const Name& name : named) {
      const ir::DimInfo& info = program.dims.at(name);
      if (info.kind != ir::DimInfo::Kind::alias) continue;
      const auto same = std::find_if(named.begin(), named.end(), [&](const Name& other) {
        return other != name && program.same_dim(Dim{{other}}, Dim{{name}});
      });
      if (same == named.end()) continue;
      diagnostic.details.push_back("`" + name + "` is another name of `" + *same +
                                   "`, of the same size; in a pattern each is an index of its own");
      break;
    }
  }
}

}  // namespace shardproof
