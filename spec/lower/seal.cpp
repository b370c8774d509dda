// Sealing: a value that both sides compute the same way becomes opaque. Equality with seals implies
// equality; a difference proves nothing. A value that depends on a cotangent parameter is sealed
// only as an operand of an einsum: there both sides mostly have the whole cotangent of one forward
// value, but before that they add its parts in different orders.
#include <algorithm>

#include "spec/algebra/engine.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

bool is_one_of(const ir::Op& op, std::initializer_list<ir::BinaryFn> fns) {
  const auto* binary = std::get_if<ir::Binary>(&op);
  return binary && std::find(fns.begin(), fns.end(), binary->fn) != fns.end();
}

bool sums(const ir::Op& op) {
  return std::holds_alternative<ir::Einsum>(op) || std::holds_alternative<ir::Reduce>(op) ||
         std::holds_alternative<ir::Concat>(op);
}

/// A condition such as u >= p is 1 - [u < p]: as a factor it would double the number of terms.
bool is_condition(const ir::Instr& instr, const Frame& frame) {
  return instr.results.size() == 1 && std::holds_alternative<ir::Binary>(instr.op) &&
         frame.function.values.at(instr.results[0]).type.dtype == Dtype::boolean;
}

/// Sums in a library gradient are mostly derivatives and contain parts of forward values: gelu's
/// contains x exp(-x x / 2). So they are not sealed.
bool of_library_gradient(const ir::Program& program, const ir::Instr& instr,
                         const ir::Function& function) {
  if (!instr.library_call || !program.library_gradients) return false;
  const Name& name = function.library_calls.at(*instr.library_call).function;
  const auto& gradients = *program.library_gradients;
  return std::any_of(gradients.begin(), gradients.end(),
                     [&](const auto& each) { return each.second.name == name; });
}

/// A condition on one index and sizes alone: a sum over the index ends there.
bool is_threshold(algebra::Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  if (g.free_of(e).size() != 1) return false;
  for (const algebra::Term& t : g.terms(e))
    for (const algebra::Factor& f : g.factors(t.mono))
      if (g.atoms[f.atom].kind != algebra::AtomKind::le0) return false;
  return true;
}

/// The tensor that `e` is, if it is a single one.
const algebra::TensorInfo* single(algebra::Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  const bool alone = a.length(e) == 1 && g.factors(g.terms(e)[0].mono).size() == 1;
  return alone ? g.derived(g.factors(g.terms(e)[0].mono)[0].atom) : nullptr;
}

bool is(const algebra::TensorInfo* tensor, algebra::Op op) {
  return tensor != nullptr && tensor->op == op;
}

/// A maximum, also one of masked values: numbers may have left it.
bool is_maximum(algebra::Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  if (const auto* sealed = single(a, e); is(sealed, algebra::Op::sealed)) e = sealed->body;
  size_t maxima = 0;
  for (const algebra::Term& t : g.terms(e)) {
    const algebra::Mono& mono = g.factors(t.mono);
    if (mono.empty()) continue;
    if (!is(single(a, g.fix(mono, 1)), algebra::Op::max)) return false;
    ++maxima;
  }
  return maxima == 1;
}

/// Seals a sum, but for a common factor exp(-m): it cancels where the sum divides.
Nf seal_sum(algebra::Algebra& a, Nf e) {
  algebra::Engine& g = a.engine();
  if (a.length(e) != 1) return a.seal(e);
  const algebra::Term term = g.terms(e)[0];
  algebra::Mono shifts, rest;
  for (const algebra::Factor& f : g.factors(term.mono))
    (is(g.derived(f.atom), algebra::Op::exp) ? shifts : rest).push_back(f);
  if (rest.empty()) return a.seal(e);
  return g.mul(g.fix(shifts, 1), a.seal(g.fix(rest, term.coef)));
}

/// A sealed sum; a sealed maximum does not count.
bool is_sealed_sum(algebra::Algebra& a, const algebra::Factor& factor) {
  if (!factor.exponent.is_one()) return false;
  const algebra::TensorInfo* sealed = a.engine().derived(factor.atom);
  return is(sealed, algebra::Op::sealed) && !is(single(a, sealed->body), algebra::Op::max);
}

