#include "impl/plan/passes/place.h"

#include <algorithm>

namespace shardproof::plan {
namespace {

bool touches_itself(const Step& step, BufferId id) {
  return has(step.reads, id) || has(step.writes, id);
}

/// How far the view reaches, in entries from its first on.
int64_t reach(const Ref& ref) {
  int64_t reach = 1;
  for (size_t i = 0; i < ref.extents.size(); ++i) reach += (ref.extents[i] - 1) * ref.strides[i];
  return reach;
}

}  // namespace

const Copy* plain_copy(const Step& step) {
  const auto* copy = step.kernel ? std::get_if<Copy>(&step.kernel->op) : nullptr;
  return copy && !copy->moving && step.kernel->inputs.size() == 1 ? copy : nullptr;
}

bool same_terms(const Ref& a, const Ref& b) {
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const Ref::Term& x, const Ref::Term& y) {
                      return x.loop == y.loop && x.stride == y.stride;
                    });
}

bool is_whole(const Ref& ref, const Piece& piece) {
  return ref.offset == 0 && ref.terms.empty() && ref.contiguous() &&
         static_cast<size_t>(ref.count()) * size_of(ref.element) == piece.bytes;
}

bool only_kernels_touch(const std::vector<Step>& steps, const Ref& all) {
  return std::all_of(steps.begin(), steps.end(), [&](const Step& step) {
    bool alike = true;
    for_each_ref(step, [&](const Ref& ref) {
      alike = alike && (ref.buffer != all.buffer || ref.element == all.element);
    });
    return alike && (!touches_itself(step, all.buffer) || step.is_kernel()) &&
           only_kernels_touch(step.body, all);
  });
}

bool begins_with_write(const std::vector<Step>& body, BufferId id) {
  for (const Step& step : body) {
    if (touches_itself(step, id)) return has(step.writes, id) && !has(step.reads, id);
    const Access all = access_of(step);
    if (has(all.reads, id) || has(all.writes, id)) return false;
  }
  return false;
}

bool keeps_off(const Step& step, const Ref& part) {
  const Access access = access_of(step);
  if (!has(access.reads, part.buffer) && !has(access.writes, part.buffer)) return true;
  bool off = step.is_kernel();
  for_each_ref(step, [&](const Ref& ref) {
    if (ref.buffer != part.buffer) return;
    off = off && ref.element == part.element && same_terms(ref, part) &&
          (ref.offset + reach(ref) <= part.offset || part.offset + reach(part) <= ref.offset);
  });
  return off;
}

bool has_place(const std::vector<Step>& body, const Step& copy) {
  const BufferId made = copy.kernel->inputs[0].buffer;
  const Ref& place = copy.kernel->out;
  bool is_made = false, is_copied = false, is_overwritten = false;
  for (const Step& step : body) {
    if (&step == &copy) {
      is_copied = true;
      continue;
    }
    const Access access = access_of(step);
    is_made = is_made || has(access.writes, made);
    if (!is_made || is_overwritten) {
      if (is_overwritten && has(access.reads, made)) return false;
      continue;
    }
    const bool off = keeps_off(step, place);
    if (!is_copied && !off) return false;
    is_overwritten = is_copied && !off && has(access.writes, place.buffer);
    if (is_copied && (has(access.writes, made) || (is_overwritten && has(access.reads, made))))
      return false;
  }
  return true;
}

}  // namespace shardproof::plan
