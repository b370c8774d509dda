// What ops need to be defined (a divisor is not 0, the argument of a logarithm is positive), and in
// which branches of a `where` they need it.
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

using algebra::Algebra;

Nf operand(Context& c, const Site& site, size_t i) { return c.entries(site).operands.at(i); }

using Obligations = std::vector<Algebra::Obligation>;

void add(Context& c, Obligations& needs, Algebra::Obligation::Kind kind, Nf base) {
  const bool known =
      kind == Algebra::Obligation::nonzero ? c.a.known_positive(base) : c.a.known_nonnegative(base);
  if (!known) needs.push_back({kind, base});
}

/// x to a constant power: the algebra's condition on the base. The reverse pass of a root adds 1/x.
void add_power(Context& c, Obligations& needs, Nf x, algebra::Rational exponent, bool taped) {
  if (!exponent.is_integer()) add(c, needs, Algebra::Obligation::positive, x);
  if (exponent.sign() < 0 || (taped && !exponent.is_integer()))
    add(c, needs, Algebra::Obligation::nonzero, x);
}

/// Of a logarithm. A root has the first of the two: it has a value at 0.
void add_positive(Context& c, Obligations& needs, Nf x) {
  if (c.a.known_positive(x)) return;
  needs.push_back({Algebra::Obligation::positive, x});
  needs.push_back({Algebra::Obligation::nonzero, x});
}

/// The sign of x - least that a function of one operand needs.
void add_domain(Context& c, Obligations& needs, ir::Domain domain, const Site& site) {
  if (domain.kind == ir::Domain::everywhere) return;
  const bool taped = site.frame.taped;
  const Nf x = c.a.sub(operand(c, site, 0), c.a.number(domain.least));
  if (domain.kind == ir::Domain::root) return add_power(c, needs, x, {1, 2}, taped);
  if (domain.kind == ir::Domain::inverse_root) return add_power(c, needs, x, {-1, 2}, taped);
  add_positive(c, needs, x);
}

Obligations needs_of(Context& c, const Site& site) {
  Obligations needs;
  const bool taped = site.frame.taped;
  if (const auto* unary = std::get_if<ir::Unary>(&site.instr.op))
    add_domain(c, needs, domain(unary->fn), site);
  const auto* binary = std::get_if<ir::Binary>(&site.instr.op);
  if (binary == nullptr) return needs;
  const bool divides = binary->fn == ir::BinaryFn::div || takes(binary->fn) == ir::Takes::integers;
  if (divides) add(c, needs, Algebra::Obligation::nonzero, operand(c, site, 1));
  if (binary->fn != ir::BinaryFn::pow) return needs;
  const Nf base = operand(c, site, 0);
  if (const auto exponent = c.a.as_number(operand(c, site, 1)))
    add_power(c, needs, base, *exponent, taped);
  else
    add_positive(c, needs, base);
  return needs;
}

/// The operand that must not be 0 or must be positive.
OperandInText operand_in_text(const Site& site) {
  const auto* unary = std::get_if<ir::Unary>(&site.instr.op);
  const auto* binary = std::get_if<ir::Binary>(&site.instr.op);
  if (unary && domain(unary->fn).least != 0) return {};  // x + 1 of log1p(x)
  const bool divisor = binary && binary->fn != ir::BinaryFn::pow;
  const ir::Place& place = site.instr.place;
  OperandInText found{place.range, {}};
  const Name& name = site.frame.function.values.at(site.instr.operands.at(divisor ? 1 : 0)).name;
  if (!place.inner && !name.empty())
    found.words = "`" + name + "`";
  else if (divisor)
    found.words = "the divisor";
  else
    found.words =
        std::string("the ") + (binary ? "base" : "operand") + " of " + ir::name_of(site.instr.op);
  if (place.inner && !place.through.empty()) found.words += " in `" + place.through.front() + "`";
  return found;
}

}  // namespace

void Context::note_needs(const Site& site) {
  const Obligations needs = needs_of(*this, site);
  if (needs.empty()) return;
  Frame& frame = site.frame;
  const OperandInText text = operand_in_text(site);
  const std::vector<Route> all =
      routes(frame, frame.demands_of(program, reach_).at(site.instr.results.at(0)));
  for (const auto& what : needs) {
    for (const Route& route : all) pending_.push_back({what, text, route});
    if (all.empty()) pending_.push_back({what, text, std::nullopt});
  }
}

/// Results of a callee are needed as the call is.
std::vector<Context::Route> Context::routes(Frame& frame, const Demand& demand) {
  std::vector<Route> result;
  for (const Way& way : demand) {
    std::vector<Route> more = routes(frame, way);
    for (Route& route : more) {
      for (const Guard& guard : way.guards) route.branches.push_back({&frame, guard});
      result.push_back(std::move(route));
    }
  }
  return result;
}

std::vector<Context::Route> Context::routes(Frame& frame, const Way& way) {
  if (frame.caller == nullptr) return {{way.result, {}}};
  const Site& site = *frame.caller;
  const bool call = std::holds_alternative<ir::Call>(site.instr.op);
  const Type& returned = frame.function.values.at(frame.function.returned.at(way.result)).type;
  std::vector<Route> result;
  for (size_t k = 0; k < site.instr.results.size(); ++k) {
    if (site.instr.results[k] == ir::no_value || (call && k != way.result)) continue;
    const Demand& outside = site.frame.demands_of(program, reach_).at(site.instr.results[k]);
    const bool same_names = call && site.result(k).type.dims == returned.dims;
    for (Route& route : routes(site.frame, same_names ? outside : collapsed(outside, reach_)))
      result.push_back(std::move(route));
  }
  return result;
}

void Context::settle(const Frame& frame) {
  for (Pending& pending : pending_) {
    if (!pending.route) continue;
    for (Branch& branch : pending.route->branches) {
      if (branch.holds || branch.frame != &frame) continue;
      const auto& condition = frame.values.at(branch.guard.condition);
      if (!condition) continue;
      branch.holds = branch.guard.holds ? condition->body : a.sub(a.number(1), condition->body);
    }
  }
}

/// If it is not known whether a value is needed: not in the model, but in the plan. That is sound.
std::vector<Need> Context::needs() {
  std::vector<Need> result;
  for (const Pending& pending : pending_) {
    Need need{pending.what, {}, {}, pending.route || reach_ == Reach::at_most, pending.operand};
    if (pending.route) {
      need.result = pending.route->result;
      for (const Branch& branch : pending.route->branches) {
        if (branch.holds) need.where.push_back(*branch.holds);
        need.certain = need.certain && (branch.holds || reach_ == Reach::at_most);
      }
    }
    result.push_back(std::move(need));
  }
  return result;
}

const std::vector<Demand>& Frame::demands_of(const ir::Program& program, Reach reach) {
  if (demands.empty()) demands = lower::demands(program, function, reach);
  return demands;
}

}  // namespace shardproof::lower
