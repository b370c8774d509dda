#include <algorithm>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"

namespace shardproof::plan {
namespace {

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

class Stacks {
 public:
  Stacks(std::vector<Step>& all, const std::vector<Piece>& pieces,
         const std::vector<BufferId>& given)
      : all_(all), pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& body) {
    for (Step& step : body) walk(step.body);
    for (size_t i = 0; i < body.size(); ++i) {
      if (!is_plain(body[i], body)) continue;
      const Step copy = body[i];
      body.erase(body.begin() + static_cast<ptrdiff_t>(i--));
      move(body, copy.kernel->inputs[0].buffer, copy.kernel->out);
      uses_ = BufferUses(all_);
    }
  }

 private:
  /// The copy of what nobody has but this body.
  bool is_plain(const Step& step, const std::vector<Step>& body) const {
    if (!plain_copy(step)) return false;
    const Ref &from = step.kernel->inputs[0], &to = step.kernel->out;
    if (from.element != to.element || !to.contiguous() || from.buffer == to.buffer ||
        has(given_, from.buffer) || !is_whole(from, pieces_.at(from.buffer)) ||
        !may_be_early(to, body))
      return false;
    const BufferUses here(body);
    const BufferId made = from.buffer;
    return here.reads_of(made) == uses_.reads_of(made) &&
           here.writes_of(made) == uses_.writes_of(made) && begins_with_write(body, made) &&
           only_kernels_touch(body, from) && has_place(body, step);
  }

  /// No other memory is needed for longer: in a loop the whole buffer is needed anyway.
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
  Stacks(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
