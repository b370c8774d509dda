#include "spec/lsp/framing.h"

#include <algorithm>
#include <cctype>
#include <charconv>

namespace shardproof::lsp {
namespace {

constexpr char word[] = "content-length:";
constexpr size_t word_size = sizeof word - 1;

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

/// The length in a header; nullopt: it has none that can be read.
std::optional<size_t> length_of(const std::string& header) {
  const std::string small = lower(header);
  const size_t at = small.find(word);
  if (at == std::string::npos || (at > 0 && small[at - 1] != '\n')) return std::nullopt;
  size_t begin = at + word_size;
  while (begin < small.size() && small[begin] == ' ') ++begin;
  size_t length = 0;
  const char* end = small.data() + small.size();
  const auto [stop, error] = std::from_chars(small.data() + begin, end, length);
  if (error != std::errc() || (stop != end && *stop != '\r' && *stop != '\n')) return std::nullopt;
  return length;
}

}  // namespace

std::optional<Framing::Piece> Framing::refuse(std::string error, size_t from) {
  buffer_.erase(0, from);
  lost_ = true;
  return Piece{"", std::move(error)};
}

std::optional<Framing::Piece> Framing::next() {
  if (lost_) {
    const size_t at = lower(buffer_).find(word);
    if (at == std::string::npos) {
      buffer_.erase(0, buffer_.size() - std::min(buffer_.size(), word_size));
      return std::nullopt;
    }
    buffer_.erase(0, at);
    lost_ = false;
  }
  const size_t end = buffer_.find("\r\n\r\n");
  if (end == std::string::npos) {
    if (buffer_.size() <= largest_header) return std::nullopt;
    return refuse("the header of a message is longer than 8 KiB", buffer_.size());
  }
  const auto length = length_of(buffer_.substr(0, end));
  if (!length) return refuse("the header of a message has no Content-Length", end + 4);
  if (*length > largest_message)
    return refuse("a message of " + std::to_string(*length) + " bytes; at most 64 MiB", end + 4);
  if (buffer_.size() < end + 4 + *length) return std::nullopt;
  Piece piece{buffer_.substr(end + 4, *length), ""};
  buffer_.erase(0, end + 4 + *length);
  return piece;
}

std::string framed(const std::string& body) {
  return "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

}  // namespace shardproof::lsp
