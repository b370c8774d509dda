#include "spec/resolve/meant.h"

#include <algorithm>

#include "spec/resolve/stated.h"

namespace shardproof::resolution {
namespace {

constexpr size_t most = 8, most_searched = 100;  // of a file: each error looks through its function

bool in_path(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; }

/// The name or the field that is written there, inside of casts.
std::optional<SourceRange> path_at(const Sources& sources, SourceRange range) {
  if (range.file < 0) return std::nullopt;
  for (;;) {
    const std::string_view text = sources.text(range);
    const size_t open = text.find('(');
    if (open == text.npos) break;
    if (!dtype_of(std::string(text.substr(0, open))) || text.back() != ')') return std::nullopt;
    range.begin += static_cast<uint32_t>(open) + 1;
    --range.end;
  }
  const std::string_view text = sources.text(range);
  const bool path = !text.empty() && std::all_of(text.begin(), text.end(), in_path) &&
                    !std::isdigit(static_cast<unsigned char>(text[0]));
  return path ? std::optional(range) : std::nullopt;
}

Fix guess(std::string message, std::vector<Edit> edits) {
  return {std::move(message), std::move(edits), false, "", true};
}

}  // namespace

std::vector<Fix> other_values(const Body& body, SourceRange range,
                              const std::function<bool(const Type&)>& fits, const Name& first) {
  const auto place = path_at(body.world.sources, range);
  if (!place || body.inferred() || body.world.errors() > most_searched) return {};
  const std::string own(body.world.sources.text(*place));
  const std::string record = own.substr(0, own.rfind('.') + 1);
  struct Candidate {
    bool named, sibling;
    uint32_t begin;
    std::string path;
  };
  std::vector<Candidate> found;
  for (const auto& scope : body.scope->scopes)
    for (const auto& [name, binding] : scope)
      for_each_leaf(
          binding.values,
          [&, &name = name, &binding = binding](ir::ValueId id, const std::string& path) {
            if (id == ir::no_value || path == own || !fits(body.type(id))) return;
            const bool sibling = !record.empty() && path.starts_with(record);
            found.push_back({name == first, sibling, binding.range.begin, path});
          },
          name);
  std::stable_sort(found.begin(), found.end(), [](const Candidate& a, const Candidate& b) {
    return std::tie(a.named, a.sibling, a.begin) > std::tie(b.named, b.sibling, b.begin);
  });
  std::vector<Fix> fixes;
  for (const Candidate& each : found)
    if (fixes.size() < most)
      fixes.push_back(guess("did you mean `" + each.path + "`?", {{*place, each.path}}));
  return fixes;
}

std::vector<Fix> casts(const Body& body, SourceRange range, Dtype to) {
  if (to == Dtype::key || to == Dtype::boolean || body.inferred() || range.file < 0) return {};
  const std::string dtype = to_string(to), text(body.world.sources.text(range));
  const std::string cast = dtype + "(" + text + ")";
  std::vector<Fix> fixes{{"cast: `" + cast + "`", {{range, cast}}, false, ""}};
  const auto origin = body.world.errors() > most_searched ? std::nullopt : origin_of(body, text);
  if (!origin) return fixes;
  if (origin->type) {
    const SourceRange type = origin->type->range;
    const auto end = type.begin + static_cast<uint32_t>(origin->type->name.size());
    fixes.push_back(guess("declare `" + text + "` with the dtype " + dtype,
                          {{{type.file, type.begin, end}, dtype}}));
    fixes.back().of_head = true;
  } else if (origin->value) {
    const SourceRange value = origin->value->range;
    const std::string written(body.world.sources.text(value));
    fixes.push_back(
        guess("cast `" + text + "` where it is computed", {{value, dtype + "(" + written + ")"}}));
    if (origin->value->kind == syntax::Expr::Kind::cast) {
      const auto end = value.begin + static_cast<uint32_t>(origin->value->text.size());
      fixes.back().edits = {{{value.file, value.begin, end}, dtype}};
    }
  }
  return fixes;
}

std::vector<Fix> exchanged(const Body& body, const std::vector<SourceRange>& list, size_t at,
                           const std::string& message) {
  const auto text = [&](size_t i) { return std::string(body.world.sources.text(list[i])); };
  std::vector<Fix> fixes;
  if (list.size() > most || body.inferred()) return fixes;
  for (size_t i = 0; i < list.size(); ++i)
    if (i != at && list[i].file >= 0 && !(list[i] == list[at]))
      fixes.push_back(guess(message, {{list[at], text(i)}, {list[i], text(at)}}));
  return fixes;
}

void add_to_new_error(Body& body, size_t before, const std::vector<Fix>& fixes) {
  if (body.world.errors() == before) return;
  std::vector<Fix>& known = body.world.diagnostics.back().fixes;
  known.insert(known.end(), fixes.begin(), fixes.end());
}

}  // namespace shardproof::resolution
