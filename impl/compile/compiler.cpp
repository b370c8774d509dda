#include "impl/compile/compiler.h"

#include <algorithm>

#include "impl/compile/fuse.h"
#include "impl/compile/ops.h"
#include "kernels/number.h"
#include "spec/ir/walk.h"

namespace shardproof::compile {

using namespace std::literals;

CompiledValue in_memory(Ref ref) {
  auto leaf = std::make_shared<Expression>();
  leaf->kind = Expression::Kind::leaf;
  leaf->element = ref.element;
  leaf->view.ids = first_ids(ref.extents.size());
  leaf->view.ref = std::move(ref);
  return {std::move(leaf)};
}

// --- buffers ---

Ref Compiler::create(Element element, std::vector<int64_t> extents) {
  Ref ref;
  ref.buffer = pieces_.size();
  ref.element = element;
  ref.strides = row_major(extents);
  ref.extents = std::move(extents);
  pieces_.push_back({static_cast<size_t>(ref.count()) * size_of(element)});
  return ref;
}

Ref Compiler::external(Element element, std::vector<int64_t> extents) {
  Ref ref = create(element, std::move(extents));
  externals_.push_back(ref.buffer);
  return ref;
}

bool Compiler::is_whole(const Ref& ref) const {
  const bool given =
      std::find(externals_.begin(), externals_.end(), ref.buffer) != externals_.end();
  return !given && ref.offset == 0 && ref.terms.empty() && ref.contiguous() &&
         pieces_.at(ref.buffer).bytes == static_cast<size_t>(ref.count()) * size_of(ref.element);
}

// --- steps ---

Step& Compiler::step(std::string_view op, std::vector<BufferId> reads,
                     std::vector<BufferId> writes) {
  for (BufferId id : writes) {
    masks_.forget(id);
    gathers_.forget(id);
  }
  Step& step = steps_.emplace_back();
  step.op = op;
  step.place = place();
  step.reads = std::move(reads);
  step.writes = std::move(writes);
  step.turn = turn_;
  return step;
}

void Compiler::exchange(std::string_view name, Exchange&& exchange) {
  std::vector<BufferId> reads{exchange.send.buffer};
  const Whole& shift = exchange.shift;
  if (exchange.collective == Collective::permute && !shift.known) reads.push_back(shift.ref.buffer);
  step(name, std::move(reads), {exchange.receive.buffer}).exchange = std::move(exchange);
}

void Compiler::kernel(std::string_view name, KernelOp op, const Ref& out, std::vector<Ref> inputs) {
  std::vector<BufferId> reads;
  reads.reserve(inputs.size());
  for (const Ref& input : inputs) reads.push_back(input.buffer);
  Step& made = step(name, std::move(reads), {out.buffer});
  if (const auto* iota = std::get_if<Iota>(&op); iota && is_whole(out))
    masks_.count(out.buffer, *iota);
  Kernel& kernel = made.kernel.emplace();
  kernel.op = std::move(op);
  kernel.out = out;
  kernel.inputs = std::move(inputs);
}

std::vector<Ref> Compiler::fused(std::string_view name, const FusedOp& op, std::vector<Ref> outputs,
                                 std::vector<Ref> inputs) {
  std::vector<Ref> scratch;
  for (size_t bytes : device_.fused_scratch(op))
    scratch.push_back(create(Element::u8, {static_cast<int64_t>(bytes)}));
  outputs.insert(outputs.end(), scratch.begin(), scratch.end());
  std::vector<BufferId> reads, writes;
  for (const Ref& input : inputs) reads.push_back(input.buffer);
  for (const Ref& output : outputs) writes.push_back(output.buffer);
  step(name, std::move(reads), std::move(writes)).fused =
      FusedKernel{op, std::move(outputs), std::move(inputs)};
  return scratch;
}

void Compiler::move(std::string_view op, const Ref& from, const Ref& to) {
  Nest nest = nest_of({&to, &from});
  std::vector<Ref> inputs(1, from);
  if (from.element == to.element)
    return kernel(op, Copy{std::move(nest), size_of(to.element)}, to, std::move(inputs));
  kernel(op, Pointwise{{from.element}, {}, to.element, to.element == Element::f64, std::move(nest)},
         to, std::move(inputs));
}

Ref Compiler::packed(const Ref& ref, Element element) {
  if (ref.element == element && ref.contiguous()) return ref;
  const Ref copy = create(element, ref.extents);
  move("pack", ref, copy);
  return copy;
}

Ref Compiler::compute(const ExpressionPtr& expression, Element element,
                      const std::vector<int64_t>& extents) {
  const Ref to = create(element, extents);
  compute_into(expression, to);
  masks_.compute(to.buffer, *expression, extents);
  return to;
}

void Compiler::compute_into(const ExpressionPtr& expression, const Ref& to) {
  Chain chain = chain_of(expression, to.element);
  const Ids positions = first_ids(to.extents.size());
  Nest nest{to.extents, {}};
  std::vector<Ref> inputs;
  nest.strides.reserve(chain.inputs.size() + 1);
  nest.strides.push_back(to.strides);
  inputs.reserve(chain.inputs.size());
  for (View& input : chain.inputs) {
    nest.strides.push_back(strides_along(positions, to.extents, input));
    inputs.push_back(std::move(input.ref));
  }
  chain.program.nest = coalesced(std::move(nest));
  kernel("pointwise", std::move(chain.program), to, std::move(inputs));
}

size_t Compiler::group(const std::vector<int>& ranks, const std::vector<Axis>& axes) {
  const auto found = std::find(groups_.begin(), groups_.end(), ranks);
  if (found != groups_.end()) return static_cast<size_t>(found - groups_.begin());
  groups_.push_back(ranks);
  group_axes_.push_back(axes);
  return groups_.size() - 1;
}

// --- functions ---

namespace {

/// Counts the uses of each value; a use inside a loop of a value from outside counts as two.
class Uses {
 public:
  explicit Uses(const ir::Function& function)
      : uses_(function.values.size(), 0), block_(function.values.size()) {
    for (ir::ValueId id : function.params) block_[id] = &function.body;
    for (ir::ValueId id : function.saved_params) block_[id] = &function.body;
    walk(function.body);
    for (ir::ValueId id : function.returned) use(id, function.body);
  }
  std::vector<int> take() { return std::move(uses_); }

