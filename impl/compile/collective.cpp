// Collectives: pack blocks of the operand, exchange them, and copy the received ones to their
// offsets.
#include <algorithm>

#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// Axes that leave or join dims, most significant first.
struct Moves {
  std::vector<std::pair<size_t, const Axis*>> moves;

  std::vector<Axis> axes() const {
    std::vector<Axis> result;
    result.reserve(moves.size());
    for (const auto& [dim, axis] : moves) result.push_back(*axis);
    return result;
  }
  bool touches(size_t dim) const {
    return std::any_of(moves.begin(), moves.end(),
                       [&](const auto& move) { return move.first == dim; });
  }
};

/// The axes that split a dim of `shape` and not the same dim of `other`.
Moves moves(const Shape& shape, const Shape& other) {
  Moves result;
  for (size_t d = 0; d < shape.dims.size(); ++d) {
    const auto& others = other.dims.at(d).axes;
    for (const Axis& axis : shape.dims[d].axes)
      if (std::find(others.begin(), others.end(), axis) == others.end())
        result.moves.emplace_back(d, &axis);
  }
  return result;
}

std::vector<Axis> marked(const Shape& shape, const Shape& other, Mark mark) {
  std::vector<Axis> axes;
  for (const auto& [axis, own] : shape.marks) {
    if (own != mark) continue;
    const auto found = other.marks.find(axis);
    if (found == other.marks.end() || found->second != mark) axes.push_back(axis);
  }
  return axes;
}

class Moved {
 public:
  Moved(const Site& site, const Shape& from, const Shape& to)
      : compiler_(site.compiler),
        mesh_(site.placement().mesh()),
        rank_(site.placement().rank()),
        leave_(moves(from, to)),
        come_(moves(to, from)) {}

  Ref all_gather(const Ref& x) const { return gathered(x, leave_); }

  Ref reduced(const Ref& x, const std::vector<Axis>& axes, Reduction reduction) const {
    const Ring ring = ring_of(axes);
    if (ring.members.size() == 1) return x;
    Ref send = compiler_.packed(x, x.element);
    Ref to = compiler_.create(x.element, x.extents);
    compiler_.exchange("all_reduce",
                       {Collective::all_reduce, ring.group, std::move(send), to, reduction});
    return to;
  }

  Ref psum_scatter(const Ref& x) const {
    const Ring ring = ring_of(come_.axes());
    if (ring.members.size() == 1) return x;
    Ref send = blocks_of(x, ring, come_);
    Ref to = compiler_.create(x.element, part(x, come_, rank_).extents);
    compiler_.exchange("psum_scatter",
                       {Collective::reduce_scatter, ring.group, std::move(send), to});
    return to;
  }

  /// Joins the blocks and splits the result along other dims.
  Ref all_to_all(const Ref& x) const {
    std::vector<Axis> left = leave_.axes(), came = come_.axes();
    std::sort(left.begin(), left.end());
    std::sort(came.begin(), came.end());
    if (left != came)
      throw PlanError(compiler_.place() + ": an all_to_all that gains or loses axes");
    for (size_t d = 0; d < x.extents.size(); ++d)
      if (leave_.touches(d) && come_.touches(d)) return slice(gathered(x, leave_), in_order());
    const Ring ring = ring_of(leave_.axes());
    if (ring.members.size() == 1) return x;
    const Moves come = in_order();
    Ref send = blocks_of(x, ring, come);
    const std::vector<int64_t> block = part(x, come, rank_).extents;
    const Ref receive = compiler_.create(x.element, stacked(ring, block));
    compiler_.exchange("all_to_all",
                       {Collective::all_to_all, ring.group, std::move(send), receive});
    return put_together(receive, ring, block, leave_);
  }

  /// Whether this rank holds everything that would move along the dims' axes.
  bool is_alone() const {
    const auto alone = [&](const auto& move) { return mesh_.size(*move.second) == 1; };
    return std::all_of(leave_.moves.begin(), leave_.moves.end(), alone) &&
           std::all_of(come_.moves.begin(), come_.moves.end(), alone);
  }

