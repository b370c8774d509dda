#include <utility>

#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// Copies the computed values to the carries' buffers; a value that depends on another carry waits
/// until all were read.
void carry_over(const Site& site, const std::vector<Ref>& carries, const std::vector<Ref>& next) {
  std::vector<Ref> from = next;
  for (size_t i = 0; i < next.size(); ++i)
    for (size_t j = 0; j < carries.size(); ++j)
      if (i != j && next[i].buffer == carries[j].buffer && from[i].buffer == next[i].buffer) {
        const Ref copy = site.compiler.create(next[i].element, next[i].extents);
        site.compiler.move("carry", next[i], copy);
        from[i] = copy;
      }
  for (size_t i = 0; i < carries.size(); ++i) {
    const bool same = from[i].buffer == carries[i].buffer && from[i].strides == carries[i].strides;
    if (!same) site.compiler.move("carry", from[i], carries[i]);
  }
}

/// Compiles a scan. One iteration of the compiled loop may be several of the scan, so that
/// collectives of the next iteration start in this one.
class Scanned {
 public:
  Scanned(const Site& site, const ir::Scan& op)
      : site_(site),
        compiler_(site.compiler),
        scope_(site.scope),
        body_(*op.body),
        times_(scope_.placement.size(op.dim)),
        at_once_(times_ % static_cast<int64_t>(compiler_.unroll()) == 0
                     ? static_cast<int64_t>(compiler_.unroll())
                     : 1),
        reverse_(op.reverse) {}

  void compile() {
    begin();
    std::vector<Step> before = compiler_.take_steps();
    const Compiler::Loop loop = compiler_.new_loop(times_ / at_once_, reverse_);
    for (int64_t part = 0; part < at_once_; ++part)
      run(loop, reverse_ ? at_once_ - 1 - part : part);
    carry_over(site_, carries_, next_);
    compiler_.close_loop(loop, std::move(before), kept_);
    for (size_t i = 0; i < carries_.size(); ++i) site_.define(carries_[i], i);
    for (size_t i = 0; i < stacks_.size(); ++i) site_.define(stacks_[i], carries_.size() + i);
  }

 private:
  const Type& carried(size_t i) const { return scope_.unit.type(body_.params.at(i + 1)); }

  void begin() {
    for (size_t i = 0; i < site_.operands(); ++i) {
      const Type& type = carried(i);
      const Ref carry =
          compiler_.create(compiler_.element(type.dtype), scope_.placement.extents(type));
      compiler_.move("carry", site_.ref(i), carry);
      carries_.push_back(carry);
      kept_.push_back(carry.buffer);
    }
    next_ = carries_;
    for (size_t i = 0; i < body_.emit.size(); ++i) {
      const size_t result = carries_.size() + i;
      stacks_.push_back(site_.wanted(result) ? site_.create(result) : Ref{});
      if (site_.wanted(result)) kept_.push_back(stacks_.back().buffer);
    }
    // The indices are in memory, one entry per iteration, so that reading them needs no host.
    index_ = compiler_.create(Element::i32, {times_});
    compiler_.kernel("iota", Iota{index_.extents, 0, 0, Element::i32}, index_, {});
    compiler_.counts(index_);
  }

  /// Compiles iteration `part` of those in one iteration of the loop.
  void run(const Compiler::Loop& loop, int64_t part) {
    Ref index = index_;
    index.extents = index.strides = {};
    index.offset = part;
    index.terms.push_back({loop.id, at_once_});
    scope_.values.at(body_.params.at(0)) = in_memory(index);
    for (size_t i = 0; i < next_.size(); ++i)
      scope_.values.at(body_.params[i + 1]) = in_memory(next_[i]);
    const std::string place = compiler_.place();
    compiler_.enter_iteration();
    compiler_.run_block(scope_, body_);
    compiler_.set_place(place);
    for (size_t i = 0; i < body_.emit.size(); ++i) {
      if (!site_.wanted(carries_.size() + i)) continue;
      compiler_.move("emit", compiler_.ref(scope_, body_.emit[i]), entry(stacks_[i], loop, part));
    }
    save_stats(loop, part);
    next_.clear();
    for (ir::ValueId id : body_.next) next_.push_back(compiler_.ref(scope_, id));
    compiler_.leave_iteration();
  }

  /// A stack's entry of iteration `part` of those in one iteration of the loop.
  Ref entry(Ref stack, const Compiler::Loop& loop, int64_t part) const {
    stack.offset += part * stack.strides.at(0);
    stack.terms.push_back({loop.id, at_once_ * stack.strides[0]});
    return first_entry(stack);
  }
  static Ref first_entry(Ref stack) {
    stack.extents.erase(stack.extents.begin());
    stack.strides.erase(stack.strides.begin());
    return stack;
  }

  /// For the backward: the row statistics of attentions whose operands and results are emitted.
  void save_stats(const Compiler::Loop& loop, int64_t part) {
    const std::vector<Attended>& made = compiler_.attentions().here();
    if (made.size() == attentions_) return;
    std::vector<Attentions::Saved> saved;
    for (size_t i = 0; i < body_.emit.size(); ++i)
      if (site_.wanted(carries_.size() + i))
        saved.push_back({compiler_.ref(scope_, body_.emit[i]), stacks_[i]});
    size_t of_part = 0;
    for (size_t k = std::exchange(attentions_, made.size()); k < made.size(); ++k) {
      std::optional<Attended> found = Attentions::saved(made[k], saved, index_.buffer);
      if (!found) continue;
      const Ref stats = made[k].stats;
      if (of_part == stats_.size()) {
        stats_.push_back(compiler_.create(stats.element, {times_, stats.count()}));
        kept_.push_back(stats_.back().buffer);
        found->stats = first_entry(stats_.back());
        compiler_.attentions().add_saved(*found);
      }
      compiler_.move("emit", stats, entry(stats_[of_part++], loop, part));
    }
  }

  const Site& site_;
  Compiler& compiler_;
  Scope& scope_;
  const ir::Block& body_;
  const int64_t times_, at_once_;
  const bool reverse_;
  std::vector<BufferId> kept_;
  std::vector<Ref> carries_, stacks_, next_;  ///< next: initial values of the next iteration
  std::vector<Ref> stats_;                    ///< stacks of the attentions that are saved
  size_t attentions_ = 0;                     ///< of the parts so far
  Ref index_;
};

}  // namespace

void compile(const ir::Scan& op, const Site& site) { Scanned(site, op).compile(); }

void compile(const ir::Stages&, const Site& site) {
  throw PlanError(site.compiler.place() + ": `stages` outside of a pipeline cannot be run");
}

}  // namespace shardproof::compile
