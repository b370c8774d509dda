// Compiles a pipeline for the rank's stage by unrolling the schedule.
#include "impl/compile/pipeline.h"

#include <cmath>

#include "impl/compile/ops.h"
#include "impl/compile/planted.h"

namespace shardproof::compile {

const ir::Instr& stages_in(const ir::Instr& pipeline, const std::string& place) {
  const ir::Instr* found = nullptr;
  for (const ir::Instr& instr : std::get<ir::Pipeline>(pipeline.op).body->instrs)
    if (std::holds_alternative<ir::Stages>(instr.op)) {
      if (found) throw PlanError(place + ": two `stages` cannot be run yet");
      found = &instr;
    }
  if (!found) throw PlanError(place + ": it has no `stages`");
  return *found;
}

namespace {

using schedule::Work;

ValueIds ids_of(const std::vector<ir::ValueId>& ids) { return {ids.begin(), ids.end()}; }

CompiledValue number(int64_t value) {
  return {constant_of(static_cast<double>(value), Element::i32)};
}

class Piped {
 public:
  Piped(const Site& site, const ir::Pipeline& op)
      : site_(site),
        compiler_(site.compiler),
        scope_(site.scope),
        op_(op),
        body_(*op.body),
        instr_(stages_in(site.instr, site.compiler.place())),
        stages_(std::get<ir::Stages>(instr_.op)),
        place_(compiler_.place()),
        before_(body_, ids_of(instr_.operands), {&instr_}),
        after_(body_, wanted(site), {&instr_}) {
    for (size_t i = 0; i + 1 < stages_.dims.size(); ++i)
      own_.chunk_sizes.push_back(placement().size(stages_.dims[i]));
    sizes_.C = own_.chunks();
    sizes_.p = placement().mesh().size(op.axis);
    sizes_.A = placement().size(op.dim);
    for (const ir::Arith& each : op.arguments) sizes_.arguments.push_back(whole(each));
    own_.stage = static_cast<size_t>(placement().block(placement().rank(), {op.axis}));
    own_.stages = static_cast<size_t>(sizes_.p);
    own_.layers = placement().size(stages_.dims.back()) / sizes_.p;
    members_ = placement().mesh().along(placement().rank(), {op.axis});
  }

  std::unique_ptr<StageGradient> compile(const MakeStageGradient& make_gradient) {
    if (sizes_.p > 1) compiler_.set_not_alike();
    read_schedule(make_gradient ? "FBW" : "F");
    if (make_gradient) gradient_ = make_gradient(own_, has_w_);
    for (size_t i = 0; i < body_.emit.size(); ++i) stacks_.push_back(stack(i));
    for (const Turn& turn : turns_) {
      compiler_.set_place(place_);
      if (turn.message)
        message(turn.stage, turn.work);
      else if (turn.stage == own_.stage)
        work(turn.work);
    }
    compiler_.set_place(place_);
    if (is_planted(RunFault::loss_on_every_stage))
      for (size_t i = 0; i < stacks_.size(); ++i)
        if (!of_layers(i)) stacks_[i] = on_every_stage(stacks_[i]);
    for (size_t i = 0; i < stacks_.size(); ++i) site_.define(stacks_[i], i);
    return std::move(gradient_);
  }

 private:
  ValueIds wanted(const Site& site) const {
    ValueIds ids;
    for (size_t i = 0; i < body_.emit.size(); ++i)
      if (site.wanted(i)) ids.insert(body_.emit[i]);
    return ids;
  }

  const Placement& placement() const { return scope_.placement; }

  int64_t whole(const ir::Arith& arith) const {
    const double value = ir::evaluate(arith, placement().numbers());
    if (value != std::floor(value) || std::abs(value) > 1e9)
      throw PlanError(place_ + ": " + ir::to_string(arith) + " is not a whole number");
    return static_cast<int64_t>(value);
  }

  void read_schedule(const std::string& kinds) {
    if (!scope_.unit.schedules) throw PlanError(place_ + ": a pipeline without its schedules");
    const auto& schedules = *scope_.unit.schedules;
    const auto declared = schedules.find(op_.schedule);
    if (declared == schedules.end())
      throw PlanError(place_ + ": there is no schedule " + op_.schedule);
    try {
      const schedule::Program program(*declared->second);
      if (!program.allows(sizes_))
        throw PlanError(place_ + ": " + op_.schedule + " does not allow " + sizes_text());
      if (const auto problem = schedule::check(program, sizes_)) throw *problem;
      const std::vector<schedule::Timeline> lines = program.timelines(sizes_);
      for (const Work& each : lines.at(0)) has_w_ = has_w_ || each.kind == 'W';
      turns_ = turns_of(lines, sizes_, kinds);
    } catch (const schedule::Problem& problem) {
      throw PlanError(place_ + ": " + op_.schedule + " with " + sizes_text() + ": " +
                      problem.message);
    }
  }

