#include "impl/exec/masks.h"

#include <algorithm>

#include "impl/tensor/tensor.h"

namespace shardproof::exec {

void Masks::forget(BufferId buffer) {
  counts_.erase(buffer);
  causal_.erase(buffer);
}

// Strides tell the dims of a row-major array apart, but for those of one entry.
std::optional<Masks::Counted> Masks::counted(const Expression& leaf) const {
  const auto found = counts_.find(leaf.ref.buffer);
  if (leaf.kind != Expression::Kind::leaf || found == counts_.end() || is_real(leaf.element) ||
      leaf.ref.offset != 0 || !leaf.ref.terms.empty())
    return std::nullopt;
  const Iota& iota = found->second;
  const std::vector<int64_t> strides = row_major(iota.extents);
  std::optional<Counted> counted;
  for (size_t i = 0; i < leaf.labels.size(); ++i) {
    const int64_t stride = leaf.ref.strides[i];
    if (leaf.ref.extents[i] == 1 || stride == 0) continue;
    size_t dim = 0;
    while (dim < strides.size() && (iota.extents[dim] == 1 || strides[dim] != stride)) ++dim;
    if (dim == strides.size() || (dim == iota.dim && counted)) return std::nullopt;
    if (dim == iota.dim) counted = Counted{leaf.labels[i], iota.first};
  }
  return counted;
}

void Masks::compute(BufferId buffer, const Expression& expression, const Labels& labels,
                    const std::vector<int64_t>& extents) {
  const bool le = expression.fn == PointwiseFn::le, ge = expression.fn == PointwiseFn::ge;
  if (expression.kind != Expression::Kind::apply || !(le || ge)) return;
  const std::optional<Counted> less = counted(*expression.arguments[le ? 0 : 1]),
                               more = counted(*expression.arguments[le ? 1 : 0]);
  if (!less || !more || less->first != more->first) return;
  const std::vector<int64_t> strides = row_major(extents);
  const size_t query = position_of(labels, more->label), key = position_of(labels, less->label);
  if (query == key || query == labels.size() || key == labels.size()) return;
  Causal causal{strides[query], strides[key], {}};
  for (size_t d = 0; d < labels.size(); ++d)
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
  return causal ? MaskKind::causal : MaskKind::any;
}

}  // namespace shardproof::exec
