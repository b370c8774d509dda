#include "oracle/tensor.h"

#include <algorithm>

namespace shardproof::oracle {

int64_t count(const Extents& shape) {
  int64_t result = 1;
  for (int64_t size : shape) result *= size;
  return result;
}

Tensor filled(Extents shape, double value) {
  const auto entries = static_cast<size_t>(count(shape));
  return {std::move(shape), std::vector<double>(entries, value), {}};
}

Tensor scalar(double value) { return filled({}, value); }

Extents row_major(const Extents& shape) {
  Extents strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Positions positions(const Extents& shape, const Extents& strides, int64_t base) {
  Positions result(static_cast<size_t>(count(shape)));
  if (result.empty()) return result;
  if (std::all_of(strides.begin(), strides.end(), [](int64_t stride) { return stride == 0; })) {
    std::fill(result.begin(), result.end(), base);
    return result;
  }
  result[0] = base;
  // Dim by dim, each position becomes the run of those along the dim, from the last to the first.
  size_t made = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    const auto size = static_cast<size_t>(shape[d]);
    for (size_t p = made; p-- > 0;) {
      const int64_t start = result[p];
      for (size_t i = 0; i < size; ++i)
        result[p * size + i] = start + static_cast<int64_t>(i) * strides[d];
    }
    made *= size;
  }
  return result;
}

Lanes::Lanes(const Extents& shape, size_t dim) : size(shape.at(dim)) {
  for (size_t d = 0; d < dim; ++d) outer *= shape[d];
  for (size_t d = dim + 1; d < shape.size(); ++d) inner *= shape[d];
}

std::string to_string(const Extents& shape) {
  std::string text = "[";
  for (size_t d = 0; d < shape.size(); ++d) text += (d ? " " : "") + std::to_string(shape[d]);
  return text + "]";
}

}  // namespace shardproof::oracle
