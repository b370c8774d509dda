// A pipeline: each rank runs its own stage, and the schedule unrolled for that stage is its
// program. Every message has one place in an order of all stages' work and messages, which each
// rank follows: whoever waits for the other end of a message waits for something earlier in that
// order.
#include <algorithm>
#include <cmath>
#include <set>

#include "impl/compile/ops.h"
#include "spec/schedule/schedule.h"

namespace shardproof::compile {
namespace {

using schedule::Timeline;
using schedule::Work;
using Chunk = std::pair<int64_t, int64_t>;  ///< microbatch and chunk

/// Work of a stage, or the message that it sends when it is done.
struct Turn {
  size_t stage = 0;
  Work work;
  bool message = false;
};

/// The stage and chunk that need the result of a forward.
struct Reader {
  size_t stage;
  Chunk chunk;
};

std::optional<Reader> reader_of(const schedule::Sizes& sizes, size_t stage, const Work& work) {
  const auto p = static_cast<size_t>(sizes.p);
  const int64_t chunk = work.c + (stage + 1 == p);
  if (chunk == sizes.C) return std::nullopt;
  return Reader{(stage + 1) % p, {work.m, chunk}};
}

/// The forwards of all stages and their messages, in rounds: each stage does its next one if its
/// input is there, then what the round has made is sent. Throws Problem where none can go on.
std::vector<Turn> order_of(const std::vector<Timeline>& lines, const schedule::Sizes& sizes) {
  std::vector<Turn> order;
  std::vector<std::set<Chunk>> arrived(lines.size());
  std::vector<size_t> next(lines.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    std::vector<Turn> messages;
    for (size_t s = 0; s < lines.size(); ++s) {
      while (next[s] < lines[s].size() && lines[s][next[s]].kind != 'F') ++next[s];
      if (next[s] == lines[s].size()) continue;
      const Work& work = lines[s][next[s]];
      const bool first = s == 0 && work.c == 0;
      if (!first && !arrived[s].contains({work.m, work.c})) continue;
      order.push_back({s, work});
      if (reader_of(sizes, s, work)) messages.push_back({s, work, true});
      ++next[s];
      moved = true;
    }
    for (const Turn& each : messages) {
      const Reader to = *reader_of(sizes, each.stage, each.work);
      arrived[to.stage].insert(to.chunk);
      order.push_back(each);
    }
  }
  for (size_t s = 0; s < lines.size(); ++s)
    if (next[s] < lines[s].size())
      throw schedule::Problem{"E0504", "stage " + std::to_string(s) + " waits for ever", {}};
  return order;
}

/// The instructions that these values need, without `stages`; a library call is taken whole.
ir::Block slice_of(const ir::Block& block, const std::vector<ir::ValueId>& wanted,
                   const ir::Instr& stages) {
  std::set<ir::ValueId> needed(wanted.begin(), wanted.end());
  std::set<size_t> calls;
  std::vector<bool> taken(block.instrs.size(), false);
  for (bool grown = true; grown;) {
    grown = false;
    for (size_t i = block.instrs.size(); i-- > 0;) {
      const ir::Instr& instr = block.instrs[i];
      const bool used = std::any_of(instr.results.begin(), instr.results.end(),
                                    [&](ir::ValueId id) { return needed.contains(id); });
      const bool called = instr.library_call && calls.contains(*instr.library_call);
      if (&instr == &stages || taken[i] || !(used || called)) continue;
      taken[i] = grown = true;
      needed.insert(instr.operands.begin(), instr.operands.end());
      if (auto* scan = std::get_if<ir::Scan>(&instr.op))
        for (const ir::Instr& inner : scan->body->instrs)
          needed.insert(inner.operands.begin(), inner.operands.end());
      if (instr.library_call) calls.insert(*instr.library_call);
    }
  }
  ir::Block result;
  for (size_t i = 0; i < taken.size(); ++i)
    if (taken[i]) result.instrs.push_back(block.instrs[i]);
  return result;
}

const ir::Instr& stages_of(const Site& site, const ir::Block& body) {
  const ir::Instr* found = nullptr;
  for (const ir::Instr& instr : body.instrs)
    if (std::holds_alternative<ir::Stages>(instr.op)) {
      if (found) throw PlanError(site.compiler.place() + ": two `stages` cannot be run yet");
      found = &instr;
    }
  if (!found) throw PlanError(site.compiler.place() + ": it has no `stages`");
  return *found;
}

Value number(int64_t value) { return {constant_of(static_cast<double>(value), Element::i32)}; }

class Piped {
 public:
  Piped(const Site& site, const ir::Pipeline& op)
      : site_(site),
        compiler_(site.compiler),
        scope_(site.scope),
        op_(op),
        body_(*op.body),
        instr_(stages_of(site, body_)),
        stages_(std::get<ir::Stages>(instr_.op)),
        place_(compiler_.place()),
        before_(slice_of(body_, instr_.operands, instr_)),
        after_(slice_of(body_, body_.emit, instr_)) {
    for (size_t i = 0; i + 1 < stages_.dims.size(); ++i) {
      chunk_dims_.push_back(placement().size(stages_.dims[i]));
      sizes_.C *= chunk_dims_.back();
    }
    sizes_.p = placement().mesh().size(op.axis);
    sizes_.A = placement().size(op.dim);
    for (const ir::Arith& each : op.arguments) sizes_.arguments.push_back(whole(each));
    stage_ = static_cast<size_t>(placement().block(placement().rank(), {op.axis}));
    members_ = placement().mesh().along(placement().rank(), {op.axis});
  }