  std::string sizes_text() const {
    return "p = " + std::to_string(sizes_.p) + ", A = " + std::to_string(sizes_.A) +
           ", C = " + std::to_string(sizes_.C);
  }

  /// Which of the stages' emitted values the pipeline emits as its i-th.
  std::optional<size_t> of_layers(size_t i) const {
    const size_t carries = stages_.body->next.size();
    for (size_t j = carries; j < instr_.results.size(); ++j)
      if (instr_.results[j] == body_.emit[i]) return j - carries;
    return std::nullopt;
  }

  /// The emitted values. Those of layers are written by each stage. Of others the last stage writes
  /// those of all microbatches; on other stages they are 0.
  Ref stack(size_t i) const {
    if (!site_.wanted(i)) return {};
    const Ref to = site_.create(i);
    if (!own_.is_last() && !of_layers(i))
      compiler_.kernel("zeros", Zero{static_cast<size_t>(to.count()) * size_of(to.element)}, to,
                       {});
    return to;
  }

  void message(size_t sender, const Work& work) {
    const StageReader to = *reader_of(sizes_, sender, work);
    Box& out = outbox_[work.kind];
    std::vector<Ref>& in = inbox_[work.kind][to.chunk];
    if (to.stage == sender) {
      if (sender == own_.stage) in = std::move(out.at({work.m, work.c}));
    } else if (sender == own_.stage) {
      for (const Ref& each : out.at({work.m, work.c})) transfer("send", each, sender, to.stage);
    } else if (to.stage == own_.stage) {
      in = work.kind == 'F' ? create_message() : gradient_->create_message();
      for (const Ref& each : in) transfer("receive", each, sender, to.stage);
    }
    if (sender == own_.stage) out.erase({work.m, work.c});
    if (to.stage != own_.stage) inbox_[work.kind].erase(to.chunk);
  }

  std::vector<Ref> create_message() const {
    std::vector<Ref> refs;
    for (size_t i = 0; i < instr_.operands.size(); ++i)
      refs.push_back(
          compiler_.create(compiler_.element(carried(i).dtype), placement().extents(carried(i))));
    return refs;
  }

  void transfer(const std::string& name, const Ref& what, size_t from, size_t to) {
    const bool sends = name == "send";
    const std::vector<int> pair = sends ? std::vector{members_.at(from), peer(to, sends)}
                                        : std::vector{peer(from, sends), members_.at(to)};
    Exchange exchange{Collective::send, compiler_.group(pair, {}), what, what};
    exchange.position = sends ? 0 : 1;
    const std::vector<BufferId> buffers{what.buffer}, none;
    compiler_.step(name, sends ? buffers : none, sends ? none : buffers).exchange =
        std::move(exchange);
  }

  /// The rank on another stage to which a message goes or from which it comes.
  int peer(size_t stage, bool sends) const {
    const Mesh& mesh = placement().mesh();
    if (is_planted(RunFault::other_replica))
      return mesh.along(mesh.ranks() - 1 - placement().rank(), {op_.axis}).at(stage);
    if (is_planted(RunFault::other_stage) && sends) return members_.at((stage + 1) % own_.stages);
    return members_.at(stage);
  }

  const Type& carried(size_t i) const {
    return scope_.unit.type(stages_.body->params.at(stages_.dims.size() + i));
  }

  void work(const Work& work) {
    compiler_.next_turn(op_.axis, work);
    compiler_.enter_iteration();
    if (work.kind == 'F')
      forward({work.m, work.c});
    else if (work.kind == 'B')
      backward({work.m, work.c});
    else
      gradient_->weights({work.m, work.c});
    compiler_.leave_iteration();
    compiler_.next_turn();
    for (const ir::ValueId id : defined_in(body_)) scope_.values.at(id) = {};
  }

  void forward(const Chunk& chunk) {
    const bool twice = is_planted(RunFault::microbatch_twice) && chunk.first > 0;
    scope_.values.at(body_.params.at(0)) = number(chunk.first - twice);
    std::vector<Ref> carries;
    if (own_.stage == 0 && chunk.second == 0) {
      compiler_.run_block(scope_, before_.block());
      for (ir::ValueId id : instr_.operands) carries.push_back(compiler_.ref(scope_, id));
    } else {
      carries = take(inbox_['F'], chunk);
      if (is_planted(RunFault::stale_activation)) std::swap(carries, stale_);
      if (carries.empty()) carries = stale_;
    }
    if (!gradient_ || !gradient_->layers(chunk, carries)) layers(chunk, carries);
    if (!own_.is_last() || chunk.second + 1 < sizes_.C) return give(chunk, 'F', carries);
    emit(chunk.first, carries);
    if (gradient_) inbox_['B'][chunk] = gradient_->upstream(chunk.first, carries);
  }

