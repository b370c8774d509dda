#include "spec/check/off_by_a_factor.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

#include "spec/check/shown_names.h"

namespace shardproof {
namespace {

/// Sizes and whole numbers, and how often each divides or multiplies.
struct Factor {
  std::vector<std::string> above, below;
  bool negative = false;
};

/// `|A|*|d|^(-1)` or `1/2`; nullopt for other texts.
std::optional<Factor> read_factor(std::string text) {
  Factor factor;
  if (text.starts_with("-")) factor.negative = true, text.erase(0, 1);
  const auto is_number = [](const std::string& part) {
    return !part.empty() && part.find_first_not_of("0123456789") == part.npos;
  };
  while (!text.empty()) {
    const size_t end = std::min(text.find('*'), text.size());
    std::string part = text.substr(0, end);
    text.erase(0, std::min(end + 1, text.size()));
    if (const size_t slash = part.find('/'); slash != part.npos) {
      if (!is_number(part.substr(0, slash)) || !is_number(part.substr(slash + 1))) return {};
      if (part.substr(0, slash) != "1") factor.above.push_back(part.substr(0, slash));
      factor.below.push_back(part.substr(slash + 1));
      continue;
    }
    const size_t power = part.find('^');
    const std::string base = part.substr(0, power);
    const bool size =
        base.size() > 2 && base.front() == '|' && base.find('|', 1) + 1 == base.size();
    if (!size && !is_number(base)) return {};
    int times = 1;
    if (power != part.npos) {
      std::string exponent = part.substr(power + 1);
      std::erase_if(exponent, [](char c) { return c == '(' || c == ')'; });
      const bool minus = exponent.starts_with("-");
      if (!is_number(exponent.substr(minus)) || exponent.size() > 2) return {};
      times = std::stoi(exponent);
    }
    if (base == "1") continue;
    std::vector<std::string>& side = times < 0 ? factor.below : factor.above;
    side.insert(side.end(), static_cast<size_t>(std::abs(times)), base);
  }
  return factor;
}

std::string product(const std::vector<std::string>& factors) {
  std::string text;
  for (const std::string& each : factors) text += (text.empty() ? "" : " * ") + each;
  return factors.size() == 1 ? text : "(" + text + ")";
}

/// `x` divided by the factor.
std::string quotient(const std::string& x, const Factor& factor) {
  const bool sum = x.find(" + ") != x.npos || x.find(" - ") != x.npos;
  std::string text = sum ? "(" + x + ")" : x;
  for (const std::string& each : factor.below) text += " * " + each;
  if (!factor.above.empty()) text += " / " + product(factor.above);
  return factor.negative ? "-(" + text + ")" : text;
}

/// `1e-06` for `1e-5` and the factor 10: the literal that is right.
std::optional<std::string> other_literal(const std::string& text, const Factor& factor) {
  char* end = nullptr;
  double value = std::strtod(text.c_str(), &end);
  if (text.empty() || *end || !std::isdigit(static_cast<unsigned char>(text[0])))
    return std::nullopt;
  for (const auto* side : {&factor.above, &factor.below})
    for (const std::string& each : *side) {
      if (each.starts_with("|")) return std::nullopt;
      const double number = std::strtod(each.c_str(), nullptr);
      value = side == &factor.above ? value / number : value * number;
    }
  char written[32];
  std::snprintf(written, sizeof written, "%.15g", factor.negative ? -value : value);
  return written;
}

/// `b - a` of `a - b`, where both are names.
std::optional<std::string> exchanged(std::string text) {
  if (text.starts_with("(") && text.ends_with(")"))
    if (const auto inner = exchanged(text.substr(1, text.size() - 2))) return "(" + *inner + ")";
  const size_t minus = text.find(" - ");
  const auto part_of_name = [](char c) { return in_word(c) || c == '.'; };
  if (minus == text.npos) return std::nullopt;
  const std::string a = text.substr(0, minus), b = text.substr(minus + 3);
  const auto is_name = [&](const std::string& part) {
    return !part.empty() && std::all_of(part.begin(), part.end(), part_of_name);
  };
  return is_name(a) && is_name(b) ? std::optional(b + " - " + a) : std::nullopt;
}

/// The line of the error, and those that its value is written on.
SourceRange lines_of(const Sources& sources, SourceRange range) {
  const std::string& text = sources.file(range.file).text;
  range.begin = static_cast<uint32_t>(text.rfind('\n', range.begin) + 1);
  range.end = static_cast<uint32_t>(std::min(text.find('\n', range.end), text.size()));
  return range;
}

std::string trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(' '), end = text.find_last_not_of(' ') + 1;
  return std::string(text.substr(begin, end - begin));
}

/// The edits that leave one `/ |d|`, `* |d|` or `|d| *` of the lines out.
std::vector<Edit> left_out(const Sources& sources, const SourceRange& lines,
                           const std::string& size) {
  std::vector<Edit> edits;
  const std::string_view text = sources.text(lines);
  const std::string after = size + " * ";
  for (const std::string& written : {" / " + size, " * " + size, after})
    for (size_t at = 0; (at = text.find(written, at)) != text.npos; at += written.size()) {
      const auto begin = lines.begin + static_cast<uint32_t>(at);
      edits.push_back({{lines.file, begin, begin + static_cast<uint32_t>(written.size())}, ""});
    }
  return edits;
}

/// `each f(w, r)` with `each scale_by(r, ..)` for an argument that is a name.
std::vector<Edit> scaled_arguments(const Sources& sources, const SourceRange& call,
                                   const std::string& factor) {
  std::vector<Edit> edits;
  const std::string_view text = sources.text(call);
  for (size_t at = text.find('('); at < text.size();) {
    const size_t begin = text.find_first_not_of(' ', at + 1);
    size_t end = begin;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end > begin && end < text.size() && (text[end] == ',' || text[end] == ')'))
      edits.push_back(
          {{call.file, call.begin + static_cast<uint32_t>(begin),
            call.begin + static_cast<uint32_t>(end)},
           "each scale_by(" + std::string(text.substr(begin, end - begin)) + ", " + factor + ")"});
    at = end < text.size() && text[end] == ',' ? end : text.size();
  }
  return edits;
}

}  // namespace

