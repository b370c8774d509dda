#pragma once
// Byte-pair encoding, from a Hugging Face tokenizer.json.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "impl/data/byte_pairs.h"

namespace shardproof::data {

/// A byte-level BPE. ASCII text is encoded like the reference library: words are split as in GPT-2.
/// Other text is refused, because GPT-2 splits it by Unicode classes. Tokens of any text can be
/// decoded.
class Tokenizer {
 public:
  /// Throws FileError if the file is missing or unsupported.
  static Tokenizer load(const std::filesystem::path& path);

  /// `<|endoftext|>` in the text becomes its token. Throws FileError if the text is not ASCII, or
  /// if the file splits words differently from GPT-2.
  std::vector<uint32_t> encode(const std::string& text) const;
  std::string decode(std::span<const uint32_t> tokens) const;
  /// The token between documents, if there is one.
  std::optional<uint32_t> document() const { return document_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  void encode_word(const std::string& word, std::vector<uint32_t>& to) const;

  std::string path_, cannot_encode_;
  std::vector<std::string> bytes_;  ///< by token
  std::unordered_map<std::string, uint32_t> tokens_;
  BytePairs merges_;
  std::optional<uint32_t> document_;
};

/// The words into which GPT-2 splits a text; concatenated they are the text.
std::vector<std::string> words_of(const std::string& text);

}  // namespace shardproof::data
