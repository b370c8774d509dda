#include "properties/programs/edits.h"

#include <utility>

namespace shardproof::programs {
namespace {

const std::vector<std::pair<std::string, std::string>> exchanges{{" + ", " - "},
                                                                 {" - ", " + "},
                                                                 {" * ", " + "},
                                                                 {"at=0", "at=1"},
                                                                 {"at=1", "at=0"},
                                                                 {"by=1", "by=-1"},
                                                                 {"by=-1", "by=1"},
                                                                 {"2.0", "0.5"},
                                                                 {"0.5", "2.0"},
                                                                 {"relu(", "abs("},
                                                                 {"tanh(", "exp("},
                                                                 {"psum_scatter(", "slice("},
                                                                 {"slice(", "psum_scatter("},
                                                                 {"all_reduce(", "fan_out("},
                                                                 {"zero_nonroot(", "fan_out("},
                                                                 {"fan_out(", "zero_nonroot("},
                                                                 {"max(", "sum("},
                                                                 {"/d", ""},
                                                                 {"/t", ""},
                                                                 {"/d", "/t"},
                                                                 {"/t", "/d"},
                                                                 {"U_d", "U_t"},
                                                                 {"U_d", "I_d"},
                                                                 {"I_t", "U_t"},
                                                                 {" {U_d}", ""},
                                                                 {" {U_t}", ""},
                                                                 {" {I_d}", ""}};

const char* const moves[] = {"all_gather", "all_reduce",   "psum_scatter", "slice",   "all_to_all",
                             "fan_out",    "zero_nonroot", "zero_pad",     "ppermute"};

/// `= all_reduce("..", x)` becomes `= x`.
void drops(const std::string& text, size_t begin, const std::string& move,
           std::vector<Edit>& edits) {
  const std::string head = "= " + move + "(\"";
  for (size_t at = text.find(head, begin); at != std::string::npos; at = text.find(head, at + 1)) {
    const size_t end = text.find('\n', at), name = text.find("\", ", at) + 3;
    const size_t stop = text.find_first_of(",)", name);
    edits.push_back({at, end - at, "= " + text.substr(name, stop - name)});
  }
}

}  // namespace

std::vector<Edit> edits_of(const std::string& text, size_t begin) {
  std::vector<Edit> edits;
  for (const char* move : moves) drops(text, begin, move, edits);
  for (const auto& [from, to] : exchanges)
    for (size_t at = text.find(from, begin); at != std::string::npos; at = text.find(from, at + 1))
      edits.push_back({at, from.size(), to});
  return edits;
}

std::string edited(const std::string& text, const Edit& edit) {
  return text.substr(0, edit.at) + edit.by + text.substr(edit.at + edit.length);
}

}  // namespace shardproof::programs
