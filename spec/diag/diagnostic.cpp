#include "spec/diag/diagnostic.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <stdexcept>
#include <tuple>

namespace shardproof {

const std::vector<uint32_t>& SourceFile::line_starts() const {
  std::call_once(once_, [&] {
    line_starts_ = {0};
    for (size_t end = 0; (end = text.find('\n', end)) != text.npos;)
      line_starts_.push_back(static_cast<uint32_t>(++end));
  });
  return line_starts_;
}

int32_t Sources::add(std::shared_ptr<const SourceFile> file) {
  files_.push_back(std::move(file));
  return static_cast<int32_t>(files_.size() - 1);
}

int32_t Sources::add(std::string path, std::string text) {
  return add(std::make_shared<const SourceFile>(std::move(path), std::move(text)));
}

LineColumn Sources::locate(int32_t id, uint32_t offset) const {
  const auto& starts = file(id).line_starts();
  auto next = std::upper_bound(starts.begin(), starts.end(), offset);
  return {static_cast<int>(next - starts.begin()), static_cast<int>(offset - *(next - 1) + 1)};
}

std::string_view Sources::line(int32_t id, int line) const {
  const SourceFile& source = file(id);
  const auto index = static_cast<size_t>(line - 1);
  const uint32_t begin = source.line_starts().at(index);
  size_t end = source.text.find('\n', begin);
  if (end == std::string::npos) end = source.text.size();
  if (end > begin && source.text[end - 1] == '\r') --end;
  return std::string_view(source.text).substr(begin, end - begin);
}

std::string_view Sources::text(const SourceRange& range) const {
  return std::string_view(file(range.file).text).substr(range.begin, range.end - range.begin);
}

const char* to_string(Severity severity) {
  switch (severity) {
    case Severity::error:
      return "error";
    case Severity::warning:
      return "warning";
    case Severity::note:
      return "note";
  }
  return "?";
}

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::proved:
      return "proved";
    case Verdict::refuted:
      return "refuted";
    case Verdict::unknown:
      return "unknown";
    case Verdict::invalid:
      return "invalid";
  }
  return "?";
}

const std::vector<DiagnosticInfo>& all_diagnostics() {
  static const std::vector<DiagnosticInfo> rows = {
#define DIAGNOSTIC(code, verdict, title, help) {#code, Verdict::verdict, title, help},
#include "spec/diag/diagnostics.def"
#undef DIAGNOSTIC
  };
  return rows;
}

const DiagnosticInfo& info(const std::string& code) {
  for (const DiagnosticInfo& row : all_diagnostics())
    if (code == row.code) return row;
  throw std::out_of_range("no diagnostic " + code);
}

void append(std::vector<Fix>& fixes, std::vector<Fix> more) {
  std::move(more.begin(), more.end(), std::back_inserter(fixes));
}

void drop_repeated(std::vector<Diagnostic>& diagnostics) {
  std::set<std::tuple<int32_t, uint32_t, uint32_t, std::string, std::string>> told;
  std::erase_if(diagnostics, [&](const Diagnostic& each) {
    const SourceRange& at = each.range;
    return at.file >= 0 &&
           !told.insert({at.file, at.begin, at.end, each.message, each.label}).second;
  });
}

void add_help(Diagnostic& diagnostic) {
  if (diagnostic.severity != Severity::error || !diagnostic.fixes.empty()) return;
  if (const char* help = info(diagnostic.code).help; *help)
    diagnostic.fixes.push_back({help, {}, false, ""});
}

}  // namespace shardproof
