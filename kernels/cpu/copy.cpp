#include <cstring>
#include <stdexcept>
#include <string>

#include "kernels/cpu/kernels.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

template <class T>
void copy_as(const Nest& nest, void* to, const void* from) {
  T* out = static_cast<T*>(to);
  const T* in = static_cast<const T*>(from);
  const int64_t n = nest.inner(), s0 = nest.inner_stride(0), s1 = nest.inner_stride(1);
  for_each_row(nest, [&](const int64_t* at) {
    T* row = out + at[0];
    const T* source = in + at[1];
    if (s0 == 1 && s1 == 1)
      std::memcpy(row, source, static_cast<size_t>(n) * sizeof(T));
    else
      for (int64_t i = 0; i < n; ++i) row[i * s0] = source[i * s1];
  });
}

void copy(const Nest& nest, size_t bytes, void* to, const void* from) {
  switch (bytes) {
    case 1:
      return copy_as<uint8_t>(nest, to, from);
    case 2:
      return copy_as<uint16_t>(nest, to, from);
    case 4:
      return copy_as<uint32_t>(nest, to, from);
    default:
      return copy_as<uint64_t>(nest, to, from);
  }
}

/// The moving operand's offset in bytes.
int64_t shift_of(const Moving& moving, size_t bytes, const void* first_at) {
  const auto first = static_cast<int64_t>(number_at(moving.element, first_at, 0));
  if (first < 0 || first + moving.count > moving.extent)
    throw std::out_of_range("entries " + std::to_string(first) + " to " +
                            std::to_string(first + moving.count - 1) + " of " +
                            std::to_string(moving.extent));
  return first * moving.stride * static_cast<int64_t>(bytes);
}

}  // namespace

void run(const Copy& op, void* out, const void* const* inputs) {
  if (!op.moving) return copy(op.nest, op.bytes, out, inputs[0]);
  const int64_t shift = shift_of(*op.moving, op.bytes, inputs[1]);
  auto* to = static_cast<std::byte*>(out);
  auto* from = static_cast<const std::byte*>(inputs[0]);
  copy(op.nest, op.bytes, op.moving->operand == 0 ? to + shift : to,
       op.moving->operand == 0 ? from : from + shift);
}

void run(const Zero& op, void* out, const void* const*) {
  if (op.bytes) std::memset(out, 0, op.bytes);
}

void run(const Roll& op, void* out, const void* const* inputs) {
  const int64_t n = op.nest.extents.at(op.dim), to = op.nest.strides[0][op.dim],
                from = op.nest.strides[1][op.dim], bytes = static_cast<int64_t>(op.bytes);
  if (n == 0) return;
  const auto by = static_cast<int64_t>(number_at(op.by, inputs[1], 0));
  const int64_t shift = ((by % n) + n) % n;
  auto piece = [&](int64_t from_first, int64_t to_first, int64_t count) {
    Nest nest = op.nest;
    nest.extents[op.dim] = count;
    copy(nest, op.bytes, static_cast<std::byte*>(out) + to_first * to * bytes,
         static_cast<const std::byte*>(inputs[0]) + from_first * from * bytes);
  };
  piece(n - shift, 0, shift);
  piece(0, shift, n - shift);
}

void run(const Reverse& op, void* out, const void* const* inputs) {
  if (op.nest.count() == 0) return;
  const auto [nest, first] = backwards(op);
  copy(nest, op.bytes, static_cast<std::byte*>(out),
       static_cast<const std::byte*>(inputs[0]) + first * static_cast<int64_t>(op.bytes));
}

}  // namespace shardproof::cpu