  void compile() {
    if (sizes_.p > 1) compiler_.set_not_alike();
    for (size_t i = 0; i < body_.emit.size(); ++i) stacks_.push_back(stack(i));
    for (const Turn& event : events()) {
      compiler_.set_place(place_);
      if (event.message)
        message(event.stage, event.work);
      else if (event.stage == stage_)
        forward(event.work);
    }
    compiler_.set_place(place_);
    for (size_t i = 0; i < stacks_.size(); ++i) site_.define(stacks_[i], i);
  }

 private:
  const Placement& placement() const { return scope_.placement; }
  bool is_last() const { return stage_ + 1 == static_cast<size_t>(sizes_.p); }

  int64_t whole(const ir::Arith& arith) const {
    const double value = ir::evaluate(arith, placement().numbers());
    if (value != std::floor(value) || std::abs(value) > 1e9)
      throw PlanError(place_ + ": " + ir::to_string(arith) + " is not a whole number");
    return static_cast<int64_t>(value);
  }

  std::vector<Turn> events() const {
    const auto& schedules = *scope_.unit.schedules;
    const auto declared = schedules.find(op_.schedule);
    if (declared == schedules.end())
      throw PlanError(place_ + ": there is no schedule " + op_.schedule);
    try {
      const schedule::Program program(declared->second);
      if (!program.allows(sizes_))
        throw PlanError(place_ + ": " + op_.schedule + " does not allow " + sizes_text());
      if (const auto problem = schedule::check(program, sizes_)) throw *problem;
      return order_of(program.timelines(sizes_), sizes_);
    } catch (const schedule::Problem& problem) {
      throw PlanError(place_ + ": " + op_.schedule + " with " + sizes_text() + ": " +
                      problem.message);
    }
  }

  std::string sizes_text() const {
    return "p = " + std::to_string(sizes_.p) + ", A = " + std::to_string(sizes_.A) +
           ", C = " + std::to_string(sizes_.C);
  }

  /// What is emitted: on the last stage all microbatches write to it, on the others it is zero.
  Ref stack(size_t i) const {
    if (!site_.wanted(i)) return {};
    const Ref to = site_.create(i);
    if (!is_last())
      compiler_.kernel("zeros", Zero{static_cast<size_t>(to.count()) * size_of(to.element)}, to,
                       {});
    return to;
  }

  void message(size_t sender, const Work& work) {
    const Reader to = *reader_of(sizes_, sender, work);
    if (to.stage == sender) {
      inbox_[to.chunk] = std::move(outbox_.at({work.m, work.c}));
    } else if (sender == stage_) {
      for (const Ref& each : outbox_.at({work.m, work.c})) transfer("send", each, sender, to.stage);
    } else if (to.stage == stage_) {
      std::vector<Ref>& received = inbox_[to.chunk];
      for (size_t i = 0; i < instr_.operands.size(); ++i) {
        const Type& type = carried(i);
        received.push_back(
            compiler_.create(compiler_.element(type.dtype), placement().extents(type)));
        transfer("receive", received.back(), sender, to.stage);
      }
    }
    if (sender == stage_) outbox_.erase({work.m, work.c});
  }

