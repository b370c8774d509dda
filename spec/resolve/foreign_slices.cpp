#include "spec/resolve/foreign_slices.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "spec/resolve/stated.h"
#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

using Dims = std::vector<syntax::SplitExpr>;

bool is_name(const std::string& item) {
  return std::isalpha(static_cast<unsigned char>(item[0])) || item[0] == '_';
}

/// What stands in brackets at one dim: an entry, or those from `first` up to `end`. Numbers below 0
/// count from the end of the dim.
struct Item {
  std::string first, end;
  bool several = false;
};

std::optional<Item> read_item(const std::string& text) {
  const size_t colon = text.find(':');
  if (colon == text.npos) return Item{text, "", false};
  if (text.find(':', colon + 1) != text.npos) return std::nullopt;  // with a step
  return Item{text.substr(0, colon), text.substr(colon + 1), true};
}

class Slice {
 public:
  Slice(const Body& body, const syntax::Expr& entry)
      : body_(body), entry_(entry), text_(body.world.sources.text(entry.args[0].range)) {}

  std::optional<Fix> run() {
    auto stated = stated_type(body_, entry_.args[0]);
    const auto items = stated ? items_of(stated->dims.size()) : std::nullopt;
    if (!items) return std::nullopt;
    size_t at = 0;
    for (const std::string& text : *items) {
      if (text == ":") {
        ++at;
        continue;
      }
      const auto item = read_item(text);
      if (!item || !read(*stated, at, *item)) return std::nullopt;
      at += item->several ? 1 : 0;
    }
    edits_.push_back({entry_.range, text_});
    const bool all = std::all_of(items->begin(), items->end(),
                                 [](const std::string& item) { return item == ":"; });
    return Fix{all ? "all entries of a value are its name alone"
                   : "entries along a dim are `" + text_ + "`",
               edits_, false, ""};
  }

 private:
  /// One for each dim, without `...`.
  std::optional<std::vector<std::string>> items_of(size_t dims) const {
    std::vector<std::string> items = entry_.names;
    const auto rest = std::find(items.begin(), items.end(), "...");
    const size_t own = items.size() - (rest == items.end() ? 0 : 1);
    if (own > dims || std::count(items.begin(), items.end(), "...") > 1) return std::nullopt;
    const auto place = rest == items.end() ? rest : items.erase(rest);
    items.insert(place, dims - own, ":");
    return items;
  }

  bool read(Stated& stated, size_t at, const Item& item) {
    const Stated before = stated;
    syntax::SplitExpr& dim = stated.dims[at];
    if (dim.names.size() != 1 || dim.kind != syntax::SplitExpr::Kind::dim) return false;
    if (!item.several && is_name(item.first))
      if (const auto ids = dims_of(item.first); ids && !ids->dims.empty())
        return look_up(stated, at, item.first, *ids);
    if (!dim.axes.empty()) return false;
    const std::string size = "|" + dim.names[0] + "|";
    const std::string first = start(item.first, size);
    if (first.empty()) return false;
    if (item.several) {
      const std::string count = number_of(item, size);
      if (count.empty()) return false;
      dim.names[0] = dim_of(count);
    } else {
      stated.dims.erase(stated.dims.begin() + static_cast<std::ptrdiff_t>(at));
    }
    Stated left = before;
    left.dims[at].bracketed = true;
    text_ = "read(\"" + to_string(left) + " -> " + to_string(stated) + "\", " + text_ +
            ", at=" + first + ")";
    return true;
  }

  std::optional<Stated> dims_of(const Name& value) const {
    syntax::Expr name;
    name.kind = syntax::Expr::Kind::name;
    name.text = value;
    return body_.find(value) ? stated_type(body_, name) : std::nullopt;
  }

