#include "impl/exec/ops.h"

namespace shardproof::exec {
namespace {

/// The carries' buffers get what the step computed; one that is made of another carry waits until
/// all are read.
void carry_over(const Site& site, const std::vector<Ref>& carries, const std::vector<Ref>& next) {
  std::vector<Ref> from = next;
  for (size_t i = 0; i < next.size(); ++i)
    for (size_t j = 0; j < carries.size(); ++j)
      if (i != j && next[i].buffer == carries[j].buffer && from[i].buffer == next[i].buffer) {
        const Ref copy = site.compiler.create(next[i].element, next[i].extents);
        site.compiler.move("carry", next[i], copy);
        from[i] = copy;
      }
  for (size_t i = 0; i < carries.size(); ++i) {
    const bool same = from[i].buffer == carries[i].buffer && from[i].strides == carries[i].strides;
    if (!same) site.compiler.move("carry", from[i], carries[i]);
  }
}

}  // namespace

void compile(const ir::Scan& op, const Site& site) {
  Compiler& compiler = site.compiler;
  Scope& scope = site.scope;
  const ir::Block& body = *op.body;
  std::vector<BufferId> kept;
  std::vector<Ref> carries, stacks;
  for (size_t i = 0; i < site.operands(); ++i) {
    const Type& type = scope.unit.type(body.params.at(i + 1));
    const Ref carry = compiler.create(compiler.element(type.dtype), scope.placement.extents(type));
    compiler.move("carry", site.ref(i), carry);
    carries.push_back(carry);
    kept.push_back(carry.buffer);
    scope.values.at(body.params[i + 1]) = compiler.leaf(carry, type);
  }
  for (size_t i = 0; i < body.emit.size(); ++i) {
    const size_t result = carries.size() + i;
    stacks.push_back(site.wanted(result) ? site.create(result) : Ref{});
    if (site.wanted(result)) kept.push_back(stacks.back().buffer);
  }

  // The index is in memory, an entry for each iteration: who reads it need not ask the host.
  const int64_t times = scope.placement.size(op.dim);
  Ref index = compiler.create(Element::i32, {times});
  compiler.kernel("iota", Iota{index.extents, 0, 0, Element::i32}, index, {});
  std::vector<Step> before = compiler.take_steps();
  const Compiler::Loop loop = compiler.new_loop(times, op.reverse);
  const std::string place = compiler.place();
  compiler.is_index(index, loop.id);
  index.extents = index.strides = {};
  index.terms.push_back({loop.id, 1});
  scope.values.at(body.params.at(0)) = compiler.leaf(index, scope.unit.type(body.params[0]));
  compiler.run_body(scope, body);
  compiler.set_place(place);
  for (size_t i = 0; i < body.emit.size(); ++i) {
    if (!site.wanted(carries.size() + i)) continue;
    Ref to = stacks[i];
    to.terms.push_back({loop.id, to.strides.at(0)});
    to.extents.erase(to.extents.begin());
    to.strides.erase(to.strides.begin());
    compiler.move("emit", compiler.ref(scope, body.emit[i]), to);
  }
  std::vector<Ref> next;
  for (ir::ValueId id : body.next) next.push_back(compiler.ref(scope, id));
  carry_over(site, carries, next);
  compiler.close_loop(loop, std::move(before), kept);

  for (size_t i = 0; i < carries.size(); ++i) site.define(carries[i], i);
  for (size_t i = 0; i < stacks.size(); ++i) site.define(stacks[i], carries.size() + i);
}

namespace {

[[noreturn]] void not_run(const Site& site, const char* what) {
  throw PlanError(site.compiler.place() + ": " + what + " cannot be run yet");
}

}  // namespace

void compile(const ir::Ring&, const Site& site) { not_run(site, "a ring"); }
void compile(const ir::Pipeline&, const Site& site) { not_run(site, "a pipeline"); }
void compile(const ir::Stages&, const Site& site) { not_run(site, "a plan in stages"); }

}  // namespace shardproof::exec
