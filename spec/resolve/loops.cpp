#include "spec/resolve/loops.h"

#include <algorithm>
#include <utility>

#include "spec/resolve/calls.h"
#include "spec/resolve/dim_twice.h"
#include "spec/resolve/schedules.h"

namespace shardproof::resolution {
namespace {

using LoopKind = syntax::Loop::Kind;

class LoopReader {
 public:
  LoopReader(Body& body, const syntax::Loop& loop) : body_(body), loop_(loop) {}

  std::vector<Values> run() {
    if (!allowed() || !read_dims()) return unknown_result_of(loop_.carries.size());
    for (const syntax::Carry& carry : loop_.carries) start(carry);
    if (loop_.kind == LoopKind::ring && !block_dim())
      return unknown_result_of(loop_.carries.size());
    auto block = read_body();
    if (loop_.kind == LoopKind::ring) body_.scope->dims.erase(loop_.block_dim);
    if (loop_.kind == LoopKind::pipeline) {
      one_stages(*block);
      check_schedule(*block);
    }
    return finish(std::move(block));
  }

 private:
  static std::vector<Values> unknown_result_of(size_t count) {
    return std::vector<Values>(std::max<size_t>(count, 1), unknown_value());
  }

  bool allowed() {
    if (loop_.kind == LoopKind::scan) return true;
    if (!body_.scope->is_plan) {
      body_.error("E0109", loop_.range, "only a plan has pipelines and rings; a fn has `scan`");
      return false;
    }
    body_.function.uses_loops_undecided = true;
    const bool in_pipeline = body_.loop && body_.loop->kind == LoopKind::pipeline;
    if (loop_.kind == LoopKind::stages && !in_pipeline) {
      body_.error("E0109", loop_.range, "`stages` is only allowed in a pipeline");
      return false;
    }
    if (loop_.kind == LoopKind::pipeline && body_.loop) {
      body_.error("E0109", loop_.range, "a pipeline inside a loop");
      return false;
    }
    return loop_.kind == LoopKind::scan || loop_.kind == LoopKind::stages || axis_known();
  }

  bool axis_known() {
    if (loop_.kind == LoopKind::pipeline) read_schedule();
    if (body_.file().axes.count(loop_.axis)) return true;
    body_.world.unknown("axis", loop_.axis, loop_.range, keys(body_.file().axes));
    return false;
  }

  void read_schedule() {
    schedule_ = find_schedule(body_, loop_);
    if (schedule_) arguments_ = schedule_arguments(body_, *schedule_, loop_);
  }

  // A schedule's `require`s on sizes become conditions of the verdict. Schedules of the library are
  // proved to terminate at all allowed sizes; others are run at small sizes.
  void check_schedule(const ir::Block& block) {
    if (!schedule_ || arguments_.size() != schedule_->params.size()) return;
    if (body_.world.errors() != body_.errors_before) return;
    const ir::Program& program = body_.world.program;
    ScheduleSizes sizes{{ir::Arith::Kind::axis, loop_.axis, ir::no_value, {}},
                        program.size(dims_[0]),
                        {},
                        arguments_};
    for (const ir::Instr& instr : block.instrs)
      if (auto* stages = std::get_if<ir::Stages>(&instr.op))
        for (size_t i = 0; i + 1 < stages->dims.size(); ++i)
          sizes.chunks.push_back(program.size(stages->dims[i]));
    const SourceRange range = body_.world.locate(loop_.schedule, loop_.range);
    for (ir::Requirement& each : schedule_conditions(*schedule_, sizes, range))
      body_.block->requirements.push_back(std::move(each));
    const bool readable = std::none_of(body_.world.diagnostics.begin(),
                                       body_.world.diagnostics.end(), [&](const Diagnostic& each) {
                                         return each.severity == Severity::error &&
                                                each.range.file == schedule_->range.file &&
                                                each.range.begin >= schedule_->range.begin &&
                                                each.range.end <= schedule_->range.end;
                                       });
    if (!readable) {
      body_.error("U0005", range,
                  "the schedule `" + schedule_->name + "` of this pipeline has an error");
      return;
    }
    own_chunks_ = has_its_chunks(sizes);
    if (is_of_library(body_.world, *schedule_) && own_chunks_) return;
    ScheduleRuns runs = run_schedule(body_.world, *schedule_, sizes);
    run_up_to_ = std::move(runs.up_to);
    if (!runs.problem) return;
    Diagnostic& error = body_.error(runs.problem->code.c_str(), range, runs.problem->message);
    error.details = runs.problem->details;
    error.notes = runs.problem->notes;
  }

  void one_stages(const ir::Block& block) {
    size_t count = 0;
    for (const ir::Instr& instr : block.instrs)
      if (std::holds_alternative<ir::Stages>(instr.op) && ++count == 2)
        body_.error("E0109", instr.place.range, "a second `stages` in a pipeline");
    if (count == 0 && body_.world.errors() == body_.errors_before)
      body_.error("E0109", loop_.range, "a pipeline without `stages`",
                  "write the layers as `stages n in N, x: .. = ..`");
  }

