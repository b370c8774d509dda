#pragma once
// Combines two entries in a reduction: integers wrap; a NaN on either side gives NaN.
#include <limits>
#include <type_traits>

#include "kernels/machine.h"

namespace shardproof::SHARDPROOF_MACHINE {

struct Sum {
  template <class T>
  SHARDPROOF_HD static T join(T a, T b) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::make_unsigned_t<T>>(a) +
                            static_cast<std::make_unsigned_t<T>>(b));
    else
      return a + b;
  }
  /// The neutral element.
  template <class T>
  SHARDPROOF_HD static T nothing() {
    return 0;
  }
};

struct Maximum {
  template <class T>
  SHARDPROOF_HD static T join(T a, T b) {
    return b > a || b != b ? b : a;
  }
  template <class T>
  SHARDPROOF_HD static T nothing() {
    constexpr T least = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                             : std::numeric_limits<T>::lowest();
    return least;
  }
};

struct Minimum {
  template <class T>
  SHARDPROOF_HD static T join(T a, T b) {
    return b < a || b != b ? b : a;
  }
  template <class T>
  SHARDPROOF_HD static T nothing() {
    constexpr T most = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                            : std::numeric_limits<T>::max();
    return most;
  }
};

}  // namespace shardproof::SHARDPROOF_MACHINE
