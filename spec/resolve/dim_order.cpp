#include "spec/resolve/dim_order.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "spec/elaborate/names.h"
#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

/// For each dim of `wanted` where it stands in `actual`.
std::optional<std::vector<size_t>> order_of(const Type& wanted, const Type& actual) {
  if (wanted.dims.size() != actual.dims.size()) return std::nullopt;
  std::vector<size_t> order;
  for (const Split& split : wanted.dims) {
    size_t found = actual.dims.size();
    for (size_t i = 0; i < actual.dims.size(); ++i)
      if (actual.dims[i].dim == split.dim) {
        if (found != actual.dims.size()) return std::nullopt;
        found = i;
      }
    if (found == actual.dims.size()) return std::nullopt;
    order.push_back(found);
  }
  return order;
}

/// The edit in the first pattern of the text at `range` whose result has the dims of `actual`.
std::optional<Edit> in_pattern(const Type& actual, const std::vector<size_t>& order,
                               const Sources& sources, SourceRange range) {
  const std::string_view text = sources.text(range);
  for (size_t quote = text.find('"'); quote != text.npos;) {
    const size_t end = text.find('"', quote + 1);
    if (end == text.npos) return std::nullopt;
    SourceRange inside = range;
    inside.begin = range.begin + static_cast<uint32_t>(quote + 1);
    inside.end = range.begin + static_cast<uint32_t>(end);
    std::vector<Diagnostic> unused;
    const auto pattern = syntax::parse_pattern(std::string(sources.text(inside)), inside, unused);
    quote = text.find('"', end + 1);
    if (!pattern || !pattern->right || pattern->has_working) continue;
    const std::vector<syntax::SplitExpr>& dims = pattern->right->dims;
    if (std::equal(dims.begin(), dims.end(), actual.dims.begin(), actual.dims.end(),
                   [](const syntax::SplitExpr& dim, const Split& split) {
                     return dim.kind == syntax::SplitExpr::Kind::dim && !dim.bracketed &&
                            dim.names == split.dim.factors;
                   }))
      return reordered(sources, dims, order);
  }
  return std::nullopt;
}

/// The words of the patterns in a text.
struct WordInPattern {
  size_t begin = 0;
  std::string_view word;
};

std::vector<WordInPattern> words_of_patterns(std::string_view text) {
  const auto in_word = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  };
  std::vector<WordInPattern> words;
  bool inside = false;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') inside = !inside;
    if (inside && in_word(text[at])) {
      while (end < text.size() && in_word(text[end])) ++end;
      words.push_back({at, text.substr(at, end - at)});
    }
    at = end;
  }
  return words;
}

/// The edits that write `names[old]` for each old name in the patterns of a text; none if an old
/// name is not there, or a new one is.
std::vector<Edit> renamed_in_patterns(std::string_view text, SourceRange range,
                                      const std::map<Name, Name>& names) {
  std::vector<Edit> edits;
  std::set<Name> seen;
  for (const auto& [begin, word] : words_of_patterns(text)) {
    for (const auto& [old, fresh] : names)
      if (word == fresh) return {};
    const auto found = names.find(Name(word));
    if (found == names.end()) continue;
    seen.insert(found->first);
    const auto at = range.begin + static_cast<uint32_t>(begin);
    edits.push_back({{range.file, at, at + static_cast<uint32_t>(word.size())}, found->second});
  }
  return seen.size() == names.size() ? edits : std::vector<Edit>{};
}

std::string list_of(const Shape& shape) {
  std::string text;
  for (const Split& split : shape.dims) text += (text.empty() ? "" : " ") + to_string(split.dim);
  return text;
}

/// A factor of a written dim.
struct WrittenFactor {
  elaborate::Factor factor;
  size_t dim = 0;  ///< the written dim that it is in
  bool first = false;
  bool used = false;
};

std::vector<WrittenFactor> factors_of(const ir::Program& program,
                                      const std::vector<syntax::SplitExpr>& dims) {
  std::vector<WrittenFactor> found;
  for (size_t d = 0; d < dims.size(); ++d) {
    bool first = true;
    for (const elaborate::Factor& each : elaborate::factors(program, Dim{dims[d].names}))
      found.push_back({each, d, std::exchange(first, false), false});
  }
  return found;
}

}  // namespace

