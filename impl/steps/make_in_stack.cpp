#include <algorithm>
#include <map>

#include "impl/steps/schedule.h"

namespace shardproof::exec {
namespace {

/// How many steps touch each buffer, those in loops one by one.
std::map<BufferId, size_t> count_uses(const std::vector<Step>& steps) {
  std::map<BufferId, size_t> uses;
  for (const Step& step : steps) {
    Access own{step.reads, step.writes};
    own.reads.insert(own.reads.end(), own.writes.begin(), own.writes.end());
    std::sort(own.reads.begin(), own.reads.end());
    own.reads.erase(std::unique(own.reads.begin(), own.reads.end()), own.reads.end());
    for (BufferId id : own.reads) ++uses[id];
    for (const auto& [id, count] : count_uses(step.body)) uses[id] += count;
  }
  return uses;
}

bool has(const std::vector<BufferId>& all, BufferId id) {
  return std::find(all.begin(), all.end(), id) != all.end();
}

bool touches_leaf(const Step& step, BufferId id) {
  return has(step.reads, id) || has(step.writes, id);
}

std::vector<Ref*> refs_of(Step& step) {
  std::vector<Ref*> refs;
  if (step.kernel) {
    refs.push_back(&step.kernel->out);
    for (Ref& input : step.kernel->inputs) refs.push_back(&input);
  }
  if (step.fused) {
    for (Ref& output : step.fused->outputs) refs.push_back(&output);
    for (Ref& input : step.fused->inputs) refs.push_back(&input);
  }
  return refs;
}

/// All that touches the buffer is kernels, which see what it has: a collective holds its arguments
/// itself.
bool only_kernels_touch(std::vector<Step>& steps, const Ref& all) {
  return std::all_of(steps.begin(), steps.end(), [&](Step& step) {
    const std::vector<Ref*> refs = refs_of(step);
    return (!touches_leaf(step, all.buffer) || step.is_kernel()) &&
           std::all_of(refs.begin(), refs.end(),
                       [&](const Ref* ref) {
                         return ref->buffer != all.buffer || ref->element == all.element;
                       }) &&
           only_kernels_touch(step.body, all);
  });
}

/// The first step that touches the buffer writes it: an iteration takes nothing from the last one.
bool begins_with_write(const std::vector<Step>& body, BufferId id) {
  for (const Step& step : body) {
    if (touches_leaf(step, id)) return has(step.writes, id) && !has(step.reads, id);
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
    for (Ref* ref : refs_of(step)) {
      if (ref->buffer != from) continue;
      ref->buffer = to.buffer;
      ref->offset += to.offset;
      ref->terms.insert(ref->terms.end(), to.terms.begin(), to.terms.end());
    }
    move(step.body, from, to);
  }
}

struct Stacks {
  const std::vector<Piece>& pieces;
  const std::vector<BufferId>& given;
  const std::map<BufferId, size_t> uses;

  /// The copy of what nobody has but this body.
  bool is_plain(const Step& step, std::vector<Step>& body) const {
    if (step.op != "emit" || !step.kernel) return false;
    const auto* copy = std::get_if<Copy>(&step.kernel->op);
    if (!copy || copy->moving || step.kernel->inputs.size() != 1) return false;
    const Ref &from = step.kernel->inputs[0], &to = step.kernel->out;
    if (from.element != to.element || !to.contiguous() || from.buffer == to.buffer ||
        has(given, from.buffer) || !is_whole(from, pieces.at(from.buffer)))
      return false;
    const auto here = count_uses(body);
    return here.at(from.buffer) == uses.at(from.buffer) && begins_with_write(body, from.buffer) &&
           only_kernels_touch(body, from);
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
  Stacks{pieces, given, count_uses(steps)}.walk(steps, false);
}

}  // namespace shardproof::exec
