#include "spec/check/shown_names.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace shardproof {
namespace {

/// The end of the name at `from`, with the number of a local dim: `W`, `W.2`.
size_t end_of_name(const std::string& text, size_t from) {
  size_t end = from;
  while (end < text.size() && in_word(text[end])) ++end;
  size_t number = end + 1;
  while (number < text.size() && std::isdigit(static_cast<unsigned char>(text[number]))) ++number;
  const bool numbered = end < text.size() && text[end] == '.' && number > end + 1;
  return numbered && (number == text.size() || !in_word(text[number])) ? number : end;
}

template <class Visit>
void for_each_name(const std::string& text, Visit&& visit) {
  for (size_t at = 0; at < text.size();) {
    if (!in_word(text[at])) {
      ++at;
      continue;
    }
    const size_t end = end_of_name(text, at);
    visit(at, end);
    at = end;
  }
}

std::string renamed(const std::string& text, const std::map<Name, Name>& shown) {
  std::string result;
  size_t copied = 0;
  for_each_name(text, [&](size_t from, size_t end) {
    const auto found = shown.find(text.substr(from, end - from));
    if (found == shown.end()) return;
    result += text.substr(copied, from - copied) + found->second;
    copied = end;
  });
  return result + text.substr(copied);
}

}  // namespace

bool in_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

std::vector<std::string*> texts_of(Diagnostic& diagnostic) {
  std::vector<std::string*> texts{&diagnostic.message, &diagnostic.label};
  for (Label& note : diagnostic.notes) texts.push_back(&note.text);
  for (std::string& detail : diagnostic.details) texts.push_back(&detail);
  for (std::string& type : diagnostic.types) texts.push_back(&type);
  for (Fix& fix : diagnostic.fixes) {
    texts.push_back(&fix.message);
    for (Edit& edit : fix.edits) texts.push_back(&edit.text);
  }
  return texts;
}

void show_names(const ir::Program& program, std::vector<Diagnostic>& diagnostics) {
  std::map<Name, Name> internal;
  for (const auto& [name, info] : program.dims)
    if (!info.shown.empty() && info.shown != name && name.find('.') != name.npos)
      internal[name] = info.shown;
  if (internal.empty()) return;
  for (Diagnostic& diagnostic : diagnostics) {
    const std::vector<std::string*> texts = texts_of(diagnostic);
    std::map<Name, std::set<Name>> of_shown;
    for (const std::string* text : texts)
      for_each_name(*text, [&](size_t from, size_t end) {
        const Name name = text->substr(from, end - from);
        const auto found = internal.find(name);
        if (found != internal.end()) of_shown[found->second].insert(name);
        if (program.dims.count(name)) of_shown[name].insert(name);
      });
    std::map<Name, Name> alone;
    for (const auto& [shown, names] : of_shown)
      if (names.size() == 1 && *names.begin() != shown) alone[*names.begin()] = shown;
    if (alone.empty()) continue;
    for (std::string* text : texts) *text = renamed(*text, alone);
  }
}

}  // namespace shardproof
