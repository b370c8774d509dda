#include "spec/check/long_texts.h"

#include <map>
#include <string>

namespace shardproof {
namespace {

constexpr size_t longest = 2000, beginning = 1000, ending = 500;
constexpr size_t most_places = 20, most_alike = 100;

/// Whether this byte continues a UTF-8 character.
bool continues(char c) { return (static_cast<unsigned char>(c) & 0xC0) == 0x80; }

void shorten(std::string& text) {
  if (text.size() <= longest) return;
  size_t first = beginning, last = text.size() - ending;
  while (first > 0 && continues(text[first])) --first;
  while (last < text.size() && continues(text[last])) ++last;
  text = text.substr(0, first) + " ... " + text.substr(last);
}

}  // namespace

void shorten_texts(std::vector<Diagnostic>& diagnostics) {
  for (Diagnostic& diagnostic : diagnostics) {
    for (std::string* text : {&diagnostic.message, &diagnostic.label}) shorten(*text);
    if (const size_t places = diagnostic.notes.size(); places > most_places) {
      diagnostic.notes.resize(most_places);
      diagnostic.details.push_back("and " + std::to_string(places - most_places) + " more places");
    }
    for (Label& note : diagnostic.notes) shorten(note.text);
    for (std::string& detail : diagnostic.details) shorten(detail);
    for (std::string& type : diagnostic.types) shorten(type);
    for (Fix& fix : diagnostic.fixes) shorten(fix.message);
  }
}

void leave_out_alike(std::vector<Diagnostic>& of_file, std::vector<PlanReport>& plans) {
  std::vector<std::vector<Diagnostic>*> lists = {&of_file};
  for (PlanReport& plan : plans) lists.push_back(&plan.diagnostics);
  std::map<std::string, size_t> counts, seen;
  for (const auto* list : lists)
    for (const Diagnostic& each : *list) ++counts[each.code];
  for (auto* list : lists)
    std::erase_if(*list, [&](Diagnostic& each) {
      const size_t count = counts.at(each.code), number = ++seen[each.code];
      if (count <= most_alike + 1 || number <= most_alike) return false;
      if (number > most_alike + 1) return true;
      Diagnostic others{each.code, each.severity, each.range, "", "", {}, {}, {}, {}, {}};
      others.message =
          "and " + std::to_string(count - most_alike) + " more: " + info(each.code).title;
      others.label = "the next of them";
      each = std::move(others);
      return false;
    });
}

}  // namespace shardproof
