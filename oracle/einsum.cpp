// einsum: products of operands, summed over the indices that the result lacks. Two operands at a
// time, as matrix products [batch, m, k] x [batch, k, n].
#include <Eigen/Core>
#include <algorithm>
#include <optional>
#include <utility>

#include "oracle/disturbed.h"
#include "oracle/ops.h"
#include "oracle/pattern.h"

namespace shardproof::oracle {
namespace {

struct Term {
  Indices indices;
  Tensor tensor;  ///< one dim for each index
};

Extents strides_along(const Term& term, const Indices& order) {
  const Extents own = row_major(term.tensor.shape);
  Extents result;
  result.reserve(order.size());
  for (size_t index : order) {
    const auto at = std::find(term.indices.begin(), term.indices.end(), index);
    result.push_back(
        at == term.indices.end() ? 0 : own[static_cast<size_t>(at - term.indices.begin())]);
  }
  return result;
}

Extents sizes_of(const Term& term, const Indices& indices) {
  Extents result;
  result.reserve(indices.size());
  for (size_t index : indices) {
    const auto at = std::find(term.indices.begin(), term.indices.end(), index);
    result.push_back(term.tensor.shape[static_cast<size_t>(at - term.indices.begin())]);
  }
  return result;
}

int64_t count_of(const Term& term, const Indices& indices) {
  int64_t result = 1;
  for (size_t i = 0; i < term.indices.size(); ++i)
    if (has(indices, term.indices[i])) result *= term.tensor.shape[i];
  return result;
}

// The sum over the indices that are not in `kept`, which is in any order.
Term summed(const Term& term, const Indices& kept) {
  Term result{kept, filled(sizes_of(term, kept), 0)};
  const Positions to = positions(term.tensor.shape, strides_along(result, term.indices));
  for (size_t i = 0; i < to.size(); ++i)
    result.tensor.data[static_cast<size_t>(to[i])] += term.tensor.data[i];
  return result;
}

// The same; `made` holds it where it has to be made.
const Term& arranged(const Term& term, const Indices& kept, std::optional<Term>& made) {
  return term.indices == kept ? term : made.emplace(summed(term, kept));
}

Indices joined(Indices a, const Indices& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

template <class Keep>
Indices those(const Indices& indices, const Keep& keep) {
  Indices result;
  std::copy_if(indices.begin(), indices.end(), std::back_inserter(result), keep);
  return result;
}

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// c[p] = a[p] b[p] for matrices of m x k and k x n.
void multiply(const double* a, const double* b, double* c, int64_t batch, int64_t m, int64_t k,
              int64_t n) {
  for (int64_t p = 0; p < batch; ++p)
    Eigen::Map<Matrix>(c + p * m * n, m, n).noalias() =
        Eigen::Map<const Matrix>(a + p * m * k, m, k) *
        Eigen::Map<const Matrix>(b + p * k * n, k, n);
}

// The product of two terms, summed over what is not in `kept`.
Term product(const Term& a, const Term& b, const Indices& kept) {
  const Indices batch =
      those(a.indices, [&](auto& i) { return has(b.indices, i) && has(kept, i); });
  const Indices k = those(a.indices, [&](auto& i) { return has(b.indices, i) && !has(kept, i); });
  const Indices m = those(a.indices, [&](auto& i) { return !has(b.indices, i) && has(kept, i); });
  const Indices n = those(b.indices, [&](auto& i) { return !has(a.indices, i) && has(kept, i); });
  const Indices outer = joined(batch, m);
  std::optional<Term> made_left, made_right;
  const Term& left = arranged(a, joined(outer, k), made_left);
  const Term& right = arranged(b, joined(joined(batch, k), n), made_right);
  Extents shape = sizes_of(left, outer);
  for (int64_t size : sizes_of(right, n)) shape.push_back(size);
  Term result{joined(outer, n), filled(std::move(shape), 0)};
  multiply(left.tensor.data.data(), right.tensor.data.data(), result.tensor.data.data(),
           count_of(left, batch), count_of(left, m), count_of(left, k), count_of(right, n));
  return result;
}

// The product of all terms, with exactly the indices `kept`, all of which occur.
Term multiplied(const std::vector<Term>& terms, const Indices& kept) {
  if (terms.size() == 1) return terms[0].indices == kept ? terms[0] : summed(terms[0], kept);
  Term result;
  for (size_t t = 1; t < terms.size(); ++t) {
    Indices needed = kept;
    for (size_t later = t + 1; later < terms.size(); ++later)
      needed = joined(needed, terms[later].indices);
    result = product(t == 1 ? terms[0] : result, terms[t], needed);
  }
  if (result.indices == kept) return result;
  return summed(result, kept);
}

// The entries of the result times this are the products that are summed.
double terms_summed(const std::vector<Term>& terms, const Indices& kept) {
  double count = 1;
  Indices seen = kept;
  for (const Term& term : terms)
    for (size_t i = 0; i < term.indices.size(); ++i)
      if (!has(seen, term.indices[i])) {
        seen.push_back(term.indices[i]);
        count *= static_cast<double>(term.tensor.shape[i]);
      }
  return count;
}

Term contracted(const std::vector<Term>& terms, const Indices& kept) {
  Term result = multiplied(terms, kept);
  if (!disturbs()) return result;
  std::vector<Term> sizes = terms;
  for (Term& term : sizes) term.tensor = absolute(std::move(term.tensor));
  disturb_sums(result.tensor, multiplied(sizes, kept).tensor, terms_summed(terms, kept));
  return result;
}

// The operand's entries repeated along new indices, in the order `all`.
Tensor repeated(const Term& term, const Indices& all, const Extents& shape) {
  Tensor result = filled(shape, 0);
  const Positions from = positions(shape, strides_along(term, all));
  for (size_t i = 0; i < from.size(); ++i)
    result.data[i] = term.tensor.data[static_cast<size_t>(from[i])];
  return result;
}

// d result / d operand: the same product with the result's gradient in the operand's place. An
// index that nothing else has was summed: its gradient is the same all along it.
Tensor gradient_of(const std::vector<Term>& operands, size_t wanted, const Term& gradient) {
  std::vector<Term> others = {gradient};
  for (size_t i = 0; i < operands.size(); ++i)
    if (i != wanted) others.push_back(operands[i]);
  const Term& own = operands[wanted];
  const Indices found = those(own.indices, [&](size_t index) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Term& term) { return has(term.indices, index); });
  });
  return repeated(contracted(others, found), own.indices, own.tensor.shape);
}

