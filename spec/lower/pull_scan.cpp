// The gradient of a scan is a scan in reverse order. Its carries are the cotangents of the carries;
// its body is the reverse pass of the body at the carries of step n. A value that the body captures
// gets the sum over all steps.
#include <algorithm>

#include "spec/lower/derivative.h"
#include "spec/lower/loop.h"

namespace shardproof::lower {

namespace {

struct Back {
  Pull& p;
  const ir::Scan& op;
  const ir::Block& body;
  const Var n;
  std::vector<size_t> carries = {};       // those with a cotangent
  std::vector<ir::ValueId> outside = {};  // captured values whose gradient is needed

  const ir::Value& value(ir::ValueId v) const { return p.site.frame.function.values.at(v); }

  void find() {
    for (size_t i = 0; i < body.next.size(); ++i)
      if (p.all.wants(body.params.at(i + 1))) carries.push_back(i);
    std::set<ir::ValueId> inside(body.params.begin(), body.params.end()), seen;
    for (const ir::Instr& instr : body.instrs) {
      for (ir::ValueId v : made_by(instr)) inside.insert(v);
    }
    for (ir::ValueId v : uses(p.site.instr))
      if (!inside.count(v) && p.all.wants(v) && seen.insert(v).second && used_inside(v))
        outside.push_back(v);
  }
  /// Results of the instruction and of the instructions in its body.
  static std::vector<ir::ValueId> made_by(const ir::Instr& instr) {
    std::vector<ir::ValueId> result = instr.results;
    std::visit(
        [&](const auto& inner) {
          if constexpr (requires { inner.body; }) {
            result.insert(result.end(), inner.body->params.begin(), inner.body->params.end());
            for (const ir::Instr& each : inner.body->instrs)
              for (ir::ValueId v : made_by(each)) result.push_back(v);
          }
        },
        instr.op);
    return result;
  }
  bool used_inside(ir::ValueId v) const {
    const auto is = [&](ir::ValueId w) { return w == v; };
    return std::any_of(body.next.begin(), body.next.end(), is) ||
           std::any_of(body.emit.begin(), body.emit.end(), is) ||
           std::any_of(body.instrs.begin(), body.instrs.end(), [&](const ir::Instr& instr) {
             const std::vector<ir::ValueId> used = uses(instr);
             return std::any_of(used.begin(), used.end(), is);
           });
  }

  LoopText text() {
    LoopText result{op.dim, !op.reverse, p.site.frame.depth, {}, false, {}};
    for (size_t i : carries) {
      const ir::Value& carry = value(body.params.at(i + 1));
      const Vars own = p.c.vars(carry.type.dims);
      result.carries.push_back(
          {"g_" + carry.name, own, carry.type.dtype, {own, last(i, own)}, p.wants(i)});
    }
    result.step = [this](const std::vector<TensorExpr>& at) { return step(at); };
    if (!has_loops(body, p.site.frame)) {
      std::vector<Nf> known;
      for (const auto& each : p.site.frame.values) take(each, known);
      for (size_t v = 0; v < p.site.frame.values.size(); ++v)
        if (p.all.arrived(static_cast<ir::ValueId>(v)))
          known.push_back(p.all.of(static_cast<ir::ValueId>(v)).body);
      take_calls(body, p.site.frame, known);
      result.fresh = above(p.c, known);
    }
    return result;
  }
  static void take(const std::optional<TensorExpr>& value, std::vector<Nf>& known) {
    if (value) known.push_back(value->body);
  }
  /// The values that the calls in the body kept for the reverse pass.
  static void take_calls(const ir::Block& block, const Frame& frame, std::vector<Nf>& known) {
    for (const ir::Instr& instr : block.instrs) {
      const auto call = frame.calls.find(&instr);
      if (call == frame.calls.end()) continue;
      for (const auto& each : call->second->values) take(each, known);
      take_calls(call->second->function.body, *call->second, known);
    }
  }
  static bool has_loops(const ir::Block& block, const Frame& frame) {
    return std::any_of(block.instrs.begin(), block.instrs.end(), [&](const ir::Instr& instr) {
      if (std::holds_alternative<ir::Scan>(instr.op)) return true;
      const auto call = frame.calls.find(&instr);
      return call != frame.calls.end() && has_loops(call->second->function.body, *call->second);
    });
  }
  Nf last(size_t i, const Vars& own) const {
    const ir::ValueId v = p.site.instr.results.at(i);
    return v == ir::no_value ? p.c.a.number(0) : p.c.at(p.all.of(v), own);
  }

  Iteration step(const std::vector<TensorExpr>& at) {
    Cotangents inner = p.all.empty();
    for (size_t k = 0; k < carries.size(); ++k) inner.add(body.next.at(carries[k]), at[k]);
    for (size_t k = 0; k < body.emit.size(); ++k) add_emitted(inner, k);
    ++p.site.frame.depth;
    inner.back(body);
    --p.site.frame.depth;
    Iteration result;
    for (size_t i : carries) result.next.push_back(inner.of(body.params.at(i + 1)));
    for (ir::ValueId v : outside) result.emit.push_back(inner.of(v));
    return result;
  }
  /// Adds entry n of the cotangent of an emitted value.
  void add_emitted(Cotangents& inner, size_t k) {
    const ir::ValueId stacked = p.site.instr.results.at(body.next.size() + k);
    if (stacked == ir::no_value || !p.all.arrived(stacked)) return;
    const std::vector<Vars> all = p.c.positions(value(stacked).type.dims);
    const Vars own = flat({all.begin() + 1, all.end()});
    std::vector<Nf> index = p.c.split(p.c.a.var(n), all.at(0));
    for (Nf term : p.c.terms(own)) index.push_back(term);
    inner.add(body.emit[k], {own, p.c.at(p.all.of(stacked), index)});
  }

  void run() {
    find();
    const LoopValue loop = lower_loop(p.c, text());
    for (size_t k = 0; k < carries.size(); ++k)
      if (p.wants(carries[k])) p.give(carries[k], loop.last[k]);
    for (size_t k = 0; k < outside.size(); ++k)
      p.all.add(outside[k], {loop.emit[k].index, p.c.a.sum({n}, loop.emit[k].body)});
  }
};

}  // namespace

void pull_op(Pull& p, const ir::Scan& op) {
  Back{p, op, *op.body, step_index(p.c, op.dim, p.site.frame.depth)}.run();
}

}  // namespace shardproof::lower
