#include "spec/cost/cost.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

#include "spec/elaborate/names.h"
#include "spec/ir/walk.h"

namespace shardproof::cost {
namespace {

using namespace ir;

Amount local_size(const Program& program, const Split& split) {
  Amount size = Amount::size(program.size(split.dim));
  for (const Axis& axis : split.axes) size = size.over(Amount::axis(axis));
  return size;
}

/// Axes of `a` that `b` does not have.
std::vector<Axis> without(const std::vector<Axis>& a, const std::vector<Axis>& b) {
  std::vector<Axis> result;
  for (const Axis& axis : a)
    if (std::find(b.begin(), b.end(), axis) == b.end()) result.push_back(axis);
  return result;
}

std::vector<Axis> mark_axes(const Marks& marks) {
  std::vector<Axis> axes;
  for (const auto& [axis, mark] : marks)
    if (mark != Mark::I) axes.push_back(axis);
  return axes;
}

bool moves(CollectiveFn fn) { return fn <= CollectiveFn::all_to_all; }

/// The values a block uses, nested blocks included.
void collect_uses(const Block& block, std::set<ValueId>& used) {
  for (const Instr& instr : block.instrs) {
    used.insert(instr.operands.begin(), instr.operands.end());
    if (const Block* body = body_of(instr.op)) collect_uses(*body, used);
  }
  used.insert(block.next.begin(), block.next.end());
  used.insert(block.emit.begin(), block.emit.end());
}

/// The fullest points seen so far. None is within another, that is, has no term that is greater:
/// then it is at most the other for all sizes.
class Peaks {
 public:
  void add(const Amount& point) {
    const Row row = row_of(point);
    for (const Row& other : rows_)
      if (within(row, other)) return;
    size_t left = 0;
    for (size_t i = 0; i < points.size(); ++i) {
      if (within(rows_[i], row)) continue;
      if (left != i) points[left] = std::move(points[i]), rows_[left] = std::move(rows_[i]);
      ++left;
    }
    points.resize(left), rows_.resize(left);
    points.push_back(point), rows_.push_back(row);
  }

  std::vector<Amount> points;

 private:
  using Row = std::vector<int64_t>;  ///< coefficients by column; 0 after its end

  struct Before {
    bool operator()(const Product& a, const Product& b) const { return a.before(b); }
  };

  Row row_of(const Amount& point) {
    Row row;
    for (const Product& term : point.terms()) {
      const size_t column = columns_.try_emplace(term, columns_.size()).first->second;
      if (row.size() <= column) row.resize(column + 1);
      row[column] = term.coefficient;
    }
    return row;
  }

  static bool within(const Row& row, const Row& other) {
    for (size_t i = 0; i < row.size(); ++i)
      if (row[i] > (i < other.size() ? other[i] : 0)) return false;
    return true;
  }

  std::map<Product, size_t, Before> columns_;
  std::vector<Row> rows_;
};

class Pass {
 public:
  Pass(const Program& program, const TypesOf& types, const BackwardOf& backward_of,
       std::map<size_t, Cost>& done, size_t function)
      : program_(program),
        types_of_(types),
        backward_of_(backward_of),
        done_(done),
        function_(program.functions.at(function)),
        types_(types(function)) {}

  Cost run() {
    for (ValueId id : function_.params) parameter(id);
    for (ValueId id : function_.saved_params) parameter(id);
    std::set<ValueId> returned(function_.returned.begin(), function_.returned.end());
    cost_.live = block(function_.body, Amount(1), returned).points;
    return std::move(cost_);
  }

 private:
  const Amount& bytes(ValueId id) {
    const auto [found, is_new] = bytes_.try_emplace(id);
    if (is_new) found->second = local_bytes(program_, types_.at(id));
    return found->second;
  }

  void parameter(ValueId id) {
    owned_.insert(id);
    const bool record = function_.values.at(id).name.find('.') != std::string::npos;
    (record ? cost_.state : cost_.inputs) += bytes(id);
  }

  /// The value whose memory `id` lies in: save, a stated type and the like copy nothing.
  ValueId root(ValueId id) const {
    const auto found = root_.find(id);
    return found == root_.end() ? id : found->second;
  }

  void alias(const Instr& instr) {
    const auto* collective = std::get_if<Collective>(&instr.op);
    const bool same = std::holds_alternative<Save>(instr.op) ||
                      std::holds_alternative<Ascribe>(instr.op) ||
                      std::holds_alternative<StopGrad>(instr.op) ||
                      (collective && collective->fn == CollectiveFn::fan_out);
    for (size_t i = 0; same && i < instr.results.size() && i < instr.operands.size(); ++i)
      root_[instr.results[i]] = root(instr.operands[i]);
  }

