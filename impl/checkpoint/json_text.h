#pragma once
// JSON from untrusted files.
#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

namespace shardproof::checkpoint {

/// The maximum nesting depth; copying and printing recurse.
inline constexpr int most_nested = 64;

/// The maximum depth of brackets outside strings; also for text that is not JSON.
inline int nesting_of(const std::string& text) {
  int depth = 0, most = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char each = text[i];
    if (quoted && each == '\\') ++i;
    if (each == '"') quoted = !quoted;
    if (!quoted && (each == '[' || each == '{')) most = std::max(most, ++depth);
    if (!quoted && (each == ']' || each == '}')) --depth;
  }
  return most;
}

/// An error without the name that the JSON library gives it, "[json.exception.type_error.302] ",
/// and without the text that it last read: a file that is not JSON may hold anything.
inline std::string reason_of(const std::exception& error) {
  std::string text = error.what();
  if (!text.starts_with("[json.exception.")) return text;
  if (const size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
  return text.substr(0, text.find("; last read:"));
}

/// Throws std::runtime_error for deeper nesting and for a key that stands twice, of which Json
/// would keep the last; Json::exception for text that is not JSON.
template <class Json = nlohmann::json>
Json json_from(const std::string& text, const typename Json::parser_callback_t& read = nullptr) {
  if (const int depth = nesting_of(text); depth > most_nested)
    throw std::runtime_error("its values are nested " + std::to_string(depth) + " deep; at most " +
                             std::to_string(most_nested) + " are expected");
  using Event = typename Json::parse_event_t;
  std::vector<std::unordered_set<std::string>> open;  // the keys of each object that is being read
  return Json::parse(text, [&](int level, Event event, Json& value) {
    if (event == Event::object_start) open.emplace_back();
    if (event == Event::object_end) open.pop_back();
    if (event == Event::key && !open.back().insert(value.template get<std::string>()).second)
      throw std::runtime_error("the key " + value.dump() + " stands twice");
    return !read || read(level, event, value);
  });
}

/// An integer that fits; Json would round others silently. Throws std::runtime_error.
template <class Json>
int64_t whole_from(const Json& value) {
  if (!value.is_number_integer() ||
      (value.is_number_unsigned() && value.template get<uint64_t>() > INT64_MAX))
    throw std::runtime_error(value.dump() + " is not a whole number");
  return value.template get<int64_t>();
}

/// Like json_from, for a file whose numbers are all integers that fit. A conversion of another
/// number has no defined result.
inline nlohmann::json whole_numbers_from(const std::string& text) {
  using nlohmann::json;
  return json_from(text, [](int, json::parse_event_t event, const json& value) {
    if (event == json::parse_event_t::value && value.is_number()) whole_from(value);
    return true;
  });
}

}  // namespace shardproof::checkpoint
