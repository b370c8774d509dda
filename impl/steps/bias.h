#pragma once
// Products and what is added to them, as one op.
#include "impl/steps/schedule.h"

namespace shardproof::exec {

/// Where the only reader of a product adds a vector to each of its rows or columns, with no
/// rounding in between, and the device has the two as one: they become one step, at the reader's
/// place. `given`: buffers that somebody outside of the steps reads. Returns how many there are.
size_t join_bias(std::vector<Step>& steps, const std::vector<BufferId>& given,
                 const Device& device);

}  // namespace shardproof::exec