  /// Runs a block `times` times; what is in `kept` lives to its end. Returns its fullest points.
  Peaks block(const Block& block, const Amount& times, std::set<ValueId> kept) {
    for (const Instr& instr : block.instrs) alias(instr);
    kept.insert(block.next.begin(), block.next.end());
    kept.insert(block.emit.begin(), block.emit.end());
    std::map<ValueId, size_t> last;
    for (size_t i = 0; i < block.instrs.size(); ++i) {
      std::set<ValueId> used(block.instrs[i].operands.begin(), block.instrs[i].operands.end());
      if (const Block* body = body_of(block.instrs[i].op)) collect_uses(*body, used);
      for (ValueId id : used) last[root(id)] = i;
    }
    for (ValueId id : kept) last[root(id)] = block.instrs.size();

    Peaks peaks;
    Amount sum_live;
    std::vector<std::vector<ValueId>> ending(block.instrs.size());  // values of this block
    const auto begin = [&](ValueId id, size_t i) {
      add_to(sum_live, id, 1);
      const auto found = last.find(id);
      const size_t end = found == last.end() ? i : std::max(found->second, i);
      if (end < ending.size()) ending[end].push_back(id);
    };
    if (&block != &function_.body)
      for (ValueId id : block.params) begin(id, 0);
    peaks.add(sum_live);
    for (size_t i = 0; i < block.instrs.size(); ++i) {
      const Instr& instr = block.instrs[i];
      const Amount before = sum_live;
      for (ValueId id : instr.results)
        if (!root_.count(id)) begin(id, i);
      // A callee's points have its results.
      const bool calls =
          std::holds_alternative<Call>(instr.op) || std::holds_alternative<Grad>(instr.op);
      const Amount& now = calls ? before : sum_live;
      for (const Amount& inner : instruction(instr, times)) {
        Amount sum = now;
        sum += inner;
        peaks.add(sum);
      }
      // Until a value ends, the next point is fuller.
      if (!ending[i].empty() || i + 1 == block.instrs.size()) peaks.add(sum_live);
      for (ValueId id : ending[i]) add_to(sum_live, id, -1);
    }
    return peaks;
  }

  void add_to(Amount& sum, ValueId id, int64_t times) {
    if (!owned_.count(id)) sum += bytes(id) * Amount(times);
  }

  /// Adds what an instruction costs; returns the points inside it (a loop's body, a callee).
  std::vector<Amount> instruction(const Instr& instr, const Amount& times) {
    if (const auto* einsum = std::get_if<Einsum>(&instr.op))
      cost_.flops += flops(*einsum, instr) * times;
    if (std::holds_alternative<Save>(instr.op))
      for (ValueId id : instr.results) cost_.saved += bytes(id) * times;
    if (const auto* collective = std::get_if<Collective>(&instr.op))
      for (size_t i = 0; moves(collective->fn) && i < instr.results.size(); ++i)
        transfer(name_of(instr.op), times,
                 received(program_, collective->fn, types_.at(instr.operands.at(i)),
                          types_.at(instr.results[i])),
                 instr);
    if (std::holds_alternative<Ppermute>(instr.op))
      transfer("ppermute", times, bytes(instr.operands.at(0)), instr);
    if (const auto* call = std::get_if<Call>(&instr.op)) return callee(call->function, times, true);
    if (const auto* grad = std::get_if<Grad>(&instr.op)) return gradient(*grad, times, instr);
    if (const Block* body = body_of(instr.op)) return loop(instr, *body, times);
    return {};
  }

  void transfer(const std::string& kind, const Amount& times, const Amount& bytes,
                const Instr& instr) {
    cost_.transfers.push_back({kind, times, bytes * times, instr.place.range});
  }

  /// A product of k operands, then a sum: k operations a term (one less without a sum counts the
  /// same).
  Amount flops(const Einsum& einsum, const Instr& instr) const {
    const Indices& in = einsum.pattern.indices;
    std::map<IndexId, Amount> sizes;
    for (size_t i = 0; i < in.left.size() && i < instr.operands.size(); ++i) {
      const Type& type = types_.at(instr.operands[i]);
      for (size_t k = 0; k < in.left[i].size() && k < type.dims.size(); ++k) {
        const auto leading = elaborate::leading(program_, in, in.left[i][k]);
        for (IndexId id : in.left[i][k])
          sizes.emplace(
              id, local_size(program_, {Dim{{in.all.at(id).dim}},
                                        id == leading ? type.dims[k].axes : std::vector<Axis>{}}));
      }
    }
    Amount result(static_cast<int64_t>(std::max<size_t>(in.left.size(), 1)));
    for (const auto& [id, size] : sizes) result = result * size;
    return result;
  }