 private:
  void use(ir::ValueId id, const ir::Block& block) {
    uses_.at(id) += block_[id] == &block ? 1 : many_uses;
  }

  void walk(const ir::Block& block) {
    for (ir::ValueId id : block.params) block_[id] = &block;
    for (const ir::Instr& instr : block.instrs) {
      for (ir::ValueId id : instr.operands) use(id, block);
      for (ir::ValueId id : instr.results)
        if (id != ir::no_value) block_[id] = &block;
      std::visit(
          [&](const auto& op) {
            if constexpr (requires { op.body; })
              if (op.body) walk(*op.body);
          },
          instr.op);
    }
    for (ir::ValueId id : block.next) use(id, block);
    for (ir::ValueId id : block.emit) use(id, block);
  }

  std::vector<int> uses_;
  std::vector<const ir::Block*> block_;
};

Scope scope_of(const Unit& unit, const Placement& placement, std::shared_ptr<const Extents> extents,
               std::vector<int> uses, std::vector<Key> keys) {
  const ir::Function& function = unit.plan();
  if (function.trusted)
    throw PlanError(function.name + " is trusted and has no body: it cannot be run");
  return {unit,
          placement,
          std::move(extents),
          std::vector<CompiledValue>(function.values.size()),
          std::move(uses),
          std::move(keys)};
}

std::vector<Key> external_keys(size_t count) {
  std::vector<Key> keys;
  for (size_t i = 0; i < count; ++i) keys.push_back(outside_key("parameter", i));
  return keys;
}

}  // namespace

namespace {

/// Whether the function's values may equal those of another function.
bool has_calls(const ir::Function& function) {
  bool found = false;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    found = found || callee_of(instr.op) || std::holds_alternative<ir::Pipeline>(instr.op) ||
            std::holds_alternative<ir::Stages>(instr.op);
  });
  return found;
}

