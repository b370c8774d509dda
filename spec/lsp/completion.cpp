#include <algorithm>
#include <set>

#include "spec/ir/pointwise.h"
#include "spec/lsp/answers.h"
#include "spec/resolve/call_forms.h"
#include "spec/resolve/library.h"

namespace shardproof::lsp {
namespace {

/// Kinds of the protocol.
enum Kind {
  item_function = 3,
  item_variable = 6,
  item_keyword = 14,
  item_member = 20,
  item_constant = 21,
  item_struct = 22,
  item_type = 25
};

class Items {
 public:
  void add(const std::string& label, Kind kind, const std::string& detail = "") {
    if (label.empty() || !seen_.insert(label).second) return;
    Json item = {{"label", label}, {"kind", static_cast<int>(kind)}};
    if (!detail.empty()) item["detail"] = detail;
    all_.push_back(std::move(item));
  }
  Json take() { return std::move(all_); }

 private:
  std::set<std::string> seen_;
  Json all_ = Json::array();
};

/// Where the cursor is, by the text of its line before it.
struct Place {
  bool in_string = false, in_type = false, behind_slash = false, in_bars = false;
};

Place place_at(const std::string& text, uint32_t offset) {
  size_t begin = text.rfind('\n', offset == 0 ? 0 : offset - 1);
  begin = begin == std::string::npos ? 0 : begin + 1;
  Place place;
  int brackets = 0, bars = 0;
  for (size_t i = begin; i < std::min<size_t>(offset, text.size()); ++i) {
    const char c = text[i];
    if (c == '"') place.in_string = !place.in_string;
    if (place.in_string) continue;
    if (c == '[') ++brackets;
    if (c == ']') --brackets;
    if (c == '|') ++bars;
  }
  size_t word = offset;
  while (word > begin &&
         (std::isalnum(static_cast<unsigned char>(text[word - 1])) || text[word - 1] == '_'))
    --word;
  place.behind_slash = word > begin && text[word - 1] == '/' && (place.in_string || brackets > 0);
  place.in_type = brackets > 0;
  place.in_bars = bars % 2 == 1;
  return place;
}

int function_at(const Analysis& analysis, uint32_t offset) {
  for (size_t i = 0; i < analysis.tree().declarations.size(); ++i)
    if (const auto* each = std::get_if<syntax::FunctionDecl>(&analysis.tree().declarations[i]))
      if (each->range.begin <= offset && offset <= each->range.end + 1) return static_cast<int>(i);
  return -1;
}

void add_dims(const Analysis& analysis, Items& items) {
  for (const Occurrence& each : analysis.names())
    if (each.kind == NameKind::dim) items.add(each.name, item_type, "dim");
}
void add_axes(const Analysis& analysis, Items& items) {
  for (const Occurrence& each : analysis.names())
    if (each.kind == NameKind::axis) items.add(each.name, item_member, "mesh axis");
}

/// The shapes of the values above, as an operand of a pattern is written.
void add_patterns(const Analysis& analysis, uint32_t offset, Items& items) {
  const ir::Function* function = function_of(analysis, function_at(analysis, offset));
  if (!function) return;
  const auto& types = analysis.types()->types(index_of(analysis, *function));
  const bool final = has_final_types(analysis, *function);
  for (size_t i = 0; i < function->values.size() && i < types.size(); ++i) {
    const ir::Value& value = function->values[i];
    if (value.name.empty() || types[i].dims.empty() || value.range.begin > offset ||
        (!final && !value.stated))
      continue;
    items.add(to_string(static_cast<const Shape&>(types[i])), item_constant,
              "the type of " + value.name);
  }
}

void add_names(const Analysis& analysis, uint32_t offset, Items& items) {
  const int here = function_at(analysis, offset);
  for (const Occurrence& each : analysis.names()) {
    const bool value = each.kind == NameKind::value || each.kind == NameKind::parameter;
    if (value && each.declares && each.function == here && each.range.end < offset) {
      const auto leaves = leaves_of(analysis, each);
      items.add(each.name, item_variable, leaves.size() == 1 ? to_string(leaves[0].type) : "");
      for (const Leaf& leaf : leaves)
        if (leaf.name != each.name) items.add(leaf.name, item_variable, to_string(leaf.type));
    }
    if (each.kind == NameKind::function && each.function < 0) items.add(each.name, item_function);
    if (each.kind == NameKind::record && each.declares) items.add(each.name, item_struct);
    if (each.kind == NameKind::constant && each.declares) items.add(each.name, item_constant);
  }
}

/// Names that every program has: `fn NAME(` of the library, the primitives, pointwise functions.
void add_library(Items& items) {
  for (const auto& [file, text] : embedded_library())
    for (size_t at = text.find("fn "); at != std::string::npos; at = text.find("fn ", at + 1)) {
      if (at > 0 && text[at - 1] != '\n') continue;
      const size_t open = text.find('(', at), end = text.find_first_of(" (", at + 3);
      if (open == std::string::npos) break;
      items.add(text.substr(at + 3, end - at - 3), item_function, file);
    }
  for (const auto& [name, form] : resolution::call_forms())
    if (form.starts_with(name + "(")) items.add(name, item_function, form);
  for (ir::UnaryFn fn : ir::unary_fns)
    if (ir::binds(fn) == ir::Binds::call) items.add(ir::name_of(fn), item_function);
  for (ir::BinaryFn fn : ir::binary_fns)
    if (ir::binds(fn) == ir::Binds::call) items.add(ir::name_of(fn), item_function);
  for (const char* word :
       {"return", "scan", "next", "emit", "grad", "value_and_grad", "require", "assume", "zeros"})
    items.add(word, item_keyword);
}

void add_declarations(Items& items) {
  for (const char* word : {"mesh", "dim", "const", "config", "record", "layout", "fn", "plan",
                           "import", "require", "schedule", "trusted"})
    items.add(word, item_keyword);
}

}  // namespace

Json completion(const Analysis& analysis, uint32_t offset) {
  Items items;
  const Place place = place_at(analysis.text().text, offset);
  if (place.behind_slash) {
    add_axes(analysis, items);
  } else if (place.in_string) {
    add_dims(analysis, items);
    add_patterns(analysis, offset, items);
  } else if (place.in_type) {
    add_dims(analysis, items);
    add_names(analysis, offset, items);
  } else if (place.in_bars) {
    add_dims(analysis, items);
    add_axes(analysis, items);
  } else if (function_at(analysis, offset) < 0) {
    add_declarations(items);
  } else {
    add_names(analysis, offset, items);
    add_library(items);
  }
  return items.take();
}

}  // namespace shardproof::lsp
