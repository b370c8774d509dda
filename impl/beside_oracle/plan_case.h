#pragma once
// Compares a plan on thread ranks with its claim, evaluated by the oracle on whole tensors. The
// core and the oracle share only the notation's front end; spec/denote defines how ranks represent
// tensors.
#include "impl/beside_oracle/close.h"
#include "impl/compile/unchecked.h"
#include "oracle/oracle.h"
#include "spec/check/check.h"
#include "spec/check/claim.h"
#include "spec/check/mesh_points.h"

namespace shardproof::beside {

/// A function of a program with a mesh, sizes and inputs.
struct PlanCase {
  compile::Unit unit;
  compile::FindBackward find_backward;
  denote::Sizes sizes;
  std::vector<denote::Array<double>> whole;        ///< values of the parameters
  std::vector<denote::Distributed<double>> local;  ///< the same on the ranks, then saved ones
  bool ties = false;                               ///< the values are small integers
};

PointOfPlan point_of(const PlanCase& one);

/// A plan of the program with its backwards, whatever their verdicts, without inputs. Keeps
/// references to both arguments.
PlanCase case_of(const Program& program, const PlanReport& report);

/// Draws a mesh, sizes, inputs and their parts on the ranks; parameters after `;` get what the
/// plan before saves. Returns the claimed results; none if they are not finite. `ties`: small
/// integers including zero; else reals away from 0. Throws PlanError if no small mesh meets the
/// conditions.
std::optional<std::vector<oracle::Tensor>> draw(PlanCase& one,
                                                const std::vector<Divisibility>& conditions,
                                                unsigned seed, bool ties,
                                                const MeshWish& wish = {});

/// The same for the mesh and sizes that `one` already has.
std::optional<std::vector<oracle::Tensor>> draw_inputs(PlanCase& one, unsigned seed, bool ties);

/// The devices' parts of `x` (lay_out). Throws std::logic_error unless they represent x exactly:
/// both sides of a law get the same inputs.
denote::Distributed<double> same_on_devices(const denote::Geometry& geometry, const Type& type,
                                            denote::Array<double>& x, denote::RandomBits& rng);

Mesh mesh_of(const denote::Sizes& sizes);
std::string text(const PlanCase& one);  ///< `ffn_sharded at d=2 t=3 B=2 ..`

/// The plan's claim: its model's value; for `implements grad` the gradient; without a model its own
/// erasure. Throws oracle::Error.
std::vector<oracle::Tensor> claimed(const PlanCase& one);

/// Stores numbers in a tensor. Throws std::logic_error if `exactly` is set and one is not
/// representable.
void fill(LocalTensor& tensor, const std::vector<double>& data, bool exactly);

/// This rank's results, with any communicator.
std::vector<LocalTensor> run_on(Communicator& communicator, const PlanCase& one,
                                const PlanOptions& options);
double get(const LocalTensor& tensor, size_t i);  ///< keys as their bits

/// Runs the plan on all ranks: threads or, if the options have a device, virtual ranks. Returns
/// the results at their types; none for a result that represents no value. Throws PlanError,
/// CommError.
std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one,
                                                        const PlanOptions& options);

/// Runs in place of a plan on one rank: writes all outputs, which have their types and sizes.
using Kernel =
    std::function<void(const Mesh& mesh, int64_t rank, const std::vector<LocalTensor>& inputs,
                       std::vector<LocalTensor>& outputs)>;
std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one, const Kernel& kernel);

/// The values of the parameters after `;`, whole.
std::vector<denote::Array<double>> saved_of(const PlanCase& one);

using Evaluate = std::function<std::vector<oracle::Tensor>(const PointOfPlan&)>;

/// The value of the plan's own erasure, with the same saved values. Throws oracle::Error.
Evaluate erasure_of(const PlanCase& one);

struct RoundingBounds {
  Bounds f64, f32;
};
/// The rounding error of the claim: eight times the largest distance from `wanted` in some
/// perturbed evaluations (oracle/disturbed.h), because a plan sums in another order. A few
/// evaluations may be close by chance, so a plan is called wrong only after many of them, which
/// also round to the numbers of f32: there nearly equal ones cancel to 0, and tiny squares are 0.
RoundingBounds rounding_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                               const Evaluate& evaluate = shardproof::claimed, unsigned times = 3);
/// The same for the dtypes as written; if there is bf16, as if everything were bf16.
Bounds written_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                      const Evaluate& evaluate = shardproof::claimed, unsigned times = 3);
/// The rounding error of what `evaluate` gives, by this number of perturbed evaluations.
using BoundsBy = std::function<Bounds(const std::vector<oracle::Tensor>& of,
                                      const Evaluate& evaluate, unsigned times)>;
/// The bounds from rounding the model and the plan's own erasure, which may differ: x - x is always
/// 0, but a sum of its parts is not.
Bounds wide_bounds(const PlanCase& one, const std::vector<oracle::Tensor>& wanted,
                   const BoundsBy& by);
/// Whether the bounds would detect a factor of 1.001 on some result, and on all of it.
bool would_see_a_factor(const std::vector<oracle::Tensor>& wanted, const Bounds& bounds);

struct WrongResult {
  size_t result = 0;
  std::string what;  ///< "result 0: entry 1 is 2, not 3: .."
};
/// The first result outside its bound of the claim.
std::optional<WrongResult> wrong_result(const std::vector<std::optional<oracle::Tensor>>& got,
                                        const std::vector<oracle::Tensor>& wanted,
                                        const Bounds& bounds);
/// What it says; empty if there is none.
std::string difference(const std::vector<std::optional<oracle::Tensor>>& got,
                       const std::vector<oracle::Tensor>& wanted, const Bounds& bounds);

/// The same in double, beyond rounding.
std::string difference_in_double(const PlanCase& one,
                                 const std::vector<std::optional<oracle::Tensor>>& got,
                                 const std::vector<oracle::Tensor>& wanted);

}  // namespace shardproof::beside
