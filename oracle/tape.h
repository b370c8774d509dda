#pragma once
// Reverse mode, define by run: an op that makes a value from values that are followed also leaves
// on the tape how the gradient of its result goes back to them. Run backwards, the tape is the
// chain rule.
#include <functional>
#include <memory>
#include <vector>

#include "oracle/error.h"
#include "oracle/tensor.h"

namespace shardproof::oracle {

struct Node {
  Tensor value;
  Tensor gradient;        ///< the sum of what came back so far; no data: nothing
  bool followed = false;  ///< its gradient is wanted
  bool has_gradient() const { return !gradient.data.empty(); }
};
using Var = std::shared_ptr<Node>;
using Vars = std::vector<Var>;

/// A value whose gradient is not needed.
Var constant(Tensor value);
/// Whether the gradient of one of them is wanted.
bool one_is_followed(const Vars& vars);
/// Adds to the gradient of x, where it is wanted.
void contribute(const Var& x, const Tensor& gradient);

/// While one lives, it sees the gradient of each value that an op of this thread's tapes made, last
/// values first.
class GradientsSeen {
 public:
  using Visit = std::function<void(const Origin&, const Tensor& gradient)>;
  explicit GradientsSeen(Visit visit);
  ~GradientsSeen();
  GradientsSeen(const GradientsSeen&) = delete;
};

/// Contributes to the operands' gradients; called with the op's result, which has a gradient.
using PullBack = std::function<void(const Node& result)>;

class Tape {
 public:
  /// A value that is followed.
  Var record(const Origin& origin, Tensor value, PullBack pull_back);
  /// Takes the gradients that the last values have to the first; a tape runs back once.
  void run_back();

 private:
  struct Entry {
    Origin origin;
    Var result;
    PullBack pull_back;
  };
  std::vector<Entry> entries_;
};

}  // namespace shardproof::oracle
