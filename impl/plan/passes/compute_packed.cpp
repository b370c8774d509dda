// If a fused elementwise kernel's result is only copied to another order, computes it in that
// order.
#include <algorithm>
#include <map>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

/// Loops over contiguous entries: extents, and the strides in each array.
struct Digits {
  std::vector<int64_t> extents, strides;
};

/// The loop of `nest` that covers the digit, and the number of its iterations per digit step;
/// operand `along` has the digits.
std::optional<std::pair<size_t, int64_t>> loop_of(const Nest& nest, size_t along, int64_t stride) {
  for (size_t d = 0; d < nest.extents.size(); ++d) {
    const int64_t own = nest.strides[along][d];
    if (own <= stride && stride < own * nest.extents[d] && stride % own == 0)
      return std::pair(d, stride / own);
  }
  return std::nullopt;
}

/// The common digits of both nests on one array, which is operand `a` of the first and `b` of the
/// second: a digit begins where a loop of either does.
std::optional<Digits> common_digits(const Nest& one, size_t a, const Nest& other, size_t b) {
  std::map<int64_t, int64_t> ends;  // stride: end of the loop that begins there
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

/// The chain's loops with its result where `copy` stores it: operand 0 of the chain is operand 1 of
/// the copy.
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
  return coalesced(std::move(nest));
}

bool is_chain(const Step& step) {
  return step.kernel && std::holds_alternative<Pointwise>(step.kernel->op);
}

/// Whether the step copies a buffer of the arena, from its first entry.
bool copies_buffer(const Step& step, const std::vector<BufferId>& given) {
  if (!plain_copy(step)) return false;
  const Ref& from = step.kernel->inputs[0];
  return from.offset == 0 && from.terms.empty() && from.element == step.kernel->out.element &&
         !has(given, from.buffer);
}

class Packs {
 public:
  Packs(const std::vector<Step>& all, const std::vector<Piece>& pieces,
        const std::vector<BufferId>& given)
      : pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& body) const {
    for (Step& step : body)
      if (step.is_loop) walk(step.body);
    if (std::none_of(body.begin(), body.end(),
                     [&](const Step& step) { return is_only_reader(step); }))
      return;
    Touching touching(body);
    std::vector<bool> gone(body.size());
    for (size_t i = 0; i < body.size(); ++i)
      if (const auto made = join(body, i, touching, gone)) {
        gone[i] = true;
        touching.add(*made, body[*made]);
      }
    erase_marked(body, gone);
  }

 private:
  /// Whether nothing else reads what the step copies.
  bool is_only_reader(const Step& step) const {
    if (!copies_buffer(step, given_)) return false;
    const BufferId from = step.kernel->inputs[0].buffer;
    return uses_.reads_of(from) == 1 && uses_.writes_of(from) == 1;
  }

  /// The step that computes everything that the copy at `at` reads, if that copy is its only
  /// reader.
  std::optional<size_t> maker(const std::vector<Step>& body, size_t at, const Touching& touching,
                              const std::vector<bool>& gone) const {
    const Step& step = body[at];
    if (!is_only_reader(step)) return std::nullopt;
    const Ref& from = step.kernel->inputs[0];
    for (size_t i : touching.of({from.buffer}))
      if (i < at && !gone[i] && has(body[i].writes, from.buffer)) {
        const Users users = touching.steps_of({from.buffer, step.kernel->out.buffer}, body, gone);
        return makes_whole(body[i]) && has_place(users, step) ? std::optional(i) : std::nullopt;
      }
    return std::nullopt;
  }

  bool makes_whole(const Step& step) const {
    return is_chain(step) && is_whole(step.kernel->out, pieces_.at(step.kernel->out.buffer));
  }

  /// The step that computes the copy at `at` directly.
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
  std::vector<BufferId> copied;
  for_each_step(steps, [&](const Step& step) {
    if (copies_buffer(step, given)) copied.push_back(step.kernel->inputs[0].buffer);
  });
  std::sort(copied.begin(), copied.end());
  if (any_step(steps, [&](const Step& step) {
        return is_chain(step) &&
               std::binary_search(copied.begin(), copied.end(), step.kernel->out.buffer);
      }))
    Packs(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
