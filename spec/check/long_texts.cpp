#include "spec/check/long_texts.h"

#include <string>

namespace shardproof {
namespace {

constexpr size_t longest = 2000, beginning = 1000, ending = 500;

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
    for (Label& note : diagnostic.notes) shorten(note.text);
    for (std::string& detail : diagnostic.details) shorten(detail);
    for (std::string& type : diagnostic.types) shorten(type);
    for (Fix& fix : diagnostic.fixes) shorten(fix.message);
  }
}

}  // namespace shardproof
