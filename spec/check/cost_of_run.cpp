#include "spec/check/cost_of_run.h"

#include <algorithm>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

Cost operator*(double times, const Cost& cost) { return {times * cost.numbers, times * cost.ops}; }
void operator+=(Cost& sum, const Cost& cost) {
  sum = {sum.numbers + cost.numbers, sum.ops + cost.ops};
}

}  // namespace

Cost CostOfRun::at(size_t function, const denote::Sizes& sizes) {
  const Sum& costs = this->function(function);
  const denote::Geometry geometry(program_, {{}, sizes.dims});
  std::vector<double> of(dims_.size());
  Cost sum;
  for (const auto& [product, once] : costs) {
    double times = 1;
    for (size_t dim : product) {
      if (of[dim] == 0) of[dim] = static_cast<double>(geometry.size(dims_[dim]));
      times *= of[dim];
    }
    sum += times * once;
  }
  return sum;
}

const CostOfRun::Sum& CostOfRun::function(size_t f) {
  const auto [at, fresh] = known_.try_emplace(f);
  if (!fresh) return at->second;
  const ir::Function& own = program_.functions.at(f);
  Sum sum = block(own, own.body);
  for (ir::ValueId param : own.params) sum[product_of(own, param)].numbers += 1;
  if (own.model)
    for (const auto& [product, cost] : function(*own.model))
      sum[product] += (own.implements_grad ? 3 : 1) * cost;
  return known_[f] = std::move(sum);
}

CostOfRun::Sum CostOfRun::block(const ir::Function& own, const ir::Block& block) {
  Sum sum;
  for (const ir::Instr& instr : block.instrs) add(own, instr, sum);
  return sum;
}

void CostOfRun::add(const ir::Function& own, const ir::Instr& instr, Sum& sum) {
  if (auto callee = callee_of(instr.op)) {
    const double times = std::holds_alternative<ir::Grad>(instr.op) ? 4 : 1;
    for (const auto& [product, cost] : function(*callee)) sum[product] += times * cost;
    return;
  }
  if (const ir::Block* body = body_of(instr.op)) {
    Product steps;
    if (auto* scan = std::get_if<ir::Scan>(&instr.op)) steps = {place(scan->dim)};
    if (auto* pipeline = std::get_if<ir::Pipeline>(&instr.op)) steps = {place(pipeline->dim)};
    if (auto* stages = std::get_if<ir::Stages>(&instr.op))
      for (const Dim& dim : stages->dims) steps.push_back(place(dim));
    for (const auto& [each, cost] : block(own, *body)) {
      Product product = each;
      product.insert(product.end(), steps.begin(), steps.end());
      std::sort(product.begin(), product.end());
      sum[product] += cost;
    }
    return;
  }
  sum[{}].ops += 1;
  if (auto* einsum = std::get_if<ir::Einsum>(&instr.op)) {
    sum[product(einsum->pattern.left)].numbers += 1;
    return;
  }
  for (ir::ValueId id : instr.results)
    if (id != ir::no_value) sum[product_of(own, id)].numbers += 1;
}

CostOfRun::Product CostOfRun::product_of(const ir::Function& own, ir::ValueId value) {
  const Shape& shape = own.values.at(value).type;
  return product({&shape, 1});
}

/// The product of all dims in the shapes.
CostOfRun::Product CostOfRun::product(std::span<const Shape> shapes) {
  Product dims;
  dims.reserve(shapes.empty() ? 0 : shapes[0].dims.size());
  for (const Shape& shape : shapes)
    for (const Split& split : shape.dims) dims.push_back(place(split.dim));
  if (dims.size() < 2) return dims;
  std::sort(dims.begin(), dims.end());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  return dims;
}

size_t CostOfRun::place(const Dim& dim) {
  const auto at = std::find(dims_.begin(), dims_.end(), dim);
  if (at != dims_.end()) return static_cast<size_t>(at - dims_.begin());
  dims_.push_back(dim);
  return dims_.size() - 1;
}

}  // namespace shardproof
