#pragma once
// A plan on all devices of a small mesh with random numbers, beside what it claims, on one device.
// Neither the algebra nor the rules have a part in it.
#include "spec/check/mesh_points.h"
#include "spec/denote/evaluate.h"

namespace shardproof::properties {

using Arrays = std::vector<denote::Array<double>>;

/// What a run needs of a checked program. Refers, does not own.
struct MeshWorld {
  const ir::Program& program;
  const denote::Types& types;  ///< of every value of every function
  const std::vector<Divisibility>& conditions;
  const denote::Backwards& backwards;
};

/// One plan on one mesh.
class MeshRun {
 public:
  /// Throws denote::Error where there is no mesh, or what is claimed has no value there.
  MeshRun(const MeshWorld& world, size_t plan, unsigned seed);

  /// What the plan claims, on one device: its model's value, or a gradient by dual numbers.
  const Arrays& claimed() const { return claimed_; }
  /// What the devices of the mesh make of it, put together at the types of the results.
  std::vector<std::optional<denote::Array<double>>> results();
  std::string text() const;  ///< `ffn_sharded at d=2 t=3 B=2 ..`

 private:
  Arrays claim() const;
  std::ptrdiff_t own() const;
  template <class T>
  std::vector<T> primal(const std::vector<T>& inputs) const {
    return {inputs.begin(), inputs.begin() + own()};
  }

  const MeshWorld world_;
  size_t plan_;
  const ir::Function& function_;
  denote::RandomBits rng_;
  denote::Sizes sizes_;
  denote::Geometry geometry_;
  Arrays whole_, claimed_;
  std::vector<denote::Distributed<double>> local_;  ///< whole_ on the devices
};

/// No infinities and no NaN.
bool finite(const denote::Array<double>& array);
/// Empty where they agree.
std::string difference(const std::optional<denote::Array<double>>& got,
                       const denote::Array<double>& wanted);

/// Gradients of plans by their hand-written backwards: those that come `after` a plan.
denote::Backwards written_backwards(const ir::Program& program);

/// The first difference of a plan from its claim, on three meshes; empty where there is none. The
/// claim is its model's value, of `implements grad` the gradient by dual numbers, or without a
/// model its own value on one device. Meshes whose sizes the plan cannot have (too few entries for
/// a top_k) are drawn again. Throws denote::Error where it cannot be run.
std::string first_difference(const CheckedProgram& checked, size_t plan,
                             const denote::Backwards& backwards);

}  // namespace shardproof::properties
