#include "spec/check/rescale.h"

#include <algorithm>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using ir::ValueId;

/// A carry and the maximum that it becomes.
struct Running {
  ValueId before, after;
  size_t at;  ///< the instruction that computes `after`
};

/// A carry that is read without the factor, by operands of these instructions.
struct Carry {
  ValueId value;
  std::vector<std::pair<size_t, size_t>> read;
};

class Rescale {
 public:
  explicit Rescale(const RepairSearch& search)
      : search_(search),
        program_(own_copy(search.program, search.plan)),
        plan_(program_.functions.own().at(search.plan)) {}

  std::optional<Repair> run() { return in_loops_of(plan_.body); }

 private:
  std::optional<Repair> in_loops_of(ir::Block& block) {
    for (ir::Instr& instr : block.instrs) {
      ir::Block* body = body_of(instr.op);
      if (!body) continue;
      if (auto found = in_loops_of(*body)) return found;
      for (size_t carry = 0; carry < body->next.size(); ++carry)
        if (const auto maximum = running(*body, carry))
          if (auto found = left_out(*body, *maximum)) return found;
    }
    return std::nullopt;
  }

  const Name& name(ValueId v) const { return plan_.values.at(v).name; }
  const Type& type(ValueId v) const { return plan_.values.at(v).type; }

  std::optional<Running> running(const ir::Block& body, size_t carry) const {
    const ValueId before = body.params.at(carry + 1), after = body.next[carry];
    if (name(before).empty() || name(after).empty()) return std::nullopt;
    for (size_t at = 0; at < body.instrs.size(); ++at) {
      const ir::Instr& instr = body.instrs[at];
      const auto* binary = std::get_if<ir::Binary>(&instr.op);
      if (binary && binary->fn == ir::BinaryFn::maximum && instr.results[0] == after &&
          std::count(instr.operands.begin(), instr.operands.end(), before) > 0)
        return Running{before, after, at};
    }
    return std::nullopt;
  }

  std::vector<Carry> other_carries(const ir::Block& body, const Running& maximum) const {
    std::vector<Carry> carries;
    for (size_t i = 1; i < body.params.size(); ++i) {
      Carry carry{body.params[i], {}};
      if (carry.value == maximum.before || name(carry.value).empty() ||
          !is_float(type(carry.value).dtype))
        continue;
      for (size_t at = maximum.at + 1; at < body.instrs.size(); ++at) {
        const ir::Instr& instr = body.instrs[at];
        if (instr.operand_ranges.size() != instr.operands.size()) continue;
        for (size_t k = 0; k < instr.operands.size(); ++k)
          if (instr.operands[k] == carry.value) carry.read.push_back({at, k});
      }
      if (!carry.read.empty()) carries.push_back(std::move(carry));
    }
    return carries;
  }

  std::optional<Repair> left_out(ir::Block& body, const Running& maximum) {
    const std::vector<Carry> carries = other_carries(body, maximum);
    for (const Carry& each : carries)
      if (auto found = with_factor(body, maximum, {each})) return found;
    if (carries.size() < 2) return std::nullopt;
    return with_factor(body, maximum, carries);
  }

  std::optional<Repair> with_factor(ir::Block& body, const Running& maximum,
                                    const std::vector<Carry>& carries) {
    const std::string factor = text_of_factor(body, maximum, carries);
    const std::vector<ir::Instr> saved = body.instrs;
    const size_t values = plan_.values.size();
    Repair repair{
        saved[carries[0].read[0].first].operand_ranges[carries[0].read[0].second], "", {}};
    const ir::Place place = saved[maximum.at].place;
    const ValueId difference = fresh(maximum.before), scale = fresh(maximum.before);
    std::vector<ir::Instr> added = {
        {ir::Binary{ir::BinaryFn::sub}, {maximum.before, maximum.after}, {difference}, place, {}},
        {ir::Unary{ir::UnaryFn::exp}, {difference}, {scale}, place, {}}};
    for (const Carry& carry : carries) {
      const ValueId scaled = fresh(carry.value);
      added.push_back({ir::Binary{ir::BinaryFn::mul}, {carry.value, scale}, {scaled}, place, {}});
      const std::string product = name(carry.value) + " * " + factor;
      repair.words += (repair.words.empty() ? "with `" : ", `") + product + "` in place of `" +
                      name(carry.value) + "`";
      for (const auto& [at, operand] : carry.read) {
        body.instrs[at].operands[operand] = scaled;
        repair.edits.push_back({saved[at].operand_ranges[operand], product});
      }
    }
    body.instrs.insert(body.instrs.begin() + static_cast<std::ptrdiff_t>(maximum.at) + 1,
                       added.begin(), added.end());
    const bool right = !search_.ended() && search_.right(program_);
    body.instrs = saved;
    plan_.values.resize(values);
    return right ? std::optional(std::move(repair)) : std::nullopt;
  }

  ValueId fresh(ValueId alike) {
    plan_.values.push_back({"", type(alike), {}, false});
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  /// A name of the loop that stands for it before the carries are read, or the expression.
  std::string text_of_factor(const ir::Block& body, const Running& maximum,
                             const std::vector<Carry>& carries) const {
    size_t first = body.instrs.size();
    for (const Carry& carry : carries) first = std::min(first, carry.read[0].first);
    std::optional<ValueId> difference;
    for (size_t at = 0; at < first; ++at) {
      const ir::Instr& instr = body.instrs[at];
      const auto* binary = std::get_if<ir::Binary>(&instr.op);
      const auto* unary = std::get_if<ir::Unary>(&instr.op);
      if (binary && binary->fn == ir::BinaryFn::sub &&
          instr.operands == std::vector{maximum.before, maximum.after})
        difference = instr.results[0];
      if (unary && unary->fn == ir::UnaryFn::exp && instr.operands[0] == difference &&
          !name(instr.results[0]).empty())
        return name(instr.results[0]);
    }
    return "exp(" + name(maximum.before) + " - " + name(maximum.after) + ")";
  }

  const RepairSearch& search_;
  ir::Program program_;
  ir::Function& plan_;
};

}  // namespace

std::optional<Repair> find_rescale(const RepairSearch& search) { return Rescale(search).run(); }

}  // namespace shardproof