/// Replaces keys that no other value has by no_key.
void forget_lone(std::vector<Key>& keys) {
  std::vector<Key> sorted = keys;
  std::sort(sorted.begin(), sorted.end());
  for (Key& key : keys) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), key);
    if (end - begin == 1) key = no_key;
  }
}

}  // namespace

Extents::Extents(const Unit& unit, const Placement& placement)
    : unit_(unit), placement_(placement), all_(unit.types->at(unit.function).size()) {
  for (ir::ValueId id = 0; id < all_.size(); ++id) try {
      all_[id] = placement.extents(unit.type(id));
    } catch (const std::exception&) {  // it need not be used
    }
}

OnMesh::OnMesh(const Unit& of, const Mesh& mesh, const DimSizes& dims)
    : unit(of),
      placement(*unit.program, mesh, dims, 0),
      extents(std::make_shared<Extents>(unit, placement)),
      uses(Uses(unit.plan()).take()),
      keys(keys_of(unit, placement,
                   external_keys(unit.plan().params.size() + unit.plan().saved_params.size()), 0)) {
  if (!has_calls(unit.plan())) forget_lone(keys);
}

std::string Compiler::text_of(const Here& here) {
  const Sources* const sources = here.unit.sources;
  const SourceRange& range = here.range;
  std::string text;
  text.reserve(100);
  if (sources && range.file >= 0) {
    text.append(sources->file(range.file).path) += ':';
    text.append(std::to_string(sources->locate(range.file, range.begin).line)).append(" in "sv);
  }
  text.append(here.unit.plan().name).append(": "sv).append(here.op);
  return text;
}

Scope Compiler::enter(const Unit& unit, const Placement& placement,
                      const std::vector<Key>& keys) const {
  const Placement own = placement.in(*unit.program);
  return scope_of(unit, own, std::make_shared<Extents>(unit, own), Uses(unit.plan()).take(),
                  this->keys(unit, own, keys));
}

std::vector<CompiledValue> Compiler::call(const OnMesh& function, int64_t rank,
                                          const std::vector<CompiledValue>& arguments) {
  return run(scope_of(function.unit, function.placement.on(rank), function.extents, function.uses,
                      function.keys),
             arguments);
}

void Compiler::run_block(Scope& scope, const ir::Block& block) {
  const std::vector<ir::Instr>& instrs = block.instrs;
  if (steps_.empty()) steps_.reserve(instrs.size());
  if (pieces_.size() < instrs.size()) pieces_.reserve(2 * instrs.size());
  for (size_t i = 0; i < instrs.size();) {
    size_t end = i + 1;
    bool fused = false;
    if (const std::optional<size_t> call = instrs[i].library_call) {
      while (end < instrs.size() && instrs[end].library_call == call) ++end;
      const ir::LibraryCall& library = scope.unit.plan().library_calls.at(*call);
      here_ = {scope.unit, instrs[i].place.range, library.function.c_str()};
      fused = take_known(scope, library.results) || (fuses_ && fuse(*this, scope, library));
      if (fused) remember(scope, library.results);
    }
    for (; i < end; ++i)
      if (!fused) run_instr(scope, instrs[i]);
  }
}

const CompiledValue* Compiler::find_known(const Key& key) const {
  if (key == no_key) return nullptr;
  for (auto level = known_.rbegin(); level != known_.rend(); ++level)
    if (const auto found = level->find(key); found != level->end()) return &found->second;
  return nullptr;
}

/// Whether all of these values are common subexpressions, computed earlier in this or another
/// function.
bool Compiler::take_known(Scope& scope, const std::vector<ir::ValueId>& ids) const {
  for (ir::ValueId id : ids)
    if (id != ir::no_value && !find_known(scope.keys.at(id))) return false;
  for (ir::ValueId id : ids)
    if (id != ir::no_value) scope.values.at(id) = *find_known(scope.keys[id]);
  return true;
}

void Compiler::remember(const Scope& scope, const std::vector<ir::ValueId>& ids) {
  for (ir::ValueId id : ids)
    if (id != ir::no_value && scope.keys.at(id) != no_key && scope.values.at(id).known())
      known_.back().insert_or_assign(scope.keys[id], scope.values[id]);
}

