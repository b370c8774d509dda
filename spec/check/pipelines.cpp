#include "spec/check/pipelines.h"

#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using ir::ValueId;

bool is_on(const Type& type, const Axis& axis) {
  return type.marks.count(axis) ||
         std::any_of(type.dims.begin(), type.dims.end(), [&](const Split& split) {
           return std::count(split.axes.begin(), split.axes.end(), axis) > 0;
         });
}

Type off_axis(Type type, const Axis& axis) {
  for (Split& split : type.dims) std::erase(split.axes, axis);
  type.marks.erase(axis);
  return type;
}

class Expansion {
 public:
  Expansion(const ir::Program& program, ir::Function& function, std::vector<Type>& types)
      : program_(program), function_(function), types_(types) {}

  void run() {
    ir::Block body = function_.body;
    body.instrs.clear();
    for (const ir::Instr& instr : function_.body.instrs)
      if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op))
        expand(instr, *pipeline, body.instrs);
      else
        body.instrs.push_back(instr);
    function_.body = std::move(body);
  }

 private:
  void expand(const ir::Instr& instr, const ir::Pipeline& pipeline, std::vector<ir::Instr>& out) {
    axis_ = pipeline.axis;
    place_ = instr.place;
    gathers_.clear();
    gathered_.clear();
    auto body = std::make_shared<ir::Block>(*pipeline.body);
    for (ir::Instr& inner : body->instrs)
      if (auto* stages = std::get_if<ir::Stages>(&inner.op)) {
        const size_t carries = stages->body->next.size();
        inner = scans(inner, *stages);
        for (size_t i = carries; i < inner.results.size(); ++i)
          inner.results[i] = all_layers(inner.results[i], *body);
      }
    ir::Instr loop = instr;
    loop.op = ir::Scan{pipeline.dim, false, std::move(body)};
    std::vector<ir::Instr> kept;
    for (ValueId& result : loop.results)
      if (result != ir::no_value && is_on(types_.at(result), axis_)) {
        const ValueId whole = value_of(off_axis(types_[result], axis_), "");
        const bool own_layers = !types_[result].marks.count(axis_);
        kept.push_back(collective(
            own_layers ? ir::CollectiveFn::slice : ir::CollectiveFn::zero_nonroot, whole, result));
        result = whole;
      }
    for (ir::Instr& gather : gathers_) out.push_back(std::move(gather));
    out.push_back(std::move(loop));
    for (ir::Instr& each : kept) out.push_back(std::move(each));
  }

  /// What the stages emit, of all stages: the body's `emit` reads it.
  ValueId all_layers(ValueId emitted, ir::Block& body) {
    if (emitted == ir::no_value) return emitted;
    const ValueId result = value_of(off_axis(types_.at(emitted), axis_), "");
    std::replace(body.emit.begin(), body.emit.end(), emitted, result);
    return result;
  }

  /// One scan per dim; the last dim is the innermost loop.
  ir::Instr scans(const ir::Instr& instr, const ir::Stages& stages) {
    const size_t dims = stages.dims.size();
    auto block = std::make_shared<ir::Block>(copy(*stages.body));
    const std::vector<ValueId> params = block->params;
    block->params.erase(block->params.begin(),
                        block->params.begin() + static_cast<std::ptrdiff_t>(dims - 1));
    for (size_t d = dims - 1; d > 0; --d) {
      auto outer = std::make_shared<ir::Block>();
      outer->params.push_back(params[d - 1]);
      outer->next_range = block->next_range;
      ir::Instr inner = instr;
      inner.operands.clear(), inner.results.clear();
      for (size_t i = dims; i < params.size(); ++i) {
        const Name& name = function_.values[params[i]].name;
        outer->params.push_back(carry_of(types_[params[i]], name));
        inner.operands.push_back(outer->params.back());
        outer->next.push_back(value_of(types_[params[i]], ""));
        inner.results.push_back(outer->next.back());
      }
      for (ValueId each : block->emit) {
        Type layers = types_[each];
        layers.dims.insert(layers.dims.begin(), Split{stages.dims[d], {}});
        outer->emit.push_back(value_of(layers, ""));
        inner.results.push_back(outer->emit.back());
      }
      inner.op = ir::Scan{stages.dims[d], false, std::move(block)};
      outer->instrs.push_back(std::move(inner));
      block = std::move(outer);
    }
    ir::Instr result = instr;
    result.op = ir::Scan{stages.dims[0], false, std::move(block)};
    return result;
  }

  /// A copy that uses whole layers in place of a stage's own.
  ir::Block copy(const ir::Block& block) {
    ir::Block result = block;
    for (ir::Instr& instr : result.instrs) {
      if (std::holds_alternative<ir::Entry>(instr.op)) entry(instr);
      std::visit(
          [&](auto& op) {
            if constexpr (requires { op.body; })
              if (op.body) op.body = std::make_shared<ir::Block>(copy(*op.body));
          },
          instr.op);
    }
    return result;
  }

  void entry(ir::Instr& instr) {
    if (!is_on(types_.at(instr.operands.at(0)), axis_)) return;
    instr.operands[0] = whole(instr.operands[0]);
    ValueId& result = instr.results.at(0);
    if (!is_on(types_.at(result), axis_)) return;
    const ValueId entry = value_of(off_axis(types_[result], axis_), "");
    gathered_[result] = entry;
    result = entry;
  }

  ValueId whole(ValueId layers) {
    auto known = gathered_.find(layers);
    if (known != gathered_.end()) return known->second;
    const ValueId result = value_of(off_axis(types_[layers], axis_), "");
    gathers_.push_back(collective(ir::CollectiveFn::all_gather, layers, result));
    return gathered_[layers] = result;
  }

  ir::Instr collective(ir::CollectiveFn fn, ValueId from, ValueId to) const {
    ir::Pattern pattern;
    pattern.left = {types_.at(from)};
    pattern.right = types_.at(to);
    ir::Op op = ir::Collective{fn, std::move(pattern)};
    elaborate::elaborate(program_, op, {types_.at(from)});
    ir::Instr instr;
    instr.op = std::move(op);
    instr.operands = {from};
    instr.results = {to};
    instr.place = place_;
    return instr;
  }

  ValueId value_of(const Type& type, const Name& name) {
    ir::Value value;
    value.name = name;
    value.type = type;
    value.range = place_.range;
    function_.values.push_back(std::move(value));
    types_.push_back(type);
    return static_cast<ValueId>(function_.values.size() - 1);
  }

  ValueId carry_of(const Type& type, const Name& name) {
    const ValueId result = value_of(type, name);
    function_.values.back().stated = true;
    return result;
  }

  const ir::Program& program_;
  ir::Function& function_;
  std::vector<Type>& types_;
  Axis axis_;
  ir::Place place_;
  std::vector<ir::Instr> gathers_;
  std::map<ValueId, ValueId> gathered_;
};

}  // namespace

