#pragma once
// Numeric gradients: runs the function on dual numbers, a few input elements at a time.
#include "spec/denote/evaluate.h"

namespace shardproof::denote {

/// On one device, for each leaf parameter in `wrt`: the gradient of the sum over the results of
/// <upstream, result>. stop_grad has gradient 0. For ties, max and min follow the lowest index,
/// maximum and minimum the second operand.
std::vector<Array<double>> numeric_gradient(const ir::Program& program, size_t function,
                                            const Sizes& sizes,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream);

/// The same with known types of all values, for callers that differentiate often.
std::vector<Array<double>> numeric_gradient(const Geometry& one_device, const Types& types,
                                            size_t function,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream);

}  // namespace shardproof::denote