/// A sealed sum alone or, with `products`, times other values such as a gate or a mask. Not a mean,
/// which has a size as a factor.
bool of_sealed_sum(algebra::Algebra& a, Nf e, bool products) {
  algebra::Engine& g = a.engine();
  if (a.length(e) != 1) return false;
  const algebra::Term term = g.terms(e)[0];
  const algebra::Mono& mono = g.factors(term.mono);
  if (mono.size() == 1 ? !term.coef.is_one() : !products) return false;
  return std::any_of(mono.begin(), mono.end(),
                     [&](const algebra::Factor& each) { return is_sealed_sum(a, each); }) &&
         std::none_of(mono.begin(), mono.end(), [&](const algebra::Factor& each) {
           return g.atoms[each.atom].kind == algebra::AtomKind::size;
         });
}

/// Propagates the marks to all values computed from marked ones, through loops until nothing
/// changes.
void spread(const ir::Function& function, const ir::Block& block, std::vector<bool>& marks) {
  const auto marked = [&](ir::ValueId v) { return v != ir::no_value && marks.at(v); };
  for (const ir::Instr& instr : block.instrs) {
    if (const auto* scan = std::get_if<ir::Scan>(&instr.op)) {
      const ir::Block& body = *scan->body;
      for (bool grown = true; grown;) {
        grown = false;
        for (size_t i = 0; i < body.next.size(); ++i) {
          const ir::ValueId carry = body.params.at(i + 1);
          if (marks.at(carry) || !(marked(instr.operands.at(i)) || marked(body.next[i]))) continue;
          grown = marks[carry] = true;
        }
        spread(function, body, marks);
      }
    }
    const std::vector<ir::ValueId> used = uses(instr);
    if (std::none_of(used.begin(), used.end(), marked)) continue;
    for (ir::ValueId v : instr.results)
      if (v != ir::no_value) marks.at(v) = true;
  }
}

}  // namespace

std::vector<bool> made_of(const ir::Function& function, const std::vector<bool>& params) {
  std::vector<bool> marks(function.values.size(), false);
  for (size_t i = 0; i < params.size(); ++i)
    if (params[i]) marks.at(function.params.at(i)) = true;
  spread(function, function.body, marks);
  return marks;
}

Nf Context::contracted(const ir::Instr& instr, Nf cotangent) {
  const bool asked =
      options.contracted && unsealed == 0 && std::holds_alternative<ir::Einsum>(instr.op);
  if (!asked || a.length(cotangent) <= 1) return cotangent;
  // The cotangent of a padded value is zero in the padding: the rest is what the model has.
  if (const auto cut = a.engine().only_below_threshold(cotangent))
    return a.mul(cut->inside, a.seal(cut->rest));
  return a.seal(cotangent);
}

void Context::seal(const ir::Instr& instr, Frame& frame) {
  const bool additions = options.seals == Seals::additions;
  const bool products = !additions && !of_library_gradient(program, instr, frame.function);
  const auto is_sum = [&](ir::ValueId v) {
    return of_sealed_sum(a, frame.values.at(v)->body, products);
  };
  const auto& operands = instr.operands;
  // exp(x - m): both sides mostly divide by exp(-m) later, and padding may count in one m alone.
  const bool shifted = is_one_of(instr.op, {ir::BinaryFn::sub}) &&
                       is_maximum(a, frame.values.at(operands.at(1))->body);
  if (shifted) return;
  const bool added = is_one_of(instr.op, {ir::BinaryFn::add, ir::BinaryFn::sub}) &&
                     (additions || std::any_of(operands.begin(), operands.end(), is_sum));
  const bool condition = !additions && is_condition(instr, frame) &&
                         !is_threshold(a, frame.values.at(instr.results[0])->body);
  if (!added && !condition && !sums(instr.op)) return;
  const ir::ValueId v = instr.results.at(0);
  const Dtype dtype = frame.function.values.at(v).type.dtype;
  if (frame.upstream.at(v) || !(condition || is_float(dtype))) return;
  Nf& body = frame.values.at(v)->body;
  if (!(added || condition))
    body = seal_sum(a, body);
  else if (a.length(body) > 1)
    body = a.seal(body);
}

}  // namespace shardproof::lower
