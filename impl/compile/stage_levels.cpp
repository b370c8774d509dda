#include "impl/compile/stage_levels.h"

#include <algorithm>

#include "impl/compile/ops.h"
#include "spec/ir/walk.h"

namespace shardproof::compile {
namespace {

const ir::Scan& scan_of(const ir::Instr& instr) { return std::get<ir::Scan>(instr.op); }

bool is_collective_of(const ir::Instr& instr, ir::CollectiveFn fn) {
  const auto* collective = std::get_if<ir::Collective>(&instr.op);
  return collective && collective->fn == fn;
}

const ir::Instr* sum_of(const ir::Block& block, ir::ValueId value) {
  const ir::Instr* maker = maker_of(block, value);
  const auto* binary = maker ? std::get_if<ir::Binary>(&maker->op) : nullptr;
  return binary && binary->fn == ir::BinaryFn::add ? maker : nullptr;
}

/// A cast from a narrower float to f32 or f64: its sum is in the wider type.
bool widens(const ir::Instr& instr, Dtype from) {
  const auto* cast = std::get_if<ir::Cast>(&instr.op);
  return cast && (cast->to == Dtype::f32 || cast->to == Dtype::f64) &&
         (from == Dtype::bf16 || from == Dtype::f16 || from == Dtype::f32);
}

bool adds(const ir::Block& block, ir::ValueId value, ir::ValueId term) {
  if (value == term) return true;
  const ir::Instr* sum = sum_of(block, value);
  return sum && (adds(block, sum->operands[0], term) || adds(block, sum->operands[1], term));
}

int64_t reads_of(const ir::Block& block, ir::ValueId value) {
  int64_t count = std::count(block.next.begin(), block.next.end(), value) +
                  std::count(block.emit.begin(), block.emit.end(), value);
  for (const ir::Instr& instr : block.instrs) {
    count += std::count(instr.operands.begin(), instr.operands.end(), value);
    if (const ir::Block* body = body_of(instr.op)) count += reads_of(*body, value);
  }
  return count;
}

bool meets(const ValueIds& a, const std::vector<ir::ValueId>& b) {
  return std::any_of(b.begin(), b.end(), [&](ir::ValueId id) { return a.contains(id); });
}

/// The dim of `split` that also has `axis`, if the types are otherwise equal; nullopt for any other
/// difference.
std::optional<size_t> only_split(const Type& whole, const Type& split, const Axis& axis) {
  std::optional<size_t> at;
  if (whole.dims.size() != split.dims.size()) return std::nullopt;
  for (size_t d = 0; d < whole.dims.size(); ++d) {
    if (whole.dims[d] == split.dims[d]) continue;
    const bool own = whole.dims[d].axes.empty() && split.dims[d].axes == std::vector<Axis>{axis};
    if (at || !own) return std::nullopt;
    at = d;
  }
  return at;
}

}  // namespace

StageLevels::StageLevels(const Unit& of, const std::vector<Key>& keys, const ir::Instr& pipeline,
                         const ir::Instr& stages, const Unit& backward,
                         const std::vector<Key>& back_keys)
    : types(*backward.types), of_(of), unit_(backward), keys_(keys), back_keys_(back_keys) {
  const auto& op = std::get<ir::Pipeline>(pipeline.op);
  find_loops(op, std::get<ir::Stages>(stages.op));
  find_emitted(pipeline);
  find_travel();
  require_same_forward(stages);
  for (size_t level = 2; level + 1 < levels.size(); ++level) require_chain(level);
  find_replaced(op.axis);
  localize(op.axis);
  find_targets(op.axis);
}

void StageLevels::refuse(const std::string& why) const {
  throw PlanError("the gradient of the pipeline in " + of_.plan().name + " cannot be run: " + why);
}

const ir::Instr* StageLevels::loop_in(const ir::Block& block, const Dim& dim, bool reverse) const {
  const ir::Instr* found = nullptr;
  for (const ir::Instr& instr : block.instrs) {
    const auto* scan = std::get_if<ir::Scan>(&instr.op);
    if (!scan || scan->reverse != reverse) continue;
    if (unit_.program->base(scan->dim) != of_.program->base(dim)) continue;
    if (found) refuse("two loops over " + to_string(dim) + " beside each other");
    found = &instr;
  }
  return found;
}

void StageLevels::find_loops(const ir::Pipeline& pipeline, const ir::Stages& stages) {
  const ir::Block* block = &unit_.plan().body;
  levels.push_back({block, nullptr, loop_in(*block, pipeline.dim, true), {}});
  for (const Dim& dim : stages.dims) {
    if (!levels.back().backward) refuse("no gradient goes through its stages");
    block = &levels.back().back_body();
    levels.push_back({block, loop_in(*block, dim, false), loop_in(*block, dim, true), {}});
  }
  if (!levels.back().backward) refuse("no gradient goes through its stages");
  levels.push_back({&levels.back().back_body(), nullptr, nullptr, {}});
}

/// A loop over microbatches that recomputes the pipeline's emitted values. It is not run; the
/// backward loop must not depend on it.
void StageLevels::find_emitted(const ir::Instr& pipeline) {
  const ir::Block& plan = *levels[0].block;
  const auto& op = std::get<ir::Pipeline>(pipeline.op);
  const ir::Instr* again = loop_in(plan, op.dim, false);
  if (!again) return;
  replaced.insert(again);
  const ValueIds made(again->results.begin(), again->results.end());
  ValueIds later;
  for (const ir::Instr& instr : plan.instrs) {
    if (&instr == again || &instr == levels[0].backward) continue;
    ValueIds reads(instr.operands.begin(), instr.operands.end());
    if (const ir::Block* body = body_of(instr.op)) reads.merge(needs_of(*body));
    if (meets(reads, again->results)) {
      const auto same =
          std::find_if(pipeline.results.begin(), pipeline.results.end(), [&](ir::ValueId result) {
            return result != ir::no_value && keys_.at(result) == back_keys_.at(instr.results[0]);
          });
      if (!is_collective_of(instr, ir::CollectiveFn::zero_nonroot) ||
          same == pipeline.results.end())
        refuse("its backward computes what it emits in another way");
      emitted[instr.results[0]] = static_cast<size_t>(same - pipeline.results.begin());
      replaced.insert(&instr);
      later.insert(instr.results[0]);
    } else if (std::any_of(reads.begin(), reads.end(),
                           [&](ir::ValueId id) { return later.contains(id); })) {
      later.insert(instr.results.begin(), instr.results.end());
    }
  }
  ValueIds needs = needs_of(levels[0].back_body());
  needs.insert(levels[0].backward->operands.begin(), levels[0].backward->operands.end());
  if (std::any_of(needs.begin(), needs.end(),
                  [&](ir::ValueId id) { return later.contains(id) || made.contains(id); }))
    refuse(
        "what comes after it is not linear in what it emits, so a backward would wait for all "
        "forwards");
}

/// Whether the carry starts at zero and is only added to.
bool StageLevels::is_total(size_t level, size_t carry) const {
  const ir::Instr& loop = *levels[level].backward;
  const ir::Block& body = *scan_of(loop).body;
  const ir::Instr* start = nullptr;
  for (size_t k = 0; k <= level && !start; ++k)
    start = maker_of(*levels[k].block, loop.operands.at(carry));
  const ir::ValueId param = body.params.at(carry + 1);
  return start && std::holds_alternative<ir::Zeros>(start->op) &&
         adds(body, body.next.at(carry), param) && reads_of(body, param) == 1;
}

void StageLevels::find_travel() {
  for (size_t level = 0; level + 1 < levels.size(); ++level)
    for (size_t carry = 0; carry < levels[level].backward->operands.size(); ++carry)
      if (!is_total(level, carry)) levels[level].travel.push_back(carry);
  if (!levels[0].travel.empty()) refuse("microbatches depend on each other");
  for (size_t level = 2; level + 1 < levels.size(); ++level) {
    const Level &outer = levels[level - 1], &own = levels[level];
    bool same = outer.travel.size() == own.travel.size();
    for (size_t i = 0; same && i < own.travel.size(); ++i)
      same = own.backward->operands[own.travel[i]] == own.block->params.at(outer.travel[i] + 1) &&
             own.backward->results.at(own.travel[i]) == own.block->next.at(outer.travel[i]);
    if (!same) refuse("something is computed between its chunks");
  }
}

/// The forward loops in the backward must compute the same as the stages.
void StageLevels::require_same_forward(const ir::Instr& stages) const {
  const ir::Instr* scan = nullptr;
  for (const ir::Instr& outer : of_.program->functions.at(of_.function).body.instrs)
    if (const ir::Block* body = body_of(outer.op))
      for (const ir::Instr& instr : body->instrs)
        if (instr.results == stages.results && instr.operands == stages.operands) scan = &instr;
  for (size_t level = 1; level + 1 < levels.size(); ++level) {
    if (!scan) refuse("its loop over layers is not found");
    const ir::Block& body = *scan_of(*scan).body;
    if (const ir::Instr* forward = levels[level].forward) {
      const ir::Block& own = *scan_of(*forward).body;
      bool same = own.next.size() == body.next.size();
      for (size_t i = 0; same && i < own.next.size(); ++i)
        same = back_keys_.at(own.next[i]) == keys_.at(body.next[i]);
      for (size_t i = 0; same && level == 1 && i < own.next.size(); ++i)
        same = back_keys_.at(forward->operands.at(i)) == keys_.at(scan->operands.at(i));
      if (!same) refuse("its backward computes the layers differently");
    }
    const ir::Instr* inner = nullptr;
    for (const ir::Instr& instr : body.instrs)
      if (std::holds_alternative<ir::Scan>(instr.op)) inner = &instr;
    scan = inner;
  }
}

/// The forward of a chunk must start from what the loop over chunks saved for it.
void StageLevels::require_chain(size_t level) const {
  const ir::Instr *own = levels[level].forward, *outer = levels[level - 1].forward;
  if (!own) return;
  for (size_t i = 0; i < own->operands.size(); ++i) {
    const ir::Instr* entry = maker_of(*levels[level].block, own->operands[i]);
    bool same = outer && entry && std::holds_alternative<ir::Entry>(entry->op) &&
                entry->operands.at(1) == levels[level].block->params.at(0);
    if (same) {
      const auto at = std::find(outer->results.begin(), outer->results.end(), entry->operands[0]);
      const auto place = static_cast<size_t>(at - outer->results.begin());
      const ir::Block& body = *scan_of(*outer).body;
      same = place >= outer->operands.size() && place < outer->results.size() &&
             body.emit.at(place - outer->operands.size()) == body.params.at(i + 1);
    }
    if (!same) refuse("its backward does not start a chunk from what was saved");
  }
}

bool StageLevels::read_only_in_loops(ir::ValueId value, bool as_entry) const {
  const ir::Function& plan = unit_.plan();
  if (std::count(plan.returned.begin(), plan.returned.end(), value)) return false;
  for (const ir::Instr& instr : plan.body.instrs)
    if (&instr != levels[0].backward &&
        (std::count(instr.operands.begin(), instr.operands.end(), value) ||
         (body_of(instr.op) && reads_of(*body_of(instr.op), value))))
      return false;
  if (!as_entry) return true;
  int64_t entries = 0;
  for_each_instr(*levels[1].block, [&](const ir::Instr& instr) {
    entries += std::holds_alternative<ir::Entry>(instr.op) && instr.operands[0] == value;
  });
  return entries == reads_of(*levels[1].block, value);
}

void StageLevels::find_replaced(const Axis& axis) {
  for (const ir::Instr& instr : unit_.plan().body.instrs) {
    const bool gathers = is_collective_of(instr, ir::CollectiveFn::all_gather);
    if (!gathers && !is_collective_of(instr, ir::CollectiveFn::zero_nonroot)) continue;
    if (emitted.contains(instr.results[0])) continue;
    const Type &from = type(instr.operands[0]), &to = type(instr.results[0]);
    if (gathers ? !only_split(to, from, axis) : from.marks.count(axis) || !to.marks.count(axis))
      continue;
    if (!read_only_in_loops(instr.results[0], gathers)) {
      if (gathers) continue;
      refuse("a gradient of what it emits is also used after its backward");
    }
    same[instr.results[0]] = instr.operands[0];
    replaced.insert(&instr);
  }
}

/// Replaces gathered layers by the stage's own, also in entries and saved values.
void StageLevels::localize(const Axis& axis) {
  std::vector<Type>& own = types.at(unit_.function);
  ValueIds local;
  for (const auto& [whole, part] : same)
    if (!own.at(whole).marks.count(axis)) {
      own[whole].dims = own.at(part).dims;
      local.insert(whole);
    }
  for_each_instr(*levels[1].block, [&](const ir::Instr& instr) {
    const auto* entry = std::get_if<ir::Entry>(&instr.op);
    if (!entry || !local.contains(instr.operands[0])) return;
    std::vector<Split> dims = own.at(instr.operands[0]).dims;
    dims.erase(dims.begin() +
               static_cast<std::ptrdiff_t>(position_of(*entry, own.at(instr.operands[0]))));
    if (own.at(instr.results[0]).dims != dims) local.insert(instr.results[0]);
    own.at(instr.results[0]).dims = std::move(dims);
  });
  if (const ir::Instr* forward = layers())
    for (size_t i = forward->operands.size(); i < forward->results.size(); ++i)
      if (forward->results[i] != ir::no_value) own.at(forward->results[i]).dims.at(0).axes = {axis};
}

const ir::Instr* StageLevels::scatter_of(ir::ValueId result, const Axis& axis) const {
  const ir::Instr* found = nullptr;
  for (const ir::Instr& instr : unit_.plan().body.instrs)
    if (std::count(instr.operands.begin(), instr.operands.end(), result)) {
      const bool alone = !found && is_collective_of(instr, ir::CollectiveFn::psum_scatter);
      if (!alone) return nullptr;
      found = &instr;
    }
  const auto& returned = unit_.plan().returned;
  if (!found || std::count(returned.begin(), returned.end(), result)) return nullptr;
  const Type &from = type(result), &to = type(found->results.at(0));
  return only_split(from, to, axis) && from.marks.count(axis) &&
                 from.marks.size() == to.marks.size() + 1
             ? found
             : nullptr;
}

void StageLevels::find_targets(const Axis& axis) {
  const size_t last = levels.size() - 1;
  for (const ir::ValueId result : levels[0].backward->results) {
    if (result == ir::no_value) continue;
    Target target{result, {}, nullptr};
    resolve(0, result, {}, target.sources);
    if (target.sources.empty()) refuse("a gradient has no term");
    const std::vector<size_t>& rows = target.sources[0].rows;
    for (const Source& source : target.sources)
      if (source.rows != rows) refuse("a gradient is of single layers and of all layers at once");
    if (const ir::Instr* scattered = scatter_of(result, axis)) {
      const size_t at = *only_split(type(result), type(scattered->results[0]), axis);
      if (at < rows.size() && rows[at] == last) target.scattered = scattered;
    }
    targets.push_back(std::move(target));
  }
}

/// The terms of a value of a level: for a sum, those of its operands; for a loop's sum or emitted
/// value, those of its body. They are added in the result's dtype.
void StageLevels::resolve(size_t level, ir::ValueId value, const std::vector<size_t>& rows,
                          std::vector<Source>& sources, ir::ValueId skipped) const {
  if (value == skipped) return;
  const ir::Block& block = *levels[level].block;
  const ir::Instr* maker = maker_of(block, value);
  if (maker && maker == levels[level].backward) {
    const auto at = static_cast<size_t>(
        std::find(maker->results.begin(), maker->results.end(), value) - maker->results.begin());
    const ir::Block& body = levels[level].back_body();
    const std::vector<size_t>& travel = levels[level].travel;
    if (at >= maker->operands.size()) {
      std::vector<size_t> inner = rows;
      inner.push_back(level + 1);
      return resolve(level + 1, body.emit.at(at - maker->operands.size()), inner, sources);
    }
    if (!std::count(travel.begin(), travel.end(), at))
      return resolve(level + 1, body.next.at(at), rows, sources, body.params.at(at + 1));
  } else if (const ir::Instr* sum = sum_of(block, value)) {
    const auto whole = [&](ir::ValueId id) { return type(id).dims == type(value).dims; };
    if (whole(sum->operands[0]) && whole(sum->operands[1])) {
      resolve(level, sum->operands[0], rows, sources, skipped);
      return resolve(level, sum->operands[1], rows, sources, skipped);
    }
  }
  if (maker && widens(*maker, type(maker->operands.at(0)).dtype))
    return resolve(level, maker->operands[0], rows, sources, skipped);
  sources.push_back(source_of(level, value, rows));
}

/// Values of the plan that depend on its cotangent parameters.
ValueIds StageLevels::upstreams() const {
  const ir::Function& plan = unit_.plan();
  ValueIds found(plan.params.begin() + static_cast<std::ptrdiff_t>(of_.plan().params.size()),
                 plan.params.end());
  for (const ir::Instr& instr : plan.body.instrs)
    if (&instr != levels[0].backward && meets(found, instr.operands))
      found.insert(instr.results.begin(), instr.results.end());
  return found;
}

Source StageLevels::source_of(size_t level, ir::ValueId value,
                              const std::vector<size_t>& rows) const {
  Source source{level, value, false, rows};
  if (level + 1 == levels.size()) return source;
  if (level != 1) refuse("something is computed of the gradients of a chunk");
  const Level& own = levels[1];
  const Slice slice(*own.block, {value}, own.loops());
  const std::vector<ir::ValueId>& results = own.backward->results;
  if (!meets(slice.needs(), results)) return source;
  source.at_first = true;
  for (size_t i = 0; i < results.size(); ++i)
    if (slice.needs().contains(results[i]) && !std::count(own.travel.begin(), own.travel.end(), i))
      refuse("something is computed of the gradients of a microbatch's layers");
  const ValueIds given = upstreams();
  if ((own.forward && meets(slice.needs(), own.forward->results)) ||
      meets(slice.needs(), {given.begin(), given.end()}))
    refuse("a gradient needs values of the first and of the last stage");
  return source;
}

ValueIds StageLevels::wanted(size_t level, bool at_first) const {
  ValueIds ids;
  for (const Target& target : targets)
    for (const Source& source : target.sources)
      if (source.level == level && source.at_first == at_first) ids.insert(source.value);
  return ids;
}

}  // namespace shardproof::compile
