#include "spec/to_jax/names.h"

#include <cctype>

namespace shardproof::to_jax {

std::string joined(const std::vector<std::string>& items, const std::string& between) {
  std::string text;
  for (const std::string& each : items) text += (text.empty() ? "" : between) + each;
  return text;
}

std::string tuple(const std::vector<std::string>& items) {
  return "(" + joined(items) + (items.size() == 1 ? ",)" : ")");
}

std::string quoted(const std::vector<Axis>& axes) {
  std::vector<std::string> words;
  for (const Axis& axis : axes) words.push_back('"' + axis + '"');
  return words.size() == 1 ? words[0] : tuple(words);
}

std::string identifier(const Name& name) {
  std::string text;
  for (const char c : name) text += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return text.empty() || std::isdigit(static_cast<unsigned char>(text[0])) ? "v" + text : text;
}

std::string Sizes::size(const Dim& dim) {
  const std::string text = ir::to_string(program_.size(dim));
  std::string python;
  bool name = false, operation = false;
  Name word;
  for (const char c : text) {
    if (c == '|') {
      if (name && !program_.axes.count(word)) dims_.insert(word);
      python += name ? identifier(word) : "";
      word.clear();
      name = !name;
    } else if (name) {
      word += c;
    } else {
      operation = operation || !std::isdigit(static_cast<unsigned char>(c));
      python += c;
    }
  }
  for (size_t at = 0; (at = python.find(" / ", at)) != std::string::npos; ++at)
    python.replace(at, 3, " // ");  // a size is a whole number
  return operation ? "(" + python + ")" : python;
}

std::string Sizes::count(const std::vector<Axis>& axes) const {
  return axes.size() == 1 ? axes[0] : "(" + joined(axes, " * ") + ")";
}

std::string Sizes::local_size(const Split& split) {
  const std::string whole = size(split.dim);
  return split.axes.empty() ? whole : whole + " // " + count(split.axes);
}

Names::Names(const ir::Program& program) {
  taken_ = {"and",    "as",    "assert", "async", "await",  "break",         "class", "continue",
            "def",    "del",   "elif",   "else",  "except", "finally",       "for",   "from",
            "global", "if",    "import", "in",    "is",     "lambda",        "not",   "or",
            "pass",   "raise", "return", "try",   "while",  "with",          "yield", "None",
            "True",   "False", "jax",    "jnp",   "lax",    "PartitionSpec", "mesh",  "body",
            "bf16",   "f16",   "f32",    "f64",   "i32",    "nonlocal",      "u32",   "range"};
  for (const auto& [name, unused] : program.axes) taken_.insert(identifier(name));
  for (const auto& [name, unused] : program.dims) taken_.insert(identifier(name));
}

std::string Names::fresh(const Name& name) {
  const std::string base = identifier(name);
  std::string text = base;
  for (int& next = next_.try_emplace(base, 2).first->second; !taken_.insert(text).second; ++next)
    text = base + "_" + std::to_string(next);
  return text;
}

}  // namespace shardproof::to_jax
