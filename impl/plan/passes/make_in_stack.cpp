#include <algorithm>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

/// Makes the step use `to` in place of the buffer `from`.
void move(Step& step, BufferId from, const Ref& to) {
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
  for (Step& each : step.body) move(each, from, to);
}

/// Whether the step copies a whole buffer of the arena to one without gaps.
bool copies_whole(const Step& step, const std::vector<Piece>& pieces,
                  const std::vector<BufferId>& given) {
  if (!plain_copy(step)) return false;
  const Ref &from = step.kernel->inputs[0], &to = step.kernel->out;
  return from.element == to.element && to.contiguous() && from.buffer != to.buffer &&
         !has(given, from.buffer) && is_whole(from, pieces.at(from.buffer));
}

class Stacks {
 public:
  Stacks(std::vector<Step>& all, const std::vector<Piece>& pieces,
         const std::vector<BufferId>& given)
      : all_(all), pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& body) {
    for (Step& step : body)
      if (step.is_loop) walk(step.body);
    if (std::none_of(body.begin(), body.end(),
                     [&](const Step& step) { return may_go(step, body); }))
      return;
    BufferUses here(body);
    Touching touching(body);
    std::vector<bool> gone(body.size());
    for (size_t i = 0; i < body.size(); ++i) {
      if (!is_plain(body[i], body, here, touching, gone)) continue;
      const Ref from = body[i].kernel->inputs[0], to = body[i].kernel->out;
      here.remove(body[i]);
      uses_.remove(body[i]);
      gone[i] = true;
      for (size_t user : touching.of({from.buffer})) {
        if (gone[user]) continue;
        here.remove(body[user]);
        uses_.remove(body[user]);
        move(body[user], from.buffer, to);
        here.add(body[user]);
        uses_.add(body[user]);
        touching.add(user, body[user]);
      }
    }
    erase_marked(body, gone);
  }

 private:
  /// Whether the step copies a whole buffer to where it may be made.
  bool may_go(const Step& step, const std::vector<Step>& body) const {
    return copies_whole(step, pieces_, given_) && may_be_early(step.kernel->out, body);
  }

  /// Whether the step copies a buffer that only this body uses.
  bool is_plain(const Step& step, const std::vector<Step>& body, const BufferUses& here,
                const Touching& touching, const std::vector<bool>& gone) const {
    if (!may_go(step, body)) return false;
    const Ref &from = step.kernel->inputs[0], &to = step.kernel->out;
    const BufferId made = from.buffer;
    if (here.reads_of(made) != uses_.reads_of(made) ||
        here.writes_of(made) != uses_.writes_of(made))
      return false;
    const Users users = touching.steps_of({made, to.buffer}, body, gone);
    return begins_with_write(users, made) && has_place(users, step) &&
           std::all_of(users.begin(), users.end(),
                       [&](const Step* user) { return only_kernels_touch(*user, from); });
  }

  /// Whether producing the value early extends no other lifetime: in a loop, the whole destination
  /// is live anyway.
  bool may_be_early(const Ref& to, const std::vector<Step>& body) const {
    return &body != &all_ || (!has(given_, to.buffer) && is_whole(to, pieces_.at(to.buffer)));
  }

  std::vector<Step>& all_;
  const std::vector<Piece>& pieces_;
  const std::vector<BufferId>& given_;
  BufferUses uses_;
};

}  // namespace

void make_in_stack(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                   const std::vector<BufferId>& given) {
  if (any_step(steps, [&](const Step& step) { return copies_whole(step, pieces, given); }))
    Stacks(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
