#include "impl/compile/stage_gradient.h"

#include <algorithm>

#include "impl/compile/planted.h"

namespace shardproof::compile {
namespace {

ExpressionPtr leaf(const Ref& ref) { return leaf_of({ref, first_ids(ref.extents.size())}); }

ValueIds set_of(const std::vector<ir::ValueId>& ids) { return {ids.begin(), ids.end()}; }

Ref row_of(Ref ref, int64_t row) {
  ref.offset += row * ref.strides.at(0);
  ref.extents.erase(ref.extents.begin());
  ref.strides.erase(ref.strides.begin());
  return ref;
}

}  // namespace

int64_t StagePlace::chunks() const {
  int64_t count = 1;
  for (const int64_t size : chunk_sizes) count *= size;
  return count;
}

std::vector<int64_t> StagePlace::chunk_index(int64_t chunk) const {
  std::vector<int64_t> index(chunk_sizes.size());
  for (size_t d = chunk_sizes.size(); d-- > 0; chunk /= chunk_sizes[d])
    index[d] = chunk % chunk_sizes[d];
  return index;
}

StageGradient::StageGradient(Compiler& compiler, Scope& scope, StageLevels& levels,
                             StagePlace place, bool has_w)
    : compiler_(compiler),
      scope_(scope),
      levels_(levels),
      place_(std::move(place)),
      has_w_(has_w),
      indices_(levels.levels.size()) {
  scope_.unit.types = &levels_.types;
  scope_.extents = std::make_shared<Extents>(scope_.unit, scope_.placement);
  for (const Target& target : levels_.targets) sums_.emplace_back(target.sources.size());
  results_.resize(levels_.targets.size());
}

/// Runs the instructions of a level whose operands are available.
void StageGradient::run(const ir::Block& block, const ValueIds& needs) {
  for (const ir::ValueId id : needs)
    if (id != ir::no_value && !scope_.values.at(id).known())
      throw PlanError(compiler_.place() +
                      ": the gradient of this pipeline cannot be run: a stage needs " +
                      scope_.unit.plan().values.at(id).name + " of another one");
  compiler_.run_block(scope_, block);
}

void StageGradient::before() {
  const ir::Block& plan = *levels_.levels[0].block;
  ValueIds wanted = needs_of(levels_.levels[0].back_body());
  for (const auto& [value, own] : levels_.same) wanted.insert(own);
  Instrs left_out = levels_.replaced;
  left_out.insert(levels_.levels[0].backward);
  before_ = std::make_unique<Slice>(plan, std::move(wanted), left_out);
  compiler_.run_block(scope_, before_->block());
  for (const auto& [value, own] : levels_.same)
    if (scope_.values.at(own).known()) scope_.values.at(value) = scope_.values[own];
}

void StageGradient::set_indices(const Chunk& chunk) {
  const std::vector<int64_t> of_chunk = place_.chunk_index(chunk.second);
  indices_.at(1) = chunk.first;
  std::copy(of_chunk.begin(), of_chunk.end(), indices_.begin() + 2);
  for (size_t level = 1; level + 1 < levels_.levels.size(); ++level)
    scope_.values.at(levels_.levels[level].block->params.at(0)) = {
        constant_of(static_cast<double>(indices_[level]), Element::i32)};
}

/// Runs what layers need from the bodies of the enclosing loops.
void StageGradient::run_outer(const ValueIds& needs) {
  std::vector<Slice> slices;
  ValueIds wanted = needs;
  for (size_t level = levels_.levels.size() - 1; level-- > 1;) {
    slices.emplace_back(*levels_.levels[level].block, wanted, levels_.levels[level].loops());
    wanted = slices.back().needs();
  }
  for (size_t i = slices.size(); i-- > 0;) compiler_.run_block(scope_, slices[i].block());
}

bool StageGradient::layers(const Chunk& chunk, std::vector<Ref>& carries) {
  const ir::Instr* forward = levels_.layers();
  if (!forward) return false;
  const ir::Block& body = *std::get<ir::Scan>(forward->op).body;
  set_indices(chunk);
  run_outer(needs_of(body));
  std::vector<Ref>& stacks = saved_[chunk];
  for (size_t i = 0; i < body.emit.size(); ++i) {
    const ir::ValueId stack = forward->results.at(carries.size() + i);
    if (stack == ir::no_value) {
      stacks.emplace_back();
      continue;
    }
    if (is_planted(RunFault::overwritten) && saved_.size() > 1) {
      stacks.push_back(saved_.begin()->second.at(i));
      continue;
    }
    const Type& type = scope_.unit.type(stack);
    stacks.push_back(
        compiler_.create(compiler_.element(type.dtype), scope_.placement.extents(type)));
  }
  for (int64_t n = 0; n < place_.layers; ++n) {
    compiler_.enter_iteration();
    scope_.values.at(body.params.at(0)) = {
        constant_of(static_cast<double>(place_.layer(n)), Element::i32)};
    for (size_t i = 0; i < carries.size(); ++i) set(body.params.at(i + 1), carries[i]);
    compiler_.run_block(scope_, body);
    for (size_t i = 0; i < stacks.size(); ++i)
      if (!stacks[i].extents.empty())
        compiler_.move("emit", compiler_.ref(scope_, body.emit[i]), row_of(stacks[i], n));
    for (size_t i = 0; i < carries.size(); ++i) carries[i] = compiler_.ref(scope_, body.next.at(i));
    compiler_.leave_iteration();
  }
  forget();
  return true;
}

std::vector<Ref> StageGradient::upstream(int64_t microbatch, const std::vector<Ref>& carries) {
  const Level& level = first_level();
  set_indices({microbatch, 0});
  if (level.forward)
    for (size_t i = 0; i < carries.size(); ++i)
      if (level.forward->results.at(i) != ir::no_value) set(level.forward->results[i], carries[i]);
  ValueIds wanted = levels_.wanted(1, false);
  for (const size_t carry : level.travel) wanted.insert(level.backward->operands.at(carry));
  const Slice slice(*level.block, wanted, level.loops());
  run(slice.block(), slice.needs());
  std::vector<Ref> gradients;
  for (const size_t carry : level.travel)
    gradients.push_back(compiler_.ref(scope_, level.backward->operands.at(carry)));
  add(1, false);
  forget();
  return gradients;
}

std::vector<Ref> StageGradient::back(const Chunk& chunk, std::vector<Ref> gradients) {
  set_indices(chunk);
  run_outer(needs_of(layer()));
  if (const ir::Instr* forward = levels_.layers()) {
    const std::vector<Ref> stacks = saved_.at(chunk);
    for (size_t i = 0; i < stacks.size(); ++i)
      if (const ir::ValueId id = forward->results.at(forward->operands.size() + i);
          id != ir::no_value)
        set(id, stacks[i]);
    saved_.erase(chunk);
  }
  const ir::Block& body = layer();
  const std::vector<size_t>& travel = inner().travel;
  const size_t last = levels_.levels.size() - 1;
  ValueIds inputs, weights = levels_.wanted(last, false);
  for (const size_t carry : travel) inputs.insert(body.next.at(carry));
  ValueIds all = inputs;
  if (!has_w_) all.insert(weights.begin(), weights.end());
  const Slice now(body, all, {});
  for (int64_t n = place_.layers; n-- > 0;) {
    compiler_.enter_iteration();
    indices_[last] = place_.layer(n);
    scope_.values.at(body.params.at(0)) = {
        constant_of(static_cast<double>(place_.layer(n)), Element::i32)};
    for (size_t i = 0; i < travel.size(); ++i) set(body.params.at(travel[i] + 1), gradients[i]);
    run(now.block(), now.needs());
    for (size_t i = 0; i < travel.size(); ++i)
      gradients[i] = compiler_.ref(scope_, body.next.at(travel[i]));
    if (has_w_) {
      Left left{n, {}};
      const Slice rest(body, weights, {});
      const ir::Block later = rest.without(now);
      ValueIds needs = needs_of(later);
      needs.insert(weights.begin(), weights.end());
      for (const ir::ValueId id : needs)
        if (scope_.values.at(id).known()) left.values[id] = scope_.values[id];
      left_[chunk].push_back(std::move(left));
    } else {
      add(last, false);
    }
    compiler_.leave_iteration();
    for (const ir::ValueId id : defined_in(body)) scope_.values.at(id) = {};
  }
  if (place_.stage == 0 && chunk.second == 0) {
    const Level& level = first_level();
    for (size_t i = 0; i < gradients.size(); ++i)
      if (const ir::ValueId id = level.backward->results.at(level.travel[i]); id != ir::no_value)
        set(id, gradients[i]);
    const Slice slice(*level.block, levels_.wanted(1, true), level.loops());
    run(slice.block(), slice.needs());
    add(1, true);
  }
  forget();
  return gradients;
}

void StageGradient::weights(const Chunk& chunk) {
  if (!has_w_) return;
  set_indices(chunk);
  const size_t last = levels_.levels.size() - 1;
  const ir::Block& body = layer();
  ValueIds inputs;
  for (const size_t carry : inner().travel) inputs.insert(body.next.at(carry));
  const Slice done(body, inputs, {}), rest(body, levels_.wanted(last, false), {});
  const ir::Block later = rest.without(done);
  for (const Left& left : left_.at(chunk)) {
    compiler_.enter_iteration();
    for (const auto& [id, value] : left.values) scope_.values.at(id) = value;
    indices_[last] = place_.layer(left.layer);
    compiler_.run_block(scope_, later);
    add(last, false);
    compiler_.leave_iteration();
    for (const ir::ValueId id : defined_in(body)) scope_.values.at(id) = {};
  }
  left_.erase(chunk);
  forget();
}

std::vector<Ref> StageGradient::create_message() const {
  std::vector<Ref> refs;
  for (const size_t carry : inner().travel) {
    const Type& type = scope_.unit.type(layer().params.at(carry + 1));
    refs.push_back(compiler_.create(compiler_.element(type.dtype), scope_.placement.extents(type)));
  }
  return refs;
}

void StageGradient::add(size_t level, bool at_first) {
  for (size_t t = 0; t < levels_.targets.size(); ++t) {
    const std::vector<Source>& sources = levels_.targets[t].sources;
    for (size_t s = 0; s < sources.size(); ++s) {
      if (sources[s].level != level || sources[s].at_first != at_first) continue;
      Row row;
      for (const size_t loop : sources[s].rows) row.push_back(indices_.at(loop));
      const Ref term = compiler_.ref(scope_, sources[s].value);
      if (s == 0)
        add_in_place(t, row, term);
      else
        add(t, sums_[t][s][row], term);
    }
  }
}

void StageGradient::add(size_t target, CompiledValue& sum, const Ref& term) const {
  if (!sum.known()) {
    sum = in_memory(term);
    return;
  }
  const Element element = compiler_.element(scope_.unit.type(levels_.targets[target].id()).dtype);
  const auto both = apply_to(PointwiseFn::add, true, element, {sum.expression, leaf(term)});
  sum = in_memory(compiler_.compute(both, element, term.extents));
}

/// Forgets values of one microbatch, so that another one does not use them.
void StageGradient::forget() {
  for (const ir::ValueId id : defined_in(*first_level().block)) scope_.values.at(id) = {};
}

/// Adds into the result directly: the weights' gradients are the largest buffers, and exist once.
void StageGradient::add_in_place(size_t index, const Row& row, const Ref& term) {
  Result& result = results_[index];
  if (!result.is_made) create(index, rows_here(levels_.targets[index].sources[0].rows));
  const Ref part = part_of(index, row);
  if (result.rows.insert(row).second) return compiler_.move("gradient", term, part);
  const auto both = apply_to(PointwiseFn::add, true, part.element, {leaf(part), leaf(term)});
  compiler_.compute_into(both, part);
}

/// The number of rows on this stage: microbatches, times its chunks, times a chunk's layers.
int64_t StageGradient::rows_here(const std::vector<size_t>& levels) const {
  int64_t count = 1;
  for (const size_t level : levels) {
    const auto& loop = std::get<ir::Scan>(levels_.levels[level - 1].backward->op);
    count *= level + 1 == levels_.levels.size() ? place_.layers : scope_.placement.size(loop.dim);
  }
  return count;
}

/// Rows that this rank does not compute are zero.
void StageGradient::create(size_t index, int64_t rows) {
  const Target& target = levels_.targets[index];
  const Type& type = scope_.unit.type(target.id());
  results_[index].is_made = true;
  Ref& to = results_[index].ref;
  to = compiler_.create(compiler_.element(type.dtype), scope_.placement.extents(type));
  int64_t count = 1;
  for (size_t i = 0; i < target.sources.at(0).rows.size(); ++i) count *= to.extents.at(i);
  if (rows < count)
    compiler_.kernel("zeros", Zero{static_cast<size_t>(to.count()) * size_of(to.element)}, to, {});
}

Ref StageGradient::part_of(size_t index, const Row& row) const {
  const Type& type = scope_.unit.type(levels_.targets[index].id());
  Ref part = results_[index].ref;
  for (size_t i = 0; i < row.size(); ++i)
    part = row_of(part, row[i] - scope_.placement.first(type.dims.at(i)));
  return part;
}

Ref StageGradient::assemble(size_t index) {
  Result& result = results_[index];
  if (!result.is_made) {
    std::set<Row> rows;
    for (const std::map<Row, CompiledValue>& terms : sums_[index])
      for (const auto& [row, sum] : terms) rows.insert(row);
    create(index, static_cast<int64_t>(rows.size()));
  }
  for (const std::map<Row, CompiledValue>& terms : sums_[index])
    for (const auto& [row, sum] : terms) add_in_place(index, row, sum.expression->view.ref);
  return result.ref;
}

std::vector<CompiledValue> StageGradient::after(const std::vector<CompiledValue>& emitted) {
  Instrs left_out{levels_.levels[0].backward};
  for (const auto& [id, result] : levels_.emitted) {
    scope_.values.at(id) = emitted.at(result);
    left_out.insert(maker_of(scope_.unit.plan().body, id));
  }
  for (size_t t = 0; t < levels_.targets.size(); ++t) {
    const Target& target = levels_.targets[t];
    set(target.id(), assemble(t));
    left_out.insert(target.scattered);
  }
  const ir::Function& plan = scope_.unit.plan();
  const Slice rest(plan.body, set_of(plan.returned), left_out);
  run(rest.without(*before_), {});
  std::vector<CompiledValue> gradients;
  for (const ir::ValueId id : plan.returned) {
    compiler_.ref(scope_, id);
    gradients.push_back(scope_.values.at(id));
  }
  return gradients;
}

}  // namespace shardproof::compile
