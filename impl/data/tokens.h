#pragma once
// Texts as numbers: shards on disk or in memory, one behind the other.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impl/file_error.h"

namespace shardproof::data {

/// How the tokens of a file are written. `automatic`: the header says it (llm.c's .bin), a .txt has
/// bytes, anything else uint16.
enum class TokenFormat { automatic, u8, u16, u32 };

/// Tokens with the token that begins each document. Files are read when tokens are wanted.
class Tokens {
 public:
  /// Throws FileError where a file is missing, of another kind, or not as long as its header says.
  static Tokens of_files(const std::vector<std::filesystem::path>& paths,
                         TokenFormat format = TokenFormat::automatic);
  /// One token a byte.
  static Tokens of_text(std::string text, std::string name);
  static Tokens of_numbers(const std::vector<uint32_t>& numbers, std::string name);
  ~Tokens();
  Tokens(Tokens&&) noexcept;

  int64_t size() const { return size_; }
  /// The tokens from `first` on; throws FileError where a file has become shorter.
  void read(int64_t first, std::span<uint32_t> to) const;
  /// `token 17 of train.bin`
  std::string where(int64_t token) const;

  /// The token that begins a document: as the header's kind of file has it, otherwise 0.
  uint32_t document() const { return document_; }
  void set_document(uint32_t token) { document_ = token; }

 private:
  struct Shard;
  Tokens();
  void add(Shard shard);
  void add_file(const std::filesystem::path& path, TokenFormat format);
  void add_memory(std::string bytes, int width, std::string name);
  const Shard& shard_of(int64_t token) const;

  std::vector<Shard> shards_;
  int64_t size_ = 0;
  uint32_t document_ = 0;
};

}  // namespace shardproof::data