std::optional<std::string> named_as_operand(const ir::Program& program, const Sources& sources,
                                            const std::vector<syntax::SplitExpr>& dims,
                                            const Shape& operand) {
  std::vector<WrittenFactor> written = factors_of(program, dims);
  std::string text, before;
  for (const syntax::SplitExpr& dim : dims) {
    if (dim.kind != syntax::SplitExpr::Kind::dim || dim.bracketed) return std::nullopt;
    before += (before.empty() ? "" : " ") + std::string(sources.text(dim.range));
  }
  for (const Split& position : operand.dims) {
    std::vector<WrittenFactor*> run;
    for (const elaborate::Factor& own : elaborate::factors(program, position.dim)) {
      const auto same = std::find_if(written.begin(), written.end(), [&](const WrittenFactor& w) {
        return !w.used && w.factor.dim == own.dim;
      });
      if (same == written.end() || same->factor.name.find('.') != Name::npos) return std::nullopt;
      same->used = true;
      run.push_back(&*same);
    }
    const auto of_one = [&](const WrittenFactor& w) { return w.dim == run.front()->dim; };
    const bool whole =
        run.front()->first &&
        run.size() == static_cast<size_t>(std::count_if(written.begin(), written.end(), of_one)) &&
        std::is_sorted(run.begin(), run.end()) && of_one(*run.back());
    for (const WrittenFactor* each : run) {
      if (whole && each != run.front()) continue;
      const syntax::SplitExpr& from = dims[each->dim];
      std::string own = whole ? std::string(sources.text(from.range)) : each->factor.name;
      if (!whole && each->first)
        for (const Axis& axis : from.axes) own += "/" + axis;
      text += (text.empty() ? "" : " ") + own;
    }
  }
  const bool all = std::all_of(written.begin(), written.end(), [](auto& w) { return w.used; });
  return all && !text.empty() && text != before ? std::optional(text) : std::nullopt;
}

Edit reordered(const Sources& sources, const std::vector<syntax::SplitExpr>& dims,
               const std::vector<size_t>& order) {
  std::string text;
  for (const size_t i : order)
    text += (text.empty() ? "" : " ") + std::string(sources.text(dims[i].range));
  SourceRange range = dims.front().range;
  range.end = dims.back().range.end;
  return {range, text};
}

std::optional<Fix> in_order_of(const Type& wanted, const Type& actual, const Sources& sources,
                               SourceRange range) {
  const auto order = order_of(wanted, actual);
  if (!order || std::is_sorted(order->begin(), order->end())) return std::nullopt;
  Fix fix;
  if (auto edit = in_pattern(actual, *order, sources, range)) {
    fix.message = "name the dims of the result in the order of its type";
    fix.edits = {*edit};
    return fix;
  }
  // Its axes are most likely those that the type says.
  Shape from = wanted;
  for (size_t i = 0; i < order->size(); ++i) from.dims[(*order)[i]] = wanted.dims[i];
  fix.message = "put the dims into the order of the type";
  fix.edits = {{range, "rearrange(\"" + to_string(from) + " -> " +
                           to_string(static_cast<const Shape&>(wanted)) + "\", " +
                           std::string(sources.text(range)) + ")"}};
  return fix;
}

std::optional<Fix> result_as_type(const Type& wanted, const Sources& sources, SourceRange call) {
  const std::string_view text = sources.text(call);
  const size_t quote = text.find("(\""), end = text.find('"', quote + 2);
  const size_t arrow = text.find("->", quote);
  if (quote == text.npos || end == text.npos || arrow > end || text.find_first_of(" +-*/") < quote)
    return std::nullopt;
  const std::string result = to_string(static_cast<const Shape&>(wanted));
  const auto at = [&](size_t offset) { return call.begin + static_cast<uint32_t>(offset); };
  return Fix{"state the dims of its type in the pattern, `-> " + result + "`",
             {{{call.file, at(arrow + 2), at(end)}, " " + result}},
             false,
             "",
             true};
}

std::optional<Fix> with_names_of(const ir::Program& program, const Type& wanted, const Type& actual,
                                 const Sources& sources, SourceRange range) {
  if (wanted.dims.size() != actual.dims.size()) return std::nullopt;
  std::map<Name, Name> names;
  for (size_t i = 0; i < wanted.dims.size(); ++i) {
    const Dim &to = wanted.dims[i].dim, &from = actual.dims[i].dim;
    if (to == from) continue;
    if (!program.same_dim(from, to) || from.factors.size() != 1 || to.factors.size() != 1)
      return std::nullopt;
    names[from.factors[0]] = to.factors[0];
  }
  if (names.empty()) return std::nullopt;
  Fix fix{"name the dims as its type does, `" + list_of(wanted) + "`", {}, false, ""};
  fix.edits = renamed_in_patterns(sources.text(range), range, names);
  if (fix.edits.empty()) {
    Shape from = wanted;
    for (size_t i = 0; i < from.dims.size(); ++i) from.dims[i].dim = actual.dims[i].dim;
    fix.edits = {{range, "rearrange(\"" + to_string(from) + " -> " +
                             to_string(static_cast<const Shape&>(wanted)) + "\", " +
                             std::string(sources.text(range)) + ")"}};
  }
  return fix;
}

}  // namespace shardproof::resolution
