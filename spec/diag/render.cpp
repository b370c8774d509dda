#include "spec/diag/render.h"

#include <algorithm>
#include <map>

#include "spec/diag/origin.h"
#include "spec/diag/snippet.h"
#include "spec/diag/visible.h"

namespace shardproof {
namespace {

std::string indented(std::string_view text, size_t indent) {
  std::string result;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    if (!result.empty()) result += "\n" + std::string(indent, ' ');
    result += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

/// The edits that lie in `file`, in the order of the text, without those that overlap an earlier
/// one.
std::vector<Edit> edits_in(const Sources& sources, int32_t file, const Fix& fix) {
  std::vector<Edit> edits;
  for (Edit edit : fix.edits) {
    if (edit.range.file != file) continue;
    edit.range = clamp(sources, edit.range);
    edits.push_back(std::move(edit));
  }
  std::stable_sort(edits.begin(), edits.end(),
                   [](const Edit& a, const Edit& b) { return a.range.begin < b.range.begin; });
  std::vector<Edit> kept;
  for (Edit& edit : edits)
    if (kept.empty() || kept.back().range.end <= edit.range.begin) kept.push_back(std::move(edit));
  return kept;
}

/// Bytes [begin, end) of the file with the edits applied that lie in them.
std::string edited(const Sources& sources, int32_t file, const std::vector<Edit>& edits,
                   uint32_t begin, uint32_t end) {
  const std::string& text = sources.file(file).text;
  std::string result;
  uint32_t at = begin;
  for (const Edit& edit : edits) {
    if (edit.range.begin < begin || edit.range.end > end) continue;
    result += text.substr(at, edit.range.begin - at) + edit.text;
    at = edit.range.end;
  }
  return result + text.substr(at, end - at);
}

class Renderer {
 public:
  Renderer(const Diagnostic& diagnostic, const Sources& sources, const RenderOptions& options)
      : diagnostic_(diagnostic), sources_(sources), options_(options), palette_(options.colour) {}

  std::string text() {
    collect();
    std::string result = headline(diagnostic_, options_.colour) + "\n";
    for (int32_t file : users_order_) result += users_place(file);
    for (int32_t file : order_) result += place(file);
    for (const std::string& detail : details()) result += item(detail);
    if (diagnostic_.counterexample) result += counterexample(*diagnostic_.counterexample);
    for (const Fix& fix : diagnostic_.fixes) result += this->fix(fix);
    return result;
  }

 private:
  void add(SourceRange range, const std::string& text, bool primary) {
    range = clamp(sources_, range);
    if (range.file < 0) {
      if (!primary) placeless_.push_back(text);
      return;
    }
    auto& all = annotations_[range.file];
    if (all.empty()) order_.push_back(range.file);
    all.push_back({range, text, primary});
    const int last = sources_.locate(range.file, range.end).line;
    gutter_ = std::max(gutter_, std::to_string(last).size());
    add_origin(range, text, primary);
  }

  /// The same in the user's own file, where the line says that it was generated from it.
  void add_origin(SourceRange range, const std::string& text, bool primary) {
    const int line = sources_.locate(range.file, range.begin).line;
    const auto origin = origin_of(sources_.line(range.file, line));
    if (!origin) return;
    auto found = users_file_.find(origin->path);
    if (found == users_file_.end()) {
      const int32_t id = users_.add(origin->path, text_of(*origin, sources_.file(range.file).path));
      found = users_file_.emplace(origin->path, id).first;
    }
    const int32_t file = found->second;
    auto& all = users_annotations_[file];
    if (all.empty()) users_order_.push_back(file);
    all.push_back({{file, offset(file, origin->line, origin->column),
                    offset(file, origin->end_line, origin->end_column)},
                   text,
                   primary});
    users_first_.emplace(file, *origin);
    gutter_ = std::max(gutter_, std::to_string(origin->end_line).size());
  }

  /// The offset of a line and column in a user's file; the end of the file if it has no such line.
  uint32_t offset(int32_t file, int line, int column) const {
    const SourceFile& source = users_.file(file);
    if (static_cast<size_t>(line) > source.line_starts().size())
      return static_cast<uint32_t>(source.text.size());
    const auto length = static_cast<uint32_t>(users_.line(file, line).size());
    return source.line_starts()[static_cast<size_t>(line - 1)] +
           std::min(static_cast<uint32_t>(column - 1), length);
  }

  std::string users_place(int32_t file) const {
    const auto& all = users_annotations_.at(file);
    const Origin& at = users_first_.at(file);
    std::string result = std::string(gutter_, ' ') +
                         palette_.frame(all.front().primary ? "--> " : "::: ") + at.path + ":" +
                         std::to_string(at.line) + ":" + std::to_string(at.column) + "\n";
    if (users_.file(file).text.empty()) return result;
    return result + snippet(users_, file, all, gutter_, options_, palette_);
  }

  void collect() {
    add(diagnostic_.range, diagnostic_.label, true);
    for (const Label& note : diagnostic_.notes) add(note.range, note.text, false);
    for (const Fix& fix : diagnostic_.fixes)
      for (const Edit& edit : fix.edits)
        if (const SourceRange range = clamp(sources_, edit.range); range.file >= 0)
          gutter_ =
              std::max(gutter_, std::to_string(sources_.locate(range.file, range.end).line).size());
  }

  std::string place(int32_t file) const {
    const auto& all = annotations_.at(file);
    const LineColumn at = sources_.locate(file, all.front().range.begin);
    const bool primary = all.front().primary;
    return std::string(gutter_, ' ') + palette_.frame(primary ? "--> " : "::: ") +
           visible(sources_.file(file).path) + ":" + std::to_string(at.line) + ":" +
           std::to_string(at.column) + "\n" +
           snippet(sources_, file, all, gutter_, options_, palette_);
  }

  /// The text without a source location, and the types where no sentence has named them yet.
  std::vector<std::string> details() const {
    std::vector<std::string> result;
    const bool no_place =
        annotations_.find(clamp(sources_, diagnostic_.range).file) == annotations_.end();
    if (no_place && !diagnostic_.label.empty()) result.push_back(diagnostic_.label);
    result.insert(result.end(), placeless_.begin(), placeless_.end());
    result.insert(result.end(), diagnostic_.details.begin(), diagnostic_.details.end());
    std::string said = diagnostic_.message + "\n" + diagnostic_.label;
    for (const Label& note : diagnostic_.notes) said += "\n" + note.text;
    for (const std::string& detail : result) said += "\n" + detail;
    std::string types;
    for (const std::string& type : diagnostic_.types)
      if (said.find(type) == std::string::npos) types += (types.empty() ? "" : ", ") + type;
    if (!types.empty()) result.push_back("types: " + types);
    return result;
  }

  std::string item(const std::string& text) const {
    return std::string(gutter_ + 1, ' ') + palette_.frame("= ") + indented(text, gutter_ + 3) +
           "\n";
  }

  std::string counterexample(const Counterexample& found) const {
    std::string where = found.mesh;
    if (!found.sizes.empty()) where += (where.empty() ? "" : ", ") + found.sizes;
    std::string result = item(palette_.bold("smallest counterexample: ") + where);
    for (const std::string& line : found.lines)
      result += std::string(gutter_ + 5, ' ') + indented(line, gutter_ + 5) + "\n";
    return result;
  }

  std::string fix(const Fix& fix) const {
    const bool advice = fix.edits.empty();
    std::string text = (advice ? palette_.note("help: ") : palette_.good("fix: ")) + fix.message;
    if (!fix.cost.empty()) text += "; " + fix.cost;
    if (fix.checked) text += " (checked)";
    std::string result = item(text);
    std::vector<int32_t> files;
    for (const Edit& edit : fix.edits) {
      const int32_t file = clamp(sources_, edit.range).file;
      if (file >= 0 && std::find(files.begin(), files.end(), file) == files.end())
        files.push_back(file);
    }
    for (int32_t file : files) result += replaced(file, fix);
    return result;
  }

  /// The lines that the fix changes, as they will read.
  std::string replaced(int32_t file, const Fix& fix) const {
    const std::vector<Edit> edits = edits_in(sources_, file, fix);
    std::string result;
    for (size_t i = 0; i < edits.size();) {
      int first = sources_.locate(file, edits[i].range.begin).line, last = first;
      for (; i < edits.size() && sources_.locate(file, edits[i].range.begin).line <= last; ++i)
        last = sources_.locate(file, edits[i].range.end).line;
      const auto& starts = sources_.file(file).line_starts();
      const uint32_t begin = starts[static_cast<size_t>(first - 1)];
      const std::string_view end_line = sources_.line(file, last);
      const auto end =
          static_cast<uint32_t>(starts[static_cast<size_t>(last - 1)] + end_line.size());
      result += numbered(first, edited(sources_, file, edits, begin, end));
    }
    return result;
  }

  std::string numbered(int number, std::string_view text) const {
    std::string result;
    const auto room = static_cast<size_t>(std::max(options_.width, 20)) * 2;
    do {
      const size_t end = std::min(text.find('\n'), text.size());
      const size_t enough = 4 * (room + 1);  // a character has at most 4 bytes
      const ShownLine line = show_line(text.substr(0, std::min(end, enough)), options_.tab);
      const std::string digits = std::to_string(number++);
      const size_t pad = digits.size() < gutter_ ? gutter_ - digits.size() : 0;
      result += std::string(pad, ' ') + palette_.frame(digits + " + ") +
                palette_.good(line.slice(0, room)) + (line.width() > room ? "..." : "") + "\n";
      text.remove_prefix(std::min(end + 1, text.size()));
    } while (!text.empty());
    return result;
  }

  const Diagnostic& diagnostic_;
  const Sources& sources_;
  const RenderOptions& options_;
  Palette palette_;
  std::map<int32_t, std::vector<Annotation>> annotations_;
  std::vector<int32_t> order_;  ///< files, the primary place's first
  std::vector<std::string> placeless_;
  size_t gutter_ = 1;
  Sources users_;  ///< the files that generated lines come from
  std::map<std::string, int32_t> users_file_;
  std::map<int32_t, std::vector<Annotation>> users_annotations_;
  std::map<int32_t, Origin> users_first_;
  std::vector<int32_t> users_order_;
};

}  // namespace

std::string headline(const Diagnostic& diagnostic, bool colour) {
  const Palette palette(colour);
  // What was not decided is no error of the user's.
  const bool undecided = diagnostic.severity == Severity::error && diagnostic.code.starts_with("U");
  std::string head = undecided ? "unknown" : to_string(diagnostic.severity);
  if (!diagnostic.code.empty()) head += "[" + diagnostic.code + "]";
  if (undecided || diagnostic.severity == Severity::warning)
    head = palette.warning(head);
  else
    head = diagnostic.severity == Severity::error ? palette.error(head) : palette.note(head);
  return head + palette.bold(": " + indented(visible(diagnostic.message), 2));
}

std::string render(const Diagnostic& diagnostic, const Sources& sources,
                   const RenderOptions& options) {
  return Renderer(diagnostic, sources, options).text();
}

}  // namespace shardproof
