#include <algorithm>

#include "spec/cli/json.h"
#include "spec/shell/version.h"

namespace shardproof::cli {
namespace {

Json rules() {
  Json result = Json::array();
  for (const DiagnosticInfo& row : shardproof::all_diagnostics())
    result.push_back({{"id", row.code},
                      {"shortDescription", {{"text", row.title}}},
                      {"help", {{"text", "check-sharding --explain " + std::string(row.code)}}},
                      {"defaultConfiguration",
                       {{"level", row.verdict == Verdict::unknown ? "warning" : "error"}}}});
  return result;
}

size_t rule_index(const std::string& code) {
  const auto& rows = shardproof::all_diagnostics();
  return static_cast<size_t>(
      std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return code == row.code; }) -
      rows.begin());
}

/// SARIF forbids an empty artifact location, and `-` is no file.
std::string uri(const std::string& path) {
  static const char hex[] = "0123456789ABCDEF";
  std::string result;
  for (char c : path == "-" ? std::string("stdin") : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || std::string_view("/._-~").find(c) != std::string_view::npos)
      result += c;
    else
      result += {'%', hex[byte >> 4], hex[byte & 15]};
  }
  return result;
}

/// SARIF counts columns in UTF-16 units: two for a code point beyond the first 65536.
LineColumn locate(const Sources& sources, int32_t file, uint32_t offset) {
  LineColumn at = sources.locate(file, offset);
  const std::string_view line = sources.line(file, at.line);
  int units = 1;
  for (char c : line.substr(0, static_cast<size_t>(at.column - 1))) {
    const auto byte = static_cast<unsigned char>(c);
    units += (byte & 0xc0) != 0x80;
    units += (byte & 0xf8) == 0xf0;
  }
  at.column = units;
  return at;
}

Json region(const Sources& sources, const SourceRange& range) {
  const LineColumn begin = locate(sources, range.file, range.begin);
  const LineColumn end = locate(sources, range.file, range.end);
  return {{"startLine", begin.line},   {"startColumn", begin.column},
          {"endLine", end.line},       {"endColumn", end.column},
          {"byteOffset", range.begin}, {"byteLength", range.end - range.begin}};
}

bool has_place(const Sources& sources, const SourceRange& range) {
  return range.file >= 0 && static_cast<size_t>(range.file) < sources.size();
}

Json artifact(const Sources& sources, int32_t file) {
  return {{"uri", uri(sources.file(file).path)}};
}

Json location(const Sources& sources, const SourceRange& range) {
  return {
      {"physicalLocation",
       {{"artifactLocation", artifact(sources, range.file)}, {"region", region(sources, range)}}}};
}

Json fixes_of(const Sources& sources, const Diagnostic& d) {
  Json fixes = Json::array();
  for (const Fix& fix : d.fixes) {
    Json changes = Json::array();
    for (const Edit& edit : fix.edits) {
      if (!has_place(sources, edit.range)) continue;
      const Json replacement = {{"deletedRegion", region(sources, edit.range)},
                                {"insertedContent", {{"text", utf8(edit.text)}}}};
      changes.push_back({{"artifactLocation", artifact(sources, edit.range.file)},
                         {"replacements", Json::array({replacement})}});
    }
    if (!changes.empty())
      fixes.push_back(
          {{"description", {{"text", utf8(fix.message)}}}, {"artifactChanges", changes}});
  }
  return fixes;
}

std::string message_of(const Diagnostic& d) {
  std::string text = d.message;
  if (!d.label.empty()) text += ": " + d.label;
  for (const std::string& detail : d.details) text += "\n" + detail;
  if (d.counterexample) {
    text += "\nsmallest counterexample: " + d.counterexample->mesh + ", " + d.counterexample->sizes;
    for (const std::string& line : d.counterexample->lines) text += "\n  " + line;
  }
  return utf8(text);
}

Json result_of(const FileReport& report, const Diagnostic& d) {
  const Sources& sources = *report.sources;
  Json result = {{"ruleId", d.code},
                 {"level", d.code.starts_with("U") ? "warning" : to_string(d.severity)},
                 {"message", {{"text", message_of(d)}}}};
  if (const size_t index = rule_index(d.code); index < shardproof::all_diagnostics().size())
    result["ruleIndex"] = index;
  if (has_place(sources, d.range))
    result["locations"] = Json::array({location(sources, d.range)});
  else  // code scanning takes no result without a line
    result["locations"] = Json::array(
        {{{"physicalLocation",
           {{"artifactLocation", {{"uri", uri(report.path)}}}, {"region", {{"startLine", 1}}}}}}});
  Json related = Json::array();
  for (const Label& note : d.notes) {
    if (!has_place(sources, note.range)) continue;
    Json place = location(sources, note.range);
    place["message"] = {{"text", utf8(note.text)}};
    related.push_back(std::move(place));
  }
  if (!related.empty()) result["relatedLocations"] = related;
  if (Json fixes = fixes_of(sources, d); !fixes.empty()) result["fixes"] = fixes;
  return result;
}

}  // namespace

void print_sarif(const std::vector<FileReport>& reports, std::ostream& out) {
  Json results = Json::array();
  for (const FileReport& report : reports)
    for (const Diagnostic* each : all_diagnostics(report))
      results.push_back(result_of(report, *each));
  const Json driver = {{"name", "check-sharding"}, {"version", shell::version}, {"rules", rules()}};
  const Json run = {
      {"tool", {{"driver", driver}}}, {"columnKind", "utf16CodeUnits"}, {"results", results}};
  const Json sarif = {{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                      {"version", "2.1.0"},
                      {"runs", Json::array({run})}};
  out << sarif.dump(2, ' ', true) << "\n";
}

}  // namespace shardproof::cli
