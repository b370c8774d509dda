#pragma once
// The passes over the steps of a plan, in the order in which compile_plan runs them.
#include "impl/plan/memory.h"

namespace shardproof::plan {

/// Fuses a bias into a matrix product: the only reader of the product adds a vector to its rows or
/// columns, with no rounding in between, and the device has a fused kernel. The step stands where
/// the reader was. `given`: buffers that are read outside the plan. Returns the number of fusions.
size_t join_bias(std::vector<Step>& steps, const std::vector<BufferId>& given,
                 const Device& device);

/// Replaces a sum of zero-padded parts of one array by writing each part into its place.
void join_parts(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                const std::vector<BufferId>& given);

/// Adds a look-up's gradient to the other summand's memory: an index_add whose only reader adds it
/// to x becomes a copy of x and an index_add into that copy, without zeros and another pass over
/// all entries. Copy elision then removes the copy where it can.
void add_into(std::vector<Step>& steps, const std::vector<Piece>& pieces,
              const std::vector<BufferId>& given);

/// Moves the scaling of a gradient into the optimizer, if nothing else reads the scaled gradient.
void fold_scale(std::vector<Step>& steps, const std::vector<BufferId>& given);

/// Stores f32 buffers whose values are exactly bf16 as bf16 when every reader accepts it.
void keep_narrow(std::vector<Step>& steps, std::vector<Piece>& pieces,
                 const std::vector<BufferId>& given);

/// Computes a fused elementwise kernel in the memory order of its only reader, which copies it.
void compute_packed(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const std::vector<BufferId>& given);

/// Copy elision: produces a value directly in the destination of its only copy, for example what a
/// loop iteration emits in the stacked result. `given`: buffers that are not in the arena.
void make_in_stack(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                   const std::vector<BufferId>& given);

/// Row-wise fusion: joins elementwise kernels, norms, their gradients and row sums that share data
/// into one kernel, if the device has those. Values that only this kernel reads are not stored.
void join_rows(std::vector<Step>& steps, std::vector<Piece>& pieces,
               const std::vector<BufferId>& given, const Device& device);

/// Removes the steps that depend on the inputs `constant` alone, and returns them: what they make
/// is the same in every run with these inputs. A value of a loop that the rest reads gets an entry
/// for each iteration. Collectives stay, and what is made of their results: kept, it would take the
/// memory that sharding saves.
std::vector<Step> take_constant(std::vector<Step>& steps, std::vector<Piece>& pieces,
                                const std::vector<BufferId>& given,
                                const std::vector<BufferId>& constant);

/// Rounds operands of matrix products to bf16 as they are read, if the device has such products: an
/// f32 array that is given, and that a step casts for products alone.
void round_in_product(std::vector<Step>& steps, const std::vector<BufferId>& given,
                      const Device& device);

/// Overlaps collectives with computation: reorders the steps of each block, and marks which
/// collectives start early and where the plan waits for them (before the first step that reads or
/// overwrites their buffers, and at the end of each loop iteration). A ready collective starts
/// before independent computation; light steps that use its result are delayed. All ranks use the
/// order of collective_order.h; `alike`: whether all ranks have the same steps. Call it before
/// find_lifetimes.
void overlap(std::vector<Step>& steps, bool alike = true);

}  // namespace shardproof::plan
