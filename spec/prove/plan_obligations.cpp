// The facts about layouts and indices on which a plan depends.
#include <algorithm>
#include <map>
#include <set>

#include "spec/elaborate/names.h"
#include "spec/ir/walk.h"
#include "spec/prove/layout_facts.h"
#include "spec/prove/prove.h"

namespace shardproof {
namespace {

class Collector {
 public:
  Collector(const ir::Program& program, const std::vector<Type>& types)
      : program_(program), types_(types) {}

  void split(Split split, SourceRange range) {
    if (split.dim.is_group()) split.dim = from_leading(split.dim);
    for (smt::Obligation& each : split_obligations(split)) add(std::move(each), range);
  }

  void instr(const ir::Instr& instr) {
    const SourceRange range = instr.place.range;
    if (auto* op = std::get_if<ir::Collective>(&instr.op)) moves(instr, range, ir::name_of(*op));
    if (auto* op = std::get_if<ir::Rearrange>(&instr.op)) rearranged(op->pattern.indices, instr);
    if (auto* op = std::get_if<ir::Ppermute>(&instr.op)) {
      const Split& dim = types_.at(instr.operands.at(0)).dims.at(op->pattern.left_bracket.value());
      if (!dim.axes.empty()) add(rotation_obligation(dim), range);
    }
  }

  std::vector<PlacedObligation> take() { return std::move(found_); }

 private:
  void add(smt::Obligation obligation, SourceRange range) {
    if (names_.insert(obligation.name + ": " + obligation.claim).second)
      found_.push_back({std::move(obligation), range});
  }

  void moves(const ir::Instr& instr, SourceRange range, const std::string& name) {
    const Type &from = types_.at(instr.operands.at(0)), &to = types_.at(instr.results.at(0));
    for (size_t i = 0; i < from.dims.size() && i < to.dims.size(); ++i)
      if (from.dims[i].axes != to.dims[i].axes)
        for (smt::Obligation& each : move_obligations(name, from.dims[i], to.dims[i]))
          add(std::move(each), range);
  }

  /// The factors of a group from the first one with more than one entry.
  Dim from_leading(const Dim& group) const {
    const elaborate::Factors all = elaborate::factors(program_, group);
    Dim result;
    for (size_t i = elaborate::leading(program_, group); i < all.size(); ++i)
      result.factors.push_back(all[i].name);
    return result;
  }

  /// The axes of each index that is the first of a position.
  std::map<ir::IndexId, std::vector<Axis>> axes_of(const ir::Indices& in,
                                                   const std::vector<ir::Position>& side,
                                                   const Type& type) const {
    std::map<ir::IndexId, std::vector<Axis>> result;
    for (size_t i = 0; i < side.size() && i < type.dims.size(); ++i)
      if (const auto leading = elaborate::leading(program_, in, side[i]))
        result[*leading] = type.dims[i].axes;
    return result;
  }

  /// Each position with several indices, compared with the same indices on the other side.
  void rearranged(const ir::Indices& in, const ir::Instr& instr) {
    const std::vector<ir::Position>*left = &in.left.at(0), *right = &in.right;
    const auto from = axes_of(in, *left, types_.at(instr.operands.at(0)));
    const auto to = axes_of(in, *right, types_.at(instr.results.at(0)));
    for (const auto* side : {left, right})
      for (const ir::Position& position : *side)
        grouped(in, position, side == left ? from : to, side == left ? to : from,
                instr.place.range);
  }
  void grouped(const ir::Indices& in, const ir::Position& position,
               const std::map<ir::IndexId, std::vector<Axis>>& own,
               const std::map<ir::IndexId, std::vector<Axis>>& other, SourceRange range) {
    const auto axes_in = [](const std::map<ir::IndexId, std::vector<Axis>>& axes, ir::IndexId id) {
      const auto found = axes.find(id);
      return found == axes.end() ? std::vector<Axis>{} : found->second;
    };
    Split group;
    std::vector<Split> parts;
    const auto leading = elaborate::leading(program_, in, position);
    for (auto id = std::find(position.begin(), position.end(), leading); id != position.end();
         ++id) {
      const Name& name = in.all.at(*id).name;
      group.dim.factors.push_back(name);
      parts.push_back({Dim{{name}}, axes_in(other, *id)});
    }
    if (parts.size() < 2) return;
    group.axes = axes_in(own, *leading);
    add(rearrange_obligation(group, parts), range);
  }

  const ir::Program& program_;
  const std::vector<Type>& types_;
  std::set<std::string> names_;
  std::vector<PlacedObligation> found_;
};

}  // namespace

std::vector<PlacedObligation> plan_obligations(const ir::Program& program, size_t function,
                                               const std::vector<Type>& types) {
  const ir::Function& plan = program.functions.at(function);
  Collector collector(program, types);
  for (size_t v = 0; v < types.size(); ++v)
    for (const Split& split : types[v].dims)
      if (!split.axes.empty()) collector.split(split, plan.values[v].range);
  for (const Type& result : plan.results)
    for (const Split& split : result.dims)
      if (!split.axes.empty()) collector.split(split, plan.name_range);
  for_each_instr(plan.body, [&](const ir::Instr& instr) { collector.instr(instr); });
  return collector.take();
}

}  // namespace shardproof
