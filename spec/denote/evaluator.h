#pragma once
// The definition of evaluate(): functions, loops, calls and gradients; run() does the ops.
#include "spec/denote/array.h"
#include "spec/denote/gradient.h"
#include "spec/denote/run.h"

namespace shardproof::denote {

template <class S>
class Evaluator {
 public:
  using Values = std::vector<Distributed<S>>;

  Evaluator(const Geometry& geometry, const Types& types, const Backwards* backwards = nullptr,
            StandIn<S> stand_in = {}, Watch<S> watch = {})
      : geometry_(geometry),
        types_(types),
        backwards_(backwards),
        stand_in_(std::move(stand_in)),
        watch_(std::move(watch)) {}

  Values call(size_t index, Values inputs) const {
    return take(geometry_.program().functions.at(index).returned, run_body(index, inputs));
  }

  /// The arguments of `backward` after `;`: the values that its `after` plan saves at these inputs.
  Values saved(size_t backward, Values inputs) const {
    const ir::Function& function = geometry_.program().functions.at(backward);
    if (function.saved_params.empty()) return {};
    const size_t after = function.after.value();
    Frame frame = run_body(after, inputs);
    std::vector<ir::ValueId> ids;
    for (ir::ValueId id : function.saved_params)
      ids.push_back(saved_value(geometry_.program().functions[after], function.values[id].name));
    return take(ids, std::move(frame));
  }

 private:
  struct Frame {
    size_t function;
    const std::vector<Type>& types;
    Values values;
    std::map<ir::ValueId, Axis> ring_of_index = {};
  };

  Frame run_body(size_t index, Values& inputs) const {
    const ir::Function& function = geometry_.program().functions.at(index);
    if (function.trusted) throw Unsupported(function.name + " has no body");
    Frame frame{index, types_.at(index), Values(function.values.size())};
    std::vector<ir::ValueId> params = function.params;
    params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
    if (inputs.size() != params.size()) throw Mismatch(function.name + " has other parameters");
    for (size_t i = 0; i < params.size(); ++i) frame.values.at(params[i]) = std::move(inputs[i]);
    run_block(function.body, frame);
    return frame;
  }

  static ir::ValueId saved_value(const ir::Function& plan, const Name& name) {
    for (const ir::Instr& instr : plan.body.instrs)
      if (std::holds_alternative<ir::Save>(instr.op) &&
          plan.values.at(instr.results.at(0)).name == name)
        return instr.results[0];
    throw Unsupported(plan.name + " saves " + name + " once for each step of a loop");
  }

  static Values take(const std::vector<ir::ValueId>& ids, const Frame& frame) {
    Values result;
    result.reserve(ids.size());
    for (ir::ValueId id : ids) result.push_back(frame.values.at(id));
    return result;
  }

  /// The values at the end of a body; moved, or copied if `ids` has the value again.
  static Values take(const std::vector<ir::ValueId>& ids, Frame&& frame) {
    Values result;
    result.reserve(ids.size());
    for (auto id = ids.begin(); id != ids.end(); ++id) {
      Distributed<S>& value = frame.values.at(*id);
      const bool again = std::find(id + 1, ids.end(), *id) != ids.end();
      result.push_back(again ? value : std::move(value));
    }
    return result;
  }

  void run_block(const ir::Block& block, Frame& frame) const {
    for (const ir::Instr& instr : block.instrs) {
      Values results = run_instr(instr, frame);
      for (size_t i = 0; i < instr.results.size(); ++i)
        if (instr.results[i] != ir::no_value) {
          frame.values.at(instr.results[i]) = std::move(results.at(i));
          if (watch_) watch_(frame.function, instr.results[i], frame.values[instr.results[i]]);
        }
    }
  }

