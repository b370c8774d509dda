#include <set>

#include "impl/compile/ops.h"
#include "impl/compile/planted.h"
#include "spec/ir/walk.h"

namespace shardproof::compile {
namespace {

/// A ring: each rank processes every block of the axis, first its own, then the next rank's. The
/// next block is sent before the steps that read the current one, so both can overlap.
class Ringed {
 public:
  Ringed(const Site& site, const ir::Ring& op)
      : site_(site), compiler_(site.compiler), scope_(site.scope), body_(*op.body) {
    const std::vector<Axis>& axes = op.dim.axes;
    if (axes.size() != 1)
      throw PlanError(compiler_.place() + ": a ring over several axes cannot be run yet");
    if (!body_.emit.empty())
      throw PlanError(compiler_.place() + ": a ring that emits cannot be run yet");
    const Placement& placement = scope_.placement;
    members_ = placement.mesh().along(placement.rank(), axes);
    position_ = placement.mesh().digit(placement.rank(), axes[0]);
    if (members_.size() > 1) group_ = compiler_.group(members_, axes);
    for_each_instr(body_, [&](const ir::Instr& instr) {
      if (std::holds_alternative<ir::Entry>(instr.op) && instr.operands.at(1) == index())
        passed_.insert(instr.operands[0]);
    });
  }

  void compile() {
    const std::string place = compiler_.place();
    std::vector<Ref> carries;
    for (size_t i = 0; i < site_.operands(); ++i) carries.push_back(site_.ref(i));
    std::map<ir::ValueId, Ref> blocks;
    for (const ir::ValueId id : passed_) blocks[id] = compiler_.ref(scope_, id);
    const auto count = static_cast<int64_t>(members_.size());
    const bool missed = is_planted(RunFault::block_missed) && count > 1;
    for (int64_t visit = 0; visit < count - missed; ++visit) {
      compiler_.set_place(place);
      for (const auto& [id, block] : blocks) scope_.blocks[{id, index()}] = block;
      if (visit + 1 < count)
        for (auto& [id, block] : blocks)
          block = from_next(is_planted(RunFault::block_twice) ? compiler_.ref(scope_, id) : block);
      const int64_t first = is_planted(RunFault::local_position) ? 0 : position_;
      run_body((first + visit) % count, carries);
    }
    compiler_.set_place(place);
    for (const ir::ValueId id : passed_) scope_.blocks.erase({id, index()});
    for (size_t i = 0; i < carries.size(); ++i) site_.define(carries[i], i);
  }

 private:
  ir::ValueId index() const { return body_.params.at(0); }

  Ref from_next(const Ref& block) const {
    const Ref send = compiler_.packed(block, block.element);
    const Ref to = compiler_.create(send.element, send.extents);
    const auto back = static_cast<int64_t>(members_.size()) - 1;
    compiler_.exchange("ppermute", {Collective::permute, group_, send, to, Reduction::sum,
                                    Whole{back, {}, {}}, position_});
    return to;
  }

  /// The block number is in memory, so that all ranks have the same steps.
  void run_body(int64_t block, std::vector<Ref>& carries) {
    compiler_.enter_iteration();
    Ref number = compiler_.create(Element::i32, {1});
    compiler_.kernel("iota", Iota{number.extents, 0, block, Element::i32}, number, {});
    number.extents = number.strides = {};
    scope_.values.at(index()) = in_memory(number);
    for (size_t i = 0; i < carries.size(); ++i)
      scope_.values.at(body_.params.at(i + 1)) = in_memory(carries[i]);
    compiler_.run_block(scope_, body_);
    for (size_t i = 0; i < carries.size(); ++i)
      carries[i] = compiler_.ref(scope_, body_.next.at(i));
    compiler_.leave_iteration();
  }

  const Site& site_;
  Compiler& compiler_;
  Scope& scope_;
  const ir::Block& body_;
  std::vector<int> members_;
  int64_t position_ = 0;
  size_t group_ = 0;
  std::set<ir::ValueId> passed_;  ///< tensors whose blocks are passed around
};

}  // namespace

void compile(const ir::Ring& op, const Site& site) { Ringed(site, op).compile(); }

}  // namespace shardproof::compile
