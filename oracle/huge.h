#pragma once
// Exponentials beyond the range of doubles.

namespace shardproof::oracle {

/// While one lives, an exponential that a double can't hold is a large number, or a small one
/// instead of 0, which depends on its argument and on the seed. A result that is the same for
/// several seeds does not depend on such numbers: in a running softmax exp(1e30) meets a sum that
/// is 0. Even seeds keep the order of the exponentials, odd ones do not.
class HugeExponentials {
 public:
  explicit HugeExponentials(unsigned seed);
  ~HugeExponentials();
  HugeExponentials(const HugeExponentials&) = delete;
};

double exponential(double x);

}  // namespace shardproof::oracle
