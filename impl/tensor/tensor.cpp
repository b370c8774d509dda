#include "impl/tensor/tensor.h"

#include <stdexcept>

namespace shardproof {

LocalTensor::LocalTensor(Type of, Element entries, std::vector<int64_t> local)
    : type(std::move(of)), element(entries), extents(std::move(local)) {
  buffer = Buffer(static_cast<size_t>(count()) * size_of(element));
}

int64_t LocalTensor::count() const {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

Element element_of(Dtype dtype, Precision precision) {
  switch (dtype) {
    case Dtype::i32:
      return Element::i32;
    case Dtype::u32:
      return Element::u32;
    case Dtype::boolean:
      return Element::u8;
    case Dtype::key:
      return Element::u64;
    case Dtype::f64:
    case Dtype::f32:
    case Dtype::bf16:
    case Dtype::f16:
    case Dtype::f8:
    case Dtype::number:
      break;
  }
  if (precision != Precision::as_written)
    return precision == Precision::f64 ? Element::f64 : Element::f32;
  if (dtype == Dtype::f64 || dtype == Dtype::number) return Element::f64;
  if (dtype == Dtype::f32) return Element::f32;
  if (dtype == Dtype::bf16) return Element::bf16;
  throw std::invalid_argument(std::string(to_string(dtype)) +
                              " is not kept on CPU ranks: run it as f32 or f64");
}

std::vector<int64_t> row_major(const std::vector<int64_t>& extents) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = strides.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

}  // namespace shardproof
