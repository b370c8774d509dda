#include "impl/compile/attended.h"

#include <algorithm>

namespace shardproof::compile {
namespace {

bool same_number(const Affine& a, const Affine& b) {
  return a.offset == b.offset &&
         std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const Ref::Term& x, const Ref::Term& y) {
                      return x.loop == y.loop && x.stride == y.stride;
                    });
}

bool same_form(const Ref& a, const Ref& b) {
  if (a.buffer != b.buffer || a.element != b.element || a.extents != b.extents) return false;
  for (size_t d = 0; d < a.extents.size(); ++d)
    if (a.extents[d] != 1 && a.strides[d] != b.strides[d]) return false;
  return true;
}

/// The iteration of `view`, if it has the form of `first`, the dense view of iteration 0 of a
/// stack.
std::optional<Affine> iteration_of(const Ref& view, const Ref& first) {
  const int64_t apart = first.count();
  if (!same_form(view, first) || (view.offset - first.offset) % apart != 0) return std::nullopt;
  Affine found{(view.offset - first.offset) / apart, view.terms};
  for (Ref::Term& term : found.terms) {
    if (term.stride % apart != 0) return std::nullopt;
    term.stride /= apart;
  }
  return found;
}

Ref of_iteration(Ref first, const Affine& iteration) {
  const int64_t apart = first.count();
  first.offset += iteration.offset * apart;
  for (const Ref::Term& term : iteration.terms)
    first.terms.push_back({term.loop, term.stride * apart});
  return first;
}

/// `view`, of a value of the body, as a view of iteration 0 of the value's stack.
std::optional<Ref> in_stack(const Ref& view, const Attentions::Saved& saved) {
  const Ref &value = saved.value, &stack = saved.stack;
  if (view.buffer != value.buffer || view.offset != value.offset || !view.terms.empty() ||
      !value.terms.empty() || !stack.terms.empty() || !stack.contiguous() ||
      view.count() != value.count())
    return std::nullopt;
  Ref made = view;
  made.buffer = stack.buffer;
  made.offset = stack.offset;
  for (size_t d = 0; d < view.extents.size(); ++d) {
    if (view.extents[d] == 1) continue;
    size_t of = 0;
    while (of < value.extents.size() &&
           (value.extents[of] != view.extents[d] || value.strides[of] != view.strides[d]))
      ++of;
    if (of == value.extents.size()) return std::nullopt;
    made.strides[d] = stack.strides[of + 1];
  }
  return made;
}

std::optional<Ref> in_stack(const Ref& view, const std::vector<Attentions::Saved>& values) {
  for (const Attentions::Saved& each : values)
    if (std::optional<Ref> found = in_stack(view, each)) return found;
  return std::nullopt;
}

constexpr size_t mask_at = 3;

bool same_mask(const Attended& a, const Attended& b) {
  if (a.mask_kind != b.mask_kind) return false;
  return a.mask_kind == MaskKind::causal || same_view(a.operands[mask_at], b.operands[mask_at]);
}

std::optional<Attentions::Left> left_by(const Attended& saved, const Attended& wanted) {
  if (saved.scale != wanted.scale || wanted.operands.size() != saved.operands.size() ||
      !same_mask(saved, wanted))
    return std::nullopt;
  std::optional<Affine> all;
  for (size_t k = 0; k < mask_at; ++k) {
    const std::optional<Affine> own = iteration_of(wanted.operands[k], saved.operands[k]);
    if (!own || (all && !same_number(*all, *own))) return std::nullopt;
    all = own;
  }
  return Attentions::Left{of_iteration(saved.o, *all), of_iteration(saved.stats, *all)};
}

}  // namespace

std::optional<Attended> Attentions::saved(const Attended& made, const std::vector<Saved>& values,
                                          BufferId first) {
  if (made.scale.empty()) return std::nullopt;
  const Ref& mask = made.operands.at(mask_at);
  if (made.mask_kind != MaskKind::causal && (mask.buffer >= first || !mask.terms.empty()))
    return std::nullopt;
  Attended found = made;
  for (size_t k = 0; k < mask_at; ++k) {
    const std::optional<Ref> own = in_stack(made.operands[k], values);
    if (!own) return std::nullopt;
    found.operands[k] = *own;
  }
  const std::optional<Ref> o = in_stack(made.o, values);
  if (!o) return std::nullopt;
  found.o = *o;
  return found;
}

std::optional<Attentions::Left> Attentions::left(const Attended& wanted) const {
  for (const Attended& each : here_)
    if (each.scale == wanted.scale &&
        std::equal(wanted.operands.begin(), wanted.operands.end(), each.operands.begin(),
                   each.operands.end(), [](const Ref& a, const Ref& b) { return same_view(a, b); }))
      return Left{each.o, each.stats};
  for (const Attended& each : saved_)
    if (std::optional<Left> found = left_by(each, wanted)) return found;
  return std::nullopt;
}

}  // namespace shardproof::compile
