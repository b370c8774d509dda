#include "spec/check/loop_rules.h"

#include <algorithm>

#include "spec/elaborate/text.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using ir::ValueId;

/// The state on one axis: the dim that it splits, or its mark; I counts as R.
std::string state_on(const Shape& shape, const Axis& axis) {
  for (size_t i = 0; i < shape.dims.size(); ++i)
    if (std::count(shape.dims[i].axes.begin(), shape.dims[i].axes.end(), axis))
      return "split " + std::to_string(i);
  auto mark = shape.marks.find(axis);
  return mark == shape.marks.end() || mark->second == Mark::I ? "" : "marked";
}

void add_axes(const Shape& shape, std::set<Axis>& axes) {
  for (const Axis& axis : split_axes(shape)) axes.insert(axis);
  for (const auto& [axis, mark] : shape.marks) axes.insert(axis);
}

bool mentions(const Shape& shape, const Axis& axis) {
  std::set<Axis> axes;
  add_axes(shape, axes);
  return axes.count(axis) > 0;
}

class Communication {
 public:
  explicit Communication(const ir::Program& program) : program_(program) {}

  std::set<Axis> of(const ir::Op& op) {
    visit(op);
    std::erase_if(axes_, [&](const Axis& axis) {
      auto info = program_.axes.find(axis);
      return info != program_.axes.end() && info->second.size == 1;
    });
    return axes_;
  }

 private:
  void visit(const ir::Op& op) {
    if (auto* collective = std::get_if<ir::Collective>(&op)) exchange(*collective);
    if (auto* permute = std::get_if<ir::Ppermute>(&op)) rotate(permute->pattern);
    if (auto* ring = std::get_if<ir::Ring>(&op))
      axes_.insert(ring->dim.axes.begin(), ring->dim.axes.end());
    if (auto* pipeline = std::get_if<ir::Pipeline>(&op)) axes_.insert(pipeline->axis);
    if (const auto callee = callee_of(op)) enter(*callee);
  }

  void enter(size_t function) {
    if (!entered_.insert(function).second) return;
    for_each_instr(program_.functions.at(function).body,
                   [&](const ir::Instr& instr) { visit(instr.op); });
  }

  // slice, fan_out, zero_nonroot and zero_pad do not communicate.
  void exchange(const ir::Collective& op) {
    using enum ir::CollectiveFn;
    if (op.fn != all_gather && op.fn != all_reduce && op.fn != psum_scatter && op.fn != all_to_all)
      return;
    if (op.pattern.left.empty()) return;
    if (op.pattern.left_inferred) return reduce_to(op.pattern.right);
    std::set<Axis> mentioned;
    add_axes(op.pattern.left[0], mentioned);
    add_axes(op.pattern.right, mentioned);
    for (const Axis& axis : mentioned)
      if (state_on(op.pattern.left[0], axis) != state_on(op.pattern.right, axis))
        axes_.insert(axis);
  }

  /// The operand's marks are not known yet: assume a reduction over each axis on which the result
  /// is a copy.
  void reduce_to(const Shape& result) {
    for (const auto& [axis, unused] : program_.axes)
      if (state_on(result, axis).empty()) axes_.insert(axis);
  }

  void rotate(const ir::Pattern& pattern) {
    if (pattern.left.empty() || !pattern.left_bracket) return;
    const std::vector<Axis>& axes = pattern.left[0].dims.at(*pattern.left_bracket).axes;
    if (!axes.empty()) axes_.insert(axes[0]);
  }

  const ir::Program& program_;
  std::set<Axis> axes_;
  std::set<size_t> entered_;
};

FixHint advice(const std::string& message, int cost = 1) {
  FixHint hint;
  hint.message = message;
  hint.cost = cost;
  return hint;
}

std::string called(const Name& name) { return name.empty() ? "this value" : "`" + name + "`"; }

bool made_in(const ir::Block& block, ValueId value) {
  if (std::count(block.params.begin(), block.params.end(), value)) return true;
  bool found = false;
  for_each_instr(block, [&](const ir::Instr& instr) {
    const ir::Block* body = body_of(instr.op);
    found = found || std::count(instr.results.begin(), instr.results.end(), value) ||
            (body && std::count(body->params.begin(), body->params.end(), value));
  });
  return found;
}

}  // namespace

