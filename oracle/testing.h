#pragma once
// Helpers that the tests of this folder share: programs from text and files, inputs, central
// differences.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>

#include "oracle/oracle.h"
#include "spec/resolve/resolve.h"

namespace shardproof::oracle {

struct Loaded {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  const ir::Program& program() const { return resolved.program; }
  /// The function of this name; a test that names another is wrong.
  size_t find(const Name& name) const {
    for (size_t i = 0; i < program().functions.size(); ++i)
      if (program().functions[i].name == name) return i;
    throw std::logic_error("no function " + name);
  }
  std::string errors() const {
    std::string text;
    for (const Diagnostic& d : diagnostics) text += d.code + " " + d.message + "\n";
    return text;
  }
};

inline std::shared_ptr<Loaded> load_file(const std::filesystem::path& path) {
  auto loaded = std::make_shared<Loaded>();
  loaded->resolved = resolve(loaded->sources, path.string(), disk_reader(), loaded->diagnostics);
  return loaded;
}

inline std::shared_ptr<Loaded> load_text(const std::string& text) {
  auto loaded = std::make_shared<Loaded>();
  loaded->resolved = resolve(
      loaded->sources, "test.shard", [&](const std::string&) { return std::optional(text); },
      loaded->diagnostics);
  EXPECT_EQ(loaded->errors(), "") << text;
  return loaded;
}

inline Tensor tensor(Extents shape, std::vector<double> data) {
  return {std::move(shape), std::move(data), {}};
}
inline Tensor key(uint64_t value) { return {{}, {}, {value}}; }

/// The results of the function `f` of a text.
inline std::vector<Tensor> run(const std::string& text, const Sizes& sizes,
                               const std::vector<Tensor>& inputs) {
  const auto loaded = load_text(text);
  return evaluate(loaded->program(), loaded->find("f"), sizes, inputs);
}

using Random = std::mt19937;

inline Tensor normal_tensor(Random& random, const Extents& shape) {
  Tensor result = filled(shape, 0);
  std::normal_distribution<double> draw(0.0, 1.0);
  for (double& entry : result.data) entry = draw(random);
  return result;
}

/// Random values for the parameters: reals, whole numbers below `ids`, bools, keys. Parameters
/// called v, step, lr, eps, base are positive, for they stand under roots; what is assumed holds.
inline std::vector<Tensor> random_inputs(const ir::Program& program, size_t function,
                                         const Sizes& sizes, int64_t ids, Random& random) {
  std::vector<Tensor> inputs;
  const ir::Function& f = program.functions[function];
  std::vector<ir::ValueId> params = f.params;
  params.insert(params.end(), f.saved_params.begin(), f.saved_params.end());
  for (ir::ValueId id : params) {
    const ir::Value& value = f.values[id];
    Tensor x = normal_tensor(random, shape_of(program, value.type, sizes));
    const Name first = value.name.substr(0, value.name.find('.'));
    if (first == "v" || first == "step" || first == "lr" || first == "eps" || first == "base")
      for (double& entry : x.data) entry = std::abs(entry) + 0.5;
    if (is_integer(value.type.dtype))
      for (double& entry : x.data) entry = static_cast<double>(random() % static_cast<size_t>(ids));
    if (value.type.dtype == Dtype::boolean) {  // no row without a 1: counts are denominators
      const size_t row = x.shape.empty() ? 1 : static_cast<size_t>(x.shape.back());
      for (size_t i = 0; i < x.data.size(); ++i) x.data[i] = i % row == 0 || random() % 2 ? 1 : 0;
    }
    if (value.type.dtype == Dtype::key) {
      x.data.clear();
      x.keys.assign(static_cast<size_t>(count(x.shape)), 0x123456789abcdefu + random());
    }
    const size_t leaf = inputs.size();
    if (leaf < f.params.size())
      for (double& entry : x.data) entry = program.satisfying(f, leaf, entry, sizes.dims);
    inputs.push_back(std::move(x));
  }
  return inputs;
}

/// The leaves that have a gradient.
inline std::vector<size_t> float_leaves(const ir::Function& function) {
  std::vector<size_t> result;
  for (size_t i = 0; i < function.params.size(); ++i)
    if (is_float(function.values[function.params[i]].type.dtype)) result.push_back(i);
  return result;
}

/// One gradient for each result.
inline std::vector<Tensor> random_upstream(const std::vector<Tensor>& results, Random& random) {
  std::vector<Tensor> upstream;
  for (const Tensor& result : results) upstream.push_back(normal_tensor(random, result.shape));
  return upstream;
}

/// <upstream, results>, of the float results.
inline double paired(const ir::Function& function, const std::vector<Tensor>& upstream,
                     const std::vector<Tensor>& results) {
  double sum = 0;
  for (size_t r = 0; r < results.size(); ++r)
    for (size_t i = 0; is_float(function.results[r].dtype) && i < results[r].data.size(); ++i)
      sum += upstream[r].data[i] * results[r].data[i];
  return sum;
}

/// d <upstream, f> / d inputs[leaf].data[at], by differences of the fourth order.
inline double difference(const ir::Program& program, size_t function, const Sizes& sizes,
                         std::vector<Tensor> inputs, const std::vector<Tensor>& upstream,
                         size_t leaf, size_t at) {
  const double x = inputs[leaf].data[at], h = 1e-4;
  auto value = [&](double offset) {
    inputs[leaf].data[at] = x + offset;
    return paired(program.functions[function], upstream,
                  evaluate(program, function, sizes, inputs));
  };
  return (8 * (value(h) - value(-h)) - (value(2 * h) - value(-2 * h))) / (12 * h);
}

/// The largest error of `gradients` against central differences of the function, relative to the
/// largest entry of the leaf's gradient; at most `entries` of each leaf, drawn at random.
inline double worst_error(const ir::Program& program, size_t function, const Sizes& sizes,
                          const std::vector<Tensor>& inputs, const std::vector<Tensor>& upstream,
                          const std::vector<size_t>& wrt, const std::vector<Tensor>& gradients,
                          size_t entries, Random& random) {
  double worst = 0;
  for (size_t w = 0; w < wrt.size(); ++w) {
    const Tensor& own = gradients[w];
    double largest = 1e-4;  // a gradient of nothing but rounding is compared with this
    for (double entry : own.data) largest = std::max(largest, std::abs(entry));
    std::vector<size_t> chosen(own.data.size());
    for (size_t i = 0; i < chosen.size(); ++i) chosen[i] = i;
    std::shuffle(chosen.begin(), chosen.end(), random);
    chosen.resize(std::min(chosen.size(), entries));
    for (size_t at : chosen) {
      const double numeric = difference(program, function, sizes, inputs, upstream, wrt[w], at);
      const double error = std::abs(numeric - own.data[at]) / largest;
      worst = std::isnan(error) ? INFINITY : std::max(worst, error);
    }
  }
  return worst;
}

/// The same for the oracle's own gradient, at random upstream gradients.
inline double gradient_error(const ir::Program& program, size_t function, const Sizes& sizes,
                             const std::vector<Tensor>& inputs, size_t entries, Random& random) {
  const std::vector<size_t> wrt = float_leaves(program.functions[function]);
  const auto upstream = random_upstream(evaluate(program, function, sizes, inputs), random);
  const auto own = gradient(program, function, sizes, inputs, upstream, wrt);
  return worst_error(program, function, sizes, inputs, upstream, wrt, own, entries, random);
}

/// The largest difference of two lists of tensors, relative to the largest entry of each tensor (or
/// to 1e-3, where all are smaller); infinite where shapes, keys or NaNs differ.
inline double distance(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  if (a.size() != b.size()) return INFINITY;
  double worst = 0;
  for (size_t t = 0; t < a.size(); ++t) {
    if (a[t].shape != b[t].shape || a[t].keys != b[t].keys) return INFINITY;
    double largest = 1e-3, error = 0;
    for (size_t i = 0; i < a[t].data.size(); ++i) {
      largest = std::max({largest, std::abs(a[t].data[i]), std::abs(b[t].data[i])});
      const double e = std::abs(a[t].data[i] - b[t].data[i]);
      if (std::isnan(e)) return INFINITY;
      error = std::max(error, e);
    }
    worst = std::max(worst, error / largest);
  }
  return worst;
}

}  // namespace shardproof::oracle
