#include "spec/html/html.h"

#include <stdexcept>

#include "spec/html/parts.h"

namespace shardproof::html {
namespace {

const std::string data_begin = "<script type=\"application/json\" id=\"data\">";
const std::string data_end = "</script>";

/// JSON that can stand inside of a script element.
std::string inside_script(const std::string& json) {
  std::string text;
  for (const char c : json) {
    if (c == '<')
      text += "\\u003c";
    else if (c == '>')
      text += "\\u003e";
    else if (c == '&')
      text += "\\u0026";
    else
      text += c;
  }
  return text;
}

void replace(std::string& text, const std::string& mark, const std::string& by) {
  const size_t at = text.find(mark);
  if (at == std::string::npos) throw std::logic_error("the page has no mark " + mark);
  text.replace(at, mark.size(), by);
}

}  // namespace

const std::string& part(const Parts& parts, const std::string& name) {
  for (const auto& [file, text] : parts)
    if (file == name) return text;
  throw std::logic_error("the page has no part " + name);
}

std::string document(std::string frame, const std::string& script, const std::string& json) {
  const Parts& sheet = embedded_sheet();
  replace(frame, "/* SCRIPT */",
          "\"use strict\";\n(() => {\n" + part(sheet, "elements.js") + script + "})();");
  replace(frame, "/* STYLE */", part(sheet, "sheet.css"));
  replace(frame, data_begin + "/* DATA */", data_begin + inside_script(json));
  return frame;
}

std::string data_of(const std::string& document) {
  const size_t at = document.find(data_begin);
  if (at == std::string::npos) return "";
  const size_t from = at + data_begin.size(), end = document.find(data_end, from);
  return end == std::string::npos ? "" : document.substr(from, end - from);
}

}  // namespace shardproof::html
