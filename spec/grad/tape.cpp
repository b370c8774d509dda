#include "spec/grad/tape.h"

#include <algorithm>
#include <utility>

#include "spec/grad/names.h"

namespace shardproof::grad {

void refuse(const char* code, const ir::Place& place, const std::string& message) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.range = place.range;
  diagnostic.message = message;
  throw Refused{std::move(diagnostic)};
}

Type plain(Type type) {
  std::erase_if(type.marks, [](const auto& mark) { return mark.second == Mark::I; });
  return type;
}

bool is_inside(const Tape& tape, const Tape& outer) {
  const Tape* at = tape.parent;
  while (at && at != &outer) at = at->parent;
  return at != nullptr;
}

namespace {

/// A created tensor with the axes of its result.
void complete(ir::Op& op, const Type& result) {
  std::visit(
      [&](auto& each) {
        if constexpr (requires { each.created; }) {
          for (size_t i = 0; i < each.created.shape.dims.size(); ++i)
            each.created.shape.dims[i].axes = result.dims.at(i).axes;
          each.created.shape.marks = result.marks;
          each.created.inferred = false;
          each.created.axes_from.clear();
        }
      },
      op);
}

/// The body of one function while it is inlined.
struct Frame {
  size_t function;
  std::map<ir::ValueId, ValueIndex> values;
  std::string prefix;
};

class Recorder {
 public:
  Recorder(const ir::Program& program, const std::vector<std::vector<Type>>& types)
      : program_(program), types_(types), result_(std::make_unique<Recording>()) {}

  std::unique_ptr<Recording> run(size_t f) {
    tape_ = &result_->top;
    Frame frame{f, {}, ""};
    const ir::Function& plan = program_.functions.at(f);
    axes_ = &plan.axes;
    if (plan.implements_grad)
      refuse("E0217", {plan.name_range, {}, {}}, "no gradient of " + plan.name + ": it is one");
    for (ir::ValueId v : plan.params) tape_->params.push_back(declare(frame, v));
    body(frame);
    for (ir::ValueId v : plan.returned) tape_->out.push_back(frame.values.at(v));
    return std::move(result_);
  }

 private:
  const ir::Function& function(const Frame& frame) const {
    return program_.functions[frame.function];
  }

  ValueIndex fresh(const Type& type, const Name& name) {
    TapeValue value;
    value.type = type;
    value.name = name;
    value.home = tape_;
    value.gradient = type.dtype;
    result_->values.push_back(std::move(value));
    return result_->values.size() - 1;
  }

  ValueIndex declare(Frame& frame, ir::ValueId v) {
    const Name& name = function(frame).values[v].name;
    return frame.values[v] =
               fresh(types_[frame.function][v], name.empty() ? name : frame.prefix + name);
  }

  void body(Frame& frame) { block(frame, function(frame).body); }

  void block(Frame& frame, const ir::Block& block) {
    for (size_t i = 0; i < block.instrs.size();) {
      const auto& library = block.instrs[i].library_call;
      if (!library) {
        instr(frame, block.instrs[i++]);
        continue;
      }
      size_t end = i;
      while (end < block.instrs.size() && block.instrs[end].library_call == library) ++end;
      library_call(frame, block, i, end, function(frame).library_calls[*library]);
      i = end;
    }
  }

  void library_call(Frame& frame, const ir::Block& block, size_t begin, size_t end,
                    const ir::LibraryCall& call) {
    TapeOp taped;
    taped.place = block.instrs[begin].place;
    for (const ir::LibraryCall::Argument& argument : call.arguments)
      taped.operands.push_back(frame.values.at(argument.value));
    taped.op = Library{&call, std::make_shared<Tape>()};
    tape_->ops.push_back(std::move(taped));
    TapeOp& whole = tape_->ops.back();
    std::deque<TapeOp>* outer = std::exchange(ops_, &std::get<Library>(whole.op).body->ops);
    const size_t first = result_->values.size();
    for (size_t i = begin; i < end; ++i) instr(frame, block.instrs[i]);
    ops_ = outer;
    for (size_t r = 0; r < call.results.size(); ++r) {
      const ValueIndex v = frame.values.at(call.results[r]);
      whole.results.push_back(v);
      if (v < first) continue;  // it passes an argument on
      TapeValue& value = result_->values[v];
      value.inner = std::exchange(value.made_by, &whole);
      value.inner_result = std::exchange(value.result, r);
      if (value.name.empty()) value.name = named(frame, call.results[r]);
    }
  }

  Name named(const Frame& frame, ir::ValueId v) const {
    const Name& name = function(frame).values[v].name;
    return name.empty() ? name : frame.prefix + name;
  }

