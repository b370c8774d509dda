#pragma once
// Token sequences: concatenated files or memory.
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "impl/file_error.h"

namespace shardproof::data {

/// The format of a token file. `automatic`: from the header (llm.c's .bin), bytes for .txt, else
/// uint16.
enum class TokenFormat { automatic, u8, u16, u32 };

/// Tokens, and the token that begins each document. Files are read on demand.
class Tokens {
 public:
  /// Throws FileError if a file is missing, or has another format or length than stated.
  static Tokens of_files(const std::vector<std::filesystem::path>& paths,
                         TokenFormat format = TokenFormat::automatic);
  /// One token for each byte.
  static Tokens of_text(std::string text, std::string name);
  static Tokens of_numbers(const std::vector<uint32_t>& numbers, std::string name);
  ~Tokens();
  Tokens(Tokens&&) noexcept;

  int64_t size() const { return size_; }
  /// Reads tokens from `first`. Throws FileError if a file became shorter.
  void read(int64_t first, std::span<uint32_t> to) const;
  /// `train.bin`, or `a.bin to z.bin`.
  std::string names() const;
  /// `token 17 of train.bin`
  std::string where(int64_t token) const;

  /// The token at the start of a document: that of the header's format, else 0.
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