  Ref slice(const Ref& x) const { return slice(x, come_); }

  bool is_root(const std::vector<Axis>& axes) const {
    compiler_.set_not_alike();
    return mesh_.block(rank_, axes) == 0;
  }

  Ref zeros(Element element, const std::vector<int64_t>& extents) const {
    Ref to = compiler_.create(element, extents);
    compiler_.kernel("zeros", Zero{static_cast<size_t>(to.count()) * size_of(element)}, to, {});
    return to;
  }

  /// The rank's block at its offset in a dim that is n times as long, zeros elsewhere.
  Ref zero_pad(const Ref& x) const {
    Ref to = zeros(x.element, whole(x.extents, leave_));
    compiler_.move("zero_pad", x, part(to, leave_, rank_));
    return to;
  }

 private:
  struct Ring {
    size_t group = 0;
    std::vector<int> members;
  };

  Ring ring_of(const std::vector<Axis>& axes) const {
    Ring ring;
    const auto again = [&](const Axis& axis) {
      return std::count(axes.begin(), axes.end(), axis) > 1;
    };
    if (std::any_of(axes.begin(), axes.end(), again))
      throw PlanError(compiler_.place() + ": an axis is moved twice");
    ring.members = mesh_.along(rank_, axes);
    if (ring.members.size() > 1) ring.group = compiler_.group(ring.members, axes);
    return ring;
  }

  /// The joining axes, in the order of the leaving ones.
  Moves in_order() const {
    Moves result;
    for (const auto& [dim, axis] : leave_.moves)
      for (const auto& move : come_.moves)
        if (*move.second == *axis) result.moves.push_back(move);
    return result;
  }

  std::vector<int64_t> whole(std::vector<int64_t> extents, const Moves& moves) const {
    for (const auto& [dim, axis] : moves.moves) extents.at(dim) *= mesh_.size(*axis);
    return extents;
  }

  /// The block of x that `rank` holds if the axes of `moves` split it.
  Ref part(const Ref& x, const Moves& moves, int64_t rank) const {
    Ref view = x;
    for (size_t d = 0; d < x.extents.size(); ++d) {
      int64_t count = 1, block = 0;
      for (const auto& [dim, axis] : moves.moves) {
        if (dim != d) continue;
        const int64_t size = mesh_.size(*axis);
        count *= size;
        block = block * size + mesh_.digit(rank, *axis);
      }
      if (view.extents[d] % count != 0)
        throw PlanError(compiler_.place() + ": " + std::to_string(view.extents[d]) +
                        " does not divide into " + std::to_string(count) + " parts");
      view.extents[d] /= count;
      view.offset += block * view.extents[d] * view.strides[d];
    }
    return view;
  }

  static std::vector<int64_t> stacked(const Ring& ring, const std::vector<int64_t>& block) {
    std::vector<int64_t> extents{static_cast<int64_t>(ring.members.size())};
    extents.insert(extents.end(), block.begin(), block.end());
    return extents;
  }

  /// Block i of a stack of blocks.
  static Ref entry(const Ref& stack, size_t i) {
    Ref view = stack;
    view.offset += static_cast<int64_t>(i) * stack.strides[0];
    view.extents.erase(view.extents.begin());
    view.strides.erase(view.strides.begin());
    return view;
  }

  /// Whether the blocks are already contiguous in memory: the only dim that moves is the outermost
  /// one longer than 1.
  static bool in_sequence(const Ref& x, const Moves& moves) {
    if (!x.contiguous()) return false;
    bool outer = true;
    for (size_t d = 0; d < x.extents.size(); ++d) {
      if (moves.touches(d) && !outer) return false;
      outer = outer && x.extents[d] == 1 && !moves.touches(d);
    }
    return true;
  }

  /// Packs the blocks of x for the members.
  Ref blocks_of(const Ref& x, const Ring& ring, const Moves& moves) const {
    if (in_sequence(x, moves)) return x;
    const std::vector<int64_t> block = part(x, moves, rank_).extents;
    const Ref stack = compiler_.create(x.element, stacked(ring, block));
    for (size_t i = 0; i < ring.members.size(); ++i)
      compiler_.move("pack", part(x, moves, ring.members[i]), entry(stack, i));
    return stack;
  }