  bool read_dims() {
    if (loop_.dims.size() != std::max<size_t>(loop_.variables.size(), 1)) {
      body_.error("E0103", loop_.range, "one dim for each variable");
      return false;
    }
    for (const Name& name : loop_.dims) {
      syntax::SplitExpr split;
      split.names = {name};
      split.range = body_.world.locate(name, loop_.range);
      auto dim = resolve_dim(body_.types(), split);
      if (!dim) return false;
      dims_.push_back(*dim);
    }
    return true;
  }

  // ring ... over L/c as W: W is a dim of the body with |W| = |L| / |c|.
  bool block_dim() {
    const Name& name = loop_.block_dim;
    const FileScope& file = body_.file();
    if (file.dims.count(name) || file.axes.count(name) || body_.scope->dims.count(name)) {
      body_.world.twice(name, body_.world.locate(name, loop_.range), {},
                        "`" + name + "` is declared already; a ring names a new dim");
      return false;
    }
    ir::DimInfo info;
    info.kind = ir::DimInfo::Kind::sized;
    info.size = ir::Arith{ir::Arith::Kind::op,
                          "/",
                          ir::no_value,
                          {{ir::Arith::Kind::size, dims_[0].factors[0], ir::no_value, {}},
                           {ir::Arith::Kind::axis, loop_.axis, ir::no_value, {}}}};
    info.range = body_.world.locate(name, loop_.range);
    block_ = body_.world.local_dim(body_.scope->function, name, std::move(info));
    body_.scope->dims[name] = block_;
    return true;
  }

  void start(const syntax::Carry& carry) {
    auto type = resolve_type(body_.types(), carry.type);
    const Values init = body_.one(carry.init);
    if (!type) {
      carries_.push_back({});
      inits_.push_back(unknown_value());
      bad_ = true;
      return;
    }
    carries_.push_back(*type);
    inits_.push_back(fit(body_, init, *type, carry.init.range,
                         {"E0304", "E0304", "the first value of `" + carry.name + "`"}));
  }

  ir::ValueId index_value() {
    Type type;
    type.dtype = Dtype::i32;
    const ir::ValueId id = body_.add_value(type, loop_.range);
    body_.function.values[id].stated = true;
    return id;
  }

  Values carry_value(const Types& type, SourceRange range) {
    return transform<ir::ValueId>(type, [&](const Type& leaf) {
      const ir::ValueId id = body_.add_value(leaf, range);
      body_.function.values[id].type = leaf;
      body_.function.values[id].stated = !body_.scope->instance;
      return id;
    });
  }

  ir::BlockPtr read_body() {
    auto block = std::make_shared<ir::Block>();
    ir::Block* outer = std::exchange(body_.block, block.get());
    LoopScope scope{loop_.kind, carries_};
    LoopScope* outer_loop = std::exchange(body_.loop, &scope);
    body_.open_scope();
    for (size_t i = 0; i < loop_.variables.size(); ++i) bind_variable(*block, i);
    for (size_t i = 0; i < loop_.carries.size(); ++i) {
      const syntax::Carry& carry = loop_.carries[i];
      const Values value =
          is_unknown(inits_[i]) ? unknown_value() : carry_value(carries_[i], carry.range);
      for (ir::ValueId leaf : leaves(value)) block->params.push_back(leaf);
      body_.bind(carry.name, value, carry.range);
    }
    body_.statements(loop_.body);
    body_.close_scope();
    if (!scope.has_next && !carries_.empty()) {
      body_.error("E0103", loop_.range, "the loop has carries, but its body has no `next`");
      bad_ = true;
    }
    body_.block = outer;
    body_.loop = outer_loop;
    close(*block, scope);
    return block;
  }

  void bind_variable(ir::Block& block, size_t i) {
    const ir::ValueId index = index_value();
    block.params.push_back(index);
    const Name& name = loop_.variables[i];
    body_.bind(name, tensor(index), body_.world.locate(name, loop_.range));
    Binding* binding = body_.find(loop_.variables[i]);
    if (!binding || binding->values.leaf != index) return;
    binding->loop_dim = dims_[i];
    if (loop_.kind == LoopKind::ring) binding->ring_block = block_;
  }

  void close(ir::Block& block, LoopScope& scope) {
    for (const Values& next : scope.next)
      for (ir::ValueId leaf : leaves(next)) block.next.push_back(leaf);
    emitted_ = std::move(scope.emitted);
    emitted_at_ = std::move(scope.emitted_at);
    for (const Values& emitted : emitted_) {
      bad_ = bad_ || is_unknown(emitted);
      for (ir::ValueId leaf : leaves(emitted)) block.emit.push_back(leaf);
    }
    for (const Values& init : inits_) bad_ = bad_ || is_unknown(init);
  }

