#include "spec/diag/snippet.h"

#include <algorithm>
#include <map>

#include "spec/diag/visible.h"

namespace shardproof {
namespace {

constexpr char clipped[] = "...";
constexpr size_t clipped_width = 3;

/// A mark under one line, in columns.
struct Mark {
  size_t begin, end;
  std::string text;
  bool primary;
};
using Marks = std::vector<Mark>;

/// Lines as they are shown. Of one of a megabyte, the part around its mark is enough.
class Lines {
 public:
  Lines(const Sources& sources, int32_t file, const std::vector<Annotation>& all, int tab)
      : sources_(sources), file_(file), tab_(tab) {
    for (const bool primary : {true, false})
      for (const Annotation& each : all)
        if (each.primary == primary)
          for (const uint32_t end :
               {each.range.begin, std::max(each.range.begin, each.range.end)}) {
            const LineColumn at = sources.locate(file, end);
            seen_.emplace(at.line, static_cast<size_t>(at.column - 1));
          }
  }

  const ShownLine& shown(int number) {
    const auto [at, fresh] = shown_.try_emplace(number);
    if (fresh)
      at->second = show_line(sources_.line(file_, number).substr(first(number), most), tab_);
    return at->second;
  }
  /// Where a column of the source, from 1, is shown.
  size_t column(int number, int column) {
    const ShownLine& line = shown(number);
    const auto own = static_cast<size_t>(column - 1), left = first(number);
    return line.column[std::min(own > left ? own - left : 0, line.column.size() - 1)];
  }

 private:
  static constexpr size_t most = 1 << 12;  ///< bytes
  /// The first byte of the part that is shown.
  size_t first(int number) const {
    const auto seen = seen_.find(number);
    if (seen == seen_.end() || sources_.line(file_, number).size() <= most) return 0;
    return seen->second > most / 2 ? seen->second - most / 2 : 0;
  }

  const Sources& sources_;
  int32_t file_;
  int tab_;
  std::map<int, size_t> seen_;  ///< a byte of each line that has to be seen
  std::map<int, ShownLine> shown_;
};

/// Puts each annotation under its first line and, where it has several, its last one too.
std::map<int, Marks> marks_by_line(const Sources& sources, int32_t file,
                                   const std::vector<Annotation>& all, Lines& shown) {
  std::map<int, Marks> lines;
  for (const Annotation& each : all) {
    const LineColumn first = sources.locate(file, each.range.begin);
    const LineColumn last = sources.locate(file, std::max(each.range.begin, each.range.end));
    const size_t begin = shown.column(first.line, first.column);
    if (first.line == last.line) {
      const size_t end = std::max(begin + 1, shown.column(last.line, last.column));
      lines[first.line].push_back({begin, end, each.text, each.primary});
      continue;
    }
    const size_t width = shown.shown(first.line).width();
    lines[first.line].push_back({begin, std::max(begin + 1, width), "", each.primary});
    const ShownLine& bottom = shown.shown(last.line);
    const size_t indent = std::min(bottom.text.find_first_not_of(' '), bottom.width());
    const size_t end = shown.column(last.line, last.column);
    // A range that ends with its line's end has nothing on the next line.
    if (end <= indent)
      lines[first.line].back().text = each.text;
    else
      lines[last.line].push_back({indent, end, each.text, each.primary});
  }
  return lines;
}

/// Rows of marks that do not touch; the primary mark is in the first row.
std::vector<Marks> rows_of(Marks marks) {
  std::stable_sort(marks.begin(), marks.end(),
                   [](const Mark& a, const Mark& b) { return a.primary > b.primary; });
  std::vector<Marks> rows;
  for (const Mark& mark : marks) {
    auto fits = [&](const Marks& row) {
      return std::all_of(row.begin(), row.end(), [&](const Mark& other) {
        return mark.end < other.begin || other.end < mark.begin;
      });
    };
    auto row = std::find_if(rows.begin(), rows.end(), fits);
    if (row == rows.end()) row = rows.insert(rows.end(), Marks{});
    row->push_back(mark);
  }
  for (Marks& row : rows)
    std::sort(row.begin(), row.end(),
              [](const Mark& a, const Mark& b) { return a.begin < b.begin; });
  return rows;
}

/// The columns of a long line that are shown: all marks where they fit, else the primary one's
/// begin.
std::pair<size_t, size_t> window(size_t width, const Marks& marks, size_t room) {
  if (width <= room) return {0, width};
  size_t begin = width, end = 0;
  for (const Mark& mark : marks) {
    begin = std::min(begin, mark.begin);
    end = std::max(end, mark.end);
  }
  if (marks.empty()) begin = end = 0;
  if (end - begin > room)
    for (const Mark& mark : marks)
      if (mark.primary) begin = mark.begin;
  const size_t spare = end - begin < room ? room - (end - begin) : room / 4;
  begin = begin > spare / 2 ? begin - spare / 2 : 0;
  begin = std::min(begin, width > room ? width - room : 0);
  return {begin, std::min(width, begin + room)};
}

class Printer {
 public:
  Printer(size_t gutter, const RenderOptions& options, const Palette& palette)
      : gutter_(gutter), options_(options), palette_(palette) {}

