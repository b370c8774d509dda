// The scalar double.
#include <bit>
#include <cmath>
#include <cstdio>

#include "spec/denote/philox.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

int64_t Scalar<double>::integer(double x) {
  if (x != std::floor(x) || std::abs(x) > 9.0e15) throw Unsupported(text(x) + " is no integer");
  return static_cast<int64_t>(x);
}
double Scalar<double>::of_key(uint64_t key) { return std::bit_cast<double>(key); }
uint64_t Scalar<double>::key(double x) { return std::bit_cast<uint64_t>(x); }

double Scalar<double>::apply(ir::UnaryFn fn, double x) { return ir::value(fn, x); }
double Scalar<double>::apply(ir::BinaryFn fn, double a, double b) {
  if (takes(fn) == ir::Takes::integers && b == 0) throw Overflow("division by zero");
  return ir::value(fn, a, b);
}
bool Scalar<double>::same(double a, double b) {
  if (key(a) == key(b)) return true;
  return std::abs(a - b) <= 1e-9 * (1 + std::max(std::abs(a), std::abs(b)));
}
double Scalar<double>::truncated(double x) { return std::trunc(x); }
/// Numbers with few bits: their sums are exact, so ties remain ties.
double Scalar<double>::random(RandomBits& rng) {
  return std::uniform_int_distribution<int>(-128, 128)(rng) / 64.0;
}
double Scalar<double>::draw(ir::RandomFn fn, double k, int64_t index) {
  const auto i = static_cast<uint64_t>(index);
  return fn == ir::RandomFn::uniform ? philox_uniform(key(k), i) : philox_normal(key(k), i);
}
double Scalar<double>::fold(double k, const std::string* tag, double n) {
  return of_key(tag ? philox_fold(key(k), *tag)
                    : philox_fold(key(k), static_cast<uint64_t>(integer(n))));
}
std::string Scalar<double>::text(double x) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.4g", x == 0 ? 0.0 : x);
  return buffer;
}

}  // namespace shardproof::denote
