#pragma once
// Sequences of tokens in an order that depends on the seed alone, the same on every mesh.
#include <memory>

#include "impl/data/batches.h"
#include "impl/data/tokens.h"

namespace shardproof::data {

/// Entry `index` of a permutation of 0 .. n-1 that the key says; nothing is stored.
uint64_t shuffled(uint64_t index, uint64_t n, uint64_t key);

/// Which sequences of the tokens, and in which order. Sequences do not overlap; the last tokens may
/// be in none.
struct LoaderOptions {
  uint64_t seed = 0;
  double from = 0, to = 1;  ///< of all sequences: 0 to 0.95 to train, 0.95 to 1 to validate
  bool shuffle = true;
  int64_t below = INT64_MAX;  ///< a token that is not below it is an error: the vocabulary
};

/// `ids [.. L]`, `targets` (the tokens that come next) and `starts` (whether a token is the first
/// of a document): the last dim is positions, all dims before it together number the sequences of a
/// batch.
class Loader : public Batches {
 public:
  Loader(std::shared_ptr<const Tokens> tokens, const LoaderOptions& options);

  std::vector<Name> names() const override { return {"ids", "targets", "starts"}; }
  void fill(const Name& name, const Placement& placement, Tensor& to) override;
  void next() override { position_ += batch_; }

  /// The number of sequences used so far: where a run that is resumed goes on.
  int64_t position() const { return position_; }
  void seek(int64_t position) { position_ = position; }
  /// Of the last batch.
  int64_t batch_tokens() const { return batch_ * length_; }
  /// Sequences in an epoch, of `length` tokens; throws FileError where there is none.
  int64_t sequences(int64_t length) const;
  /// Throws FileError where there is no sequence, or one of the first tokens is no token of the
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
