#include "impl/trainer/draw.h"

#include <algorithm>
#include <cmath>

#include "impl/checkpoint/box.h"
#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof {

namespace {

/// The model's dim, for one that is stored with more entries.
Dim without_padding(const Placement& placement, const Dim& dim) {
  const std::optional<Name> padded = placement.program().padded(dim);
  return padded ? Dim{{*padded}} : dim;
}

}  // namespace

std::vector<uint32_t> first_text(const SampleOptions& options, int64_t most) {
  std::vector<uint32_t> text = options.prompt;
  if (text.empty()) text.push_back(options.document);
  if (static_cast<int64_t>(text.size()) > most)
    text.erase(text.begin(), text.end() - static_cast<ptrdiff_t>(most));
  return text;
}

std::vector<double> logits_at(Communicator& ranks, const Placement& placement,
                              const LocalTensor& logits, int64_t position) {
  const std::vector<Split>& dims = logits.type.dims;
  const Split &positions = dims[dims.size() - 2], &entries = dims.back();
  const int64_t first = placement.first(entries), count = logits.extents.back();
  std::vector<double> own(static_cast<size_t>(placement.size(entries.dim)));
  const int64_t at = position - placement.first(positions);
  bool has = checkpoint::counts(logits.type, placement.mesh(), placement.rank()) && at >= 0 &&
             at < logits.extents[dims.size() - 2];
  for (size_t d = 0; d + 2 < dims.size(); ++d) has = has && placement.first(dims[d]) == 0;
  for (int64_t i = 0; has && i < count; ++i)
    own[static_cast<size_t>(first + i)] =
        number_at(logits.element, logits.buffer.data(), at * count + i);
  std::vector<int> everyone(static_cast<size_t>(ranks.size()));
  for (size_t i = 0; i < everyone.size(); ++i) everyone[i] = static_cast<int>(i);
  std::vector<double> whole(own.size());
  ranks.all_reduce(ranks.group(everyone), own.data(), whole.data(), own.size(), Element::f64,
                   Reduction::sum, "logits of a sample");
  whole.resize(static_cast<size_t>(placement.size(without_padding(placement, entries.dim))));
  return whole;
}

uint32_t draw(std::vector<double> logits, const SampleOptions& options, int64_t i) {
  const auto best = std::max_element(logits.begin(), logits.end());
  if (options.temperature <= 0) return static_cast<uint32_t>(best - logits.begin());
  const uint64_t key = philox_fold(options.seed, "sample");
  const double uniform = philox_uniform(key, static_cast<uint64_t>(i)), largest = *best;
  double sum = 0;
  for (double& x : logits) sum += x = std::exp((x - largest) / options.temperature);
  double left = uniform * sum;
  for (size_t token = 0; token < logits.size(); ++token)
    if ((left -= logits[token]) < 0) return static_cast<uint32_t>(token);
  return static_cast<uint32_t>(best - logits.begin());
}

}  // namespace shardproof