  std::vector<Amount> callee(size_t index, const Amount& times, bool keeps_saved) {
    auto found = done_.find(index);
    if (found == done_.end())
      found =
          done_.emplace(index, Pass(program_, types_of_, backward_of_, done_, index).run()).first;
    const Cost& inner = found->second;
    executed(inner, times);
    if (keeps_saved) cost_.saved += inner.saved * times;
    std::vector<Amount> points = inner.live;
    // What value_and_grad saves in its forward lives until its backward has run.
    if (!keeps_saved)
      for (Amount& point : points) point += inner.saved;
    return points;
  }

  /// The forward, then the backward: the points of both.
  std::vector<Amount> gradient(const Grad& grad, const Amount& times, const Instr& instr) {
    std::vector<Amount> points = callee(grad.function, times, false);
    std::optional<Cost> backward =
        backward_of_ ? backward_of_(grad.function, grad.wrt) : std::nullopt;
    if (!backward) {
      cost_.backward_left_out = true;
      return points;
    }
    cost_.with_backward = true;
    for (Transfer& each : backward->transfers) each.range = instr.place.range;
    executed(*backward, times);
    for (Amount& point : backward->live)
      points.emplace_back(std::move(point)) += done_.at(grad.function).saved;
    return points;
  }

  void executed(const Cost& inner, const Amount& times) {
    for (const Transfer& each : inner.transfers)
      cost_.transfers.push_back({each.kind, each.count * times, each.bytes * times, each.range});
    cost_.flops += inner.flops * times;
    cost_.with_backward |= inner.with_backward;
    cost_.backward_left_out |= inner.backward_left_out;
  }

  std::vector<Amount> loop(const Instr& instr, const Block& body, const Amount& times) {
    Amount steps(1);
    if (const auto* scan = std::get_if<Scan>(&instr.op)) {
      steps = Amount::size(program_.size(scan->dim));
    } else if (const auto* pipeline = std::get_if<Pipeline>(&instr.op)) {
      steps = Amount::size(program_.size(pipeline->dim));
      axis_ = pipeline->axis;
    } else if (const auto* stages = std::get_if<Stages>(&instr.op)) {
      sends(instr, *stages, times);
      for (const Dim& dim : stages->dims) steps = steps * Amount::size(program_.size(dim));
      if (!axis_.empty()) steps = steps.over(Amount::axis(axis_));
    } else if (const auto* ring = std::get_if<Ring>(&instr.op)) {
      for (const Axis& axis : first(ring->dim.axes)) steps = Amount::axis(axis);
      rotate(*ring, body, times, instr);
    }
    const Amount all = times * steps;
    const bool keeps =
        std::holds_alternative<Scan>(instr.op) || std::holds_alternative<Stages>(instr.op);
    for (size_t i = 1; keeps && i < body.params.size(); ++i)
      cost_.saved += bytes(body.params[i]) * all;
    return block(body, all, {}).points;
  }

  static std::vector<Axis> first(const std::vector<Axis>& axes) {
    return {axes.begin(), axes.begin() + (axes.empty() ? 0 : 1)};
  }

  /// A microbatch's carries go from stage to stage, once a chunk.
  void sends(const Instr& instr, const Stages& stages, const Amount& times) {
    Amount chunks(1);
    for (size_t i = 0; i + 1 < stages.dims.size(); ++i)
      chunks = chunks * Amount::size(program_.size(stages.dims[i]));
    Amount carried;
    for (ValueId id : instr.operands) carried += bytes(id);
    transfer("send", times * chunks, carried, instr);
  }

  /// Each tensor whose blocks the body reads is passed round |c| - 1 times.
  void rotate(const Ring& ring, const Block& body, const Amount& times, const Instr& instr) {
    std::set<ValueId> rotating;
    for_each_instr(body, [&](const Instr& each) {
      if (std::holds_alternative<Entry>(each.op) && each.operands.size() == 2 &&
          each.operands[1] == body.params.at(0))
        rotating.insert(each.operands[0]);
    });
    const std::vector<Axis> axis = first(ring.dim.axes);
    if (axis.empty()) return;
    const Amount rounds = Amount::size(
        {Arith::Kind::op,
         "-",
         no_value,
         {{Arith::Kind::axis, axis[0], no_value, {}}, {Arith::Kind::number, "1", no_value, {}}}});
    for (ValueId id : rotating) {
      transfer("ppermute", times, bytes(id) * rounds, instr);
      cost_.transfers.back().count = times * rounds;
    }
    // A sum that is made on the way goes |c| times, the last one home.
    const Amount all = Amount::axis(axis[0]);
    for (ValueId id : body.emit) {
      const auto mark = types_.at(id).marks.find(axis[0]);
      if (mark == types_.at(id).marks.end() || mark->second != Mark::U) continue;
      transfer("ppermute", times, bytes(id) * all, instr);
      cost_.transfers.back().count = times * all;
    }
  }

