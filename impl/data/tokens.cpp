#include "impl/data/tokens.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace shardproof::data {

/// If `descriptor` is negative, the tokens are in `memory`.
struct Tokens::Shard {
  std::string name, memory;
  int descriptor = -1;
  int width = 2;  ///< bytes per token
  int64_t offset = 0, first = 0, count = 0;

  Shard() = default;
  Shard(Shard&& other) noexcept
      : name(std::move(other.name)),
        memory(std::move(other.memory)),
        descriptor(std::exchange(other.descriptor, -1)),
        width(other.width),
        offset(other.offset),
        first(other.first),
        count(other.count) {}
  ~Shard() {
    if (descriptor >= 0) close(descriptor);
  }

  void read_bytes(int64_t from, char* to, size_t bytes) const {
    if (descriptor < 0) {
      std::memcpy(to, memory.data() + from, bytes);
      return;
    }
    while (bytes > 0) {
      const ssize_t got = pread(descriptor, to, bytes, from);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw FileError(name + ": cannot read: " + std::strerror(errno));
      if (got == 0) throw FileError(name + ": ends early: it has become shorter");
      to += got;
      from += got;
      bytes -= static_cast<size_t>(got);
    }
  }
};

Tokens::Tokens() = default;
Tokens::~Tokens() = default;
Tokens::Tokens(Tokens&&) noexcept = default;

namespace {

constexpr int header_words = 256;  // of llm.c's files, int32 each

/// The kinds of file that llm.c writes.
struct TokenFile {
  int32_t magic, version;
  int width;
  uint32_t document;
};
constexpr TokenFile kinds[] = {{20240520, 1, 2, 50256}, {20240801, 7, 4, 128000}};

const TokenFile* token_file(int32_t magic) {
  for (const TokenFile& kind : kinds)
    if (kind.magic == magic) return &kind;
  return nullptr;
}

/// The kind of a file with these first bytes, if it certainly has no tokens.
std::string foreign(const std::string& head) {
  const auto begins = [&](std::string_view with) { return head.starts_with(with); };
  if (begins("\x93NUMPY")) return "a NumPy array: write its numbers with tofile()";
  if (begins("PK\x03\x04")) return "a zip archive: unpack it first";
  if (begins("\x1f\x8b")) return "compressed by gzip: unpack it first";
  if (begins("PAR1")) return "a Parquet table: write its tokens as uint16 or uint32 first";
  if (begins("\x7f"
             "ELF"))
    return "a program";
  if (head.size() > 8 && head.compare(8, 2, "{\"") == 0) return "a safetensors file";
  return "";
}

int width_of(TokenFormat format) {
  return format == TokenFormat::u8 ? 1 : format == TokenFormat::u32 ? 4 : 2;
}

int64_t size_of_file(int descriptor) { return lseek(descriptor, 0, SEEK_END); }

/// Tokens after an llm.c header.
template <class Shard>
void read_header(const TokenFile& kind, const int32_t* words, int64_t bytes, Shard& shard) {
  shard.width = kind.width;
  shard.offset = header_words * 4;
  shard.count = words[2];
  if (words[1] != kind.version)
    throw FileError(shard.name + ": version " + std::to_string(words[1]) +
                    " of llm.c's token files; " + std::to_string(kind.version) + " can be read");
  if (shard.count < 0 || bytes != shard.offset + shard.count * shard.width)
    throw FileError(shard.name + ": the header says " + std::to_string(words[2]) +
                    " tokens, and the file has room for " +
                    std::to_string((bytes - shard.offset) / shard.width) + ": it is damaged");
}

/// Tokens of this width without a header.
template <class Shard>
void read_raw(const std::string& head, int width, int64_t bytes, Shard& shard) {
  if (const std::string what = foreign(head); !what.empty())
    throw FileError(shard.name + ": is not a token file, but " + what);
  shard.width = width;
  shard.count = bytes / width;
  if (bytes % width != 0)
    throw FileError(shard.name + ": " + std::to_string(bytes) + " bytes are no whole number of " +
                    std::to_string(width) + "-byte tokens: it is cut off, or of another kind");
}

}  // namespace