  void transfer(const std::string& name, const Ref& what, size_t from, size_t to) {
    const bool sends = name == "send";
    Exchange exchange{Collective::send, compiler_.group({members_.at(from), members_.at(to)}, {}),
                      what, what};
    exchange.position = sends ? 0 : 1;
    const std::vector<BufferId> buffers{what.buffer}, none;
    compiler_.step(name, sends ? buffers : none, sends ? none : buffers).exchange =
        std::move(exchange);
  }

  const Type& carried(size_t i) const {
    return scope_.unit.type(stages_.body->params.at(stages_.dims.size() + i));
  }

  void forward(const Work& work) {
    compiler_.enter_iteration();
    scope_.values.at(body_.params.at(0)) = number(work.m);
    std::vector<Ref> carries;
    if (stage_ == 0 && work.c == 0) {
      compiler_.run_block(scope_, before_);
      for (ir::ValueId id : instr_.operands) carries.push_back(compiler_.ref(scope_, id));
    } else {
      carries = std::move(inbox_.at({work.m, work.c}));
      inbox_.erase({work.m, work.c});
    }
    layers(work.c, carries);
    if (is_last() && work.c + 1 == sizes_.C)
      emit(work.m, carries);
    else
      for (size_t i = 0; i < carries.size(); ++i)
        outbox_[{work.m, work.c}].push_back(
            compiler_.packed(carries[i], compiler_.element(carried(i).dtype)));
    compiler_.leave_iteration();
  }

  /// The stage's own layers of a chunk, one after the other.
  void layers(int64_t chunk, std::vector<Ref>& carries) {
    const ir::Block& block = *stages_.body;
    for (size_t d = chunk_dims_.size(); d-- > 0; chunk /= chunk_dims_[d])
      scope_.values.at(block.params.at(d)) = number(chunk % chunk_dims_[d]);
    const int64_t count = placement().size(stages_.dims.back()) / sizes_.p;
    for (int64_t n = 0; n < count; ++n) {
      compiler_.enter_iteration();
      scope_.values.at(block.params.at(stages_.dims.size() - 1)) =
          number(static_cast<int64_t>(stage_) * count + n);
      for (size_t i = 0; i < carries.size(); ++i)
        scope_.values.at(block.params.at(stages_.dims.size() + i)) = in_memory(carries[i]);
      compiler_.run_block(scope_, block);
      for (size_t i = 0; i < carries.size(); ++i)
        carries[i] = compiler_.ref(scope_, block.next.at(i));
      compiler_.leave_iteration();
    }
  }

  void emit(int64_t microbatch, const std::vector<Ref>& carries) {
    for (size_t i = 0; i < carries.size(); ++i)
      if (instr_.results.at(i) != ir::no_value)
        scope_.values.at(instr_.results[i]) = in_memory(carries[i]);
    compiler_.run_block(scope_, after_);
    for (size_t i = 0; i < stacks_.size(); ++i) {
      if (!site_.wanted(i)) continue;
      Ref to = stacks_[i];
      to.offset += microbatch * to.strides.at(0);
      to.extents.erase(to.extents.begin());
      to.strides.erase(to.strides.begin());
      compiler_.move("emit", compiler_.ref(scope_, body_.emit[i]), to);
    }
  }

  const Site& site_;
  Compiler& compiler_;
  Scope& scope_;
  const ir::Pipeline& op_;
  const ir::Block& body_;
  const ir::Instr& instr_;
  const ir::Stages& stages_;
  const std::string place_;
  const ir::Block before_, after_;
  schedule::Sizes sizes_;
  std::vector<int64_t> chunk_dims_;
  size_t stage_ = 0;
  std::vector<int> members_;
  std::vector<Ref> stacks_;
  std::map<Chunk, std::vector<Ref>> inbox_, outbox_;  ///< by the reader's and the sender's chunk
};

}  // namespace

void compile(const ir::Pipeline& op, const Site& site) { Piped(site, op).compile(); }

}  // namespace shardproof::compile
