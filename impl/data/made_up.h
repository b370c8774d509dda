#pragma once
// Data that are not tokens, made up: a model trains without any, to try it.
#include <cstdint>
#include <map>

#include "impl/data/batches.h"

namespace shardproof::data {

/// What `tokens` fills, and further names: floats are normal numbers, integers are below the one
/// given, flags are drawn. They depend on the seed, the name and the global index: they are the
/// same on every mesh, and in each batch.
class MadeUp : public Batches {
 public:
  MadeUp(Batches& tokens, std::map<Name, int64_t> below, uint64_t seed);

  std::vector<Name> names() const override;
  void fill(const Name& name, const Placement& placement, LocalTensor& to) override;
  void next() override { tokens_.next(); }

 private:
  Batches& tokens_;
  std::map<Name, int64_t> below_;
  uint64_t seed_;
};

}  // namespace shardproof::data
