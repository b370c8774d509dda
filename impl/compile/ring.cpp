#include <set>

#include "impl/compile/ops.h"
#include "impl/compile/planted.h"
#include "spec/ir/walk.h"
#include "spec/rules/ring.h"

namespace shardproof::compile {
namespace {

/// A ring: each rank processes every block of the axis, first its own, then the next rank's. The
/// next block is sent before the steps that read the current one, so both can overlap. A sum that
/// travels with its block is complete when it returns to the block's rank.
class Ringed {
 public:
  Ringed(const Site& site, const ir::Ring& op)
      : site_(site), compiler_(site.compiler), scope_(site.scope), op_(op), body_(*op.body) {
    const std::vector<Axis>& axes = op.dim.axes;
    if (axes.size() != 1)
      throw PlanError(compiler_.place() + ": a ring over several axes cannot be run yet");
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
    for (size_t e = 0; e < body_.emit.size(); ++e) add_emitted(e);
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
      compiler_.set_place(place);
      for (Emitted& each : emitted_)
        if (each.travels && count > 1) each.made = from_next(*each.made);
    }
    compiler_.set_place(place);
    for (const ir::ValueId id : passed_) scope_.blocks.erase({id, index()});
    for (size_t i = 0; i < carries.size(); ++i) site_.define(carries[i], i);
    for (const Emitted& each : emitted_) site_.define(*each.made, each.result);
  }

 private:
  /// What is made of a value that the body emits.
  struct Emitted {
    ir::ValueId value;
    size_t result;
    size_t dim;               ///< the position of its block
    bool travels;             ///< its terms are added while the block goes round
    std::optional<Ref> made;  ///< the terms of the block that is here, or the values of all blocks
  };

  void add_emitted(size_t e) {
    const size_t result = site_.operands() + e;
    if (!site_.wanted(result)) return;
    const Type& type = scope_.unit.type(body_.emit[e]);
    Emitted each{body_.emit[e], result, 0, rules::travels(type, op_.dim), {}};
    while (type.dims.at(each.dim).dim != op_.block) ++each.dim;
    if (!each.travels) each.made = site_.create(result);
    emitted_.push_back(std::move(each));
  }

  void put_block(Emitted& each, int64_t block) const {
    const Ref value = compiler_.ref(scope_, each.value);
    if (!each.travels) {
      Ref to = *each.made;
      to.extents[each.dim] = value.extents[each.dim];
      to.offset += block * to.extents[each.dim] * to.strides[each.dim];
      compiler_.move("emit", value, to);
    } else if (!each.made || is_planted(RunFault::term_missed)) {
      each.made = value;
    } else {
      const bool real = is_float(scope_.unit.type(each.value).dtype);
      each.made = compiler_.compute(
          apply_to(PointwiseFn::add, real, value.element,
                   {in_memory(*each.made).expression, in_memory(value).expression}),
          value.element, value.extents);
    }
  }

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
    for (Emitted& each : emitted_) put_block(each, block);
    compiler_.leave_iteration();
  }

  const Site& site_;
  Compiler& compiler_;
  Scope& scope_;
  const ir::Ring& op_;
  const ir::Block& body_;
  std::vector<int> members_;
  int64_t position_ = 0;
  size_t group_ = 0;
  std::set<ir::ValueId> passed_;  ///< tensors whose blocks are passed around
  std::vector<Emitted> emitted_;
};

}  // namespace

void compile(const ir::Ring& op, const Site& site) { Ringed(site, op).compile(); }

}  // namespace shardproof::compile