  ir::Op op(ir::BlockPtr block) const {
    switch (loop_.kind) {
      case LoopKind::scan:
        return ir::Scan{dims_[0], loop_.reverse, std::move(block)};
      case LoopKind::ring:
        return ir::Ring{Split{dims_[0], {loop_.axis}}, block_, std::move(block)};
      case LoopKind::pipeline:
        return ir::Pipeline{dims_[0],
                            loop_.axis,
                            schedule_ ? schedule_key(body_.world, *schedule_) : loop_.schedule,
                            arguments_,
                            run_up_to_,
                            own_chunks_,
                            std::move(block)};
      case LoopKind::stages:
        break;
    }
    return ir::Stages{dims_, std::move(block)};
  }

  ir::ValueId stacked(ir::ValueId id, SourceRange range) {
    if (id == ir::no_value) return id;
    Type type = body_.type(id);
    if (loop_.kind == LoopKind::ring) {
      for (Split& split : type.dims)
        if (split.dim == block_) split.dim = dims_[0];
    } else {
      std::vector<Split> steps;
      for (const Dim& dim : dims_) steps.push_back(Split{dim, {}});
      type.dims.insert(type.dims.begin(), steps.begin(), steps.end());
      if (loop_.kind != LoopKind::stages) refuse_dim_twice(body_.type(id), type, range);
    }
    return body_.add_value(type, loop_.range);
  }

  void refuse_dim_twice(const Type& emitted, const Type& stacked, SourceRange range) {
    const std::string dim = dim_twice(body_.world, stacked);
    if (dim.empty()) return;
    bad_ = true;
    Diagnostic& error = body_.error("E0110", range,
                                    "a loop over " + to_string(dims_[0]) + " emits " +
                                        to_string(emitted) + ": `" + dim + "` twice in one type",
                                    "stacked, it is " + to_string(stacked));
    const auto used = [&](const Name& name) { return find(stacked, Dim{{name}}) != nullptr; };
    auto other = other_name(body_.types(), dim, used);
    if (!other) return;
    Shape renamed = emitted;
    for (Split& split : renamed.dims)
      std::replace(split.dim.factors.begin(), split.dim.factors.end(), dim, other->name);
    other->declared.push_back({range, "rearrange(\"" +
                                          to_string(static_cast<const Shape&>(emitted)) + " -> " +
                                          to_string(renamed) + "\", " +
                                          std::string(body_.world.sources.text(range)) + ")"});
    error.fixes.push_back({"two dims of one size have two names: `" + other->name + "` for the `" +
                               dim + "` of the value",
                           std::move(other->declared), false, ""});
  }

  std::vector<Values> finish(ir::BlockPtr block) {
    std::vector<Values> results;
    for (const Types& carry : carries_)
      results.push_back(transform<ir::ValueId>(
          carry, [&](const Type& leaf) { return body_.add_value(leaf, loop_.range); }));
    for (size_t i = 0; i < emitted_.size(); ++i)
      results.push_back(transform<ir::ValueId>(
          emitted_[i], [&](ir::ValueId id) { return stacked(id, emitted_at_[i]); }));
    if (results.empty() && !bad_) {
      body_.error("E0103", loop_.range, "the loop has no result: add a carry or an `emit`");
      return unknown_result_of(1);
    }
    std::vector<ir::ValueId> operands, ids;
    for (const Values& init : inits_)
      for (ir::ValueId leaf : leaves(init)) operands.push_back(leaf);
    for (const Values& result : results)
      for (ir::ValueId leaf : leaves(result)) ids.push_back(leaf);
    if (bad_) {
      for (Values& result : results) result = unknown_value();
      return results.empty() ? unknown_result_of(1) : results;
    }
    std::vector<SourceRange> ranges;
    for (size_t i = 0; i < inits_.size(); ++i)
      ranges.insert(ranges.end(), leaves(inits_[i]).size(), loop_.carries[i].init.range);
    body_.emit_to(op(std::move(block)), std::move(operands), std::move(ids), loop_.range,
                  std::move(ranges));
    return results;
  }

  Body& body_;
  const syntax::Loop& loop_;
  std::vector<Dim> dims_;
  Dim block_;
  std::vector<ir::Arith> arguments_;
  std::map<Name, int64_t> run_up_to_;
  bool own_chunks_ = false;
  const syntax::ScheduleDecl* schedule_ = nullptr;
  std::vector<Types> carries_;
  std::vector<Values> inits_, emitted_;
  std::vector<SourceRange> emitted_at_;
  bool bad_ = false;
};

}  // namespace

std::vector<Values> run_loop(Body& body, const syntax::Loop& loop) {
  return LoopReader(body, loop).run();
}

}  // namespace shardproof::resolution
