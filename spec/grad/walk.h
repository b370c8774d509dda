#pragma once
// The reverse walk over a tape: gradients of values are added up, then handed on.
#include <map>
#include <set>

#include "spec/grad/pull.h"

namespace shardproof::grad {

/// The dtype that a ring's devices sum in: a bf16 sum of many blocks would lose the last of them.
inline Dtype sum_dtype(Dtype dtype) {
  return is_float(dtype) && dtype != Dtype::f64 ? Dtype::f32 : dtype;
}

/// The gradients of one tape's values, and of what it uses from outside, while it is walked back.
struct Pending {
  Emit emit;
  Context* context;
  std::map<ValueIndex, std::vector<Ref>> parts;
  std::map<ValueIndex, std::vector<Ref>> entries;  ///< of t[n], by t
};

class Walk {
 public:
  Walk(Forward& forward, std::vector<Axis> axes) : forward_(forward), axes_(std::move(axes)) {}

  void back(const Tape& tape, Pending& pending) { back(tape.ops, pending); }
  void give(ValueIndex v, Ref gradient, Pending& pending);
  /// The sum of what was given, once; none: nothing was.
  Ref take(ValueIndex v, Pending& pending);
  Ref take_or_zeros(ValueIndex v, Pending& pending);
  Type dual_of(ValueIndex v) const;

 private:
  friend class Pull;
  void back(const std::deque<TapeOp>& ops, Pending& pending);
  void back(const TapeOp& taped, Pending& pending);
  void loop(const TapeOp& taped, const Loop& op, Pending& pending);
  void trusted(const TapeOp& taped, const Trusted& op, Pending& pending);
  Pending inside(const TapeOp& taped, const Tape& tape, Pending& pending);
  void ring(const TapeOp& taped, const Loop& op, Pending& pending);
  void ring_back(const TapeOp& taped, const Loop& op, const std::set<size_t>& of, bool emits,
                 Pending& pending);
  void go_back(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of, Pending& inner,
               Pending& pending);
  void first_values(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of,
                    Pending& pending);
  void others_read(const TapeOp& taped, const Tape& ring, const std::set<size_t>& of, Node* node,
                   Pending& inner, Pending& pending);
  Ref summed(ValueIndex v, Ref part, Node* node, Pending& inner, Pending& pending);
  void emitted_by(const TapeOp& taped, const Tape& ring, Pending& inner, Pending& pending);
  void blocks_home(Node* node, Pending& inner, Pending& pending);
  void add_up(const Loop& op, Node* node, Pending& inner, Pending& pending);
  std::vector<bool> reached(const TapeOp& taped, const Loop& op, Pending& pending) const;
  Ref in_place(const Loop& op, ValueIndex v, Ref stack, Pending& pending) const;
  void hand_out(const Loop& op, Node* node, Pending& inner, Pending& pending);

  Forward& forward_;
  std::vector<Axis> axes_;
  Pending* pending_ = nullptr;
  std::set<ValueIndex> stops_at_;  ///< carries of a ring whose gradient is not whole yet
};

}  // namespace shardproof::grad
