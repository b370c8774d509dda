// A tally as an aligned table and as JSON.
#include <algorithm>

#include "properties/faults/tally.h"

namespace shardproof::faults {
namespace {

using Cells = std::vector<std::string>;

Cells heading(const std::string& first) {
  return {first,     "plans", "made",    "at edit", "downstream", "signature",
          "algebra", "equal", "on mesh", "small",   "unknown",    "survived"};
}

Cells cells(const std::string& name, const Row& row) {
  Cells all{name, std::to_string(row.plans), std::to_string(row.made)};
  const auto add = [&](size_t n) { all.push_back(std::to_string(n)); };
  for (Outcome outcome : {Outcome::at_edit, Outcome::downstream, Outcome::at_signature,
                          Outcome::by_algebra, Outcome::equal})
    add(row.count(outcome));
  add(row.meshes);
  add(row.count(Outcome::small_sizes));
  add(row.count(Outcome::unknown));
  add(row.survived);
  return all;
}

std::string aligned(const std::vector<Cells>& rows) {
  std::vector<size_t> widths(rows.at(0).size());
  for (const Cells& row : rows)
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  std::string text;
  for (const Cells& row : rows) {
    text += row[0] + std::string(widths[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i)
      text += std::string(2 + widths[i] - row[i].size(), ' ') + row[i];
    text += "\n";
  }
  return text;
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c == '\n' ? ' ' : c;
  }
  return result + "\"";
}

std::string object(const Cells& names, const Cells& values) {
  std::string text = "{" + quoted(names[0]) + ": " + quoted(values[0]);
  for (size_t i = 1; i < names.size(); ++i) text += ", " + quoted(names[i]) + ": " + values[i];
  return text + "}";
}

std::vector<Cells> rows_of(const Tally& tally, const std::string& first) {
  std::vector<Cells> rows{heading(first)};
  for (const Row& row : tally.rows) rows.push_back(cells(row.name, row));
  rows.push_back(cells("all", tally.total()));
  return rows;
}

std::vector<Cells> families_of(const Tally& tally, const std::string& first) {
  std::vector<Cells> rows{heading(first)};
  for (size_t i = 0; i < families; ++i)
    rows.push_back(cells(to_string(static_cast<Family>(i)), tally.by_family[i]));
  for (Cells& row : rows) row.erase(row.begin() + 1);  // plans
  return rows;
}

std::string array(const std::vector<Cells>& rows) {
  std::string text = "[";
  for (size_t i = 1; i < rows.size(); ++i)
    text += std::string(i > 1 ? ",\n    " : "\n    ") + object(rows[0], rows[i]);
  return text + "]";
}

}  // namespace

std::string table(const Tally& tally) {
  std::string text = aligned(rows_of(tally, "model")) + "\n" + aligned(families_of(tally, "edit"));
  for (const Listed& each : tally.listed)
    text +=
        std::string(each.survived ? "SURVIVED" : to_string(each.outcome)) + ": " + each.text + "\n";
  return text;
}

std::string json(const Tally& tally) {
  std::string text = "{\n  \"models\": " + array(rows_of(tally, "model")) +
                     ",\n  \"edits\": " + array(families_of(tally, "edit")) + ",\n  \"listed\": [";
  for (size_t i = 0; i < tally.listed.size(); ++i) {
    const Listed& each = tally.listed[i];
    text += std::string(i ? ",\n    " : "\n    ") +
            "{\"class\": " + quoted(each.survived ? "survived" : to_string(each.outcome)) +
            ", \"edit\": " + quoted(each.text) + "}";
  }
  return text + "]\n}\n";
}

}  // namespace shardproof::faults
