#include "impl/compile/masks.h"

#include <algorithm>

#include "impl/tensor/tensor.h"

namespace shardproof::compile {

void Masks::forget(BufferId buffer) {
  if (counts_.empty() && causal_.empty()) return;
  counts_.erase(buffer);
  causal_.erase(buffer);
}

// Strides identify the dims of a row-major array, except those with one entry.
std::optional<Masks::Counted> Masks::counted(const Expression& leaf) const {
  const Ref& ref = leaf.view.ref;
  const auto found = counts_.find(ref.buffer);
  if (leaf.kind != Expression::Kind::leaf || found == counts_.end() || is_real(leaf.element) ||
      ref.offset != 0 || !ref.terms.empty())
    return std::nullopt;
  const Iota& iota = found->second;
  const std::vector<int64_t> strides = row_major(iota.extents);
  std::optional<Counted> counted;
  for (size_t i = 0; i < ref.extents.size(); ++i) {
    const int64_t stride = ref.strides[i];
    if (ref.extents[i] == 1 || stride == 0) continue;
    size_t dim = 0;
    while (dim < strides.size() && (iota.extents[dim] == 1 || strides[dim] != stride)) ++dim;
    if (dim == strides.size() || (dim == iota.dim && counted)) return std::nullopt;
    if (dim == iota.dim) counted = Counted{leaf.view.ids[i], iota.first};
  }
  return counted;
}

std::optional<Masks::Order> Masks::order(const Expression& expression) const {
  const bool le = expression.fn == PointwiseFn::le, ge = expression.fn == PointwiseFn::ge;
  if (expression.kind != Expression::Kind::apply || !(le || ge)) return std::nullopt;
  const std::optional<Counted> less = counted(*expression.arguments[le ? 0 : 1]),
                               more = counted(*expression.arguments[le ? 1 : 0]);
  if (!less || !more || less->first != more->first) return std::nullopt;
  return Order{more->position, less->position};
}

namespace {

/// The leaf's stride along the position.
int64_t stride_along(const Expression& leaf, size_t position) {
  const View& view = leaf.view;
  const size_t at = position_of(view.ids, position);
  return at < view.ids.size() && view.ref.extents[at] != 1 ? view.ref.strides[at] : 0;
}

/// Whether the expression compares an integer of the query with one of the key; the integer may
/// depend on other dims.
bool is_same_segment(const Expression& expression, size_t query, size_t key) {
  if (expression.kind != Expression::Kind::apply || expression.fn != PointwiseFn::eq ||
      expression.real)
    return false;
  const Expression *of_query = expression.arguments[0].get(),
                   *of_key = expression.arguments[1].get();
  if (of_query->kind != Expression::Kind::leaf || of_key->kind != Expression::Kind::leaf ||
      of_query->view.ref.buffer != of_key->view.ref.buffer ||
      of_query->view.ref.offset != of_key->view.ref.offset || !of_query->view.ref.terms.empty() ||
      !of_key->view.ref.terms.empty() || is_real(of_query->element))
    return false;
  if (stride_along(*of_query, query) == 0) std::swap(of_query, of_key);
  if (stride_along(*of_query, key) != 0 || stride_along(*of_key, query) != 0 ||
      stride_along(*of_query, query) != stride_along(*of_key, key))
    return false;
  for (const Expression* leaf : {of_query, of_key})
    for (size_t position : leaf->view.ids)
      if (position != query && position != key &&
          stride_along(*of_query, position) != stride_along(*of_key, position))
        return false;
  return true;
}

}  // namespace

void Masks::compute(BufferId buffer, const Expression& expression,
                    const std::vector<int64_t>& extents) {
  std::optional<Order> found = order(expression);
  MaskKind kind = MaskKind::causal;
  if (expression.kind == Expression::Kind::apply && expression.fn == PointwiseFn::logical_and)
    for (size_t i = 0; i < 2 && !found; ++i) {
      found = order(*expression.arguments[i]);
      kind = MaskKind::segments;
      if (found && !is_same_segment(*expression.arguments[1 - i], found->query, found->key)) return;
    }
  if (!found) return;
  const std::vector<int64_t> strides = row_major(extents);
  const auto [query, key] = *found;
  if (query == key) return;
  Causal causal{strides[query], strides[key], {}, kind};
  for (size_t d = 0; d < extents.size(); ++d)
    if (d != query && d != key && extents[d] != 1) causal.others.push_back(strides[d]);
  causal_.insert_or_assign(buffer, std::move(causal));
}

MaskKind Masks::kind(const Ref& mask, const MaskStrides& strides) const {
  const auto found = causal_.find(mask.buffer);
  if (found == causal_.end() || mask.offset != 0 || !mask.terms.empty()) return MaskKind::any;
  const Causal& made = found->second;
  const auto elsewhere = [&](int64_t stride) {
    return stride == 0 ||
           std::find(made.others.begin(), made.others.end(), stride) != made.others.end();
  };
  const bool causal = strides.query == made.query && strides.key == made.key &&
                      elsewhere(strides.group) &&
                      std::all_of(std::begin(strides.batch), std::end(strides.batch), elsewhere);
  return causal ? made.kind : MaskKind::any;
}

}  // namespace shardproof::compile
