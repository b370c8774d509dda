#pragma once
// Memory and signals of code that is not trusted to stay within its tensors.
#include <cstddef>
#include <functional>

namespace shardproof::check_sharding {

/// Bytes between guard pages, up to the alignment of their end. They are 0xff at first: NaN in f64,
/// f32 and bf16.
class Fenced {
 public:
  /// Throws std::runtime_error if there is no memory.
  explicit Fenced(size_t bytes);
  ~Fenced();
  Fenced(Fenced&& other) noexcept;
  Fenced& operator=(Fenced&&) = delete;

  std::byte* data() { return data_; }
  /// Whether bytes between `data` and the guard pages were changed.
  bool written_beside() const;
  /// Whether the address is in it or in its guard pages.
  bool holds(const void* address) const;

 private:
  size_t body() const;

  size_t bytes_;
  std::byte* mapped_;
  std::byte* data_;
};

/// How code ended: with a code, or by a signal.
struct Stop {
  int code = 0, signal = 0;
  const void* address = nullptr;  ///< of an access to memory

  bool of_memory() const;
};

/// Runs C code on this thread. An access to foreign memory, an abort or a division by zero ends it
/// there: its frames are left without destructors.
Stop run_until_signal(const std::function<int()>& code);

}  // namespace shardproof::check_sharding
