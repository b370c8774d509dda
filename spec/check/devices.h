#pragma once
// Runs a plan op by op on all devices of a small mesh (spec/denote), and its gradients by their
// derived backwards.
#include "spec/check/check.h"
#include "spec/check/claim.h"
#include "spec/denote/few_draws.h"

namespace shardproof {

/// Returns the program to run: the given one, or a copy with smaller sizes.
using ProgramToRun = std::function<const ir::Program&(const ir::Program&)>;

/// The devices of a mesh. Keeps references to its arguments.
class Devices {
 public:
  using Values = std::vector<denote::Distributed<double>>;

  Devices(const denote::Sizes& sizes, const ProgramToRun& to_run, denote::RandomBits& rng)
      : sizes_(sizes), to_run_(to_run), rng_(rng) {}

  /// Replaces calls of plans that have their own runs, and backwards of differentiated plans, by
  /// their models. If false, everything but trusted plans runs.
  bool use_models = false;

  /// The context of a function: its program with all types, the backwards of the gradients that its
  /// plans take, and the functions that their models may replace.
  struct World {
    const ir::Program& program;
    const denote::Types& types;
    const CheckedBackwards& backwards;
    std::vector<bool> proved = {};
  };

  /// The devices' arrays of the results. Inputs: the parameters, then saved ones. Throws
  /// denote::Error; for a trusted plan, oracle::Error.
  Values run(const World& world, size_t function, const Values& inputs) const;
  /// The values that the plan before `backward` saves for it, at these inputs of that plan.
  Values saved(const World& world, size_t backward, const Values& inputs) const;
  /// The program that runs, on this mesh with these sizes.
  const denote::Geometry& geometry(const World& world) const;

 private:
  denote::StandIn<double> stand_in(const World& world) const;
  std::vector<denote::Array<double>> whole(const World& world, size_t function,
                                           const Values& inputs) const;
  Values laid_out(const World& world, const std::vector<oracle::Tensor>& values,
                  const std::vector<Type>& types) const;
  Values as_model(const World& world, size_t function, const Values& inputs) const;
  Values as_gradient_of_model(const World& world, const ir::Grad& op,
                              const CheckedBackward& derived, const Values& inputs) const;
  std::optional<Values> gradient(const World& world, const ir::Grad& op, Values operands) const;
  Values backward(const CheckedBackward& derived, size_t params, Values operands) const;

  const denote::Sizes& sizes_;
  const ProgramToRun& to_run_;
  denote::RandomBits& rng_;
  mutable std::map<const ir::Program*, std::unique_ptr<denote::Geometry>> geometries_;
};

}  // namespace shardproof
