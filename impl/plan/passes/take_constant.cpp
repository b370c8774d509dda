// Moves what depends on constant inputs alone out of the steps of each run.
#include <map>
#include <set>

#include "impl/plan/passes/passes.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

constexpr size_t alignment = 64;

size_t reads_in(const Step& step, BufferId id) {
  size_t count = !step.is_loop && has(step.reads, id) ? 1 : 0;
  for (const Step& each : step.body) count += reads_in(each, id);
  return count;
}

template <class Visit>
void for_each_view(std::vector<Step>& steps, const Visit& visit) {
  for (Step& step : steps) {
    for_each_ref(step, visit);
    if (step.exchange) {
      visit(step.exchange->send);
      visit(step.exchange->receive);
      visit(step.exchange->shift.ref);
    }
    for_each_view(step.body, visit);
  }
}

class Constants {
 public:
  Constants(const std::vector<Step>& steps, const std::vector<BufferId>& given,
            const std::vector<BufferId>& constant)
      : given_(given), uses_(steps) {
    for (const BufferId id : constant)
      if (uses_.writes_of(id) == 0) known_.insert(id);
  }

  /// The constant steps of the block, which no longer has them.
  std::vector<Step> take(std::vector<Step>& block) {
    std::vector<Step> taken;
    std::vector<bool> gone(block.size());
    const Touching touching(block);
    for (size_t i = 0; i < block.size(); ++i) {
      Step& step = block[i];
      if (step.is_loop) {
        loops_.push_back({step.loop, static_cast<size_t>(step.times)});
        std::vector<Step> body = take(step.body);
        loops_.pop_back();
        gone[i] = step.body.empty();
        if (body.empty()) continue;
        Step loop = step;
        loop.body = std::move(body);
        taken.push_back(std::move(loop));
      } else if (is_constant(block, i, touching)) {
        for (const BufferId id : step.writes) {
          known_.insert(id);
          loops_of_[id] = loops_;
        }
        gone[i] = true;
        taken.push_back(step);
      }
    }
    erase_marked(block, gone);
    return taken;
  }

  /// Gives a value of a loop that a later run reads an entry for each iteration.
  void spread(std::vector<Step>& taken, std::vector<Step>& rest, std::vector<Piece>& pieces) const {
    const BufferUses later(rest);
    std::map<BufferId, size_t> bytes;  // of one iteration's value
    for (const auto& [id, loops] : loops_of_) {
      if (loops.empty() || later.reads_of(id) == 0) continue;
      Piece& piece = pieces.at(id);
      piece.bytes = bytes[id] = (piece.bytes + alignment - 1) / alignment * alignment;
      for (const Loop& loop : loops) piece.bytes *= loop.times;
    }
    const auto move = [&](Ref& ref) {
      const auto own = bytes.find(ref.buffer);
      if (own == bytes.end()) return;
      size_t stride = own->second / size_of(ref.element);
      const std::vector<Loop>& loops = loops_of_.at(ref.buffer);
      for (size_t i = loops.size(); i-- > 0; stride *= loops[i].times)
        ref.terms.push_back({loops[i].id, static_cast<int64_t>(stride)});
    };
    for_each_view(taken, move);
    for_each_view(rest, move);
  }

 private:
  struct Loop {
    size_t id, times;
  };

  /// Whether the step is a kernel of constants, and all that reads its results comes after it in
  /// the same iteration.
  bool is_constant(const std::vector<Step>& block, size_t at, const Touching& touching) const {
    const Step& step = block[at];
    if (!step.is_kernel() || step.reads.empty()) return false;
    for (const BufferId id : step.reads)
      if (!known_.contains(id)) return false;
    for (const BufferId id : step.writes) {
      if (has(given_, id) || uses_.writes_of(id) != 1) return false;
      size_t after = 0;
      for (const size_t user : touching.of({id}))
        if (user > at) after += reads_in(block[user], id);
      if (after != uses_.reads_of(id)) return false;
    }
    return true;
  }

  const std::vector<BufferId>& given_;
  const BufferUses uses_;
  std::set<BufferId> known_;
  std::vector<Loop> loops_;  ///< around the block
  std::map<BufferId, std::vector<Loop>> loops_of_;
};

}  // namespace

std::vector<Step> take_constant(std::vector<Step>& steps, std::vector<Piece>& pieces,
                                const std::vector<BufferId>& given,
                                const std::vector<BufferId>& constant) {
  Constants constants(steps, given, constant);
  std::vector<Step> taken = constants.take(steps);
  constants.spread(taken, steps, pieces);
  return taken;
}

}  // namespace shardproof::plan
