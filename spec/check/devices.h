#pragma once
// A plan on all devices of a small mesh, one op after another (spec/denote), its gradients by their
// derived backwards.
#include <random>

#include "spec/check/check.h"
#include "spec/check/claim.h"

namespace shardproof {

/// A program as it is to be run: one whose sizes are made smaller, or itself.
using ProgramToRun = std::function<const ir::Program&(const ir::Program&)>;

/// The devices of a mesh. Refers to what it is made of.
class Devices {
 public:
  using Values = std::vector<denote::Distributed<double>>;

  Devices(const denote::Sizes& sizes, const ProgramToRun& to_run, std::mt19937_64& rng)
      : sizes_(sizes), to_run_(to_run), rng_(rng) {}

  /// What a function stands in: its program with the types of all values and the backwards of the
  /// gradients that its plans take.
  struct World {
    const ir::Program& program;
    const denote::Types& types;
    const CheckedBackwards& backwards;
  };

  /// What the devices hold of the results. Inputs: the parameters, then saved ones. Throws
  /// denote::Error and, of a trusted plan, oracle::Error.
  Values run(const World& world, size_t function, const Values& inputs) const;
  /// What the plan before a backward saves for it at these inputs of that plan.
  Values saved(const World& world, size_t backward, const Values& inputs) const;

 private:
  denote::StandIn<double> stand_in(const World& world) const;
  Values trusted(const World& world, size_t function, const Values& inputs) const;
  std::optional<Values> gradient(const World& world, const ir::Grad& op, Values operands) const;

  const denote::Sizes& sizes_;
  const ProgramToRun& to_run_;
  std::mt19937_64& rng_;
};

}  // namespace shardproof
