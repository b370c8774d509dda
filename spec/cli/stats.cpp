#include <algorithm>
#include <stdexcept>

#include "spec/cli/report.h"

namespace shardproof::cli {
namespace {

using cost::human_bytes;
using cost::human_flops;
using Table = std::vector<std::vector<std::string>>;

/// Columns aligned: the first to the left, numbers (all but the last column) to the right.
void print_table(const Table& table, std::ostream& out) {
  std::vector<size_t> width;
  for (const auto& row : table)
    for (size_t i = 0; i < row.size(); ++i) {
      if (width.size() <= i) width.push_back(0);
      width[i] = std::max(width[i], row[i].size());
    }
  for (const auto& row : table) {
    std::string line = "  ";
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string space(width[i] - row[i].size(), ' ');
      const bool left = i == 0 || i + 1 == width.size();
      line += (i ? "  " : "") + (left ? row[i] + space : space + row[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out << line << "\n";
  }
}

std::string fullest(const cost::Cost& cost) {
  constexpr size_t shown = 3;
  if (cost.live.empty()) return "0";
  if (cost.live.size() == 1) return cost.live[0].text();
  std::string text = "max(";
  for (size_t i = 0; i < std::min(shown, cost.live.size()); ++i)
    text += (i ? ", " : "") + cost.live[i].text();
  return text + (cost.live.size() > shown ? ", ...)" : ")");
}

Table symbolic(const cost::Cost& cost) {
  Table table{{"per device", "", ""}};
  for (const auto& row : cost.totals())
    table.push_back({row.kind, row.count.text(), row.bytes.text() + " bytes"});
  table.push_back({"einsums", "", cost.flops.text() + " FLOPs"});
  table.push_back({"state", "", cost.state.text() + " bytes"});
  table.push_back({"inputs", "", cost.inputs.text() + " bytes"});
  table.push_back({"saved", "", cost.saved.text() + " bytes"});
  table.push_back({"live", "", fullest(cost) + " bytes"});
  return table;
}

Table numeric(const cost::Cost& cost, const cost::Evaluated& at) {
  Table table{{"per device", "", "", ""}};
  const auto totals = cost.totals();
  for (size_t i = 0; i < at.rows.size(); ++i)
    table.push_back({at.rows[i].kind, std::to_string(at.rows[i].count),
                     human_bytes(at.rows[i].bytes), totals[i].bytes.text()});
  table.push_back({"einsums", "", human_flops(at.flops), cost.flops.text()});
  table.push_back({"state", "", human_bytes(at.state), cost.state.text()});
  table.push_back({"inputs", "", human_bytes(at.inputs), cost.inputs.text()});
  table.push_back({"saved", "", human_bytes(at.saved), cost.saved.text()});
  table.push_back({"live", "", human_bytes(at.peak),
                   "the most at one time, as written; `memory` is of the compiled plan"});
  return table;
}

/// "91.2 GiB on a GPU: 74.3 GiB parameters, .."; what is named nothing is left out.
std::string memory_text(const PlanMemory& memory) {
  if (!memory.bytes) return "not known: " + memory.why;
  const auto part = [](size_t bytes, const char* what) {
    return ", " + human_bytes(static_cast<int64_t>(bytes)) + " " + what;
  };
  std::string parts = part(memory.bytes->inputs, "parameters");
  if (memory.bytes->results) parts += part(memory.bytes->results, "results");
  parts += part(memory.bytes->between, "between them");
  if (memory.with_overlap != memory.bytes->sum())
    parts += "; " + human_bytes(static_cast<int64_t>(memory.with_overlap)) + " with overlap";
  return human_bytes(static_cast<int64_t>(memory.bytes->sum())) + " on a GPU:" + parts.substr(1);
}

}  // namespace

void print_stats(const FileReport& report, std::ostream& out) {
  for (const PlanReport& plan : report.checked->plans()) {
    if (plan.imported) continue;
    out << "\n" << plan.name;
    const auto cost = cost_of(*report.checked, plan);
    if (!cost) {
      out << ": no statistics, it is " << to_string(plan.verdict) << "\n";
      continue;
    }
    if (cost->backward_left_out) out << ": forward only, the backward is not counted";
    out << "\n";
    Table table = symbolic(*cost);
    if (report.sized) try {
        table = numeric(*cost, cost::evaluate(*cost, report.sizes));
      } catch (const std::domain_error& reason) {
        out << "  without numbers: " << reason.what() << "\n";
      }
    print_table(table, out);
    print_pipelines(report, plan, out);
    if (const auto memory = report.memory.find(plan.name); memory != report.memory.end())
      out << "  memory  " << memory_text(memory->second)
          << (cost->backward_left_out && memory->second.bytes ? "; with the backward\n" : "\n");
  }
}

}  // namespace shardproof::cli
