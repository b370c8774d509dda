#pragma once
// How far rounding may move a result: running error analysis by evaluation. Every result of
// arithmetic is moved by about the largest error that rounding may have made of it, in a random
// direction: u |x| for one op, and u sqrt(n) times the sum of the absolute terms for a sum of n
// (Higham and Mary, A new approach to probabilistic rounding error analysis, 2019). What depth and
// cancellation make of it is seen in the results.
#include <string>

#include "oracle/tensor.h"

namespace shardproof::oracle {

/// What becomes of a result whose exact value lies between two numbers: it is moved, so that small
/// units show what is sensitive; or it becomes the number above or below, more often the nearer one
/// (Parker, Monte Carlo arithmetic, 1997). Then, as in the format itself, what is nearly equal
/// cancels to 0, and what is too small for the exponents of f32 and bf16 becomes 0.
enum class Off { moved, to_a_number };

/// While one lives, all evaluations of its thread are disturbed. `unit` is the u of the numbers
/// that are thought of: half of what is between 1 and the next.
class Disturbed {
 public:
  Disturbed(double unit, unsigned seed, Off off = Off::moved);
  ~Disturbed();
  Disturbed(const Disturbed&) = delete;
};

/// Whether one lives in this thread.
bool disturbs();
/// Moves each entry by u |x|, but for numbers of few bits: those come out of exact steps.
void disturb(Tensor& x);
/// The same for the entries of f(..) at operands, of which those that have one entry, or as many as
/// the result, are looked at. A number of few bits is exact only where theirs are: 1 + 1e-20 is 1
/// by rounding. `curved`: f has no such number but at 0, and tanh(1000) is 1 by rounding.
void disturb(Tensor& x, const std::vector<const Tensor*>& operands, bool curved);
/// Moves a literal of more digits than a double has: 9007199254740993 is another number by
/// rounding.
void disturb_literal(double& value, const std::string& text);
/// Moves sums of `terms` terms whose absolute values add up to `absolute`.
void disturb_sums(Tensor& sums, const Tensor& absolute, double terms);
Tensor absolute(Tensor x);

}  // namespace shardproof::oracle
