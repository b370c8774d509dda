#include "impl/device/emulated/graph.h"

#include <cmath>
#include <limits>

#include "kernels/bf16.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

int64_t count_of(const Four& extents) { return extents[0] * extents[1] * extents[2] * extents[3]; }

Four index_of(int64_t i, const Four& extents) {
  Four at{};
  for (size_t d = 4; d-- > 0; i /= extents[d]) at[d] = i % extents[d];
  return at;
}

int64_t offset(const Four& at, const Four& strides) {
  int64_t sum = 0;
  for (size_t d = 0; d < 4; ++d) sum += at[d] * strides[d];
  return sum;
}

/// Row-major entries, for any strides of the tensor.
struct Dense {
  Four extents{};
  std::vector<float> entries;

  float at(Four index) const {
    for (size_t d = 0; d < 4; ++d)
      if (extents[d] == 1) index[d] = 0;
    return entries[static_cast<size_t>(offset(index, packed_strides(extents)))];
  }
};

class Evaluation {
 public:
  Evaluation(const TensorGraph& graph, const std::vector<void*>& memory)
      : graph_(graph), memory_(memory), values_(graph.tensors.size()) {}

  void run() {
    for (const GraphOp& op : graph_.ops) {
      for (size_t t : op.arguments) load(t);
      Dense& result = values_[op.result];
      const GraphTensor& as = graph_.tensors[op.result];
      result.extents = as.extents;
      result.entries.resize(static_cast<size_t>(count_of(as.extents)));
      compute(op, result);
      for (float& each : result.entries)
        if (as.element == Element::bf16) each = rounded_to_bf16(each);
      if (as.kind == GraphTensor::Kind::array) store(op.result);
    }
  }

 private:
  void load(size_t t) {
    Dense& value = values_[t];
    if (!value.entries.empty()) return;
    const GraphTensor& tensor = graph_.tensors[t];
    value.extents = tensor.extents;
    for (int64_t i = 0; i < count_of(tensor.extents); ++i)
      value.entries.push_back(
          tensor.kind == GraphTensor::Kind::number
              ? tensor.number
              : static_cast<float>(number_at(tensor.element, memory_[t],
                                             offset(index_of(i, tensor.extents), tensor.strides))));
  }

  void store(size_t t) const {
    const GraphTensor& tensor = graph_.tensors[t];
    for (int64_t i = 0; i < count_of(tensor.extents); ++i)
      set_number(tensor.element, memory_[t], offset(index_of(i, tensor.extents), tensor.strides),
                 values_[t].entries[static_cast<size_t>(i)]);
  }

  void compute(const GraphOp& op, Dense& result) const {
    if (op.fn == GraphFn::sum || op.fn == GraphFn::largest) return reduce(op, result);
    for (int64_t i = 0; i < count_of(result.extents); ++i)
      result.entries[static_cast<size_t>(i)] = entry(op, index_of(i, result.extents));
  }

  float entry(const GraphOp& op, Four at) const {
    const auto x = [&](size_t a = 0) { return values_[op.arguments[a]].at(at); };
    switch (op.fn) {
      case GraphFn::multiply:
        return x() * x(1);
      case GraphFn::add:
        return x() + x(1);
      case GraphFn::subtract:
        return x() - x(1);
      case GraphFn::divide:
        return x() / x(1);
      case GraphFn::exp:
        return std::exp(x());
      case GraphFn::log:
        return std::log(x());
      case GraphFn::identity:
        return x();
      case GraphFn::index:
        return static_cast<float>(at[static_cast<size_t>(op.axis)]);
      case GraphFn::at_least:
        return x() >= x(1) ? 1.0f : 0.0f;
      case GraphFn::select:
        return x(2) != 0 ? x() : x(1);
      case GraphFn::turned:
        std::swap(at[2], at[3]);
        return x();
      case GraphFn::product:
        return product(values_[op.arguments[0]], values_[op.arguments[1]], at);
      case GraphFn::largest:
      case GraphFn::sum:
        break;
    }
    return 0;
  }

  static float product(const Dense& a, const Dense& b, const Four& at) {
    const int64_t each = a.extents[1] / b.extents[1];
    double sum = 0;
    for (int64_t k = 0; k < a.extents[3]; ++k)
      sum += static_cast<double>(a.at({at[0], at[1], at[2], k})) *
             b.at({at[0], at[1] / each, k, at[3]});
    return static_cast<float>(sum);
  }

  void reduce(const GraphOp& op, Dense& result) const {
    const Dense& x = values_[op.arguments[0]];
    const bool sum = op.fn == GraphFn::sum;
    std::vector<double> totals(result.entries.size(),
                               sum ? 0 : -std::numeric_limits<double>::infinity());
    for (int64_t i = 0; i < count_of(x.extents); ++i) {
      Four at = index_of(i, x.extents);
      for (size_t d = 0; d < 4; ++d) at[d] /= x.extents[d] / result.extents[d];
      double& total = totals[static_cast<size_t>(offset(at, packed_strides(result.extents)))];
      const double own = x.entries[static_cast<size_t>(i)];
      total = sum ? total + own : std::max(total, own);
    }
    for (size_t i = 0; i < totals.size(); ++i) result.entries[i] = static_cast<float>(totals[i]);
  }

  const TensorGraph& graph_;
  const std::vector<void*>& memory_;
  std::vector<Dense> values_;
};

}  // namespace

void evaluate(const TensorGraph& graph, const std::vector<void*>& memory) {
  Evaluation(graph, memory).run();
}

}  // namespace shardproof
