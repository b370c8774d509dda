#include "impl/data/tokenizer.h"

#include <algorithm>
#include <array>
#include <map>

#include "impl/checkpoint/file.h"
#include "impl/checkpoint/json_text.h"
#include "impl/file_error.h"

namespace shardproof::data {
namespace {

using Json = nlohmann::json;

constexpr const char* end_of_text = "<|endoftext|>";
constexpr const char* begin_of_text = "<|begin_of_text|>";

/// The character for each byte in a tokenizer's file: the byte itself if it is printable, else one
/// from 256 on.
std::array<uint32_t, 256> characters() {
  std::array<uint32_t, 256> of{};
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printed =
        (byte >= '!' && byte <= '~') || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    of[byte] = printed ? byte : next++;
  }
  return of;
}

/// The bytes of a token's name in the file; none if it is not a valid name.
std::optional<std::string> bytes_of(const std::string& name) {
  static const std::map<uint32_t, char> byte_of = [] {
    std::map<uint32_t, char> inverse;
    const auto of = characters();
    for (size_t byte = 0; byte < of.size(); ++byte) inverse[of[byte]] = static_cast<char>(byte);
    return inverse;
  }();
  std::string bytes;
  for (size_t i = 0; i < name.size();) {
    const auto first = static_cast<unsigned char>(name[i]);
    uint32_t character = first;
    size_t length = 1;
    if (first >= 0xc0 && first < 0xe0 && i + 1 < name.size()) {
      character = (first & 0x1fu) << 6 | (static_cast<unsigned char>(name[i + 1]) & 0x3fu);
      length = 2;
    }
    const auto found = byte_of.find(character);
    if (found == byte_of.end()) return std::nullopt;
    bytes += found->second;
    i += length;
  }
  return bytes;
}

/// Why the file's word splitting differs from GPT-2's; empty if it does not.
std::string other_words(const Json& file) {
  const Json cut = file.value("pre_tokenizer", Json());
  if (cut.is_object() && cut.value("type", "") == "ByteLevel" && cut.value("use_regex", true) &&
      !cut.value("add_prefix_space", false) && file.value("normalizer", Json()).is_null())
    return "";
  return "it normalizes text or splits words differently from GPT-2: encode the text with its own "
         "library, into a file of uint16 or uint32";
}

/// A vocabulary has up to a million tokens; each id up to the largest takes memory.
constexpr uint64_t most_tokens = 1 << 22, largest_file = 1 << 28;

uint32_t id_of(const std::string& name, const Json& id) {
  if (!id.is_number_unsigned() || id.get<uint64_t>() >= most_tokens)
    throw std::runtime_error("the token \"" + name + "\" has the id " + id.dump() +
                             "; ids are whole numbers below " + std::to_string(most_tokens));
  return id.get<uint32_t>();
}

std::pair<std::string, std::string> pair_of(const Json& merge) {
  if (merge.is_array()) return {merge.at(0).get<std::string>(), merge.at(1).get<std::string>()};
  const std::string text = merge.get<std::string>();
  const size_t space = text.find(' ');
  if (space == std::string::npos)
    throw std::runtime_error("the merge \"" + text + "\" is not a pair");
  return {text.substr(0, space), text.substr(space + 1)};
}

enum class Sort { letter, digit, space, other };
Sort sort_of(char each) {
  const auto byte = static_cast<unsigned char>(each);
  if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z')) return Sort::letter;
  if (byte >= '0' && byte <= '9') return Sort::digit;
  return byte == ' ' || (byte >= '\t' && byte <= '\r') ? Sort::space : Sort::other;
}

/// The length of a contraction `'s 't 're 've 'm 'll 'd` at `at`; 0 if there is none.
size_t contraction(const std::string& text, size_t at) {
  for (const char* each : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
    if (text.compare(at, std::string_view(each).size(), each) == 0)
      return std::string_view(each).size();
  return 0;
}

size_t end_of_run(const std::string& text, size_t at) {
  const Sort sort = sort_of(text[at]);
  while (at < text.size() && sort_of(text[at]) == sort) ++at;
  return at;
}

/// The end of the word at `at`: an optional space and letters, digits or others; for spaces before
/// a word, all but the last.
size_t end_of_word(const std::string& text, size_t at) {
  if (const size_t length = contraction(text, at)) return at + length;
  const size_t run = end_of_run(text, at);
  if (sort_of(text[at]) != Sort::space) return run;
  if (text[at] == ' ' && run == at + 1 && run < text.size()) return end_of_run(text, run);
  return run == text.size() || run == at + 1 ? run : run - 1;
}

}  // namespace

std::vector<std::string> words_of(const std::string& text) {
  std::vector<std::string> words;
  for (size_t at = 0; at < text.size();) {
    const size_t end = end_of_word(text, at);
    words.push_back(text.substr(at, end - at));
    at = end;
  }
  return words;
}

Tokenizer Tokenizer::load(const std::filesystem::path& path) {
  Tokenizer result;
  result.path_ = path.string();
  try {
    const Json json = checkpoint::json_from(checkpoint::read_text(path, largest_file));
    const Json& model = json.at("model");
    if (model.value("type", "BPE") != "BPE")
      throw std::runtime_error("its model is " + model.value("type", "") + ", not BPE");
    std::unordered_map<uint32_t, std::string> names;
    const auto add = [&](const std::string& name, const Json& given, const std::string& bytes) {
      const uint32_t id = id_of(name, given);
      if (const auto& known = names.try_emplace(id, name).first->second; known != name)
        throw std::runtime_error("the tokens \"" + known + "\" and \"" + name +
                                 "\" have the same id, " + std::to_string(id));
      if (id >= result.bytes_.size()) result.bytes_.resize(id + 1);
      result.bytes_[id] = bytes;
      return id;
    };
    for (const auto& [name, token] : model.at("vocab").items())
      result.tokens_[name] = add(name, token, bytes_of(name).value_or(name));
    for (const Json& each : json.value("added_tokens", Json::array())) {
      const auto name = each.at("content").get<std::string>();
      const uint32_t id = add(name, each.at("id"), name);
      if (const auto found = result.tokens_.find(name);
          found != result.tokens_.end() && found->second != id)
        throw std::runtime_error("the token \"" + name + "\" has two ids, " +
                                 std::to_string(found->second) + " and " + std::to_string(id));
      if (name == end_of_text || name == begin_of_text) result.document_ = id;
    }
    for (const Json& each : model.at("merges")) {
      const auto [left, right] = pair_of(each);
      result.merges_.add(result.tokens_.at(left), result.tokens_.at(right),
                         result.tokens_.at(left + right));
    }
    result.cannot_encode_ = other_words(json);
  } catch (const FileError&) {
    throw;
  } catch (const std::exception& error) {
    throw FileError(path.string() + ": is not a tokenizer.json of a byte-level BPE: " +
                    checkpoint::reason_of(error));
  }
  return result;
}

void Tokenizer::encode_word(const std::string& word, std::vector<uint32_t>& to) const {
  static const auto character_of = characters();
  std::vector<uint32_t> parts;
  for (const char each : word) {
    const uint32_t character = character_of[static_cast<unsigned char>(each)];
    std::string name;
    if (character < 0x80) {
      name = static_cast<char>(character);
    } else {
      name += static_cast<char>(0xc0 | character >> 6);
      name += static_cast<char>(0x80 | (character & 0x3f));
    }
    const auto found = tokens_.find(name);
    if (found == tokens_.end())
      throw FileError(path_ + ": has no token for the byte " +
                      std::to_string(static_cast<unsigned char>(each)) + ": it is not byte-level");
    parts.push_back(found->second);
  }
  merges_.join(parts);
  to.insert(to.end(), parts.begin(), parts.end());
}

namespace {

/// Refuses text beyond ASCII: GPT-2 splits it by Unicode classes, which are not implemented.
void refuse_beyond_ascii(const std::string& path, const std::string& text) {
  const auto found = std::find_if(
      text.begin(), text.end(), [](char each) { return static_cast<unsigned char>(each) >= 0x80; });
  if (found == text.end()) return;
  const auto line = std::count(text.begin(), found, '\n') + 1;
  throw FileError(
      path + ": line " + std::to_string(line) +
      " of the text is not ASCII, and only ASCII can be split into words: encode the text "
      "with the tokenizer's own library, into a file of uint16 or uint32");
}

}  // namespace

std::vector<uint32_t> Tokenizer::encode(const std::string& text) const {
  if (!cannot_encode_.empty()) throw FileError(path_ + ": " + cannot_encode_);
  refuse_beyond_ascii(path_, text);
  std::vector<uint32_t> tokens;
  std::unordered_map<std::string, std::vector<uint32_t>> known;
  const std::string special = document_ ? bytes_[*document_] : "";
  for (size_t at = 0; at < text.size();) {
    const size_t next =
        special.empty() ? text.size() : std::min(text.find(special, at), text.size());
    for (const std::string& word : words_of(text.substr(at, next - at))) {
      auto [found, is_new] = known.try_emplace(word);
      if (is_new) encode_word(word, found->second);
      tokens.insert(tokens.end(), found->second.begin(), found->second.end());
    }
    if (next < text.size()) tokens.push_back(*document_);
    at = next < text.size() ? next + special.size() : next;
  }
  return tokens;
}

std::string Tokenizer::decode(std::span<const uint32_t> tokens) const {
  std::string text;
  for (uint32_t token : tokens)
    text += token < bytes_.size() ? bytes_[token] : "<" + std::to_string(token) + ">";
  return text;
}

}  // namespace shardproof::data
