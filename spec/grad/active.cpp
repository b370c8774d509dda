// Finds the values through which a wanted gradient flows.
#include <algorithm>

#include "spec/grad/tape.h"

namespace shardproof::grad {

namespace {

struct Flow {
  size_t i;
  bool operator()(const ir::StopGrad&) const { return false; }
  bool operator()(const ir::Where&) const { return i > 0; }
  bool operator()(const ir::Index&) const { return i == 0; }
  bool operator()(const ir::IndexUnreduced&) const { return i == 0; }
  bool operator()(const ir::IndexAdd&) const { return i == 1; }
  bool operator()(const ir::Read&) const { return i == 0; }
  bool operator()(const ir::Write&) const { return i < 2; }
  bool operator()(const ir::Roll&) const { return i == 0; }
  bool operator()(const ir::Ppermute&) const { return i == 0; }
  bool operator()(const ir::Entry&) const { return i == 0; }
  bool operator()(const ir::Unary& op) const { return has_gradient(op.fn); }
  bool operator()(const ir::Argmax&) const { return false; }
  bool operator()(const ir::Random&) const { return false; }
  bool operator()(const auto&) const { return true; }
};

}  // namespace

bool flows(const ir::Op& op, size_t i) { return std::visit(Flow{i}, op); }

namespace {

class Marker {
 public:
  explicit Marker(Recording& recording) : values_(recording.values) {}

  void run(Tape& tape) {
    do {
      changed_ = false;
      walk(tape.ops);
    } while (changed_);
  }

 private:
  void activate(ValueIndex v) {
    if (values_[v].active || values_[v].scale || !is_float(values_[v].type.dtype)) return;
    values_[v].active = changed_ = true;
  }

  bool any(const std::vector<ValueIndex>& values) const {
    return std::any_of(values.begin(), values.end(),
                       [&](ValueIndex v) { return values_[v].active; });
  }

  void walk(std::deque<TapeOp>& ops) {
    for (TapeOp& taped : ops) std::visit([&](auto& op) { mark(taped, op); }, taped.op);
  }

  void mark(TapeOp& taped, ir::Op& op) {
    for (size_t i = 0; i < taped.operands.size(); ++i)
      if (values_[taped.operands[i]].active && flows(op, i))
        for (ValueIndex v : taped.results) activate(v);
  }

  void mark(TapeOp&, Library& library) { walk(library.body->ops); }

  void mark(TapeOp& taped, Trusted&) {
    if (any(taped.operands))
      for (ValueIndex v : taped.results) activate(v);
  }

  void mark(TapeOp& taped, Loop& loop) {
    Tape& body = *loop.body;
    const size_t carries = body.params.size();
    for (size_t i = 0; i < carries; ++i)
      if (values_[taped.operands[i]].active || values_[body.out[i]].active)
        activate(body.params[i]);
    walk(body.ops);
    for (size_t i = 0; i < taped.results.size(); ++i) {
      const ValueIndex last = i < carries ? body.out[i] : body.emit[i - carries];
      if (values_[last].active || (i < carries && values_[body.params[i]].active))
        activate(taped.results[i]);
    }
  }

  std::deque<TapeValue>& values_;
  bool changed_ = false;
};

}  // namespace

void mark_active(Recording& recording, const std::vector<size_t>& wrt) {
  for (size_t leaf : wrt) recording.values[recording.top.params.at(leaf)].active = true;
  Marker(recording).run(recording.top);
}

}  // namespace shardproof::grad
