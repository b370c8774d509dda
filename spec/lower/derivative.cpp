// The reverse pass, and the gradients of ops that contain instructions.
#include "spec/lower/derivative.h"

#include <algorithm>

namespace shardproof::lower {

namespace {

bool lets_through(const ir::Op& op) {
  if (const auto* unary = std::get_if<ir::Unary>(&op)) return has_gradient(unary->fn);
  return !std::holds_alternative<ir::StopGrad>(op);
}

[[noreturn]] void refuse(const Pull& p, const std::string& op) {
  throw Unsupported("the gradient of " + op, p.site.instr.place);
}

}  // namespace

Cotangents::Cotangents(Context& context, Frame& values, const std::vector<ir::ValueId>& wrt)
    : c(context), frame(values), wanted_(values.values.size()), of_(values.values.size()) {
  for (ir::ValueId v : wrt) wanted_.at(v) = true;
  mark(frame.function.body);
}

/// Repeats the loop body, and the loops in it, until no carry is added.
void Cotangents::mark(const ir::Block& block) {
  const auto wanted = [&](ir::ValueId v) { return wanted_.at(v); };
  for (const ir::Instr& instr : block.instrs) {
    const std::vector<ir::ValueId> used = uses(instr);
    if (!lets_through(instr.op)) continue;
    if (const auto* scan = std::get_if<ir::Scan>(&instr.op)) mark_scan(*scan, instr);
    if (std::none_of(used.begin(), used.end(), wanted)) continue;
    for (ir::ValueId v : instr.results)
      if (v != ir::no_value && is_float(frame.function.values.at(v).type.dtype)) wanted_[v] = true;
  }
}

void Cotangents::mark_scan(const ir::Scan& scan, const ir::Instr& instr) {
  const ir::Block& body = *scan.body;
  for (bool grown = true; grown;) {
    grown = false;
    mark(body);
    for (size_t i = 0; i < body.next.size(); ++i) {
      const ir::ValueId carry = body.params.at(i + 1);
      if (wanted_.at(carry) || !is_float(frame.function.values.at(carry).type.dtype)) continue;
      grown |= wanted_[carry] = wanted_.at(instr.operands.at(i)) || wanted_.at(body.next[i]);
    }
  }
}

void Cotangents::add(ir::ValueId value, const TensorExpr& share) {
  if (!wants(value)) return;
  TensorExpr more = c.typed(share, frame.function.values.at(value).type);
  std::optional<TensorExpr>& sum = of_.at(value);
  if (sum) more.body = c.a.add(sum->body, more.body);
  sum = std::move(more);
}

TensorExpr Cotangents::of(ir::ValueId value) const {
  if (arrived(value)) return *of_[value];
  return {c.vars(frame.function.values.at(value).type.dims), c.a.number(0)};
}

Cotangents Cotangents::empty() const {
  Cotangents result = *this;
  for (std::optional<TensorExpr>& cotangent : result.of_) cotangent.reset();
  return result;
}

void Cotangents::back(const ir::Block& block) {
  for (size_t i = block.instrs.size(); i-- > 0;) {
    const ir::Instr& instr = block.instrs[i];
    const bool reached =
        std::any_of(instr.results.begin(), instr.results.end(),
                    [&](ir::ValueId v) { return v != ir::no_value && arrived(v); });
    if (!reached) continue;
    const Site site{instr, frame};
    Pull pull{*this, site, c};
    std::visit([&](const auto& op) { pull_op(pull, op); }, instr.op);
  }
}

Nf Pull::gradient(const Vars& at, size_t k) const {
  return c.at(all.of(site.instr.results.at(k)), at);
}

void Pull::give_sum(size_t operand, const Vars& index, const Vars& from, Nf share) {
  give(operand, {index, c.a.sum(without(from, index), share)});
}

std::vector<TensorExpr> gradients(Context& c, Frame& taped, const std::vector<TensorExpr>& seeds,
                                  const std::vector<size_t>& wrt) {
  const ir::Function& f = taped.function;
  std::vector<ir::ValueId> values;
  for (size_t leaf : wrt) values.push_back(f.params.at(leaf));
  Cotangents cotangents(c, taped, values);
  for (size_t i = 0; i < f.returned.size(); ++i) cotangents.add(f.returned[i], seeds.at(i));
  cotangents.back(f.body);
  std::vector<TensorExpr> result;
  for (ir::ValueId v : values) result.push_back(cotangents.of(v));
  return result;
}

/// Runs the callee's reverse pass for the parameters whose gradients are needed here.
void pull_op(Pull& p, const ir::Call&) {
  Frame& inner = *p.site.frame.calls.at(&p.site.instr);
  std::vector<size_t> wrt, operands;
  for (size_t i = 0; i < p.site.instr.operands.size(); ++i)
    if (p.wants(i)) wrt.push_back(i);
  std::vector<TensorExpr> seeds;
  for (ir::ValueId v : p.site.instr.results)
    seeds.push_back(v == ir::no_value ? TensorExpr{} : p.all.of(v));
  const std::vector<TensorExpr> shares = gradients(p.c, inner, seeds, wrt);
  for (size_t k = 0; k < wrt.size(); ++k) p.give(wrt[k], shares[k]);
}

void pull_op(Pull& p, const ir::Grad&) { refuse(p, "a gradient"); }
void pull_op(Pull& p, const ir::Ring&) { refuse(p, "ring"); }
void pull_op(Pull& p, const ir::Pipeline&) { refuse(p, "pipeline"); }
void pull_op(Pull& p, const ir::Stages&) { refuse(p, "stages"); }

}  // namespace shardproof::lower
