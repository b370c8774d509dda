#pragma once
// A plan on all devices of a small mesh, one op after another (spec/denote), its gradients by their
// derived backwards.
#include <random>

#include "spec/check/check.h"
#include "spec/check/claim.h"

namespace shardproof {

/// The program to run: the file's, or one with smaller sizes.
using ProgramToRun = std::function<const ir::Program&(const ir::Program&)>;

/// The devices of a mesh. Refers to what it is made of.
class Devices {
 public:
  using Values = std::vector<denote::Distributed<double>>;

  Devices(const denote::Sizes& sizes, const ProgramToRun& to_run, std::mt19937_64& rng)
      : sizes_(sizes), to_run_(to_run), rng_(rng) {}

  /// What has its own runs stands for its model where it is called, and so does the backward of
  /// what is differentiated. Otherwise all is run, but for trusted plans.
  bool use_models = false;

  /// What a function stands in: its program with the types of all values, the backwards of the
  /// gradients that its plans take, and which functions may stand for their models.
  struct World {
    const ir::Program& program;
    const denote::Types& types;
    const CheckedBackwards& backwards;
    std::vector<bool> proved = {};
  };

  /// What the devices hold of the results. Inputs: the parameters, then saved ones. Throws
  /// denote::Error and, of a trusted plan, oracle::Error.
  Values run(const World& world, size_t function, const Values& inputs) const;
  /// What the plan before a backward saves for it at these inputs of that plan.
  Values saved(const World& world, size_t backward, const Values& inputs) const;

 private:
  denote::StandIn<double> stand_in(const World& world) const;
  std::vector<denote::Array<double>> whole(const World& world, size_t function,
                                           const Values& inputs) const;
  Values laid_out(const World& world, const std::vector<oracle::Tensor>& values,
                  const std::vector<Type>& types) const;
  Values as_model(const World& world, size_t function, const Values& inputs) const;
  std::optional<Values> gradient(const World& world, const ir::Grad& op, Values operands) const;
  Values backward(const CheckedBackward& derived, size_t params, Values operands) const;

  const denote::Geometry& geometry(const World& world) const;

  const denote::Sizes& sizes_;
  const ProgramToRun& to_run_;
  std::mt19937_64& rng_;
  mutable std::map<const ir::Program*, std::unique_ptr<denote::Geometry>> geometries_;
};

}  // namespace shardproof
