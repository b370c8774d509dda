#include "spec/denote/evaluate.h"

#include "spec/denote/array.h"
#include "spec/denote/run.h"

namespace shardproof::denote {
namespace {

template <class S>
class Evaluator {
 public:
  Evaluator(const Geometry& geometry, const Types& types) : geometry_(geometry), types_(types) {}

  std::vector<Distributed<S>> call(size_t index, std::vector<Distributed<S>> inputs) const {
    const ir::Function& function = geometry_.program().functions.at(index);
    if (function.trusted) throw Unsupported(function.name + " has no body");
    Frame frame{types_.at(index), std::vector<Distributed<S>>(function.values.size())};
    std::vector<ir::ValueId> params = function.params;
    params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
    if (inputs.size() != params.size()) throw Mismatch(function.name + " has other parameters");
    for (size_t i = 0; i < params.size(); ++i) frame.values.at(params[i]) = std::move(inputs[i]);
    run_block(function.body, frame);
    return take(function.returned, frame);
  }

 private:
  struct Frame {
    const std::vector<Type>& types;
    std::vector<Distributed<S>> values;
  };

  static std::vector<Distributed<S>> take(const std::vector<ir::ValueId>& ids, const Frame& frame) {
    std::vector<Distributed<S>> result;
    for (ir::ValueId id : ids) result.push_back(frame.values.at(id));
    return result;
  }

  void run_block(const ir::Block& block, Frame& frame) const {
    for (const ir::Instr& instr : block.instrs) {
      std::vector<Distributed<S>> results = run_instr(instr, frame);
      for (size_t i = 0; i < instr.results.size(); ++i)
        if (instr.results[i] != ir::no_value)
          frame.values.at(instr.results[i]) = std::move(results.at(i));
    }
  }

  std::vector<Distributed<S>> run_instr(const ir::Instr& instr, Frame& frame) const {
    if (auto* op = std::get_if<ir::Call>(&instr.op))
      return call(op->function, take(instr.operands, frame));
    if (auto* op = std::get_if<ir::Scan>(&instr.op)) return scan(*op, instr, frame);
    std::vector<Held<S>> operands;
    for (ir::ValueId id : instr.operands)
      operands.push_back({frame.types.at(id), frame.values.at(id)});
    std::vector<Type> results;
    for (ir::ValueId id : instr.results)
      results.push_back(id == ir::no_value ? Type{} : frame.types.at(id));
    return run(geometry_, instr.op, operands, results);
  }

  std::vector<Distributed<S>> scan(const ir::Scan& op, const ir::Instr& instr, Frame& frame) const {
    const ir::Block& body = *op.body;
    const int64_t steps = geometry_.size(op.dim);
    const auto devices = static_cast<size_t>(geometry_.devices());
    std::vector<Distributed<S>> carries = take(instr.operands, frame);
    std::vector<std::vector<Distributed<S>>> emitted(static_cast<size_t>(steps));
    for (int64_t step = 0; step < steps; ++step) {
      const int64_t n = op.reverse ? steps - 1 - step : step;
      frame.values.at(body.params.at(0)) = Distributed<S>(devices, Array<S>{{}, {S(n)}});
      for (size_t i = 0; i < carries.size(); ++i)
        frame.values.at(body.params.at(i + 1)) = std::move(carries[i]);
      run_block(body, frame);
      carries = take(body.next, frame);
      emitted[static_cast<size_t>(n)] = take(body.emit, frame);
    }
    for (size_t i = 0; i < body.emit.size(); ++i) carries.push_back(stacked(emitted, i));
    return carries;
  }

  static Distributed<S> stacked(const std::vector<std::vector<Distributed<S>>>& emitted, size_t i) {
    Distributed<S> result;
    for (size_t device = 0; device < emitted.at(0).at(i).size(); ++device) {
      Array<S> stack{emitted[0][i][device].shape, {}};
      stack.shape.insert(stack.shape.begin(), static_cast<int64_t>(emitted.size()));
      for (const auto& step : emitted)
        stack.data.insert(stack.data.end(), step[i][device].data.begin(),
                          step[i][device].data.end());
      result.push_back(std::move(stack));
    }
    return result;
  }

  const Geometry& geometry_;
  const Types& types_;
};

}  // namespace

Types types_of(const ir::Program& program) {
  Types types;
  for (const ir::Function& function : program.functions) {
    types.emplace_back();
    for (const ir::Value& value : function.values) types.back().push_back(value.type);
  }
  return types;
}

template <class S>
std::vector<Distributed<S>> evaluate_on_mesh(const ir::Program& program, const Types& types,
                                             size_t function, const Sizes& sizes,
                                             const std::vector<Distributed<S>>& inputs) {
  const Geometry geometry(program, sizes);
  return Evaluator<S>(geometry, types).call(function, inputs);
}

template <class S>
std::vector<Array<S>> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                               const std::vector<Array<S>>& inputs) {
  const Types types = types_of(program);
  std::vector<Distributed<S>> single;
  for (const Array<S>& input : inputs) single.push_back({input});
  std::vector<Array<S>> results;
  for (Distributed<S>& result :
       evaluate_on_mesh<S>(program, types, function, {{}, sizes.dims}, single))
    results.push_back(std::move(result.at(0)));
  return results;
}

#define SHARDPROOF_INSTANTIATE(S)                                                                  \
  template std::vector<Distributed<S>> evaluate_on_mesh(                                           \
      const ir::Program&, const Types&, size_t, const Sizes&, const std::vector<Distributed<S>>&); \
  template std::vector<Array<S>> evaluate(const ir::Program&, size_t, const Sizes&,                \
                                          const std::vector<Array<S>>&);
SHARDPROOF_INSTANTIATE(Rational)
SHARDPROOF_INSTANTIATE(Field)
SHARDPROOF_INSTANTIATE(double)
#undef SHARDPROOF_INSTANTIATE

}  // namespace shardproof::denote
