#pragma once
// What a store's server and its clients tell each other.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shardproof {

/// A request: hello (key: `greeting`, value: the run's name), set, add, find. Or an answer: yes
/// with a value, no, or refused with the reason. On the wire: the kind, the two sizes in 4 bytes
/// each, the least significant first, the key, the value.
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
  uint32_t key, value;  ///< bytes
};

std::string packed(const Message& message);
/// Of at least `head_bytes` bytes; nothing where they cannot be a head of ours.
std::optional<MessageHead> head_of(std::string_view bytes);

}  // namespace shardproof
