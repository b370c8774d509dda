#include "impl/plan/passes/place.h"

#include <algorithm>

namespace shardproof::plan {
namespace {

bool touches_itself(const Step& step, BufferId id) {
  return has(step.reads, id) || has(step.writes, id);
}

/// The extent of the view in memory, in entries from its first one.
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

bool only_kernels_touch(const Step& step, const Ref& all) {
  bool alike = true;
  for_each_ref(step, [&](const Ref& ref) {
    alike = alike && (ref.buffer != all.buffer || ref.element == all.element);
  });
  return alike && (!touches_itself(step, all.buffer) || step.is_kernel()) &&
         std::all_of(step.body.begin(), step.body.end(),
                     [&](const Step& each) { return only_kernels_touch(each, all); });
}

bool begins_with_write(const Users& users, BufferId id) {
  for (const Step* step : users) {
    if (touches_itself(*step, id)) return has(step->writes, id) && !has(step->reads, id);
    if (reads(*step, id) || writes(*step, id)) return false;
  }
  return false;
}

bool keeps_off(const Step& step, const Ref& part) {
  if (!reads(step, part.buffer) && !writes(step, part.buffer)) return true;
  bool off = step.is_kernel();
  for_each_ref(step, [&](const Ref& ref) {
    if (ref.buffer != part.buffer) return;
    off = off && ref.element == part.element && same_terms(ref, part) &&
          (ref.offset + reach(ref) <= part.offset || part.offset + reach(part) <= ref.offset);
  });
  return off;
}

bool has_place(const Users& users, const Step& copy) {
  const BufferId made = copy.kernel->inputs[0].buffer;
  const Ref& place = copy.kernel->out;
  bool is_made = false, is_copied = false, is_overwritten = false;
  for (const Step* each : users) {
    const Step& step = *each;
    if (each == &copy) {
      is_copied = true;
      continue;
    }
    is_made = is_made || writes(step, made);
    if (!is_made || is_overwritten) {
      if (is_overwritten && reads(step, made)) return false;
      continue;
    }
    const bool off = keeps_off(step, place);
    if (!is_copied && !off) return false;
    is_overwritten = is_copied && !off && writes(step, place.buffer);
    if (is_copied && (writes(step, made) || (is_overwritten && reads(step, made)))) return false;
  }
  return true;
}

}  // namespace shardproof::plan
