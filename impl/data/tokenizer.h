#pragma once
// Byte-pair tokens, as a tokenizer.json of Hugging Face's tokenizers defines them.
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

namespace shardproof::data {

/// A byte-level BPE. ASCII text gets the tokens of the reference library: words are cut as GPT-2
/// does. Other text is refused, because GPT-2 cuts it by the classes of Unicode; tokens of any text
/// decode.
class Tokenizer {
 public:
  /// Throws FileError where the file is missing or of another kind.
  static Tokenizer load(const std::filesystem::path& path);

  /// `<|endoftext|>` in the text becomes its token. Throws FileError where the text is not ASCII,
  /// and where the file cuts words in another way than GPT-2.
  std::vector<uint32_t> encode(const std::string& text) const;
  std::string decode(std::span<const uint32_t> tokens) const;
  /// The token that begins or ends a document, where there is one.
  std::optional<uint32_t> document() const { return document_; }
  int64_t size() const { return static_cast<int64_t>(bytes_.size()); }

 private:
  struct Merge {
    size_t rank;
    uint32_t token;
  };
  void encode_word(const std::string& word, std::vector<uint32_t>& to) const;

  std::string path_, cannot_encode_;
  std::vector<std::string> bytes_;  ///< of each token
  std::unordered_map<std::string, uint32_t> tokens_;
  std::map<std::pair<uint32_t, uint32_t>, Merge> merges_;
  std::optional<uint32_t> document_;
};

/// The words that GPT-2 cuts a text into; together they are the text.
std::vector<std::string> words_of(const std::string& text);

}  // namespace shardproof::data
