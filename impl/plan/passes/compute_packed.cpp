// A chain of pointwise ops that is only copied in another order is computed in that order.
#include <algorithm>
#include <map>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

/// Loops over entries that lie without gaps: what a step of each moves in memory, and in others.
struct Digits {
  std::vector<int64_t> extents, strides;
};

/// The loop of `nest` whose steps make up those of the digit, and how many of them; operand `along`
/// is where the digits are.
std::optional<std::pair<size_t, int64_t>> loop_of(const Nest& nest, size_t along, int64_t stride) {
  for (size_t d = 0; d < nest.extents.size(); ++d) {
    const int64_t own = nest.strides[along][d];
    if (own <= stride && stride < own * nest.extents[d] && stride % own == 0)
      return std::pair(d, stride / own);
  }
  return std::nullopt;
}

/// The digits by which both nests count the entries of one array, the first along operand `a`, the
/// second along `b`: each begins where a loop of either does.
std::optional<Digits> common_digits(const Nest& one, size_t a, const Nest& other, size_t b) {
  std::map<int64_t, int64_t> ends;  // stride: where the loop that begins there ends
  int64_t count = 1;
  for (const auto& [nest, along] : {std::pair(&one, a), std::pair(&other, b)})
    for (size_t d = 0; d < nest->extents.size(); ++d) {
      ends[nest->strides[along][d]];
      count = std::max(count, nest->strides[along][d] * nest->extents[d]);
    }
  Digits digits;
  for (auto each = ends.begin(); each != ends.end(); ++each) {
    const int64_t end = std::next(each) == ends.end() ? count : std::next(each)->first;
    if (each->first <= 0 || end % each->first != 0) return std::nullopt;
    digits.strides.push_back(each->first);
    digits.extents.push_back(end / each->first);
  }
  return digits;
}

/// The chain's loops with its result where `copy` puts it: operand 0 of the one is operand 1 of the
/// other.
std::optional<Nest> through(const Nest& chain, const Nest& copy) {
  const auto digits = common_digits(chain, 0, copy, 1);
  if (!digits || chain.count() != copy.count()) return std::nullopt;
  std::vector<std::vector<int64_t>> loops;  // extent, then the strides of out and the inputs
  for (size_t i = 0; i < digits->extents.size(); ++i) {
    const auto made = loop_of(chain, 0, digits->strides[i]);
    const auto copied = loop_of(copy, 1, digits->strides[i]);
    if (!made || !copied) return std::nullopt;
    loops.push_back({digits->extents[i], copy.strides[0][copied->first] * copied->second});
    for (size_t k = 1; k < chain.strides.size(); ++k)
      loops.back().push_back(chain.strides[k][made->first] * made->second);
  }
  std::sort(loops.begin(), loops.end(), [](const auto& x, const auto& y) { return x[1] > y[1]; });
  Nest nest;
  nest.strides.resize(chain.strides.size());
  for (const auto& loop : loops) {
    nest.extents.push_back(loop[0]);
    for (size_t k = 0; k < nest.strides.size(); ++k) nest.strides[k].push_back(loop[k + 1]);
  }
  return coalesced(nest);
}

class Packs {
 public:
  Packs(const std::vector<Step>& all, const std::vector<Piece>& pieces,
        const std::vector<BufferId>& given)
      : pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& body) const {
    for (Step& step : body) walk(step.body);
    Touching touching(body);
    std::vector<bool> gone(body.size());
    for (size_t i = 0; i < body.size(); ++i)
      if (const auto made = join(body, i, touching, gone)) {
        gone[i] = true;
        touching.add(*made, access_of(body[*made]));
      }
    erase_marked(body, gone);
  }

 private:
  /// The step that makes all of what the copy at `at` reads, if no other step has that.
  std::optional<size_t> maker(const std::vector<Step>& body, size_t at, const Touching& touching,
                              const std::vector<bool>& gone) const {
    const Step& step = body[at];
    if (!plain_copy(step)) return std::nullopt;
    const Ref& from = step.kernel->inputs[0];
    if (has(given_, from.buffer) || uses_.reads_of(from.buffer) != 1 ||
        uses_.writes_of(from.buffer) != 1 || from.offset != 0 || !from.terms.empty() ||
        from.element != step.kernel->out.element)
      return std::nullopt;
    for (size_t i : touching.of({from.buffer}))
      if (i < at && !gone[i] && has(body[i].writes, from.buffer)) {
        const Users users = touching.steps_of({from.buffer, step.kernel->out.buffer}, body, gone);
        return makes_whole(body[i]) && has_place(users, step) ? std::optional(i) : std::nullopt;
      }
    return std::nullopt;
  }

  bool makes_whole(const Step& step) const {
    return step.kernel && std::holds_alternative<Pointwise>(step.kernel->op) &&
           is_whole(step.kernel->out, pieces_.at(step.kernel->out.buffer));
  }

  /// The step that computes the copy at `at` from now on.
  std::optional<size_t> join(std::vector<Step>& body, size_t at, const Touching& touching,
                             const std::vector<bool>& gone) const {
    const std::optional<size_t> made = maker(body, at, touching, gone);
    if (!made) return std::nullopt;
    const Kernel& copy = *body[at].kernel;
    Step& maker = body[*made];
    auto& chain = std::get<Pointwise>(maker.kernel->op);
    auto nest = through(chain.nest, std::get<Copy>(copy.op).nest);
    if (!nest || has(maker.reads, copy.out.buffer)) return std::nullopt;
    chain.nest = std::move(*nest);
    maker.kernel->out = copy.out;
    maker.writes = body[at].writes;
    return made;
  }

  const std::vector<Piece>& pieces_;
  const std::vector<BufferId>& given_;
  const BufferUses uses_;
};

}  // namespace

void compute_packed(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const std::vector<BufferId>& given) {
  Packs(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