std::set<Axis> communicates_over(const ir::Program& program, const ir::Op& op) {
  return Communication(program).of(op);
}

std::optional<Refusal> refuse_communication(const ir::Program& program, const ir::Op& op,
                                            const ir::Op& loop) {
  auto* ring = std::get_if<ir::Ring>(&loop);
  auto* pipeline = std::get_if<ir::Pipeline>(&loop);
  if (!ring && !pipeline) return std::nullopt;
  const Axis axis = ring ? ring->dim.axes.at(0) : pipeline->axis;
  if (!communicates_over(program, op).count(axis)) return std::nullopt;
  std::string what = ir::name_of(op);
  if (auto* call = std::get_if<ir::Call>(&op)) what = program.functions.at(call->function).name;
  Refusal refusal;
  refusal.code = "E0221";
  refusal.message = "`" + what + "` communicates over " + axis + " inside a " +
                    (ring ? "ring" : "pipeline") + " over " + axis;
  refusal.label = ring ? "each device of " + axis + " has another block here"
                       : "each stage of " + axis + " has another microbatch here";
  refusal.axes = {axis};
  refusal.fixes = {
      advice(ring ? "communicate before the ring, or after it: a carry can be {U_" + axis + "}"
                  : "communicate before the pipeline, or after it: its emitted values are "
                    "{U_" +
                        axis + "}")};
  return refusal;
}

std::optional<Refusal> refuse_carry(const Name& name, const Type& carry, const ir::Ring& ring) {
  const Axis& axis = ring.dim.axes.at(0);
  auto mark = carry.marks.find(axis);
  const bool unreduced = mark != carry.marks.end() && mark->second == Mark::U;
  const std::vector<Axis> split = split_axes(carry);
  if (unreduced || std::count(split.begin(), split.end(), axis)) return std::nullopt;
  Refusal refusal;
  refusal.code = "E0222";
  refusal.message = "the carry " + called(name) + " of a ring over " + axis +
                    " is neither split over " + axis + " nor {U_" + axis + "}";
  refusal.label = "each device of " + axis + " takes the blocks in another order: " +
                  (mark != carry.marks.end() && mark->second == Mark::Max
                       ? "a maximum has no sum over " + axis
                       : "until the last block, the devices hold different values");
  refusal.axes = {axis};
  refusal.fixes = {
      advice("make the carry {U_" + axis + "} and start it with zeros, or split it over " + axis)};
  return refusal;
}

Refusal refuse_emitted(const ir::Program& program, const Name& name, const ir::Ring& ring) {
  const std::string whole = elaborate::show(program, ring.dim.dim);
  const std::string block = elaborate::show(program, ring.block);
  Refusal refusal;
  refusal.code = "E0224";
  refusal.message = called(name) + " is emitted by a ring over " + to_string(ring.dim) +
                    ", and has no " + block + " that can become " + whole;
  refusal.label = "the values of all blocks are put together along " + block;
  refusal.axes = ring.dim.axes;
  refusal.fixes = {advice("emit a value with one position `" + block +
                          "`, split over no axis, and none `" + whole +
                          "`; a value of all blocks together is a carry")};
  return refusal;
}

std::optional<Refusal> refuse_entry(const ir::Program& program, const Name& name, ValueId value,
                                    const Type& type, const Dim& dim, const ir::Ring& ring) {
  const Axis& axis = ring.dim.axes.at(0);
  Refusal refusal;
  refusal.axes = {axis};
  const Split* split = find(type, dim);
  if (!split || split->axes != ring.dim.axes) {
    refusal.code = "E0206";
    refusal.message = "the ring passes blocks of `" + to_string(ring.dim) + "`, and " +
                      called(name) + " has `" + (split ? to_string(*split) : to_string(dim)) + "`";
    refusal.label = "no device of " + axis + " holds its block of " + to_string(ring.dim.dim) +
                    " and nothing else";
    refusal.fixes = {advice("convert it to `" + to_string(ring.dim) + "` before the ring")};
    if (program.axes.count(axis) && program.axes.at(axis).size == 1) return std::nullopt;
    return refusal;
  }
  if (!made_in(*ring.body, value)) return std::nullopt;
  refusal.code = "E0221";
  refusal.message =
      "a ring passes on values from before it, but " + called(name) + " is computed inside";
  refusal.label =
      "the devices of " + axis + " have different blocks, so each computes another " + called(name);
  refusal.fixes = {advice("compute it before the ring, or from the block", 0)};
  return refusal;
}

