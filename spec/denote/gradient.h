#pragma once
// Gradients as numbers: one run on dual numbers for each few elements of what is differentiated.
#include "spec/denote/evaluate.h"

namespace shardproof::denote {

/// On one device, for each leaf parameter in `wrt`: the gradient of the sum over the function's
/// results of <upstream, result>. Values of `stop_grad` do not move; a tie of max and min moves
/// with its lowest index, one of maximum and minimum with the second operand.
std::vector<Array<double>> numeric_gradient(const ir::Program& program, size_t function,
                                            const Sizes& sizes,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream);

/// The same with the types of all values known, for callers that differentiate often.
std::vector<Array<double>> numeric_gradient(const Geometry& one_device, const Types& types,
                                            size_t function,
                                            const std::vector<Array<double>>& inputs,
                                            const std::vector<size_t>& wrt,
                                            const std::vector<Array<double>>& upstream);

}  // namespace shardproof::denote
