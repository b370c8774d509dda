#pragma once
// Kernels that work along rows.
#include <algorithm>

#include "kernels/cuda/fused/row.h"
#include "kernels/cuda/launch.h"
#include "kernels/fused.h"

namespace shardproof::SHARDPROOF_MACHINE {

constexpr int64_t short_row = 1024;
constexpr int64_t most_blocks = int64_t{1} << 20;

/// sums[thread]: the sum of `part(position in the row)` over the thread's row.
template <int team, int n, class T, int k, class Part>
SHARDPROOF_DEVICE void sum_rows(Block& block, PerThread<Several<T, k>>& sums, int64_t first,
                                int64_t rows, int64_t length, Part part) {
  block.each_alone([&](int thread) {
    Several<T, k> sum{};
    const Row<team, n> row(thread, first, rows, length);
    row.each([&](int64_t i, int64_t at) { part(thread, i, at, sum); });
    sums[thread] = sum;
  });
  join_team<team>(block, sums, Add{}, block.shared<Several<T, k>>());
}

template <template <class, int, int> class Kernel, class E, int n, class... Arguments>
void launch_teams(const Stream& stream, int64_t rows, int64_t length, Arguments... arguments) {
  constexpr size_t shared = row_threads / warp_threads * sizeof(Floats<4>);
  if (length <= short_row)
    launch<row_threads>(stream, std::min(most_blocks, (rows + 7) / 8),
                        Kernel<E, n, warp_threads>{rows, length, arguments...}, shared);
  else
    launch<row_threads>(stream, std::min(most_blocks, rows),
                        Kernel<E, n, row_threads>{rows, length, arguments...}, shared);
}

/// Whether rows of this length can be accessed n entries at a time.
inline bool aligned(int64_t length, int n, std::initializer_list<const void*> arrays) {
  bool fits = length % n == 0;
  for (const void* array : arrays)
    fits = fits && reinterpret_cast<uintptr_t>(array) % widest_access == 0;
  return fits;
}

/// Launches Kernel<entry of x, entries per access, team>{rows, length, arguments...}. `arrays`: all
/// arrays with rows.
template <template <class, int, int> class Kernel, class... Arguments>
void launch_rows(const Stream& stream, Element x, int64_t rows, int64_t length,
                 std::initializer_list<const void*> arrays, Arguments... arguments) {
  const int n = x == Element::bf16 ? 8 : 4;
  const bool wide = aligned(length, n, arrays);
  if (x == Element::bf16 && wide)
    launch_teams<Kernel, Bfloat16, 8>(stream, rows, length, arguments...);
  else if (x == Element::bf16)
    launch_teams<Kernel, Bfloat16, 1>(stream, rows, length, arguments...);
  else if (wide)
    launch_teams<Kernel, float, 4>(stream, rows, length, arguments...);
  else
    launch_teams<Kernel, float, 1>(stream, rows, length, arguments...);
}

/// The same if all arrays are f32.
template <template <class, int, int> class Kernel, class... Arguments>
void launch_float_rows(const Stream& stream, int64_t rows, int64_t length,
                       std::initializer_list<const void*> arrays, Arguments... arguments) {
  if (aligned(length, 4, arrays))
    launch_teams<Kernel, float, 4>(stream, rows, length, arguments...);
  else
    launch_teams<Kernel, float, 1>(stream, rows, length, arguments...);
}

/// A scalar of the op: a constant, or the next input.
inline Given given(const Scalar& scalar, const void* const*& next) {
  if (!scalar.is_input) return {scalar.value, nullptr};
  return {0, static_cast<const float*>(*next++)};
}

}  // namespace shardproof::SHARDPROOF_MACHINE