  void instr(Frame& frame, const ir::Instr& instr) {
    if (auto* call = std::get_if<ir::Call>(&instr.op)) return this->call(frame, instr, *call);
    if (std::holds_alternative<ir::Grad>(instr.op))
      refuse("E0217", instr.place, "no gradient through a gradient: a step has none");
    if (std::holds_alternative<ir::Pipeline>(instr.op) ||
        std::holds_alternative<ir::Stages>(instr.op))
      refuse("U0001", instr.place, std::string("no gradient yet through ") + ir::name_of(instr.op));
    if (auto* scan = std::get_if<ir::Scan>(&instr.op))
      return loop(frame, instr, {scan->dim, scan->reverse, std::make_shared<Tape>()}, *scan->body);
    if (auto* ring = std::get_if<ir::Ring>(&instr.op)) {
      auto tape = std::make_shared<Tape>();
      tape->ring = {ring->dim, ring->block};
      return loop(frame, instr, {ring->dim.dim, false, std::move(tape)}, *ring->body);
    }
    if (auto* entry = std::get_if<ir::Entry>(&instr.op)) return this->entry(frame, instr, *entry);
    if (std::holds_alternative<ir::Ascribe>(instr.op)) return ascribe(frame, instr);
    if (std::holds_alternative<ir::Save>(instr.op)) return save(frame, instr);
    plain_op(frame, instr);
  }

  std::vector<ValueIndex> operands(Frame& frame, const ir::Instr& instr) {
    std::vector<ValueIndex> result;
    for (ir::ValueId v : instr.operands) result.push_back(frame.values.at(v));
    return result;
  }

  std::deque<TapeOp>& ops() { return ops_ ? *ops_ : tape_->ops; }

  void append(std::deque<TapeOp>& ops, ir::Op op, std::vector<ValueIndex> operands,
              std::vector<ValueIndex> results, const ir::Place& place) {
    TapeOp taped;
    taped.op = std::move(op);
    taped.operands = std::move(operands);
    taped.results = std::move(results);
    taped.place = place;
    append(ops, std::move(taped));
  }

  void append(std::deque<TapeOp>& ops, TapeOp taped) {
    ops.push_back(std::move(taped));
    TapeOp& made = ops.back();
    for (size_t r = 0; r < made.results.size(); ++r) {
      result_->values[made.results[r]].made_by = &made;
      result_->values[made.results[r]].result = r;
    }
  }

  void plain_op(Frame& frame, const ir::Instr& instr) {
    std::vector<ValueIndex> from = operands(frame, instr), to;
    for (ir::ValueId v : instr.results) to.push_back(declare(frame, v));
    ir::Op op = instr.op;
    if (!to.empty()) complete(op, plain(result_->values[to[0]].type));
    gradient_dtype(op, from, to);
    append(ops(), std::move(op), std::move(from), std::move(to), instr.place);
  }

  /// `bf16(w, grad=f32)` applies to the cast's result, and to values that collectives alone make
  /// from it.
  void gradient_dtype(const ir::Op& op, const std::vector<ValueIndex>& from,
                      const std::vector<ValueIndex>& to) {
    if (auto* cast = std::get_if<ir::Cast>(&op); cast && cast->grad)
      result_->values[to[0]].gradient = *cast->grad;
    if (std::holds_alternative<ir::Collective>(op) || std::holds_alternative<ir::Ppermute>(op))
      result_->values[to[0]].gradient = result_->values[from[0]].gradient;
  }

  /// The callee's body is inlined, so its axes must be declared in the plan's file.
  void needs_axes(const ir::Instr& instr, size_t callee) const {
    const auto needs = [&](const Axis& axis) {
      const auto known = program_.axes.find(axis);
      const bool unit = known != program_.axes.end() && known->second.size == 1;
      if (unit || std::count(axes_->begin(), axes_->end(), axis)) return;
      refuse("U0002", instr.place,
             "`" + program_.functions[callee].name + "` uses axis " + axis +
                 ", which this file does not declare: add it to `mesh`");
    };
    for (const Type& type : types_[callee]) {
      for (const Axis& axis : split_axes(type)) needs(axis);
      for (const auto& [axis, mark] : type.marks) needs(axis);
    }
  }

  void call(Frame& frame, const ir::Instr& instr, const ir::Call& call) {
    needs_axes(instr, call.function);
    const ir::Function& callee = program_.functions[call.function];
    if (callee.implements_grad || callee.uses_gradients)
      refuse("E0217", instr.place, "no gradient through " + callee.name + ": a step has none");
    if (callee.trusted) return trusted(frame, instr, call.function);
    Frame inner{call.function, {}, short_name(callee) + "_"};
    for (size_t i = 0; i < instr.operands.size(); ++i)
      inner.values[callee.params[i]] = frame.values.at(instr.operands[i]);
    body(inner);
    for (size_t i = 0; i < instr.results.size(); ++i) {
      const ValueIndex v = inner.values.at(callee.returned[i]);
      frame.values[instr.results[i]] = v;
      Name name = named(frame, instr.results[i]);
      if (name.empty() && result_->values[v].name.empty()) name = short_name(callee);
      if (!name.empty()) result_->values[v].name = name;
    }
  }

