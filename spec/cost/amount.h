#pragma once
// Amounts (bytes, counts, FLOPs) as sums of products of sizes: exact, symbolic in dims and axes.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::cost {

using Sizes = std::map<Name, int64_t>;  ///< base dims and axes

/// coefficient * product of factors^power * product over `rings` of (n-1)/n, n a product of axes.
struct Product {
  int64_t coefficient = 1;
  std::map<std::string, int> powers;     ///< by printed factor: "|B|", "(|M| + 1)"
  std::vector<std::vector<Axis>> rings;  ///< sorted
  bool same_factors(const Product& other) const {
    return powers == other.powers && rings == other.rings;
  }
  /// The order of terms in an amount, by factors alone; a plain number comes last.
  bool before(const Product& other) const;
};

/// A sum of products, like terms joined. Zero is the empty sum.
class Amount {
 public:
  Amount() = default;
  Amount(int64_t number);                             // NOLINT: a number is an amount
  static Amount size(const ir::Arith& size);          ///< the size of a dim
  static Amount axis(const Axis& name);               ///< |t|
  static Amount ring(const std::vector<Axis>& axes);  ///< (n-1)/n; 0 for no axis

  Amount& operator+=(const Amount& other);
  Amount operator*(const Amount& other) const;
  Amount over(const Amount& product) const;  ///< `product` has one term

  bool zero() const { return terms_.empty(); }
  const std::vector<Product>& terms() const { return terms_; }
  /// No term of *this is greater than the same term of `other`: then *this <= other for all sizes.
  bool within(const Amount& other) const;

  /// `2*|B|*|M|/|d| * (|t|-1)/|t|`; "0" for none.
  std::string text() const;
  /// Exact, rounded up; throws std::domain_error where a size is missing or 64 bits overflow.
  int64_t evaluate(const Sizes& sizes) const;

 private:
  void add(const Product& term);
  std::vector<Product> terms_;
  std::map<std::string, ir::Arith> factors_;  ///< what the printed factors stand for
};

/// 1536 as "1.5 KiB".
std::string human_bytes(int64_t bytes);
/// 1500000 as "1.50 MFLOPs".
std::string human_flops(int64_t flops);

}  // namespace shardproof::cost
