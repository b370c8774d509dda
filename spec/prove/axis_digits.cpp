#include "spec/prove/axis_digits.h"

#include <cctype>

namespace shardproof {

using smt::Term;

std::string dim_symbol(const Dim& dim) {
  std::string text;
  for (const Name& factor : dim.factors) {
    if (!text.empty()) text += ".";
    if (!factor.empty() && std::isdigit(static_cast<unsigned char>(factor[0]))) text += "n";
    for (char c : factor) {  // library names may have characters that solvers reject
      const bool plain = std::isalnum(static_cast<unsigned char>(c)) || c == '_';
      text += plain ? std::string(1, c) : "$" + std::to_string(static_cast<int>(c)) + "$";
    }
  }
  return text.empty() ? "unit" : text;
}

Term radix_of(const Axis& axis) { return smt::integer(axis); }
Term digit_of(const Axis& axis, const std::string& copy) {
  return smt::integer(axis + ".i" + copy);
}

Term global_index(const std::vector<Term>& digits, const std::vector<Term>& radices,
                  const Term& local_size, const Term& local) {
  return layout::global_index(digits.data(), radices.data(), static_cast<int>(digits.size()),
                              local_size, local, Term(0));
}

DigitMap::DigitMap(const Split& split, const std::string& copy)
    : local_size_(smt::integer(dim_symbol(split.dim) + ".local")),
      local_(smt::integer(dim_symbol(split.dim) + ".at" + copy)) {
  for (const Axis& axis : split.axes) {
    radices_.push_back(radix_of(axis));
    digits_.push_back(digit_of(axis, copy));
  }
}

std::vector<Term> DigitMap::sizes() const {
  std::vector<Term> result{less_equal(1, local_size_)};
  for (const Term& radix : radices_) result.push_back(less_equal(1, radix));
  return result;
}

std::vector<Term> DigitMap::bounds() const {
  std::vector<Term> result = sizes();
  const auto below = [&](const Term& index, const Term& size) {
    result.push_back(less_equal(0, index));
    result.push_back(less(index, size));
  };
  below(local_, local_size_);
  for (size_t i = 0; i < digits_.size(); ++i) below(digits_[i], radices_[i]);
  return result;
}

smt::Model DigitMap::example() const {
  smt::Model model{{local_size_.name(), {2, 1}}, {local_.name(), {0, 1}}};
  for (const Term& radix : radices_) model[radix.name()] = {2, 1};
  for (const Term& digit : digits_) model[digit.name()] = {0, 1};
  return model;
}

}  // namespace shardproof