  /// `index("[V] M, B L -> B L M", table, ids)`. Of a table whose entries are split, each device
  /// has some: the sum over the devices has all.
  bool look_up(Stated& stated, size_t at, const Name& ids, const Stated& places) {
    if (!stated.marks.empty() || !places.marks.empty()) return false;
    Stated left = stated;
    left.dims[at].bracketed = true;
    const std::vector<Axis> axes = left.dims[at].axes;
    const auto place = stated.dims.erase(stated.dims.begin() + static_cast<std::ptrdiff_t>(at));
    stated.dims.insert(place, places.dims.begin(), places.dims.end());
    Stated found = stated;
    for (const Axis& axis : axes) found.marks.push_back({Mark::U, axis, {}});
    text_ = (axes.empty() ? "index(\"" : "index_unreduced(\"") + to_string(left) + ", " +
            to_string(places) + " -> " + to_string(found) + "\", " + text_ + ", " + ids + ")";
    if (!axes.empty())
      text_ =
          "all_reduce(\"" + to_string(found) + " -> " + to_string(stated) + "\", " + text_ + ")";
    return true;
  }

  /// Where the entries begin; empty for a name that is neither a value nor a dim.
  std::string start(const std::string& at, const std::string& size) const {
    if (at.empty()) return "0";
    if (at[0] == '-') return size + " - " + at.substr(1);
    if (is_name(at) && body_.file().dims.contains(at)) return "|" + at + "|";
    return is_name(at) && !body_.find(at) ? "" : at;
  }

  /// The number of entries: `4` of `1:5`, `|M| - 1` of `1:`. Empty if it is not known.
  static std::string number_of(const Item& item, const std::string& size) {
    const auto literal = [](const std::string& text) {
      return text.empty() || std::all_of(text.begin() + (text[0] == '-'), text.end(), [](char c) {
               return std::isdigit(static_cast<unsigned char>(c));
             });
    };
    constexpr size_t most_digits = 9;
    if (!literal(item.first) || !literal(item.end) ||
        std::max(item.first.size(), item.end.size()) > most_digits)
      return "";
    const int64_t first = item.first.empty() ? 0 : std::stoll(item.first);
    const bool to_end = item.end.empty();
    const int64_t end = to_end ? 0 : std::stoll(item.end);
    const bool first_from_end = first < 0, end_from_end = to_end || end < 0;
    if (first_from_end && !end_from_end) return "";
    if (first_from_end == end_from_end)
      return end > first ? std::to_string(end - first) : std::string();
    const int64_t less = first - end;
    return less == 0 ? size : size + " - " + std::to_string(less);
  }

  /// A dim of that size: one of the file's, or one that is declared below them.
  std::string dim_of(const std::string& size) {
    const FileScope& file = body_.file();
    SourceRange last;
    for (const syntax::Declaration& each : file.ast->declarations) {
      const auto* dim = std::get_if<syntax::DimDecl>(&each);
      if (!dim) continue;
      if (dim->size && syntax::print(*dim->size) == size) return dim->names.at(0);
      last = dim->range;
    }
    Name name = "J";
    const auto taken = [&] {
      return file.dims.contains(name) || file.axes.contains(name) || new_.contains(name);
    };
    while (name[0] < 'Z' && taken()) ++name[0];
    new_.insert(name);
    const std::string& text = body_.world.sources.file(last.file).text;
    last.begin = last.end = static_cast<uint32_t>(std::min(text.find('\n', last.end), text.size()));
    edits_.push_back({last, "\ndim " + name + " = " + size});
    return name;
  }

  const Body& body_;
  const syntax::Expr& entry_;
  std::string text_;
  std::vector<Edit> edits_;
  std::set<Name> new_;
};

}  // namespace

bool is_slice(const syntax::Expr& entry) {
  return !std::all_of(entry.names.begin(), entry.names.end(), is_name) ||
         std::any_of(entry.names.begin(), entry.names.end(),
                     [](const std::string& item) { return item.find(':') != item.npos; });
}

Fix slice_in_the_notation(const Body& body, const syntax::Expr& entry) {
  if (std::optional<Fix> fix = Slice(body, entry).run()) return *std::move(fix);
  const bool several = std::any_of(entry.names.begin(), entry.names.end(), [](const auto& item) {
    return item.find(':') != item.npos && item != ":";
  });
  return {several
              ? "entries in a row are `read(\"B [M] -> B K\", x, at=0)`, K a dim of their number"
              : "one entry is `read(\"[B] M -> M\", x, at=0)`",
          {},
          false,
          ""};
}

}  // namespace shardproof::resolution
