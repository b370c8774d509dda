#include <algorithm>

#include "impl/steps/schedule.h"

namespace shardproof::exec {
namespace {

bool touches_itself(const Step& step, BufferId id) {
  return has(step.reads, id) || has(step.writes, id);
}

/// All that touches the buffer is kernels, which see what it has: a collective holds its arguments
/// itself.
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

/// The first step that touches the buffer writes it: an iteration takes nothing from the last one.
bool begins_with_write(const std::vector<Step>& body, BufferId id) {
  for (const Step& step : body) {
    if (touches_itself(step, id)) return has(step.writes, id) && !has(step.reads, id);
    const Access all = access_of(step);
    if (has(all.reads, id) || has(all.writes, id)) return false;
  }
  return false;
}

bool is_whole(const Ref& ref, const Piece& piece) {
  return ref.offset == 0 && ref.terms.empty() && ref.contiguous() &&
         static_cast<size_t>(ref.count()) * size_of(ref.element) == piece.bytes;
}

/// Who touches the buffer `from` touches `to` in its place.
void move(std::vector<Step>& steps, BufferId from, const Ref& to) {
  for (Step& step : steps) {
    for (std::vector<BufferId>* ids : {&step.reads, &step.writes})
      if (has(*ids, from)) {
        std::replace(ids->begin(), ids->end(), from, to.buffer);
        std::sort(ids->begin(), ids->end());
        ids->erase(std::unique(ids->begin(), ids->end()), ids->end());
      }
    for_each_ref(step, [&](Ref& ref) {
      if (ref.buffer != from) return;
      ref.buffer = to.buffer;
      ref.offset += to.offset;
      ref.terms.insert(ref.terms.end(), to.terms.begin(), to.terms.end());
    });
    move(step.body, from, to);
  }
}

/// The entries that the view has, from the first on.
int64_t reach(const Ref& ref) {
  int64_t reach = 1;
  for (size_t i = 0; i < ref.extents.size(); ++i) reach += (ref.extents[i] - 1) * ref.strides[i];
  return reach;
}

bool same_terms(const Ref& a, const Ref& b) {
  return std::equal(a.terms.begin(), a.terms.end(), b.terms.begin(), b.terms.end(),
                    [](const Ref::Term& x, const Ref::Term& y) {
                      return x.loop == y.loop && x.stride == y.stride;
                    });
}

/// The step touches none of the entries of `part`.
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

/// What `copy` copies may have been where it is copied to from the first on: nobody is at that
/// place until then, and behind it nobody writes what the copy is of, or to its place.
bool has_place(const std::vector<Step>& body, const Step& copy) {
  const BufferId made = copy.kernel->inputs[0].buffer;
  bool is_made = false, is_copied = false;
  for (const Step& step : body) {
    const Access access = access_of(step);
    is_made = is_made || has(access.writes, made);
    if (&step == &copy) {
      is_copied = true;
    } else if (is_copied ? has(access.writes, made) : false) {
      return false;
    } else if (is_made && !keeps_off(step, copy.kernel->out)) {
      if (!is_copied || has(access.writes, copy.kernel->out.buffer)) return false;
    }
  }
  return true;
}

struct Stacks {
  const std::vector<Piece>& pieces;
  const std::vector<BufferId>& given;
  const BufferUses uses;

  /// The copy of what nobody has but this body.
  bool is_plain(const Step& step, const std::vector<Step>& body) const {
    if (!step.kernel) return false;
    const auto* copy = std::get_if<Copy>(&step.kernel->op);
    if (!copy || copy->moving || step.kernel->inputs.size() != 1) return false;
    const Ref &from = step.kernel->inputs[0], &to = step.kernel->out;
    if (from.element != to.element || !to.contiguous() || from.buffer == to.buffer ||
        has(given, from.buffer) || !is_whole(from, pieces.at(from.buffer)))
      return false;
    const BufferUses here(body);
    const BufferId made = from.buffer;
    return here.reads_of(made) == uses.reads_of(made) &&
           here.writes_of(made) == uses.writes_of(made) && begins_with_write(body, made) &&
           only_kernels_touch(body, from) && (step.op == "emit" || has_place(body, step));
  }

  void walk(std::vector<Step>& body, bool is_body) const {
    for (Step& step : body) walk(step.body, true);
    for (size_t i = 0; is_body && i < body.size(); ++i) {
      if (!is_plain(body[i], body)) continue;
      const Step emit = body[i];
      body.erase(body.begin() + static_cast<ptrdiff_t>(i--));
      move(body, emit.kernel->inputs[0].buffer, emit.kernel->out);
    }
  }
};

}  // namespace

void make_in_stack(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                   const std::vector<BufferId>& given) {
  Stacks{pieces, given, BufferUses(steps)}.walk(steps, false);
}

}  // namespace shardproof::exec