std::vector<Fix> fixes_of_factor(const Sources& sources, const Diagnostic& error) {
  constexpr std::string_view words = " the factor ";  // `equal up to`, `is off by`
  constexpr size_t most = 4;
  const size_t at = error.label.rfind(words);
  if (at == error.label.npos || error.range.file < 0) return {};
  const auto factor = read_factor(error.label.substr(at + words.size()));
  if (!factor) return {};
  std::vector<Fix> fixes;
  const auto add = [&](const std::string& message, const Edit& edit) {
    if (fixes.size() < most) fixes.push_back({message, {edit}, false, "", true});
  };
  for (const std::vector<std::string>* side : {&factor->below, &factor->above})
    for (const std::string& size : *side)
      for (const Edit& edit : left_out(sources, lines_of(sources, error.range), size))
        add("leave out `" + trimmed(sources.text(edit.range)) + "`", edit);
  const std::string text(sources.text(error.range));
  const std::string by = quotient("1", *factor);
  if (const auto other = exchanged(text); other && by == "-(1)")
    add("exchange the operands of `-`", {error.range, *other});
  if (const auto literal = other_literal(text, *factor))
    add("the number is `" + *literal + "`", {error.range, *literal});
  if (text.starts_with("each "))
    for (const Edit& edit : scaled_arguments(sources, error.range, by))
      add("scale it by " + by, edit);
  else
    add(factor->negative ? "change its sign" : "scale it by " + by,
        {error.range, quotient(text, *factor)});
  return fixes;
}

}  // namespace shardproof
