#pragma once
// A plan on thread ranks beside what it claims, by the oracle on whole tensors. The core and the
// oracle share no code but the notation's; spec/denote defines how tensors lie on ranks.
#include "impl/beside_oracle/close.h"
#include "impl/compile/unchecked.h"
#include "oracle/oracle.h"
#include "spec/check/check.h"
#include "spec/check/claim.h"
#include "spec/check/mesh_points.h"

namespace shardproof::beside {

/// A function of a program at a point.
struct PlanCase {
  compile::Unit unit;
  compile::FindBackward find_backward;
  denote::Sizes sizes;
  std::vector<denote::Array<double>> whole;        ///< the parameters
  std::vector<denote::Distributed<double>> local;  ///< the same on the ranks, then saved ones
};

PointOfPlan point_of(const PlanCase& one);

/// A plan of the program, its backwards whatever their verdicts, at no point yet. Refers to both.
PlanCase case_of(const Program& program, const PlanReport& report);

/// Draws a mesh, sizes, inputs and how they lie on the ranks; what the plan takes after `;` is
/// what the plan before it saves there. Returns what is claimed there; nothing where the claim has
/// no finite value. `ties`: small whole numbers, zeros among them, otherwise reals away from 0.
/// Throws PlanError where no small mesh meets the conditions.
std::optional<std::vector<oracle::Tensor>> draw(PlanCase& one,
                                                const std::vector<Divisibility>& conditions,
                                                unsigned seed, bool ties,
                                                const MeshWish& wish = {});

/// The same on the mesh and at the sizes that it has.
std::optional<std::vector<oracle::Tensor>> draw_inputs(PlanCase& one, unsigned seed, bool ties);

/// What the devices hold of `x` (lay_out). Throws std::logic_error unless that is x to the bit: a
/// law never gives its two sides different inputs.
denote::Distributed<double> same_on_devices(const denote::Geometry& geometry, const Type& type,
                                            denote::Array<double>& x, std::mt19937_64& rng);

Mesh mesh_of(const denote::Sizes& sizes);
std::string text(const PlanCase& one);  ///< `ffn_sharded at d=2 t=3 B=2 ..`

/// What the plan claims: its model's value, for `implements grad` the gradient, without a model its
/// own erasure. Throws oracle::Error.
std::vector<oracle::Tensor> claimed(const PlanCase& one);

/// Puts numbers into a tensor. Throws std::logic_error where one is to be kept `exactly` and is
/// not.
void fill(Tensor& tensor, const std::vector<double>& data, bool exactly);

/// This rank's results, by any communicator.
std::vector<Tensor> run_on(Communicator& communicator, const PlanCase& one,
                           const PlanOptions& options);
double get(const Tensor& tensor, size_t i);  ///< keys as their bits

/// What the ranks make of it, threads or, where the options have a device, virtual ranks of it, put
/// together at the types of the results; nothing where they hold no
/// value of the type. Throws PlanError, CommError.
std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one,
                                                        const PlanOptions& options);

/// What a rank does instead of a plan: writes all of its outputs, which have their types and sizes.
using Kernel = std::function<void(const Mesh& mesh, int64_t rank, const std::vector<Tensor>& inputs,
                                  std::vector<Tensor>& outputs)>;
std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one, const Kernel& kernel);

using Evaluate = std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>;

/// The value of the plan's own text, at the same saved values. Throws oracle::Error.
Evaluate erasure_of(const PlanCase& one);

struct RoundingBounds {
  Bounds f64, f32;
};
/// What rounding makes of the claim: eight times the farthest that some disturbed evaluations of it
/// end from `wanted` (oracle/disturbed.h), for the sums of a plan have another order. Few of them
/// may by chance all end near a result of one entry: many are taken before a plan is called wrong.
RoundingBounds rounding_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                               const Evaluate& evaluate = shardproof::claimed, unsigned times = 3);
/// With the dtypes as they are written: with bf16 somewhere, as if all was bf16.
Bounds written_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                      const Evaluate& evaluate = shardproof::claimed, unsigned times = 3);
/// Whether a factor of 1.001 on some result, and on all of it, would be outside the bounds.
bool would_see_a_factor(const std::vector<oracle::Tensor>& wanted, const Bounds& bounds);

/// The first result that is not within its bound of the claim; empty where there is none.
std::string difference(const std::vector<std::optional<oracle::Tensor>>& got,
                       const std::vector<oracle::Tensor>& wanted, const Bounds& bounds);

/// The same in double, beyond what rounding may do.
std::string difference_in_double(const PlanCase& one,
                                 const std::vector<std::optional<oracle::Tensor>>& got,
                                 const std::vector<oracle::Tensor>& wanted);

}  // namespace shardproof::beside