  Values run_instr(const ir::Instr& instr, Frame& frame) const {
    if (stand_in_ && is_function(instr.op))
      if (auto found = stand_in_(instr.op, take(instr.operands, frame))) return std::move(*found);
    if (auto* op = std::get_if<ir::Call>(&instr.op))
      return call(op->function, take(instr.operands, frame));
    if (auto* op = std::get_if<ir::Scan>(&instr.op)) return scan(*op, instr, frame);
    if (auto* op = std::get_if<ir::Ring>(&instr.op)) return ring(*op, instr, frame);
    if (std::holds_alternative<ir::Entry>(instr.op))
      if (auto ring = frame.ring_of_index.find(instr.operands.at(1));
          ring != frame.ring_of_index.end())
        return {passed(frame.values.at(instr.operands[0]), ring->second,
                       frame.values.at(instr.operands[1]))};
    if (auto* op = std::get_if<ir::Grad>(&instr.op))
      return gradient(*op, take(instr.operands, frame));
    std::vector<Held<S>> operands;
    operands.reserve(instr.operands.size());
    for (ir::ValueId id : instr.operands)
      operands.push_back({frame.types.at(id), frame.values.at(id)});
    static const Type none;
    ResultTypes results{};
    for (size_t i = 0; i < std::min(instr.results.size(), results.size()); ++i)
      results[i] = instr.results[i] == ir::no_value ? &none : &frame.types.at(instr.results[i]);
    return run(geometry_, instr.op, operands, results, known_);
  }

  static bool is_function(const ir::Op& op) {
    return std::holds_alternative<ir::Call>(op) || std::holds_alternative<ir::Grad>(op);
  }

  Values gradient(const ir::Grad& op, Values operands) const {
    Values results;
    if (op.with_value) {
      results = call(op.function, operands);
      operands.push_back(number(1));
    }
    Values gradients =
        stands_in(op) ? by_backward(op, std::move(operands)) : by_numbers(op, std::move(operands));
    std::move(gradients.begin(), gradients.end(), std::back_inserter(results));
    return results;
  }

  bool stands_in(const ir::Grad& op) const {
    return backwards_ && backwards_->contains({op.function, op.wrt});
  }

  Values by_backward(const ir::Grad& op, Values inputs) const {
    const size_t backward = backwards_->at({op.function, op.wrt});
    const size_t own = geometry_.program().functions.at(op.function).params.size();
    Values kept =
        saved(backward, Values(inputs.begin(), inputs.begin() + static_cast<std::ptrdiff_t>(own)));
    std::move(kept.begin(), kept.end(), std::back_inserter(inputs));
    return call(backward, std::move(inputs));
  }

  Values by_numbers(const ir::Grad& op, Values operands) const {
    if constexpr (std::is_same_v<S, double>) {
      if (geometry_.devices() > 1) throw Unsupported("a gradient on a mesh without its backward");
      std::vector<Array<double>> inputs, upstream;
      const size_t own = geometry_.program().functions.at(op.function).params.size();
      for (size_t i = 0; i < operands.size(); ++i)
        (i < own ? inputs : upstream).push_back(operands[i][0]);
      Values results;
      for (auto& array : numeric_gradient(geometry_, types_, op.function, inputs, op.wrt, upstream))
        results.push_back({std::move(array)});
      return results;
    }
    throw Unsupported("a gradient of a gradient, or of an exact number");
  }

  Values scan(const ir::Scan& op, const ir::Instr& instr, Frame& frame) const {
    const ir::Block& body = *op.body;
    const int64_t steps = geometry_.size(op.dim);
    Values carries = take(instr.operands, frame);
    std::vector<Values> emitted(static_cast<size_t>(steps));
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t n = op.reverse ? steps - 1 - step : step;
      run_step(body, number(n), carries, frame);
      emitted[static_cast<size_t>(n)] = take(body.emit, frame);
    }
    for (size_t i = 0; i < body.emit.size(); ++i) carries.push_back(stacked(emitted, i));
    return carries;
  }

  void run_step(const ir::Block& body, Distributed<S> index, Values& carries, Frame& frame) const {
    frame.values.at(body.params.at(0)) = std::move(index);
    for (size_t i = 0; i < carries.size(); ++i)
      frame.values.at(body.params.at(i + 1)) = std::move(carries[i]);
    run_block(body, frame);
    carries = take(body.next, frame);
  }