  std::string line(int number, const ShownLine& shown, const Marks& marks) {
    const size_t room = static_cast<size_t>(std::max(options_.width, 20));
    auto [begin, end] = window(shown.width(), marks, room);
    const bool left = begin > 0, right = end < shown.width();
    std::string text = (left ? clipped : "") + shown.slice(begin, end) + (right ? clipped : "");
    text.erase(text.find_last_not_of(' ') + 1);
    const std::string digits = std::to_string(number);
    std::string result = palette_.frame(std::string(gutter_ - digits.size(), ' ') + digits + " |");
    result += text.empty() ? "\n" : " " + text + "\n";
    for (const Marks& row : rows_of(marks)) result += underline(row, begin, end, left);
    return result;
  }

  std::string bar() const { return palette_.frame(std::string(gutter_ + 1, ' ') + "|"); }

 private:
  std::string underline(const Marks& row, size_t begin, size_t end, bool left) const {
    const size_t shift = left ? clipped_width : 0;
    auto column = [&](size_t c) { return std::clamp(c, begin, end + 1) - begin + shift; };
    std::string result = bar() + " ", text;
    size_t done = 0;
    for (const Mark& mark : row) {
      const size_t from = column(mark.begin), to = std::max(from + 1, column(mark.end));
      result += std::string(from - done, ' ') +
                paint(mark, std::string(to - from, mark.primary ? '^' : '-'));
      done = to;
    }
    if (!row.back().text.empty()) result += " " + paint(row.back(), row.back().text);
    result += "\n";
    // The labels of the marks further left hang below, the rightmost first.
    for (size_t i = row.size() - 1; i-- > 0;) {
      if (row[i].text.empty()) continue;
      result += bar() + " ";
      size_t at = 0;
      for (size_t k = 0; k < i; ++k) {
        if (row[k].text.empty()) continue;
        result += std::string(column(row[k].begin) - at, ' ') + paint(row[k], "|");
        at = column(row[k].begin) + 1;
      }
      result += std::string(column(row[i].begin) - at, ' ') + paint(row[i], row[i].text) + "\n";
    }
    return result;
  }

  std::string paint(const Mark& mark, std::string_view text) const {
    return mark.primary ? palette_.error(text) : palette_.frame(text);
  }

  size_t gutter_;
  const RenderOptions& options_;
  const Palette& palette_;
};

}  // namespace

std::string Palette::paint(const char* escape, std::string_view text) const {
  return on ? escape + std::string(text) + "\033[0m" : std::string(text);
}

ShownLine show_line(std::string_view line, int tab) {
  ShownLine shown;
  auto put = [&](std::string_view text) {
    shown.offset.push_back(shown.text.size());
    shown.text += text;
  };
  for (size_t i = 0; i < line.size();) {
    const Character each = character_at(line, i);
    const size_t length = each.bytes, column = shown.offset.size();
    shown.column.insert(shown.column.end(), length, column);
    const size_t stop = static_cast<size_t>(std::max(tab, 1));
    if (line[i] == '\t')
      for (size_t k = column % stop; k < stop; ++k) put(" ");
    else if (each.escape.empty())
      put(line.substr(i, length));
    else
      for (const char escaped : each.escape) put({&escaped, 1});
    i += length;
  }
  shown.column.push_back(shown.offset.size());
  shown.offset.push_back(shown.text.size());
  return shown;
}

std::string ShownLine::slice(size_t begin, size_t end) const {
  end = std::min(end, width());
  return begin < end ? text.substr(offset[begin], offset[end] - offset[begin]) : "";
}

SourceRange clamp(const Sources& sources, SourceRange range) {
  if (range.file < 0 || static_cast<size_t>(range.file) >= sources.size()) return {};
  const auto size = static_cast<uint32_t>(sources.file(range.file).text.size());
  range.begin = std::min(range.begin, size);
  range.end = std::clamp(range.end, range.begin, size);
  return range;
}

std::string snippet(const Sources& sources, int32_t file, const std::vector<Annotation>& all,
                    size_t gutter, const RenderOptions& options, const Palette& palette) {
  Printer printer(gutter, options, palette);
  std::string result = printer.bar() + "\n";
  int previous = 0;
  Lines lines(sources, file, all, options.tab);
  for (const auto& [number, marks] : marks_by_line(sources, file, all, lines)) {
    if (previous && number == previous + 2)
      result += printer.line(number - 1, lines.shown(number - 1), {});
    else if (previous && number > previous + 1)
      result += palette.frame("...") + "\n";
    result += printer.line(number, lines.shown(number), marks);
    previous = number;
  }
  return result;
}

}  // namespace shardproof