  const Program& program_;
  const TypesOf& types_of_;
  const BackwardOf& backward_of_;
  std::map<size_t, Cost>& done_;
  const Function& function_;
  const std::vector<Type>& types_;
  std::map<ValueId, ValueId> root_;
  std::map<ValueId, Amount> bytes_;
  std::set<ValueId> owned_;  ///< parameters: counted as state and inputs
  Axis axis_;                ///< of the pipeline around
  Cost cost_;
};

}  // namespace

Amount received(const Program& program, CollectiveFn fn, const Type& from, const Type& to) {
  const std::vector<Axis> a = split_axes(from), b = split_axes(to);
  switch (fn) {
    case CollectiveFn::all_gather:
      return local_bytes(program, to) * Amount::ring(without(a, b));
    case CollectiveFn::psum_scatter:
      return local_bytes(program, from) * Amount::ring(without(b, a));
    case CollectiveFn::all_reduce:
      return Amount(2) * local_bytes(program, from) *
             Amount::ring(without(mark_axes(from.marks), mark_axes(to.marks)));
    case CollectiveFn::all_to_all: {
      std::vector<Axis> moved;
      for (size_t i = 0; i < from.dims.size() && i < to.dims.size(); ++i)
        for (const Axis& axis : without(from.dims[i].axes, to.dims[i].axes)) moved.push_back(axis);
      return local_bytes(program, from) * Amount::ring(moved);
    }
    case CollectiveFn::slice:
    case CollectiveFn::fan_out:
    case CollectiveFn::zero_nonroot:
    case CollectiveFn::zero_pad:
      break;
  }
  return {};
}

int64_t bytes_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::f64:
    case Dtype::key:
      return 8;
    case Dtype::f32:
    case Dtype::i32:
    case Dtype::u32:
      return 4;
    case Dtype::bf16:
    case Dtype::f16:
      return 2;
    case Dtype::f8:
    case Dtype::boolean:
      return 1;
    case Dtype::number:
      break;
  }
  return 0;
}

Amount local_bytes(const ir::Program& program, const Type& type) {
  Amount result(bytes_of(type.dtype));
  for (const Split& split : type.dims) result = result * local_size(program, split);
  return result;
}

Cost cost(const ir::Program& program, const TypesOf& types, size_t function,
          const BackwardOf& backward_of) {
  std::map<size_t, Cost> done;
  return Pass(program, types, backward_of, done, function).run();
}

std::vector<Cost::Total> Cost::totals() const {
  std::vector<Total> rows;
  for (const Transfer& each : transfers) {
    auto row = std::find_if(rows.begin(), rows.end(),
                            [&](const Total& total) { return total.kind == each.kind; });
    if (row == rows.end()) row = rows.insert(rows.end(), {each.kind, {}, {}});
    row->count += each.count;
    row->bytes += each.bytes;
  }
  return rows;
}

std::string Cost::summary() const {
  std::string text;
  for (const Total& row : totals()) {
    std::string count = row.count.text();
    if (row.count.terms().size() > 1) count = "(" + count + ")";
    text += (text.empty() ? "" : ", ") + count + " " + row.kind;
  }
  return text.empty() ? "no communication" : text;
}

Evaluated evaluate(const Cost& cost, const Sizes& sizes) {
  Evaluated result;
  Amount bytes;
  for (const Cost::Total& row : cost.totals()) {
    result.rows.push_back({row.kind, row.count.evaluate(sizes), row.bytes.evaluate(sizes)});
    bytes += row.bytes;
  }
  result.bytes = bytes.evaluate(sizes);
  result.flops = cost.flops.evaluate(sizes);
  result.state = cost.state.evaluate(sizes);
  result.inputs = cost.inputs.evaluate(sizes);
  result.saved = cost.saved.evaluate(sizes);
  for (const Amount& point : cost.live) result.peak = std::max(result.peak, point.evaluate(sizes));
  return result;
}

Sizes with_declared(const ir::Program& program, Sizes sizes) {
  for (const auto& [axis, info] : program.axes)
    if (info.size) sizes.emplace(axis, *info.size);
  // A dim with a size of its own has no symbol; its number is for those that ask for it.
  for (const auto& [name, info] : program.dims) {
    if (!info.size || sizes.count(name)) continue;
    try {
      sizes.emplace(name, program.size(Dim{{name}}, sizes));
    } catch (const std::domain_error&) {
    }
  }
  return sizes;
}

}  // namespace shardproof::cost
