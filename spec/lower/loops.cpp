// A scan is an uninterpreted function of its initial carries and its body, where the carries are
// leaves named by nesting depth and position: equal bodies for all carries are equal scans, by
// induction.
#include <algorithm>

#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

std::string kind_of(Dtype dtype) {
  return dtype == Dtype::boolean ? "?" : is_integer(dtype) ? "#" : dtype == Dtype::key ? "!" : "";
}

/// The carries that `value` of the body depends on directly.
std::vector<bool> carries_of(const ir::Block& body, ir::ValueId value, size_t values) {
  std::vector<bool> needed(values, false), result;
  needed.at(value) = true;
  for (size_t i = body.instrs.size(); i-- > 0;) {
    const ir::Instr& instr = body.instrs[i];
    if (std::none_of(instr.results.begin(), instr.results.end(),
                     [&](ir::ValueId v) { return v != ir::no_value && needed.at(v); }))
      continue;
    for (ir::ValueId v : uses(instr)) needed.at(v) = true;
  }
  for (size_t i = 1; i < body.params.size(); ++i) result.push_back(needed.at(body.params[i]));
  return result;
}

struct Lowering {
  Context& c;
  const ir::Scan& op;
  const Site& site;
  const ir::Block& body;
  const size_t count;
  const Slots over;
  Var n = {};
  Loop loop = {};
  std::vector<std::vector<bool>> depends = {};  // next, then emit: on which carries

  const Type& type_of(ir::ValueId v) const { return site.frame.function.values.at(v).type; }
  Tensor value(ir::ValueId v, const Type& as) {
    const Slots own = c.slots(as.dims);
    return c.tensor(own, c.at(*site.frame.values.at(v), own));
  }

  /// The carry's position and kind: the facts of a leaf go with its name.
  std::string label(size_t i) const {
    return std::to_string(i) + kind_of(type_of(body.params.at(i + 1)).dtype);
  }

  void run() {
    const std::string depth = std::to_string(site.frame.depth);
    const Nf length = c.size(op.dim);
    n = c.loop_index(depth + " " + to_string(op.dim), length);
    Frame& frame = site.frame;
    frame.values.at(body.params.at(0)) = Tensor{{}, c.a.iota(c.a.var(n))};
    loop.over = to_string(op.dim);
    for (size_t i = 0; i < count; ++i) {
      const ir::Value& carry = frame.function.values.at(body.params.at(i + 1));
      const Slots own = c.slots(carry.type.dims);
      loop.carries.push_back(carry.name);
      loop.leaves.push_back("carry" + depth + "." + label(i));
      loop.init.push_back(c.tensor(own, c.at(site.operand(i), own)));
      frame.values.at(body.params[i + 1]) = c.leaf(loop.leaves.back(), carry.type);
    }
    std::vector<ir::ValueId> wanted = body.next;
    wanted.insert(wanted.end(), body.emit.begin(), body.emit.end());
    ++frame.depth;
    c.block(body, frame, wanted);
    --frame.depth;
    for (size_t i = 0; i < count; ++i)
      loop.next.push_back(value(body.next[i], type_of(body.params[i + 1])));
    for (ir::ValueId v : body.emit) loop.emit.push_back(value(v, type_of(v)));
    for (ir::ValueId v : wanted) depends.push_back(carries_of(body, v, frame.values.size()));
  }

  /// The carries that decide result r (a carry, or count + an emit), in order.
  std::vector<size_t> closure(size_t r) const {
    std::vector<bool> in = depends.at(r);
    if (r < count) in[r] = true;
    for (bool grown = true; grown;) {
      grown = false;
      for (size_t i = 0; i < count; ++i)
        for (size_t k = 0; in[i] && k < count; ++k)
          if (depends[i][k] && !in[k]) in[k] = grown = true;
    }
    std::vector<size_t> result;
    for (size_t i = 0; i < count; ++i)
      if (in[i]) result.push_back(i);
    return result;
  }

