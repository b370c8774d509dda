#pragma once
// Sequences of tokens in an order that depends only on the seed, and so is the same on every mesh.
#include <memory>

#include "impl/data/batches.h"
#include "impl/data/tokens.h"

namespace shardproof::data {

/// Entry `index` of the permutation of 0 .. n-1 with this key; it is computed, not stored.
uint64_t shuffled(uint64_t index, uint64_t n, uint64_t key);

/// The sequences to use, and their order. Sequences do not overlap; the last tokens may not be
/// used.
struct LoaderOptions {
  uint64_t seed = 0;
  double from = 0, to = 1;  ///< fractions of all sequences, e.g. 0 to 0.95 to train
  bool shuffle = true;
  int64_t below = INT64_MAX;  ///< the size of the vocabulary: larger tokens are an error
};

/// Fills `ids [.. L]`, `targets` (the next tokens) and `starts` (whether a token is the first of a
/// document). The last dim is positions; the dims before it together number the sequences of a
/// batch.
class Loader : public Batches {
 public:
  Loader(std::shared_ptr<const Tokens> tokens, const LoaderOptions& options);

  std::vector<Name> names() const override { return {"ids", "targets", "starts"}; }
  void fill(const Name& name, const Placement& placement, LocalTensor& to) override;
  void next() override { position_ += batch_; }

  /// The number of sequences used so far, from which a resumed run continues.
  int64_t position() const { return position_; }
  void seek(int64_t position) { position_ = position; }
  /// The tokens of the last batch.
  int64_t batch_tokens() const { return batch_ * length_; }
  /// The number of sequences of `length` tokens in an epoch; throws FileError if it is 0.
  int64_t sequences(int64_t length) const;
  /// Throws FileError if there is no sequence, or if one of the first tokens is not in the
  /// vocabulary.
  void require_fits(int64_t length) const;

 private:
  int64_t begin_of(int64_t sequence) const;
  void read(int64_t sequence, int64_t from, std::vector<uint32_t>& to) const;
  void require_below(const std::vector<uint32_t>& tokens, int64_t first) const;

  std::shared_ptr<const Tokens> tokens_;
  LoaderOptions options_;
  int64_t position_ = 0, batch_ = 0, length_ = 0;
};

}  // namespace shardproof::data
