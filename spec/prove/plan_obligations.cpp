// The layout and index facts that a plan rests on.
#include <algorithm>
#include <set>

#include "spec/check/walk.h"
#include "spec/denote/structure.h"
#include "spec/prove/layout_facts.h"
#include "spec/prove/prove.h"

namespace shardproof {
namespace {

/// A side of a rearrangement: its dims as lists of factors, with the axes of the first.
struct Side {
  std::vector<std::vector<Name>> dims;
  std::map<Name, std::vector<Axis>> axes;  ///< by factor
};

std::vector<Name> names_of(const Shape& shape) {
  std::vector<Name> names;
  for (const Split& split : shape.dims)
    names.insert(names.end(), split.dim.factors.begin(), split.dim.factors.end());
  return names;
}

Side side_of(const ir::Program& program, const Shape& pattern, const Shape& type,
             const Shape& other) {
  Side side;
  for (size_t i = 0; i < pattern.dims.size() && i < type.dims.size(); ++i) {
    std::vector<Name> factors;
    denote::open_dim(program, pattern.dims[i].dim, names_of(other), factors);
    if (factors.empty()) continue;
    side.axes[factors[0]] = type.dims[i].axes;
    side.dims.push_back(std::move(factors));
  }
  return side;
}

class Collector {
 public:
  Collector(const ir::Program& program, const std::vector<Type>& types)
      : program_(program), types_(types) {}

  void split(const Split& split, SourceRange range) {
    for (smt::Obligation& each : split_obligations(split)) add(std::move(each), range);
  }

  void instr(const ir::Instr& instr) {
    const SourceRange range = instr.place.range;
    if (auto* op = std::get_if<ir::Collective>(&instr.op)) moves(instr, range, ir::name_of(*op));
    if (auto* op = std::get_if<ir::Rearrange>(&instr.op)) {
      const Type &from = types_.at(instr.operands.at(0)), &to = types_.at(instr.results.at(0));
      const Shape &left = op->pattern.left.at(0), &right = op->pattern.right;
      rearranged(side_of(program_, left, from, right), side_of(program_, right, to, left), range);
    }
    if (auto* op = std::get_if<ir::Ppermute>(&instr.op)) {
      const Split& dim = types_.at(instr.operands.at(0)).dims.at(op->pattern.left_bracket.value());
      if (!dim.axes.empty()) add(rotation_obligation(dim), range);
    }
  }

  std::vector<PlacedObligation> take() { return std::move(found_); }

 private:
  void add(smt::Obligation obligation, SourceRange range) {
    if (names_.insert(obligation.name).second) found_.push_back({std::move(obligation), range});
  }

  void moves(const ir::Instr& instr, SourceRange range, const std::string& name) {
    const Type &from = types_.at(instr.operands.at(0)), &to = types_.at(instr.results.at(0));
    for (size_t i = 0; i < from.dims.size() && i < to.dims.size(); ++i)
      if (from.dims[i].axes != to.dims[i].axes)
        for (smt::Obligation& each : move_obligations(name, from.dims[i], to.dims[i]))
          add(std::move(each), range);
  }

  /// Each dim of more than one factor, on either side, against its factors on the other.
  void rearranged(const Side& left, const Side& right, SourceRange range) {
    for (const Side* side : {&left, &right}) {
      const Side& other = side == &left ? right : left;
      for (const std::vector<Name>& factors : side->dims) {
        if (factors.size() < 2) continue;
        std::vector<Split> parts;
        for (const Name& factor : factors) {
          auto axes = other.axes.find(factor);
          parts.push_back(
              {Dim{{factor}}, axes == other.axes.end() ? std::vector<Axis>{} : axes->second});
        }
        add(rearrange_obligation({Dim{factors}, side->axes.at(factors[0])}, parts), range);
      }
    }
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
