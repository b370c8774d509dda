#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/cpu/ids.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

template <class T>
void index_as(const Index& op, void* out, const void* table, const void* ids) {
  const Nest& nest = op.nest;
  const IndexWindow& window = op.window;
  T* to = static_cast<T*>(out);
  const T* from = static_cast<const T*>(table);
  const int64_t n = nest.inner(), s0 = nest.inner_stride(0), s1 = nest.inner_stride(1),
                s2 = nest.inner_stride(2);
  for_each_row(nest, [&](const int64_t* at) {
    if (s2 == 0 && s0 == 1 && s1 == 1) {  // a whole row of the table
      const int64_t row = row_of(id_at(op.ids, ids, at[2]), window);
      if (row < 0)
        std::memset(static_cast<void*>(to + at[0]), 0, static_cast<size_t>(n) * sizeof(T));
      else
        std::memcpy(to + at[0], from + at[1] + row * window.stride,
                    static_cast<size_t>(n) * sizeof(T));
      return;
    }
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = row_of(id_at(op.ids, ids, at[2] + i * s2), window);
      to[at[0] + i * s0] = row < 0 ? T{} : from[at[1] + i * s1 + row * window.stride];
    }
  });
}

template <class T>
void add_as(const IndexAdd& op, void* sum, const void* ids, const void* x) {
  const Nest& nest = op.nest;
  const IndexWindow& window = op.window;
  T* to = static_cast<T*>(sum);
  if (!op.into) std::fill_n(to, op.count, T{});
  const int64_t n = nest.inner(), s0 = nest.inner_stride(0), s1 = nest.inner_stride(1),
                s2 = nest.inner_stride(2);
  for_each_row(nest, [&](const int64_t* at) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t row = row_of(id_at(op.ids, ids, at[1] + i * s1), window);
      if (row >= 0)
        to[at[0] + i * s0 + row * window.stride] +=
            static_cast<T>(number_at(op.x, x, at[2] + i * s2));
    }
  });
}

}  // namespace

void run(const Index& op, void* out, const void* const* inputs) {
  switch (size_of(op.element)) {
    case 1:
      return index_as<uint8_t>(op, out, inputs[0], inputs[1]);
    case 2:
      return index_as<uint16_t>(op, out, inputs[0], inputs[1]);
    case 4:
      return index_as<uint32_t>(op, out, inputs[0], inputs[1]);
    default:
      return index_as<uint64_t>(op, out, inputs[0], inputs[1]);
  }
}

void run(const IndexAdd& op, void* out, const void* const* inputs) {
  switch (op.sum) {
    case Element::f64:
      return add_as<double>(op, out, inputs[0], inputs[1]);
    case Element::f32:
      return add_as<float>(op, out, inputs[0], inputs[1]);
    case Element::i32:
      return add_as<int32_t>(op, out, inputs[0], inputs[1]);
    case Element::u32:
      return add_as<uint32_t>(op, out, inputs[0], inputs[1]);
    case Element::bf16:
    case Element::u8:
    case Element::u64:
      break;
  }
  throw std::logic_error("sums are formed in f64, f32, i32 or u32");
}

}  // namespace shardproof::cpu