bool has_own_entries(const ir::Program& program, const Split& split, const ir::Stages& stages,
                     const Axis& axis) {
  return split.axes == std::vector<Axis>{axis} && program.same_dim(split.dim, stages.dims.back());
}

std::optional<Type> entry_in_loop(const ir::Program& program, const Type& type, const Dim& dim,
                                  const ir::Op& loop, const Axis& axis) {
  Type result = type;
  auto split = std::find_if(result.dims.begin(), result.dims.end(),
                            [&](const Split& each) { return each.dim == dim; });
  if (split == result.dims.end()) return std::nullopt;
  if (auto* ring = std::get_if<ir::Ring>(&loop))
    *split = Split{ring->block, {}};
  else if (auto* stages = std::get_if<ir::Stages>(&loop);
           stages && has_own_entries(program, *split, *stages, axis))
    result.dims.erase(split);
  else
    return std::nullopt;
  return result;
}

namespace {

class Placement {
 public:
  Placement(const ir::Program& program, const ir::Function& function,
            const std::vector<Type>& types, const std::vector<bool>& poisoned,
            const ir::Pipeline& pipeline)
      : program_(program),
        function_(function),
        types_(types),
        poisoned_(poisoned),
        axis_(pipeline.axis),
        body_(*pipeline.body) {
    for (const ir::Instr& instr : body_.instrs)
      if (auto* stages = std::get_if<ir::Stages>(&instr.op)) stages_ = stages, at_ = &instr;
    if (at_)
      emitted_.insert(
          at_->results.begin() + static_cast<std::ptrdiff_t>(stages_->body->next.size()),
          at_->results.end());
  }

  std::vector<Misplaced> run() {
    for_each_instr(body_, [&](const ir::Instr& instr) { check_states(instr); });
    for (ValueId v : body_.emit)
      if (!emitted_.count(v)) check_state(v, function_.values.at(v).range);
    if (at_)
      for (ValueId v : stages_->body->emit) check_state(v, function_.values.at(v).range);
    if (at_) check_order();
    return std::move(found_);
  }

 private:
  void check_states(const ir::Instr& instr) {
    const auto mentioned = [&](ValueId v) { return mentions(types_.at(v), axis_); };
    const bool any = std::any_of(instr.operands.begin(), instr.operands.end(), mentioned);
    if (any && is_own_entry(instr)) return;
    if (const ir::Block* body = body_of(instr.op))
      derived_.insert(body->params.begin(), body->params.end());
    if (any) derived_.insert(instr.results.begin(), instr.results.end());
    for (ValueId v : instr.operands) check_state(v, instr.place.range);
    for (ValueId v : instr.results)
      if (v != ir::no_value && (&instr != at_ || !emitted_.count(v)))
        check_state(v, instr.place.range);
  }

  /// w.layers[n], or the first entry in w.layers[c, n] and caches[a, n].
  bool is_own_entry(const ir::Instr& instr) const {
    if (!stages_ || !std::holds_alternative<ir::Entry>(instr.op) || instr.operands.size() < 2)
      return false;
    const Type& type = types_.at(instr.operands[0]);
    if (!is_index(instr.operands[1])) return false;
    if (type.marks.count(axis_)) return false;
    return std::all_of(type.dims.begin(), type.dims.end(), [&](const Split& split) {
      return !std::count(split.axes.begin(), split.axes.end(), axis_) ||
             has_own_entries(program_, split, *stages_, axis_);
    });
  }

  /// Of the microbatch, or of the stages.
  bool is_index(ValueId v) const {
    const auto layers = stages_->body->params.begin();
    return v == body_.params.at(0) ||
           std::find(layers, layers + static_cast<std::ptrdiff_t>(stages_->dims.size()), v) !=
               layers + static_cast<std::ptrdiff_t>(stages_->dims.size());
  }