  Ref put_together(const Ref& stack, const Ring& ring, const std::vector<int64_t>& block,
                   const Moves& moves) const {
    Ref to = compiler_.create(stack.element, whole(block, moves));
    if (in_sequence(to, moves)) {
      to.buffer = stack.buffer;
      return to;
    }
    for (size_t i = 0; i < ring.members.size(); ++i)
      compiler_.move("unpack", entry(stack, i), part(to, moves, ring.members[i]));
    return to;
  }

  Ref gathered(const Ref& x, const Moves& leave) const {
    const Ring ring = ring_of(leave.axes());
    if (ring.members.size() == 1) return x;
    Ref send = compiler_.packed(x, x.element);
    const Ref receive = compiler_.create(x.element, stacked(ring, x.extents));
    compiler_.exchange("all_gather",
                       {Collective::all_gather, ring.group, std::move(send), receive});
    return put_together(receive, ring, x.extents, leave);
  }

  Ref slice(const Ref& x, const Moves& come) const { return part(x, come, rank_); }

  Compiler& compiler_;
  const Mesh& mesh_;
  const int64_t rank_;
  const Moves leave_, come_;
};

}  // namespace

void compile(const ir::Collective& op, const Site& site) {
  using enum ir::CollectiveFn;
  const Shape &from = site.type(0), &to = site.result_type();
  const Moved exchange(site, from, to);
  std::vector<Axis> summed, maxed, split;
  if (exchange.is_alone()) {
    summed = marked(from, to, Mark::U);
    maxed = marked(from, to, Mark::Max);
    split = marked(to, from, Mark::U);
    const Mesh& mesh = site.placement().mesh();
    if (mesh.blocks(summed) == 1 && mesh.blocks(maxed) == 1 && mesh.blocks(split) == 1)
      return site.define(site.expression(0));
  }
  const Ref& x = site.ref(0);
  switch (op.fn) {
    case all_gather:
      return site.define(exchange.all_gather(x));
    case all_reduce:
      if (maxed.empty()) return site.define(exchange.reduced(x, summed, Reduction::sum));
      if (summed.empty()) return site.define(exchange.reduced(x, maxed, Reduction::max));
      return site.define(
          exchange.reduced(exchange.reduced(x, summed, Reduction::sum), maxed, Reduction::max));
    case psum_scatter:
      return site.define(exchange.psum_scatter(x));
    case all_to_all:
      return site.define(exchange.all_to_all(x));
    case slice:
      return site.define(exchange.slice(x));
    case fan_out:
      return site.define(site.expression(0));
    case zero_nonroot:
      return exchange.is_root(split) ? site.define(site.expression(0))
                                     : site.define(exchange.zeros(x.element, x.extents));
    case zero_pad:
      return site.define(exchange.zero_pad(x));
  }
}

// (x, by): block i goes to position i + by along the dim's first axis.
void compile(const ir::Ppermute& op, const Site& site) {
  const std::vector<Axis>& axes = site.type(0).dims.at(op.pattern.left_bracket.value()).axes;
  if (axes.empty()) throw PlanError(site.compiler.place() + ": the dim is not split");
  const Placement& placement = site.placement();
  const std::vector<int> members = placement.mesh().along(placement.rank(), {axes[0]});
  if (members.size() == 1) return site.define(site.ref(0));
  Ref send = site.compiler.packed(site.ref(0), site.ref(0).element);
  Ref to = site.compiler.create(send.element, send.extents);
  const Whole by = site.whole(1);
  if (!by.known && !by.index && !site.compiler.device().is_host())
    throw PlanError(site.compiler.place() + ": on " + site.compiler.device().name() +
                    " the ppermute shift must be a constant or a loop index");
  site.compiler.exchange(
      "ppermute", {Collective::permute, site.compiler.group(members, {axes[0]}), std::move(send),
                   to, Reduction::sum, by, placement.mesh().digit(placement.rank(), axes[0])});
  site.define(std::move(to));
}

}  // namespace shardproof::compile
