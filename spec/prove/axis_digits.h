#pragma once
// The index map of one split dim as terms: sizes of axes, digits of a device, a local index.
#include <string>
#include <vector>

#include "spec/prove/term.h"
#include "spec/types/layout.h"
#include "spec/types/type.h"

namespace shardproof {

/// Names of the solver's variables. Axes and dims share one namespace, so these do not clash.
std::string dim_symbol(const Dim& dim);
smt::Term radix_of(const Axis& axis);                           ///< `t`
smt::Term digit_of(const Axis& axis, const std::string& copy);  ///< `t.i`

smt::Term global_index(const std::vector<smt::Term>& digits, const std::vector<smt::Term>& radices,
                       const smt::Term& local_size, const smt::Term& local);

/// `copy` names the digits of one device: two devices share all sizes, but not their digits.
class DigitMap {
 public:
  DigitMap(const Split& split, const std::string& copy);
  const std::vector<smt::Term>& radices() const { return radices_; }
  const std::vector<smt::Term>& digits() const { return digits_; }
  const smt::Term& local_size() const { return local_size_; }
  const smt::Term& local() const { return local_; }
  smt::Term global() const { return global_index(digits_, radices_, local_size_, local_); }
  smt::Term global(const std::vector<smt::Term>& digits, const smt::Term& local_size,
                   const smt::Term& local) const {
    return global_index(digits, radices_, local_size, local);
  }
  std::vector<smt::Term> sizes() const;   ///< every size is at least 1
  std::vector<smt::Term> bounds() const;  ///< sizes() and: digits and local index are in range
  smt::Model example() const;             ///< values that satisfy bounds()

 private:
  std::vector<smt::Term> radices_, digits_;
  smt::Term local_size_, local_;
};

}  // namespace shardproof
