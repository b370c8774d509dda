// Lowers scans, calls of gradients and backwards, and refuses loops that have no lowering.
#include <algorithm>

#include "spec/ir/claim.h"
#include "spec/lower/derivative.h"
#include "spec/lower/loop.h"

namespace shardproof::lower {

namespace {

/// Values of the body with the types of `as`.
std::vector<TensorExpr> values_as(Context& c, const Frame& frame,
                                  const std::vector<ir::ValueId>& ids,
                                  const std::vector<ir::ValueId>& as) {
  std::vector<TensorExpr> result;
  for (size_t i = 0; i < ids.size(); ++i)
    result.push_back(c.typed(*frame.values.at(ids[i]), frame.function.values.at(as.at(i)).type));
  return result;
}

std::vector<ir::ValueId> carries_of(const ir::Block& body) {
  return {body.params.begin() + 1, body.params.end()};
}

bool has_loops(const Context& c, const ir::Block& block) {
  return std::any_of(block.instrs.begin(), block.instrs.end(), [&](const ir::Instr& instr) {
    if (auto* call = std::get_if<ir::Call>(&instr.op))
      return has_loops(c, c.program.functions.at(c.callee(call->function)).body);
    return std::holds_alternative<ir::Scan>(instr.op) || std::holds_alternative<ir::Grad>(instr.op);
  });
}

/// For a body without loops: a number above those in the values that it captures.
std::optional<int> fresh_number(Context& c, const ir::Scan& op, const Frame& frame) {
  if (has_loops(c, *op.body)) return std::nullopt;
  std::set<ir::ValueId> inside(op.body->params.begin(), op.body->params.end());
  for (const ir::Instr& instr : op.body->instrs)
    inside.insert(instr.results.begin(), instr.results.end());
  std::vector<Nf> outside;
  const auto take = [&](ir::ValueId v) {
    if (!inside.count(v) && frame.values.at(v)) outside.push_back(frame.values[v]->body);
  };
  for (const ir::Instr& instr : op.body->instrs)
    for (ir::ValueId v : instr.operands) take(v);
  for (ir::ValueId v : op.body->next) take(v);
  for (ir::ValueId v : op.body->emit) take(v);
  return above(c, outside);
}

std::function<Iteration(const std::vector<TensorExpr>&)> step_of(Context& c, const ir::Scan& op,
                                                                 Frame& frame) {
  const std::vector<ir::ValueId> carries = carries_of(*op.body);
  return [&c, &op, &frame, carries](const std::vector<TensorExpr>& at) {
    for (size_t i = 0; i < carries.size(); ++i) frame.values.at(carries[i]) = at[i];
    std::vector<ir::ValueId> wanted = op.body->next;
    wanted.insert(wanted.end(), op.body->emit.begin(), op.body->emit.end());
    ++frame.depth;
    c.block(*op.body, frame, wanted);
    --frame.depth;
    return Iteration{values_as(c, frame, op.body->next, carries),
                     values_as(c, frame, op.body->emit, op.body->emit)};
  };
}

LoopText text_of(Context& c, const ir::Scan& op, const Site& site) {
  Frame& frame = site.frame;
  LoopText text{op.dim, op.reverse, frame.depth, {}, frame.taped, {}};
  const std::vector<ir::ValueId> carries = carries_of(*op.body);
  for (size_t i = 0; i < carries.size(); ++i) {
    const ir::Value& carry = frame.function.values.at(carries[i]);
    const ir::ValueId last = site.instr.results.at(i);
    const TensorExpr init = c.typed(site.operand(i), carry.type);
    text.carries.push_back({carry.name, init.index, carry.type.dtype, init,
                            last != ir::no_value && frame.needed.at(last)});
  }
  text.fresh = fresh_number(c, op, frame);
  text.step_with = [&op, &frame, step = step_of(c, op, frame)](const std::vector<TensorExpr>& at,
                                                               size_t i, const TensorExpr& next) {
    const ir::ValueId made = op.body->next.at(i);
    const auto before = std::exchange(frame.values.at(made), next);
    const bool given = !frame.given.insert(made).second;
    const Iteration result = step(at);
    if (!given) frame.given.erase(made);
    frame.values.at(made) = before;
    return result;
  };
  text.step = step_of(c, op, frame);
  return text;
}

/// The value emitted at step n is entry n of an ordinary tensor, along its first position.
TensorExpr stacked(Context& c, const Type& type, Var n, const TensorExpr& emit) {
  const std::vector<Vars> own = c.positions(type.dims);
  const Vars rest = flat({own.begin() + 1, own.end()});
  return {flat(own), c.a.substitute(c.at(emit, rest), {{n, c.join(own.at(0))}})};
}

}  // namespace

Results lower_op(Context& c, const ir::Scan& op, const Site& site) {
  const Var n = step_index(c, op.dim, site.frame.depth);
  site.frame.values.at(op.body->params.at(0)) = TensorExpr{{}, c.a.iota(c.a.var(n))};
  const LoopValue loop = lower_loop(c, text_of(c, op, site));
  Results results;
  for (size_t r = 0; r < site.instr.results.size(); ++r) {
    results.push_back({});
    if (site.instr.results[r] == ir::no_value) continue;
    const size_t count = loop.last.size();
    const Type& type = site.result(r).type;
    results[r] =
        r < count ? c.typed(loop.last[r], type) : stacked(c, type, n, loop.emit.at(r - count));
  }
  return results;
}

Results lower_op(Context&, const ir::Pipeline&, const Site& site) {
  throw Unsupported("pipeline", site.instr.place);
}
Results lower_op(Context&, const ir::Stages&, const Site& site) {
  throw Unsupported("stages", site.instr.place);
}

namespace {

/// "grad(loss wrt w)"; differs for every function and parameter.
std::string gradient_name(const ir::Program& program, size_t index, size_t leaf) {
  const ir::Function& function = program.functions.at(index);
  const auto same = [&](const ir::Function& each) { return each.name == function.name; };
  const bool one = std::count_if(program.functions.begin(), program.functions.end(), same) == 1;
  return "grad(" + function.name + (one ? "" : "#" + std::to_string(index)) + " wrt " +
         function.values.at(function.params.at(leaf)).name + ")";
}

Results typed_results(Context& c, Results results, const Site& site) {
  for (size_t i = 0; i < results.size(); ++i)
    if (site.instr.results.at(i) != ir::no_value)
      results[i] = c.typed(results[i], site.result(i).type);
  return results;
}

/// What a function is differentiated at, and by.
std::vector<Type> input_types(const ir::Function& function) {
  std::vector<Type> types;
  for (ir::ValueId param : function.params) types.push_back(function.values.at(param).type);
  types.insert(types.end(), function.results.begin(), function.results.end());
  return types;
}

/// One opaque function of the whole arguments for each leaf in `wrt`. With pads it is that of the
/// first entries of the arguments, and is zero in the padding.
Results opaque_gradients(Context& c, const ir::Grad& op, const std::vector<TensorExpr>& inputs) {
  const size_t own = c.differentiated(ir::claim_of(c.program, op.function));
  const size_t as_written = c.program.functions.at(own).pads_of.value_or(own);
  const std::vector<Type> wide = input_types(c.program.functions.at(own)),
                          narrow = input_types(c.program.functions.at(as_written));
  std::vector<algebra::Lambda> parts;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool same = own == as_written || wide.at(i).dims == narrow.at(i).dims;
    const Vars index = same ? inputs[i].index : c.vars(narrow[i].dims);
    parts.push_back({index, same ? inputs[i].body : c.at(inputs[i], index)});
  }
  Results results;
  for (size_t leaf : op.wrt) {
    const Vars index = c.vars(wide.at(leaf).dims), inner = c.vars(narrow.at(leaf).dims);
    Nf body = c.a.opaque(gradient_name(c.program, as_written, leaf), parts, c.terms(index));
    for (size_t i = 0; i < index.size(); ++i)
      if (const Nf range = c.a.range(inner.at(i)); c.a.range(index[i]) != range)
        body = c.a.where(c.a.in_range(c.a.var(index[i]), range), body, c.a.number(0));
    results.push_back({index, body});
  }
  return results;
}

}  // namespace

