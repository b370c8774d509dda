#include "oracle/tensor.h"

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
  Positions result = {base};
  for (size_t d = 0; d < shape.size(); ++d) {
    Positions next;
    next.reserve(result.size() * static_cast<size_t>(shape[d]));
    for (int64_t start : result)
      for (int64_t i = 0; i < shape[d]; ++i) next.push_back(start + i * strides[d]);
    result = std::move(next);
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
