#include "impl/comm/store/wire.h"

namespace shardproof {
namespace {

constexpr uint32_t longest_key = 1 << 12, longest_value = 1 << 24;
constexpr std::string_view kinds = "hsafynr";

void pack_size(std::string& to, size_t size) {
  for (int shift = 0; shift < 32; shift += 8) to += static_cast<char>(size >> shift & 0xff);
}

uint32_t size_at(std::string_view bytes) {
  uint32_t size = 0;
  for (size_t i = 4; i-- > 0;) size = size << 8 | static_cast<unsigned char>(bytes[i]);
  return size;
}

}  // namespace

std::string packed(const Message& message) {
  std::string bytes(1, message.kind);
  pack_size(bytes, message.key.size());
  pack_size(bytes, message.value.size());
  return bytes + message.key + message.value;
}

std::optional<MessageHead> head_of(std::string_view bytes) {
  const MessageHead head{static_cast<Message::Kind>(bytes[0]), size_at(bytes.substr(1)),
                         size_at(bytes.substr(5))};
  const bool known = kinds.find(bytes[0]) != kinds.npos;
  if (!known || head.key > longest_key || head.value > longest_value) return std::nullopt;
  return head;
}

}  // namespace shardproof