Term term(const Reading& reading, const Indices& indices, const Tensor& x) {
  return {indices, {reading.extents(indices), x.data, {}}};
}

std::vector<Term> terms_of(const Reading& reading, const Vars& operands) {
  std::vector<Term> terms;
  terms.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i)
    terms.push_back(term(reading, reading.left[i], operands[i]->value));
  return terms;
}

Tensor shaped(Tensor x, const Extents& shape) {
  x.shape = shape;
  return x;
}

}  // namespace

Vars apply(const ir::Einsum& op, Site& site) {
  const Vars operands = site.operands();
  const auto read = read_pattern(site, op.pattern, Form::plain, operands.size());
  const Reading& reading = *read;
  Tensor value =
      shaped(contracted(terms_of(reading, operands), reading.right).tensor, site.shape());
  return {site.record(
      std::move(value), one_is_followed(operands), [operands, read](const Node& result) {
        const Reading& reading = *read;
        const std::vector<Term> terms = terms_of(reading, operands);
        const Term gradient = term(reading, reading.right, result.gradient);
        for (size_t i = 0; i < operands.size(); ++i)
          if (operands[i]->followed)
            contribute(operands[i],
                       shaped(gradient_of(terms, i, gradient), operands[i]->value.shape));
      })};
}

}  // namespace shardproof::oracle