void Compiler::run_instr(Scope& scope, const ir::Instr& instr) {
  constexpr size_t most_ops = 500'000;
  here_ = {scope.unit, instr.place.range, ir::name_of(instr.op)};
  if (++ops_ > most_ops)
    throw PlanError(place() + ": more than " + std::to_string(most_ops) +
                    " ops when all calls are written out");
  if (take_known(scope, instr.results)) return;
  const Site site(*this, scope, instr);
  std::visit([&](const auto& op) { compile(op, site); }, instr.op);
  remember(scope, instr.results);
}

std::vector<CompiledValue> Compiler::run(Scope scope, const std::vector<CompiledValue>& arguments) {
  const ir::Function& function = scope.unit.plan();
  std::vector<ir::ValueId> params = function.params;
  params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
  if (params.size() != arguments.size())
    throw PlanError(function.name + " takes " + std::to_string(params.size()) + " tensors, not " +
                    std::to_string(arguments.size()));
  for (size_t i = 0; i < params.size(); ++i) scope.values[params[i]] = arguments[i];
  const std::string caller = place();
  attentions_.leave();
  run_block(scope, function.body);
  attentions_.leave();
  std::vector<CompiledValue> results;
  for (ir::ValueId id : function.returned) {
    ref(scope, id);
    results.push_back(scope.values.at(id));
  }
  set_place(caller);
  return results;
}

const Ref& Compiler::ref(Scope& scope, ir::ValueId id) {
  CompiledValue& value = scope.values.at(id);
  if (!value.known()) throw std::logic_error("a value is used before it is made");
  if (scope.fitting[id] == value.expression) return value.expression->view.ref;
  const Type& type = scope.unit.type(id);
  const std::vector<int64_t>& extents = scope.extents->of(id);
  if (value.expression->kind != Expression::Kind::leaf) {
    value = in_memory(compute(value.expression, element(type.dtype), extents));
    remember(scope, {id});
  }
  const Ref& ref = value.expression->view.ref;
  if (ref.extents != extents)
    throw PlanError(place() + ": " + scope.unit.plan().values.at(id).name + " does not fit " +
                    to_string(type));
  scope.fitting[id] = value.expression;
  return ref;
}

void Compiler::move_up(size_t first) {
  for (size_t i = first; i < steps_.size(); ++i) {
    const Access own = access_of(steps_[i]);
    size_t to = i;
    while (to > 0) {
      // Collectives keep their order: the steps between them may differ between ranks.
      if ((communicates(steps_[i]) && communicates(steps_[to - 1])) ||
          conflict(own, access_of(steps_[to - 1])))
        break;
      --to;
    }
    const auto begin = steps_.begin();
    std::rotate(begin + static_cast<std::ptrdiff_t>(to), begin + static_cast<std::ptrdiff_t>(i),
                begin + static_cast<std::ptrdiff_t>(i + 1));
  }
}

// --- loops ---

Compiler::Loop Compiler::new_loop(int64_t times, bool reverse) {
  loop_times_.push_back(times);
  gathers_.leave();
  return {loop_times_.size() - 1, times, reverse};
}

void Compiler::close_loop(const Loop& loop, std::vector<Step> before,
                          const std::vector<BufferId>& kept) {
  gathers_.leave();
  Step step;
  step.op = "loop";
  step.place = place();
  step.is_loop = true;
  step.loop = loop.id;
  step.times = loop.times;
  step.reverse = loop.reverse;
  step.writes = kept;
  step.body = take_steps();
  steps_ = std::move(before);
  steps_.push_back(std::move(step));
}

std::optional<Affine> Compiler::affine(const Ref& ref) const {
  if (!counting_.contains(ref.buffer)) return std::nullopt;
  return Affine{ref.offset, ref.terms};
}

int64_t Compiler::most(const Affine& number) const {
  int64_t most = number.offset;
  for (const Ref::Term& term : number.terms) most += term.stride * (loop_times_.at(term.loop) - 1);
  return most;
}

}  // namespace shardproof::compile
