#include "spec/denote/gradient.h"

#include "spec/denote/dual.h"
#include "spec/denote/evaluator.h"

namespace shardproof::denote {
namespace {

struct Element {
  size_t leaf;   ///< position in wrt
  size_t entry;  ///< of the leaf's array
};

std::vector<Distributed<Dual>> constants(const std::vector<Array<double>>& arrays) {
  std::vector<Distributed<Dual>> result;
  for (const Array<double>& array : arrays) {
    Array<Dual> dual{array.shape, {}};
    for (double x : array.data) dual.data.push_back(Dual::of(x));
    result.push_back({std::move(dual)});
  }
  return result;
}

/// <upstream, J e_i> for each direction i.
Dual::Tangent pulled(const std::vector<Distributed<Dual>>& results,
                     const std::vector<Array<double>>& upstream) {
  Dual sum = 0;
  for (size_t r = 0; r < results.size(); ++r) {
    const std::span<const Dual> moved = results[r].on(0);
    if (moved.size() != upstream.at(r).data.size()) throw Mismatch("a gradient of another shape");
    for (size_t i = 0; i < moved.size(); ++i) sum = sum + Dual::of(upstream[r].data[i]) * moved[i];
  }
  return sum.tangent;
}

std::vector<Element> elements_of(const std::vector<Array<double>>& leaves) {
  std::vector<Element> elements;
  for (size_t leaf = 0; leaf < leaves.size(); ++leaf)
    for (size_t entry = 0; entry < leaves[leaf].data.size(); ++entry)
      elements.push_back({leaf, entry});
  return elements;
}

}  // namespace

std::vector<Array<double>> numeric_gradient(const Geometry& one_device, const Types& types,
                                            size_t function,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream) {
  const Evaluator<Dual> evaluator(one_device, types);
  std::vector<Array<double>> gradient;
  for (size_t leaf : wrt) gradient.push_back(filled(inputs.at(leaf).shape, 0.0));
  const std::vector<Element> elements = elements_of(gradient);
  const std::vector<Distributed<Dual>> still = constants(inputs);
  for (size_t first = 0; first < elements.size(); first += Dual::directions) {
    const size_t last = std::min(first + Dual::directions, elements.size());
    std::vector<Distributed<Dual>> moving = still;
    for (size_t i = first; i < last; ++i)
      moving[wrt[elements[i].leaf]].on(0)[elements[i].entry].tangent[i - first] = 1;
    const Dual::Tangent found = pulled(evaluator.call(function, std::move(moving)), upstream);
    for (size_t i = first; i < last; ++i)
      gradient[elements[i].leaf].data[elements[i].entry] = found[i - first];
  }
  return gradient;
}

std::vector<Array<double>> numeric_gradient(const ir::Program& program, size_t function,
                                            const Sizes& sizes,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream) {
  const Geometry one_device(program, {{}, sizes.dims});
  return numeric_gradient(one_device, types_of(program), function, inputs, wrt, upstream);
}

}  // namespace shardproof::denote