  /// Each device starts with its own block and continues with the next device's: no two devices of
  /// the axis take the blocks in the same order. A mesh without the axis has all blocks on one
  /// device.
  Values ring(const ir::Ring& op, const ir::Instr& instr, Frame& frame) const {
    const ir::Block& body = *op.body;
    const Axis& axis = op.dim.axes.at(0);
    const int64_t blocks = geometry_.size(op.dim.dim) / geometry_.size(op.block);
    if (blocks == geometry_.axis(axis)) frame.ring_of_index[body.params.at(0)] = axis;
    Values results = take(instr.operands, frame), emitted;
    for (size_t e = 0; e < body.emit.size(); ++e)
      emitted.push_back(zeros(frame.types.at(instr.results.at(body.next.size() + e))));
    for (int64_t step = 0; step < blocks; ++step) {
      Distributed<S> block = number(0);
      for (size_t device = 0; device < block.size(); ++device)
        block.all()[device] =
            S((geometry_.digit(static_cast<int64_t>(device), axis) + step) % blocks);
      const Distributed<S> numbers = block;
      run_step(body, std::move(block), results, frame);
      for (size_t e = 0; e < body.emit.size(); ++e)
        put_block(op, frame.types.at(body.emit[e]), frame.values.at(body.emit[e]), numbers,
                  emitted[e]);
    }
    std::move(emitted.begin(), emitted.end(), std::back_inserter(results));
    return results;
  }

  /// What each device has of the block that it is at: a term, added where the block is at home, or
  /// the block's value, which the device keeps at the block's place.
  void put_block(const ir::Ring& op, const Type& type, const Distributed<S>& x,
                 const Distributed<S>& block, Distributed<S>& to) const {
    const Axis& axis = op.dim.axes.at(0);
    const auto mark = type.marks.find(axis);
    const bool term = mark != type.marks.end() && mark->second == Mark::U;
    size_t dim = 0;
    while (dim < type.dims.size() && type.dims[dim].dim != op.block) ++dim;
    need_part(to.shape(), x.shape(), dim);
    const Blocks own(x.shape(), dim), whole(to.shape(), dim);
    for (size_t device = 0; device < x.size(); ++device) {
      const int64_t b = Scalar<S>::integer(block.on(device)[0]), devices = geometry_.axis(axis);
      std::vector<S> part(x.on(device).begin(), x.on(device).end());
      size_t home = device;
      int64_t first = b * own.extent;
      if (term) {
        home = static_cast<size_t>(
            geometry_.line(axis).with_digit(static_cast<int64_t>(device), b % devices));
        first = b / devices * own.extent;
        std::vector<S> sum(part.size(), S(0));
        copy_entries<S>(to.on(home), whole, first, sum, own, 0, own.extent);
        for (size_t i = 0; i < sum.size(); ++i) part[i] = sum[i] + part[i];
      }
      copy_entries<S>(part, own, 0, to.on(home), whole, first, own.extent);
    }
  }

  Distributed<S> zeros(const Type& type) const {
    return Distributed<S>(devices(), geometry_.local_shape(type));
  }
  Distributed<S> number(int64_t value) const { return Distributed<S>(devices(), {}, S(value)); }
  size_t devices() const { return static_cast<size_t>(geometry_.devices()); }

  /// Each device's array for the block that it currently processes.
  Distributed<S> passed(const Distributed<S>& x, const Axis& axis,
                        const Distributed<S>& block) const {
    Distributed<S> result(x.size(), x.shape());
    for (size_t device = 0; device < x.size(); ++device) {
      const int64_t from = Scalar<S>::integer(block.on(device)[0]);
      const int64_t holder = geometry_.line(axis).with_digit(static_cast<int64_t>(device), from);
      std::ranges::copy(x.on(static_cast<size_t>(holder)), result.on(device).begin());
    }
    return result;
  }

  static Distributed<S> stacked(const std::vector<Values>& emitted, size_t i) {
    const Distributed<S>& first = emitted.at(0).at(i);
    Extents shape = first.shape();
    shape.insert(shape.begin(), static_cast<int64_t>(emitted.size()));
    Distributed<S> result(first.size(), std::move(shape));
    for (size_t device = 0; device < first.size(); ++device) {
      auto to = result.on(device).begin();
      for (const Values& step : emitted) to = std::ranges::copy(step[i].on(device), to).out;
    }
    return result;
  }

  const Geometry& geometry_;
  const Types& types_;
  const Backwards* backwards_;
  StandIn<S> stand_in_;
  Watch<S> watch_;
  mutable Nests known_;
};

}  // namespace shardproof::denote
