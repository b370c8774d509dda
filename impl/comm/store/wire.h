#pragma once
// The protocol between a store's server and its clients.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardproof {

/// A request: hello (key: `greeting`, value: the run's name), set, add, find. Or an answer: yes
/// with a value, no, or refused with a reason. Format: kind, two sizes of 4 bytes each
/// (little-endian), key, value.
struct Message {
  enum Kind : char {
    hello = 'h',
    set = 's',
    add = 'a',
    find = 'f',
    yes = 'y',
    no = 'n',
    refused = 'r'
  };
  Kind kind = no;
  std::string key, value;
};

constexpr std::string_view greeting = "shardproof store 1";
constexpr size_t head_bytes = 9;

struct MessageHead {
  Message::Kind kind;
  uint32_t key, value;  ///< sizes in bytes
};

std::string packed(const Message& message);
/// Parses at least `head_bytes` bytes; none if they are not a valid head.
std::optional<MessageHead> head_of(std::string_view bytes);

}  // namespace shardproof