bool has_pipeline(const ir::Function& function) {
  const auto& instrs = function.body.instrs;
  return std::any_of(instrs.begin(), instrs.end(), [](const ir::Instr& instr) {
    return std::holds_alternative<ir::Pipeline>(instr.op);
  });
}

void expand_pipelines(const ir::Program& program, ir::Function& function,
                      std::vector<Type>& types) {
  if (has_pipeline(function)) Expansion(program, function, types).run();
}

std::vector<ScheduleBound> schedule_bounds(const ir::Function& function) {
  std::vector<ScheduleBound> result;
  for (const ir::Instr& instr : function.body.instrs)
    if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op);
        pipeline && !pipeline->run_up_to.empty())
      result.push_back({pipeline->schedule, pipeline->run_up_to, pipeline->own_chunks});
  return result;
}

std::string to_string(const ScheduleBound& bound) {
  std::string text;
  for (const auto& [name, most] : bound.up_to)
    text += (text.empty() ? "|" : " and |") + name + "| <= " + std::to_string(most);
  return text + " (schedule " + bound.schedule + ")";
}

std::vector<Divisibility> stages_divide(const ir::Program& program, const ir::Function& function) {
  std::vector<Divisibility> result;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    auto* pipeline = std::get_if<ir::Pipeline>(&instr.op);
    if (!pipeline) return;
    const auto axis = program.axes.find(pipeline->axis);
    if (axis != program.axes.end() && axis->second.size == 1) return;
    for (const ir::Instr& inner : pipeline->body->instrs)
      if (auto* stages = std::get_if<ir::Stages>(&inner.op)) {
        Type layers;
        layers.dims = {Split{stages->dims.back(), {pipeline->axis}}};
        for (Divisibility& each : conditions_of(program, {layers}))
          result.push_back(std::move(each));
      }
  });
  return result;
}

}  // namespace shardproof
