#pragma once
// Source lines with a gutter, marks under ranges and labels beside the marks.
#include <string>
#include <string_view>
#include <vector>

#include "spec/diag/render.h"

namespace shardproof {

/// Escape sequences, or nothing where colour is off.
struct Palette {
  explicit Palette(bool on) : on(on) {}
  bool on;
  std::string paint(const char* escape, std::string_view text) const;
  std::string error(std::string_view text) const { return paint("\033[1;31m", text); }
  std::string warning(std::string_view text) const { return paint("\033[1;33m", text); }
  std::string note(std::string_view text) const { return paint("\033[1;36m", text); }
  std::string good(std::string_view text) const { return paint("\033[1;32m", text); }
  std::string frame(std::string_view text) const { return paint("\033[1;34m", text); }
  std::string bold(std::string_view text) const { return paint("\033[1m", text); }
};

/// A line as it is shown: tabs expanded, what a terminal would not show escaped.
struct ShownLine {
  std::string text;
  std::vector<size_t> column;  ///< of each byte of the source line, and of its end; from 0
  std::vector<size_t> offset;  ///< in `text` of each column, and of its end
  size_t width() const { return offset.size() - 1; }
  std::string slice(size_t begin, size_t end) const;  ///< columns [begin, end), clipped
};
ShownLine show_line(std::string_view line, int tab);

/// A range with its text; the primary one has carets.
struct Annotation {
  SourceRange range;
  std::string text;
  bool primary = false;
};

/// The lines of one file that have annotations, in their order; every line starts with a gutter of
/// `gutter` columns.
std::string snippet(const Sources& sources, int32_t file, const std::vector<Annotation>& all,
                    size_t gutter, const RenderOptions& options, const Palette& palette);

/// The range moved into its file.
SourceRange clamp(const Sources& sources, SourceRange range);

}  // namespace shardproof