  Name short_name(const ir::Function& callee) const {
    return callee.model ? program_.functions[*callee.model].name : ir::identifier(callee.name);
  }

  void trusted(Frame& frame, const ir::Instr& instr, size_t plan) {
    TapeOp taped;
    taped.op = Trusted{plan};
    taped.operands = operands(frame, instr);
    taped.place = instr.place;
    for (ir::ValueId v : instr.results) taped.results.push_back(declare(frame, v));
    append(ops(), std::move(taped));
  }

  /// The same value; a rearrange if its positions get other names.
  void ascribe(Frame& frame, const ir::Instr& instr) {
    const ValueIndex from = frame.values.at(instr.operands[0]);
    const Type &have = result_->values[from].type, &want = types_[frame.function][instr.results[0]];
    if (have.dtype == Dtype::number || same_dims(have, want)) return alias(frame, instr, from);
    ir::Rearrange op;
    op.pattern.indices = unchanged(program_, have);
    const ValueIndex to = declare(frame, instr.results[0]);
    append(ops(), std::move(op), {from}, {to}, instr.place);
  }

  void alias(Frame& frame, const ir::Instr& instr, ValueIndex from) {
    frame.values[instr.results[0]] = from;
    const Name name = named(frame, instr.results[0]);
    if (result_->values[from].name.empty()) result_->values[from].name = name;
  }

  void save(Frame& frame, const ir::Instr& instr) {
    const ValueIndex from = frame.values.at(instr.operands[0]);
    alias(frame, instr, from);
    TapeValue& value = result_->values[from];
    if (!value.made_by) return;
    if (value.home != &result_->top)
      value.kept = true;
    else if (frame.prefix.empty())
      value.saved = function(frame).values[instr.results[0]].name;
  }

  /// The one that is inside the other.
  static Tape* inner(Tape* a, Tape* b) { return is_inside(*a, *b) ? a : b; }

  void entry(Frame& frame, const ir::Instr& instr, const ir::Entry& op) {
    const ValueIndex from = frame.values.at(instr.operands[0]),
                     index = frame.values.at(instr.operands[1]);
    Tape* home = inner(result_->values[index].home, result_->values[from].home);
    auto [at, fresh_entry] = home->entries.try_emplace({from, index}, 0);
    if (fresh_entry) {
      Tape* here = std::exchange(tape_, home);
      at->second = declare(frame, instr.results[0]);
      tape_ = here;
      append(home->ops, op, {from, index}, {at->second}, instr.place);
    }
    frame.values[instr.results[0]] = at->second;
  }

  void loop(Frame& frame, const ir::Instr& instr, Loop loop, const ir::Block& body) {
    TapeOp taped;
    taped.operands = operands(frame, instr);
    taped.place = instr.place;
    Tape& tape = *loop.body;
    tape.parent = tape_;
    Tape* outer = std::exchange(tape_, &tape);
    const size_t first = body.params.size() - body.next.size();
    for (size_t i = 0; i < first; ++i) {
      tape.index = declare(frame, body.params[i]);
      tape.index_name = function(frame).values[body.params[i]].name;
    }
    for (size_t i = first; i < body.params.size(); ++i)
      tape.params.push_back(declare(frame, body.params[i]));
    std::deque<TapeOp>* library = std::exchange(ops_, nullptr);
    block(frame, body);
    ops_ = library;
    for (ir::ValueId v : body.next) tape.out.push_back(frame.values.at(v));
    for (ir::ValueId v : body.emit) tape.emit.push_back(frame.values.at(v));
    tape_ = outer;
    for (ir::ValueId v : instr.results) taped.results.push_back(declare(frame, v));
    if (tape.ring) mark_scales(*result_, tape);
    taped.op = std::move(loop);
    append(ops(), std::move(taped));
  }

  const ir::Program& program_;
  const std::vector<std::vector<Type>>& types_;
  const std::vector<Axis>* axes_ = nullptr;  ///< of the plan's file
  std::unique_ptr<Recording> result_;
  Tape* tape_ = nullptr;
  std::deque<TapeOp>* ops_ = nullptr;  ///< of the library call being inlined
};

}  // namespace

std::unique_ptr<Recording> record(const ir::Program& program,
                                  const std::vector<std::vector<Type>>& types, size_t f) {
  return Recorder(program, types).run(f);
}

}  // namespace shardproof::grad
