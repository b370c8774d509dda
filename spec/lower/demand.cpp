#include "spec/lower/demand.h"

#include <algorithm>

#include "spec/ir/walk.h"

namespace shardproof::lower {

namespace {

/// Longer demands are collapsed: for a model the guarded entries are dropped, for a plan their
/// guards.
constexpr size_t most_ways = 64;

bool contains(const Demand& demand, const Way& way) {
  return std::find(demand.begin(), demand.end(), way) != demand.end();
}

void join(Demand& into, const Demand& more, Reach reach) {
  for (const Way& way : more)
    if (!contains(into, {way.result, {}}) && !contains(into, way)) into.push_back(way);
  std::erase_if(into, [&, all = into](const Way& way) {
    return !way.guards.empty() && contains(all, {way.result, {}});
  });
  if (into.size() > most_ways) into = collapsed(into, reach);
}

Demand beside(Demand demand, Guard guard) {
  for (Way& way : demand) way.guards.push_back(guard);
  return demand;
}

bool is_pointwise(const ir::Op& op) {
  return std::holds_alternative<ir::Unary>(op) || std::holds_alternative<ir::Binary>(op) ||
         std::holds_alternative<ir::Where>(op) || std::holds_alternative<ir::Cast>(op) ||
         std::holds_alternative<ir::StopGrad>(op) || std::holds_alternative<ir::Save>(op) ||
         std::holds_alternative<ir::Ascribe>(op);
}

/// The result may be defined where this operand is not: it uses only some entries, or compares
/// them.
bool loses(const ir::Instr& instr, size_t operand) {
  const ir::Op& op = instr.op;
  if (std::holds_alternative<ir::Read>(op) || std::holds_alternative<ir::Write>(op) ||
      std::holds_alternative<ir::Entry>(op) || std::holds_alternative<ir::Index>(op) ||
      std::holds_alternative<ir::IndexUnreduced>(op))
    return operand == 0;
  if (auto* reduce = std::get_if<ir::Reduce>(&op)) return reduce->fn != ir::ReduceFn::sum;
  if (auto* unary = std::get_if<ir::Unary>(&op)) return !is_strict(unary->fn);
  if (auto* binary = std::get_if<ir::Binary>(&op)) return !is_strict(binary->fn);
  if (auto* cast = std::get_if<ir::Cast>(&op)) return !is_float(cast->to);
  return std::holds_alternative<ir::Ordered>(op) || std::holds_alternative<ir::Argmax>(op) ||
         std::holds_alternative<ir::TopK>(op) || std::holds_alternative<ir::Ring>(op) ||
         std::holds_alternative<ir::Pipeline>(op) || std::holds_alternative<ir::Stages>(op);
}

class Walk {
 public:
  Walk(const ir::Program& program, const ir::Function& function, Reach reach)
      : program_(program), function_(function), reach_(reach), demands_(function.values.size()) {}

  void ask(ir::ValueId value, const Demand& demand) {
    if (value != ir::no_value) join(demands_.at(value), demand, reach_);
  }
  void back(const ir::Block& block) {
    for (size_t i = block.instrs.size(); i-- > 0;) back(block.instrs[i]);
  }
  std::vector<Demand> take() { return std::move(demands_); }

 private:
  Demand of(ir::ValueId value) const { return value == ir::no_value ? Demand{} : demands_[value]; }
  Demand of_all(const ir::Instr& instr) const {
    Demand all;
    for (ir::ValueId v : instr.results) join(all, of(v), reach_);
    return all;
  }

  void back(const ir::Instr& instr) {
    const Demand demand = of_all(instr);
    if (demand.empty()) return;
    if (auto* scan = std::get_if<ir::Scan>(&instr.op)) return loop(instr, *scan->body);
    if (const auto callee = callee_of(instr.op)) return arguments(instr, *callee);
    for (size_t i = 0; i < instr.operands.size(); ++i) operand(instr, i, demand);
  }

  void operand(const ir::Instr& instr, size_t i, const Demand& demand) {
    if (reach_ == Reach::at_least && loses(instr, i)) return;
    const bool branch = std::holds_alternative<ir::Where>(instr.op) && i > 0;
    const bool same_names =
        is_pointwise(instr.op) && aligned(instr, i) && (!branch || aligned(instr, 0));
    if (same_names && branch)
      ask(instr.operands[i], beside(demand, {instr.operands[0], i == 1}));
    else if (same_names || !branch || reach_ == Reach::at_most)
      ask(instr.operands[i], same_names ? demand : collapsed(demand, reach_));
  }

