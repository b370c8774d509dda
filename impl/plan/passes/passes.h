#pragma once
// The passes over the steps of a plan, in the order in which compile_plan runs them.
#include "impl/plan/memory.h"

namespace shardproof::plan {

/// Where the only reader of a product adds a vector to each of its rows or columns, with no
/// rounding in between, and the device has the two as one: they become one step, at the reader's
/// place. `given`: buffers that somebody outside of the steps reads. Returns how many there are.
size_t join_bias(std::vector<Step>& steps, const std::vector<BufferId>& given,
                 const Device& device);

/// A sum of parts of one array, each with zeros around it, is these parts put together.
void join_parts(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                const std::vector<BufferId>& given);

/// An optimizer whose gradient was only scaled for it scales it itself.
void fold_scale(std::vector<Step>& steps, const std::vector<BufferId>& given);

/// f32 numbers of the arena that are all bf16, and read by nobody who minds, are kept as bf16.
void keep_narrow(std::vector<Step>& steps, std::vector<Piece>& pieces,
                 const std::vector<BufferId>& given);

/// A chain of pointwise ops that is only copied in another order is computed in that order.
void compute_packed(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                    const std::vector<BufferId>& given);

/// What is made only to be copied elsewhere is made there, and the copy goes: what an iteration
/// emits, for one, is made in the stack. `given`: buffers that are not of the arena.
void make_in_stack(std::vector<Step>& steps, const std::vector<Piece>& pieces,
                   const std::vector<BufferId>& given);

/// Chains, norms, their gradients and sums over rows that read or write the same entries become one
/// chain along rows, where the device has those, and what only it reads is not written.
void join_rows(std::vector<Step>& steps, std::vector<Piece>& pieces,
               const std::vector<BufferId>& given, const Device& device);

/// Reorders the steps of each block and says which collectives the communication thread runs, and
/// where they are waited for: before the first step that reads or overwrites what they touch, and
/// at the end of each iteration of a loop. A collective that is ready is begun before computation
/// that it does not depend on, and what light steps make of it is left until it is needed or there.
/// Collectives have the order of collective_order.h, so that it is the same on every rank;
/// `alike`: whether all of them have these steps. To be called before find_lifetimes.
void overlap(std::vector<Step>& steps, bool alike = true);

}  // namespace shardproof::plan
