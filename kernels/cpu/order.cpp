#include "kernels/cpu/kernels.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "kernels/cpu/block.h"
#include "kernels/number.h"

namespace shardproof::cpu {
namespace {

/// Calls visit(line, to) with x's entries along one line as doubles (exact for every element but
/// keys), and with the offset of its results.
template <class Visit>
void for_each_line(const Ordered& op, const void* x, Visit visit) {
  std::vector<double> line(static_cast<size_t>(op.entries));
  Block<double> block;
  const int64_t n = op.lines.inner();
  for_each_row(op.lines, [&](const int64_t* at) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t begin = at[1] + i * op.lines.inner_stride(1);
      for (int64_t first = 0; first < op.entries; first += block_size) {
        const int64_t count = std::min(block_size, op.entries - first);
        load(block, op.element, x, begin + first * op.x_stride, op.x_stride, count);
        for (int64_t j = 0; j < count; ++j)
          line[static_cast<size_t>(first + j)] =
              is_real(op.element) ? block.real[j] : static_cast<double>(block.integer[j]);
      }
      visit(line, at[0] + i * op.lines.inner_stride(0));
    }
  });
}

/// NaN is the largest, as in PyTorch: with `<` alone the order would not be one.
bool below(double a, double b) { return a == a && (b != b || a < b); }

template <class Before>
std::vector<int64_t> sorted(const std::vector<double>& line, Before before) {
  std::vector<int64_t> positions(line.size());
  std::iota(positions.begin(), positions.end(), 0);
  std::stable_sort(positions.begin(), positions.end(), [&](int64_t i, int64_t j) {
    return before(line[static_cast<size_t>(i)], line[static_cast<size_t>(j)]);
  });
  return positions;
}

void cumsum(const Ordered& op, void* to, const void* x) {
  for_each_line(op, x, [&](const std::vector<double>& line, int64_t at) {
    double sum = 0;
    for (size_t i = 0; i < line.size(); ++i)
      set_number(op.element, to, at + static_cast<int64_t>(i) * op.to_stride, sum += line[i]);
  });
}

void argsort(const Ordered& op, void* to, const void* x) {
  for_each_line(op, x, [&](const std::vector<double>& line, int64_t at) {
    const auto order = sorted(line, below);
    for (size_t i = 0; i < order.size(); ++i)
      set_number(Element::i32, to, at + static_cast<int64_t>(i) * op.to_stride,
                 static_cast<double>(order[i]));
  });
}

void largest(const Ordered& op, bool positions, void* to, const void* x) {
  for_each_line(op, x, [&](const std::vector<double>& line, int64_t at) {
    const auto order = sorted(line, [](double a, double b) { return below(b, a); });
    for (int64_t i = 0; i < op.k; ++i) {
      const int64_t place = order[static_cast<size_t>(i)];
      set_number(positions ? Element::i32 : op.element, to, at + i * op.to_stride,
                 positions ? static_cast<double>(place) : line[static_cast<size_t>(place)]);
    }
  });
}

}  // namespace

void run(const Ordered& op, void* out, const void* const* inputs) {
  switch (op.fn) {
    case OrderedFn::cumsum:
      return cumsum(op, out, inputs[0]);
    case OrderedFn::argsort:
      return argsort(op, out, inputs[0]);
    case OrderedFn::largest:
    case OrderedFn::largest_at:
      return largest(op, op.fn == OrderedFn::largest_at, out, inputs[0]);
  }
}

}  // namespace shardproof::cpu