/// The gradient of the function's model at the arguments; of its own erasure if it has no model. Of
/// an upstream gradient of padded results, the first entries are read.
Results lower_op(Context& c, const ir::Grad& op, const Site& site) {
  c.check_call(op.function, site);
  std::vector<TensorExpr> inputs, arguments, seeds;
  const size_t count = c.program.functions.at(op.function).params.size();
  for (size_t i = 0; i < site.instr.operands.size(); ++i) {
    inputs.push_back(c.typed(site.operand(i), site.type(i)));
    (i < count ? arguments : seeds).push_back(inputs.back());
  }
  if (op.with_value) seeds = {{{}, c.a.number(1)}};
  const bool opaque = c.options.opaque_gradients;
  const size_t claim = ir::claim_of(c.program, op.function);
  for (size_t i = 0; claim != op.function && i < seeds.size(); ++i) {
    const Vars index = c.vars(c.program.functions.at(claim).results.at(i).dims);
    seeds[i] = {index, c.at(seeds[i], index)};
    inputs[count + i] = seeds[i];
  }
  const auto frame = c.call(claim, arguments, site, !opaque, site.upstream(count));
  Results results;
  if (op.with_value) results = c.returned(*frame);
  for (TensorExpr& gradient :
       opaque ? opaque_gradients(c, op, inputs) : gradients(c, *frame, seeds, op.wrt))
    results.push_back(std::move(gradient));
  return typed_results(c, std::move(results), site);
}

/// A call of a proved or trusted backward, as the derivative of the model at its arguments.
Results lower_backward_call(Context& c, const ir::Function& backward, const Site& site) {
  std::vector<TensorExpr> arguments, seeds;
  const size_t count = c.program.functions.at(*backward.model).params.size();
  for (size_t i = 0; i < site.instr.operands.size(); ++i)
    (i < count ? arguments : seeds).push_back(c.typed(site.operand(i), site.type(i)));
  const auto frame = c.call(*backward.model, arguments, site, true, site.upstream(count));
  return typed_results(c, gradients(c, *frame, seeds, backward.wrt), site);
}

}  // namespace shardproof::lower
