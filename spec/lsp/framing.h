#pragma once
// Messages of the Language Server Protocol in a stream of bytes.
#include <optional>
#include <string>

namespace shardproof::lsp {

constexpr size_t largest_message = 64 << 20;
constexpr size_t largest_header = 8 << 10;

/// Cuts a stream into messages. A header that cannot be read, or that gives a length beyond
/// largest_message, is reported once; reading goes on at the next "Content-Length:".
class Framing {
 public:
  void feed(const char* bytes, size_t count) { buffer_.append(bytes, count); }

  struct Piece {
    std::string body;   ///< of a message
    std::string error;  ///< what is wrong with a header; empty: this is a message
  };
  /// The next message or error; nullopt: more bytes are needed.
  std::optional<Piece> next();

 private:
  std::optional<Piece> refuse(std::string error, size_t from);
  std::string buffer_;
  bool lost_ = false;  ///< after an error: up to the next header
};

/// A message with its header.
std::string framed(const std::string& body);

}  // namespace shardproof::lsp
