// Replaces sums of zero-padded parts, such as gradients of slices: if the parts cover the whole
// array, each is written to its offset, without zeros and additions.
#include <algorithm>

#include "impl/plan/passes/chain.h"
#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/place.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

bool makes_zeros(const Step& step) {
  if (!step.kernel) return false;
  if (std::holds_alternative<Zero>(step.kernel->op)) return true;
  const auto* chain = std::get_if<Pointwise>(&step.kernel->op);
  return chain && chain->inputs.empty() && chain->steps.size() == 1 &&
         chain->steps[0].fn == PointwiseFn::constant && chain->steps[0].value == 0;
}

/// The steps in a body that make one term: the zero fill, and the copy of the part.
struct Pasted {
  size_t fill, part;
};

/// A body, with its steps one by one.
struct Body {
  explicit Body(std::vector<Step>& all) : steps(all), touching(all), gone(all.size()) {}

  /// The steps that write the buffer.
  std::vector<size_t> writers(BufferId id) const {
    std::vector<size_t> found = touching.of({id});
    std::erase_if(found, [&](size_t i) { return gone[i] || !has(steps[i].writes, id); });
    return found;
  }

  std::vector<Step>& steps;
  Touching touching;
  std::vector<bool> gone;
};

class Parts {
 public:
  Parts(const std::vector<Step>& all, const std::vector<Piece>& pieces,
        const std::vector<BufferId>& given)
      : pieces_(pieces), given_(given), uses_(all) {}

  void walk(std::vector<Step>& steps) {
    for (Step& step : steps)
      if (step.is_loop) walk(step.body);
    if (std::any_of(steps.begin(), steps.end(), adds_all)) join(steps);
    drop_unread(steps);
  }

 private:
  void join(std::vector<Step>& steps) {
    Body body(steps);
    for (size_t i = 0; i < steps.size(); ++i)
      if (!body.gone[i] && adds_all(steps[i])) join(body, i);
    erase_marked(steps, body.gone);
  }

  /// The body's only step that writes the buffer, if no step outside the body does.
  const Step* only_writer(const Body& body, BufferId id) const {
    if (has(given_, id) || uses_.writes_of(id) != 1) return nullptr;
    const std::vector<size_t> writers = body.writers(id);
    return writers.empty() ? nullptr : &body.steps[writers[0]];
  }

  bool fills(const Body& body, const Step& step) const {
    if (!step.kernel || !is_whole(step.kernel->out, pieces_.at(step.kernel->out.buffer)))
      return false;
    if (makes_zeros(step)) return true;
    if (!plain_copy(step)) return false;
    const Step* const zeros = only_writer(body, step.kernel->inputs[0].buffer);
    return zeros && zeros < &step && makes_zeros(*zeros) &&
           is_whole(zeros->kernel->out, pieces_.at(zeros->kernel->out.buffer));
  }

  std::optional<Pasted> pasted(const Body& body, const Ref& sum, size_t end) const {
    if (has(given_, sum.buffer) || uses_.reads_of(sum.buffer) != 1 ||
        uses_.writes_of(sum.buffer) != 2 || !is_whole(sum, pieces_.at(sum.buffer)))
      return std::nullopt;
    std::vector<size_t> writers = body.writers(sum.buffer);
    std::erase_if(writers, [&](size_t i) { return i >= end; });
    const std::vector<Step>& steps = body.steps;
    if (writers.size() != 2 || !fills(body, steps[writers[0]]) || !plain_copy(steps[writers[1]]) ||
        steps[writers[1]].kernel->out.element != sum.element ||
        !steps[writers[1]].kernel->out.terms.empty())
      return std::nullopt;
    return Pasted{writers[0], writers[1]};
  }

  /// Whether the parts cover the whole array along one dim, each entry once.
  static bool make_up(const Ref& whole, const std::vector<const Ref*>& parts) {
    size_t dim = 0;
    while (dim < whole.extents.size() && parts[0]->extents.size() == whole.extents.size() &&
           parts[0]->extents[dim] == whole.extents[dim])
      ++dim;
    if (dim >= whole.extents.size()) return false;
    std::vector<std::pair<int64_t, int64_t>> places;
    for (const Ref* part : parts) {
      std::vector<int64_t> extents = part->extents;
      if (part->strides != whole.strides || extents.size() != whole.extents.size()) return false;
      places.emplace_back(part->offset, extents[dim] * whole.strides[dim]);
      extents[dim] = whole.extents[dim];
      if (extents != whole.extents || part->offset % whole.strides[dim] != 0) return false;
    }
    std::sort(places.begin(), places.end());
    // Along an outer dim, each part must start where the previous one ends.
    int64_t end = 0;
    for (const auto& [first, length] : places) {
      if (first != end) return false;
      end += length;
    }
    return end == whole.extents[dim] * whole.strides[dim];
  }

  void join(Body& body, size_t at) {
    std::vector<Step>& steps = body.steps;
    const Kernel sum = *steps[at].kernel;
    std::vector<Pasted> found;
    std::vector<const Ref*> parts;
    for (const Ref& input : sum.inputs) {
      const auto one = pasted(body, input, at);
      if (!one) return;
      found.push_back(*one);
      parts.push_back(&steps[one->part].kernel->out);
    }
    const Ref whole = steps[found[0].fill].kernel->out;
    size_t first = at;
    for (const Pasted& each : found) {
      if (steps[each.fill].kernel->out.extents != whole.extents) return;
      first = std::min(first, each.part);
    }
    for (size_t i : body.touching.of({sum.out.buffer}))
      if (first <= i && i < at && !body.gone[i] && !keeps_off(steps[i], sum.out)) return;
    if (!make_up(whole, parts)) return;
    remove(body, at);
    for (const Pasted& each : found) {
      Step& part = steps[each.part];
      uses_.remove(part);
      put(part, sum.out);
      uses_.add(part);
      body.touching.add(each.part, part);
      remove(body, each.fill);
    }
  }

  void remove(Body& body, size_t at) {
    uses_.remove(body.steps[at]);
    body.gone[at] = true;
  }

  static void put(Step& part, const Ref& whole) {
    Ref& out = part.kernel->out;
    out.buffer = whole.buffer;
    out.offset += whole.offset;
    out.terms = whole.terms;
    part.writes = {whole.buffer};
  }

  /// Removes zeros that are no longer read.
  void drop_unread(std::vector<Step>& body) const {
    std::erase_if(body, [&](const Step& step) {
      return makes_zeros(step) && !has(given_, step.kernel->out.buffer) &&
             uses_.reads_of(step.kernel->out.buffer) == 0 &&
             uses_.writes_of(step.kernel->out.buffer) == 1;
    });
  }

  const std::vector<Piece>& pieces_;
  const std::vector<BufferId>& given_;
  BufferUses uses_;
};

}  // namespace

void join_parts(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                const std::vector<BufferId>& given) {
  if (any_step(steps, [](const Step& step) { return adds_all(step) || makes_zeros(step); }))
    Parts(steps, pieces, given).walk(steps);
}

}  // namespace shardproof::plan