  /// The operand's dims match the result's by name, so a guard selects the same entries of both.
  bool aligned(const ir::Instr& instr, size_t i) const {
    const Type& result = function_.values.at(instr.results.at(0)).type;
    const Type& operand = function_.values.at(instr.operands.at(i)).type;
    return std::all_of(operand.dims.begin(), operand.dims.end(),
                       [&](const Split& split) { return find(result, split.dim) != nullptr; });
  }

  /// A gradient is undefined where its function is.
  void arguments(const ir::Instr& instr, size_t callee) {
    const ir::Function& f = program_.functions.at(callee);
    const Demand all = collapsed(of_all(instr), reach_);
    const bool call = std::holds_alternative<ir::Call>(instr.op);
    const std::vector<Demand> inside =
        reach_ == Reach::at_least ? demands(program_, f, reach_) : std::vector<Demand>{};
    for (size_t i = 0; i < instr.operands.size(); ++i) {
      if (inside.empty() || i >= f.params.size()) {
        ask(instr.operands[i], all);
        continue;
      }
      for (const Way& way : collapsed(inside[f.params[i]], reach_))
        ask(instr.operands[i], call ? collapsed(of(instr.results.at(way.result)), reach_) : all);
    }
  }

  /// For a model: an emitted value is needed at every step, and so is a carry that depends on
  /// itself. Any other carry is needed only by the last step.
  void loop(const ir::Instr& instr, const ir::Block& body) {
    Walk inside(program_, function_, reach_);
    for (size_t i = 0; i < body.next.size(); ++i)
      if (reach_ == Reach::at_most || carries_itself(body, i))
        inside.ask(body.next[i], asked(instr, i));
    for (size_t i = 0; i < body.emit.size(); ++i)
      inside.ask(body.emit[i], asked(instr, body.next.size() + i));
    inside.back(body);
    // A condition in the body has a new value at each step, so it is no guard outside the loop.
    std::vector<bool> own(demands_.size(), false);
    mark(body, own);
    for (size_t v = 0; v < own.size(); ++v)
      join(demands_[v], own[v] ? inside.demands_[v] : collapsed(inside.demands_[v], reach_),
           reach_);
    for (size_t i = 0; i < body.next.size(); ++i)
      ask(instr.operands.at(i), collapsed(of(body.params.at(i + 1)), reach_));
    for (size_t i = body.next.size(); i < instr.operands.size(); ++i)
      ask(instr.operands[i], collapsed(of_all(instr), reach_));
  }
  Demand asked(const ir::Instr& instr, size_t result) const {
    return collapsed(reach_ == Reach::at_most ? of_all(instr) : of(instr.results.at(result)),
                     reach_);
  }
  static void mark(const ir::Block& body, std::vector<bool>& own) {
    for (ir::ValueId v : body.params) own.at(v) = true;
    for (const ir::Instr& instr : body.instrs) {
      for (ir::ValueId v : instr.results)
        if (v != ir::no_value) own.at(v) = true;
      if (auto* scan = std::get_if<ir::Scan>(&instr.op)) mark(*scan->body, own);
    }
  }
  bool carries_itself(const ir::Block& body, size_t i) const {
    Walk alone(program_, function_, reach_);
    alone.ask(body.next[i], {Way{}});
    alone.back(body);
    return contains(alone.of(body.params.at(i + 1)), Way{});
  }

  const ir::Program& program_;
  const ir::Function& function_;
  Reach reach_;
  std::vector<Demand> demands_;
};

}  // namespace

Demand collapsed(const Demand& demand, Reach reach) {
  Demand result;
  for (const Way& way : demand)
    if ((way.guards.empty() || reach == Reach::at_most) && !contains(result, {way.result, {}}))
      result.push_back({way.result, {}});
  return result;
}

std::vector<Demand> demands(const ir::Program& program, const ir::Function& function, Reach reach) {
  Walk walk(program, function, reach);
  for (size_t i = 0; i < function.returned.size(); ++i) walk.ask(function.returned[i], {{i, {}}});
  walk.back(function.body);
  return walk.take();
}

}  // namespace shardproof::lower