  algebra::Lambda step(const Tensor& t) const {
    algebra::Lambda lambda{{n}, t.body};
    lambda.index.insert(lambda.index.end(), t.index.begin(), t.index.end());
    return lambda;
  }

  Nf opaque(const std::string& which, const std::vector<size_t>& carries, const Tensor* emitted,
            const std::vector<Nf>& index, Dtype dtype) {
    std::vector<algebra::Lambda> parts;
    for (size_t i : carries) parts.push_back({loop.init[i].index, loop.init[i].body});
    for (size_t i : carries) parts.push_back(step(loop.next[i]));
    if (emitted != nullptr) parts.push_back(step(*emitted));
    std::string name =
        "scan@" + std::to_string(site.frame.depth) + (op.reverse ? " reverse " : " ");
    name += which + " of";
    for (size_t i : carries) name += " " + label(i);
    algebra::LeafFacts facts;
    facts.integer = is_integer(dtype), facts.boolean = dtype == Dtype::boolean;
    return c.a.opaque(name, parts, index, facts);
  }

  /// A carry whose next value depends on no carry is that value at the last step.
  Tensor last_carry(size_t i) {
    const Tensor& next = loop.next[i];
    const auto& on = depends[i];
    if (std::none_of(on.begin(), on.end(), [](bool b) { return b; })) {
      const Nf last = op.reverse ? c.a.number(0) : c.a.sub(c.a.range(n), c.a.number(1));
      return {next.index, c.a.substitute(next.body, {{n, last}})};
    }
    std::vector<Nf> index;
    for (Var v : next.index) index.push_back(c.a.var(v));
    const std::string which = label(i);
    return {next.index,
            opaque(which, closure(i), nullptr, index, type_of(body.params[i + 1]).dtype)};
  }

  /// What is emitted without regard to the carries is a tensor like any other.
  Tensor stacked(size_t k, const Type& type) {
    const Tensor& emit = loop.emit[k];
    Tensor result{c.vars(over), {}};
    const Nf at = c.join(over);
    const std::vector<size_t> carries = closure(count + k);
    std::vector<Nf> index = {at};
    for (Var v : emit.index) index.push_back(c.a.var(v));
    result.body = carries.empty() ? c.a.substitute(emit.body, {{n, at}})
                                  : opaque("emit", carries, &emit, index, type.dtype);
    result.index.insert(result.index.end(), emit.index.begin(), emit.index.end());
    return result;
  }
};

}  // namespace

Var Context::loop_index(const std::string& key, Nf range) {
  const auto found = vars_.find({"loop " + key, range.id});
  if (found != vars_.end()) return found->second;
  return vars_[{"loop " + key, range.id}] = a.fresh(range, key.substr(key.find(' ') + 1));
}

Results lower_op(Context& c, const ir::Scan& op, const Site& site) {
  Lowering scan{c, op, site, *op.body, op.body->next.size(), c.slots(op.dim)};
  scan.run();
  Results results(site.instr.results.size());
  for (size_t r = 0; r < site.instr.results.size(); ++r) {
    if (site.instr.results[r] == ir::no_value) continue;
    const Type& type = site.result(r).type;
    const Tensor t = r < scan.count ? scan.last_carry(r) : scan.stacked(r - scan.count, type);
    const Slots own = c.slots(type.dims);
    results[r] = c.tensor(own, c.at(t, own));
  }
  c.loops.push_back(std::move(scan.loop));
  return results;
}

Results lower_op(Context&, const ir::Grad& op, const Site& site) {
  throw Unsupported(op.with_value ? "value_and_grad" : "grad", site.instr.place);
}
Results lower_op(Context&, const ir::Ring&, const Site& site) {
  throw Unsupported("ring", site.instr.place);
}
Results lower_op(Context&, const ir::Pipeline&, const Site& site) {
  throw Unsupported("pipeline", site.instr.place);
}
Results lower_op(Context&, const ir::Stages&, const Site& site) {
  throw Unsupported("stages", site.instr.place);
}

}  // namespace shardproof::lower