  void backward(const Chunk& chunk) {
    std::vector<Ref> gradients = gradient_->back(chunk, take(inbox_['B'], chunk));
    if (reader_of(sizes_, own_.stage, {'B', chunk.first, chunk.second, {}}))
      give(chunk, 'B', gradients);
  }

  using Box = std::map<Chunk, std::vector<Ref>>;

  static std::vector<Ref> take(Box& box, const Chunk& chunk) {
    std::vector<Ref> refs = std::move(box.at(chunk));
    box.erase(chunk);
    return refs;
  }

  void give(const Chunk& chunk, char kind, const std::vector<Ref>& refs) {
    std::vector<Ref>& out = outbox_[kind][chunk];
    for (const Ref& ref : refs) out.push_back(compiler_.packed(ref, ref.element));
  }

  /// The stage's own layers of a chunk, in order.
  void layers(const Chunk& chunk, std::vector<Ref>& carries) {
    const ir::Block& block = *stages_.body;
    const std::vector<int64_t> index = own_.chunk_index(chunk.second);
    for (size_t d = 0; d < index.size(); ++d)
      scope_.values.at(block.params.at(d)) = number(index[d]);
    for (int64_t n = 0; n < own_.layers; ++n) {
      compiler_.enter_iteration();
      scope_.values.at(block.params.at(stages_.dims.size() - 1)) = number(own_.layer(n));
      for (size_t i = 0; i < carries.size(); ++i)
        scope_.values.at(block.params.at(stages_.dims.size() + i)) = in_memory(carries[i]);
      compiler_.run_block(scope_, block);
      for (size_t i = 0; i < carries.size(); ++i)
        carries[i] = compiler_.ref(scope_, block.next.at(i));
      std::vector<int64_t> at{chunk.first};
      at.insert(at.end(), index.begin(), index.end());
      at.push_back(n);
      for (size_t i = 0; i < stacks_.size(); ++i)
        if (const auto emitted = of_layers(i)) emit(i, at, block.emit.at(*emitted));
      compiler_.leave_iteration();
    }
  }

  /// A planted fault: copies the last stage's values to every stage.
  Ref on_every_stage(const Ref& stack) const {
    if (sizes_.p == 1 || stack.extents.empty()) return stack;
    const Ref to = compiler_.create(stack.element, stack.extents);
    compiler_.exchange("all_reduce", {Collective::all_reduce, compiler_.group(members_, {op_.axis}),
                                      stack, to, Reduction::sum});
    return to;
  }

  void emit(int64_t microbatch, const std::vector<Ref>& carries) {
    for (size_t i = 0; i < carries.size(); ++i)
      if (instr_.results.at(i) != ir::no_value)
        scope_.values.at(instr_.results[i]) = in_memory(carries[i]);
    compiler_.run_block(scope_, after_.block());
    for (size_t i = 0; i < stacks_.size(); ++i)
      if (!of_layers(i)) emit(i, {microbatch}, body_.emit[i]);
  }

  /// Writes the value to its place in the i-th emitted value.
  void emit(size_t i, const std::vector<int64_t>& at, ir::ValueId value) {
    if (!site_.wanted(i)) return;
    Ref to = stacks_[i];
    for (const int64_t index : at) {
      to.offset += index * to.strides.at(0);
      to.extents.erase(to.extents.begin());
      to.strides.erase(to.strides.begin());
    }
    compiler_.move("emit", compiler_.ref(scope_, value), to);
  }

  const Site& site_;
  Compiler& compiler_;
  Scope& scope_;
  const ir::Pipeline& op_;
  const ir::Block& body_;
  const ir::Instr& instr_;
  const ir::Stages& stages_;
  const std::string place_;
  const Slice before_, after_;
  schedule::Sizes sizes_;
  StagePlace own_;
  bool has_w_ = false;
  std::vector<Turn> turns_;
  std::vector<int> members_;
  std::vector<Ref> stacks_, stale_;
  std::unique_ptr<StageGradient> gradient_;
  std::map<char, Box> inbox_, outbox_;  ///< by F or B, then the chunks of receiver and sender
};

}  // namespace

std::unique_ptr<StageGradient> run_pipeline(const Site& site, const ir::Pipeline& op,
                                            const MakeStageGradient& make_gradient) {
  return Piped(site, op).compile(make_gradient);
}

void compile(const ir::Pipeline& op, const Site& site) { run_pipeline(site, op, nullptr); }

}  // namespace shardproof::compile