  void check_state(ValueId v, SourceRange range) {
    const Type& type = types_.at(v);
    if (poisoned_.at(v) || !mentions(type, axis_) || derived_.count(v)) return;
    if (!told_.insert(v).second) return;
    if (emitted_.count(v)) return emitted_by_stages(v, range);
    auto mark = type.marks.find(axis_);
    const bool copy = mark != type.marks.end() && mark->second == Mark::I;
    Refusal refusal =
        refusal_of(v, mark == type.marks.end() ? "split over " + axis_
                                               : to_string(Marks{{axis_, mark->second}}));
    refusal.label = copy ? "one stage uses it, so only that stage has its gradient"
                         : "each stage holds a part of it, and no stage holds the others' parts";
    refusal.fixes = {copy ? advice("`fan_out` it before the pipeline: its gradient is then {U_" +
                                       axis_ + "} there",
                                   0)
                          : advice("copy it to all stages of " + axis_ + " before the pipeline")};
    found_.push_back({std::move(refusal), range, std::nullopt});
  }

  void emitted_by_stages(ValueId v, SourceRange range) {
    Refusal refusal = refusal_of(v, "emitted by the stages and used");
    refusal.label = "each stage has the values of its own layers, and no stage has the others'";
    refusal.fixes = {advice("emit it from the pipeline too, and use it after the pipeline", 0)};
    found_.push_back({std::move(refusal), range, std::nullopt});
  }

  Refusal refusal_of(ValueId v, const std::string& state) const {
    Refusal refusal;
    refusal.code = "E0223";
    refusal.message =
        called(function_.values.at(v).name) + " is " + state + " inside a pipeline over " + axis_;
    refusal.axes = {axis_};
    return refusal;
  }

  void check_order() {
    for (const ir::Instr& instr : body_.instrs) {
      if (&instr == at_) break;
      for (ValueId v : instr.results)
        if (v != ir::no_value && types_.at(v).dtype != Dtype::number) before_[v] = &instr;
    }
    for_each_instr(*stages_->body, [&](const ir::Instr& instr) { check_use(instr, "inside of"); });
    for (ValueId v : stages_->body->next) check_use(v, stages_->body->next_range, "inside of");
    const auto later = std::find_if(body_.instrs.begin(), body_.instrs.end(),
                                    [&](const ir::Instr& instr) { return &instr == at_; });
    for (auto instr = later + 1; instr != body_.instrs.end(); ++instr) {
      check_use(*instr, "after");
      if (const ir::Block* body = body_of(instr->op))
        for_each_instr(*body, [&](const ir::Instr& inner) { check_use(inner, "after"); });
    }
    for (ValueId v : body_.emit) check_use(v, at_->place.range, "after");
  }

  void check_use(const ir::Instr& instr, const char* where) {
    for (size_t i = 0; i < instr.operands.size(); ++i)
      check_use(instr.operands[i],
                i < instr.operand_ranges.size() && instr.operand_ranges[i].file >= 0
                    ? instr.operand_ranges[i]
                    : instr.place.range,
                where);
  }

  void check_use(ValueId v, SourceRange range, const char* where) {
    auto made = before_.find(v);
    if (made == before_.end() || !late_.insert(v).second) return;
    const std::string name = called(function_.values.at(v).name);
    Refusal refusal;
    refusal.code = "E0223";
    refusal.message = name + " is computed before `stages`, and used " + where + " it";
    refusal.label = "only the first stage of " + axis_ + " has it";
    refusal.axes = {axis_};
    refusal.fixes = {
        advice("pass it through the stages as a carry, or compute it again here from "
               "parameters",
               0)};
    found_.push_back(
        {std::move(refusal), range, Label{made->second->place.range, name + " is computed here"}});
  }

  const ir::Program& program_;
  const ir::Function& function_;
  const std::vector<Type>& types_;
  const std::vector<bool>& poisoned_;
  const Axis& axis_;
  const ir::Block& body_;
  const ir::Stages* stages_ = nullptr;
  const ir::Instr* at_ = nullptr;
  std::set<ValueId> emitted_;  // by the stages: the pipeline may emit them, nothing else reads them
  std::map<ValueId, const ir::Instr*> before_;
  std::set<ValueId> derived_;  // computed from a reported value
  std::set<ValueId> told_, late_;
  std::vector<Misplaced> found_;
};

}  // namespace

std::vector<Misplaced> misplaced_values(const ir::Program& program, const ir::Function& function,
                                        const std::vector<Type>& types,
                                        const std::vector<bool>& poisoned,
                                        const ir::Pipeline& pipeline) {
  return Placement(program, function, types, poisoned, pipeline).run();
}

}  // namespace shardproof
