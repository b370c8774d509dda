#pragma once
// The oracle: what a program means, on one machine. A fn is run on whole tensors in double; a plan
// is run as its erasure, the fn that is left when axes, marks, collectives, `save` and casts
// between floats are deleted. Gradients are its own, by reverse mode. It knows the notation and
// nothing of how the notation is checked.
#include <map>
#include <vector>

#include "oracle/error.h"
#include "oracle/tensor.h"
#include "spec/ir/program.h"

namespace shardproof::oracle {

/// Sizes of base dims and of axes; those that the program declares may be left out.
struct Sizes {
  std::map<Name, int64_t> dims;
  std::map<Axis, int64_t> axes;
  bool operator==(const Sizes&) const = default;
};

/// The global shape of a value of this type.
Extents shape_of(const ir::Program& program, const Type& type, const Sizes& sizes);

/// The results of a fn, or of a plan's erasure, leaf by leaf. Inputs: the leaves of the parameters,
/// then those after `;`. Throws Error.
std::vector<Tensor> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                             std::vector<Tensor> inputs);

/// The fn that a plan implements, and that its model implements in turn; itself without one.
size_t model_of(const ir::Program& program, size_t function);

struct Differentiated {
  std::vector<Tensor> results, gradients;
};
/// The results, and the sum of their gradients for each input in `wrt`. Throws Error.
Differentiated value_and_gradient(const ir::Program& program, size_t function, const Sizes& sizes,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<size_t>& wrt);

/// sum over results r of <upstream[r], d r / d input>, for each input in `wrt` (leaves; floats).
/// Upstream: one tensor per result leaf; that of a result which is no float is not looked at.
/// Throws Error.
std::vector<Tensor> gradient(const ir::Program& program, size_t function, const Sizes& sizes,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>& upstream,
                             const std::vector<size_t>& wrt);

}  // namespace shardproof::oracle