void Tokens::add_file(const std::filesystem::path& path, TokenFormat format) {
  Shard shard;
  shard.name = path.string();
  shard.descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (shard.descriptor < 0) throw FileError(shard.name + ": cannot open: " + std::strerror(errno));
  const int64_t bytes = size_of_file(shard.descriptor);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw FileError(shard.name + ": is a directory: name the shards in it one by one");
  if (bytes < 0 || !std::filesystem::is_regular_file(path, ignored))
    throw FileError(shard.name + ": is not a regular file");
  std::string head(std::min<int64_t>(bytes, header_words * 4), '\0');
  shard.read_bytes(0, head.data(), head.size());
  int32_t words[3] = {};
  std::memcpy(words, head.data(), std::min(head.size(), sizeof words));
  const bool automatic = format == TokenFormat::automatic;
  if (const TokenFile* kind = automatic ? token_file(words[0]) : nullptr) {
    read_header(*kind, words, bytes, shard);
    document_ = kind->document;
  } else {
    read_raw(head, automatic && path.extension() == ".txt" ? 1 : width_of(format), bytes, shard);
  }
  add(std::move(shard));
}

void Tokens::add(Shard shard) {
  shard.first = size_;
  size_ += shard.count;
  shards_.push_back(std::move(shard));
}

void Tokens::add_memory(std::string bytes, int width, std::string name) {
  Shard shard;
  shard.name = std::move(name);
  shard.memory = std::move(bytes);
  shard.width = width;
  shard.count = static_cast<int64_t>(shard.memory.size()) / width;
  add(std::move(shard));
}

Tokens Tokens::of_files(const std::vector<std::filesystem::path>& paths, TokenFormat format) {
  Tokens tokens;
  for (const std::filesystem::path& path : paths) tokens.add_file(path, format);
  return tokens;
}

Tokens Tokens::of_text(std::string text, std::string name) {
  Tokens tokens;
  tokens.add_memory(std::move(text), 1, std::move(name));
  return tokens;
}

Tokens Tokens::of_numbers(const std::vector<uint32_t>& numbers, std::string name) {
  Tokens tokens;
  std::string bytes(numbers.size() * 4, '\0');
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  tokens.add_memory(std::move(bytes), 4, std::move(name));
  return tokens;
}

const Tokens::Shard& Tokens::shard_of(int64_t token) const {
  auto after = std::upper_bound(shards_.begin(), shards_.end(), token,
                                [](int64_t at, const Shard& shard) { return at < shard.first; });
  if (token < 0 || token >= size_) throw FileError("there is no token " + std::to_string(token));
  return *std::prev(after);
}

void Tokens::read(int64_t first, std::span<uint32_t> to) const {
  std::string bytes;
  while (!to.empty()) {
    const Shard& shard = shard_of(first);
    const int64_t at = first - shard.first;
    const auto count =
        static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(to.size()), shard.count - at));
    bytes.resize(count * static_cast<size_t>(shard.width));
    shard.read_bytes(shard.offset + at * shard.width, bytes.data(), bytes.size());
    for (size_t i = 0; i < count; ++i) {
      uint32_t token = 0;  // little-endian, like the supported processors
      std::memcpy(&token, bytes.data() + i * static_cast<size_t>(shard.width),
                  static_cast<size_t>(shard.width));
      to[i] = token;
    }
    first += static_cast<int64_t>(count);
    to = to.subspan(count);
  }
}

std::string Tokens::names() const {
  if (shards_.empty()) return "no file";
  const std::string& first = shards_.front().name;
  return shards_.size() == 1 ? first : first + " to " + shards_.back().name;
}

std::string Tokens::where(int64_t token) const {
  const Shard& shard = shard_of(token);
  return "token " + std::to_string(token - shard.first) + " of " + shard.name;
}

}  // namespace shardproof::data
