#include "spec/syntax/report.h"

#include <algorithm>

namespace shardproof::syntax {

bool Report::add(Diagnostic diagnostic) {
  if (count_ == limit_) {
    dropped_ = true;
    return false;
  }
  ++count_;
  if (only_code_ != nullptr) diagnostic.code = only_code_;
  out_.push_back(std::move(diagnostic));
  return true;
}

void Report::finish(int32_t file) {
  const auto first = out_.begin() + static_cast<std::ptrdiff_t>(first_);
  std::stable_sort(first, out_.end(), [](const Diagnostic& a, const Diagnostic& b) {
    return a.range.begin < b.range.begin;
  });
  if (!dropped_) return;
  const uint32_t last = out_.back().range.end;
  Diagnostic note = error("E0001", {file, last, last}, "there are more errors than are shown here");
  note.severity = Severity::note;
  out_.push_back(std::move(note));
}

Diagnostic error(const char* code, SourceRange range, std::string message, std::string label) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = std::move(message);
  diagnostic.label = std::move(label);
  return diagnostic;
}

Fix replace(SourceRange range, std::string text, std::string message) {
  Fix fix;
  fix.message = std::move(message);
  fix.edits.push_back({range, std::move(text)});
  return fix;
}

Fix advice(std::string message) {
  Fix fix;
  fix.message = std::move(message);
  return fix;
}

}  // namespace shardproof::syntax
