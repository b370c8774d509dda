#include "impl/data/loader.h"

#include <bit>
#include <cmath>

#include "kernels/number.h"
#include "kernels/philox.h"

namespace shardproof::data {

// A Feistel network on the least even number of bits for n, repeated until the result is below n
// (cycle walking).
uint64_t shuffled(uint64_t index, uint64_t n, uint64_t key) {
  if (n < 2) return 0;
  const int half = (std::bit_width(n - 1) + 1) / 2;
  const uint64_t mask = (uint64_t{1} << half) - 1;
  do {
    uint64_t left = index >> half, right = index & mask;
    for (uint64_t round = 0; round < 4; ++round) {
      const uint64_t mixed = left ^ (philox(key, right, 16 + round).word[0] & mask);
      left = right;
      right = mixed;
    }
    index = left << half | right;
  } while (index >= n);
  return index;
}

Loader::Loader(std::shared_ptr<const Tokens> tokens, const LoaderOptions& options)
    : tokens_(std::move(tokens)), options_(options) {}

namespace {

struct Range {
  int64_t first, count;
};

/// The range of sequences that `options` selects; each has `length` tokens and the next one.
Range range_of(int64_t tokens, int64_t length, const LoaderOptions& options) {
  const int64_t all = length > 0 && tokens > 0 ? (tokens - 1) / length : 0;
  const auto at = [&](double share) { return std::llround(share * static_cast<double>(all)); };
  return {at(options.from), at(options.to) - at(options.from)};
}

/// The sequences of the batch in the tensor's rows: one global index per row.
std::vector<int64_t> sequences_of(const Placement& placement, const LocalTensor& tensor) {
  std::vector<int64_t> rows{0};
  for (size_t d = 0; d + 1 < tensor.extents.size(); ++d) {
    const Split& split = tensor.type.dims.at(d);
    const int64_t first = placement.first(split), size = placement.size(split.dim);
    std::vector<int64_t> finer;
    for (int64_t row : rows)
      for (int64_t i = 0; i < tensor.extents[d]; ++i) finer.push_back(row * size + first + i);
    rows = std::move(finer);
  }
  return rows;
}

int64_t batch_of(const Placement& placement, const LocalTensor& tensor) {
  int64_t batch = 1;
  for (size_t d = 0; d + 1 < tensor.type.dims.size(); ++d)
    batch *= placement.size(tensor.type.dims[d].dim);
  return batch;
}

}  // namespace

int64_t Loader::sequences(int64_t length) const {
  const Range range = range_of(tokens_->size(), length, options_);
  if (range.count < 1)
    throw FileError(tokens_->names() + ": there are " + std::to_string(tokens_->size()) +
                    " tokens, too few for a sequence of " + std::to_string(length) +
                    " and the token that follows: give more data, or shorter sequences");
  return range.count;
}

void Loader::require_fits(int64_t length) const {
  sequences(length);
  std::vector<uint32_t> first(static_cast<size_t>(std::min<int64_t>(tokens_->size(), 1 << 16)));
  tokens_->read(0, first);
  require_below(first, 0);
}

int64_t Loader::begin_of(int64_t sequence) const {
  const Range range = range_of(tokens_->size(), length_, options_);
  const auto n = static_cast<uint64_t>(range.count);
  const uint64_t epoch = static_cast<uint64_t>(sequence) / n;
  uint64_t place = static_cast<uint64_t>(sequence) % n;
  if (options_.shuffle)
    place = shuffled(place, n, philox_fold(philox_fold(options_.seed, "sequences"), epoch));
  return (range.first + static_cast<int64_t>(place)) * length_;
}

void Loader::read(int64_t sequence, int64_t from, std::vector<uint32_t>& to) const {
  const int64_t first = begin_of(sequence) + from;
  tokens_->read(first, to);
  require_below(to, first);
}

void Loader::require_below(const std::vector<uint32_t>& tokens, int64_t first) const {
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] >= options_.below)
      throw FileError(tokens_->where(first + static_cast<int64_t>(i)) + " is " +
                      std::to_string(tokens[i]) + ", and the vocabulary ends below " +
                      std::to_string(options_.below) +
                      ": the file is for another vocabulary, or has tokens of another width");
}

void Loader::fill(const Name& name, const Placement& placement, LocalTensor& to) {
  if (to.extents.empty())
    throw PlanError(name + " is a scalar, but tokens need a dim of positions");
  const Split& positions = to.type.dims.back();
  length_ = placement.size(positions.dim);
  batch_ = batch_of(placement, to);
  sequences(length_);  // throws if there are too few
  const int64_t from = placement.first(positions) + (name == "targets" ? 1 : 0);
  std::vector<uint32_t> row(static_cast<size_t>(to.extents.back()));
  int64_t entry = 0;
  for (int64_t sequence : sequences_of(placement, to)) {
    read(position_ + sequence, from, row);
    for (uint32_t token : row)
      set_number(to.element, to.buffer.data(), entry++,
                 name == "starts" ? token == tokens_->document() : token);
  }
}

}  // namespace shardproof::data
