// Steps that were joined along rows leave what they left before, whatever the steps are: any order
// of reads and writes, results that others read, loops over parts of a buffer, steps that cannot be
// joined in between.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/rows.h"
#include "impl/plan/text.h"
#include "kernels/number.h"
#include "properties/fused/emulated_fn.h"
#include "spec/laws/dice.h"
#include "spec/laws/holds.h"

namespace shardproof::properties {
namespace {

using laws::dice_words;
using laws::holds;
using plan::BufferId;
using plan::Ref;
using plan::Step;

constexpr int64_t times = 3;  // of the loop; a stack has a part for each

enum class Shape { entries, row, column, scalar, stack };

struct Array {
  Shape shape;
  Element element;
};

/// Random steps over a few buffers; only some of them are read afterwards.
class Steps {
 public:
  /// `sums`: some of the steps add entries up.
  Steps(laws::Dice dice, bool sums)
      : dice_(std::move(dice)), rows_(one_to(5)), length_(one_to(9)), sums_(sums) {
    for (Element element : {Element::f32, Element::f32, Element::bf16})
      arrays_.push_back({Shape::entries, element});
    for (Shape shape : {Shape::row, Shape::column, Shape::scalar, Shape::stack})
      arrays_.push_back({shape, Element::f32});
    inputs = arrays_.size();
    const int count = one_to(12);
    for (int i = 0; i < count; ++i) add(steps, false);
    if (chance(2)) {
      Step loop;
      loop.is_loop = true;
      loop.times = times;
      loop.reverse = chance(2);
      for (int i = one_to(8); i > 0; --i) add(loop.body, true);
      steps.push_back(std::move(loop));
      for (int i = one_to(4); i > 0; --i) add(steps, false);
    }
    for (BufferId id = 0; id < arrays_.size(); ++id)
      if (id < inputs || chance(3)) given.push_back(id);
    for (const Array& array : arrays_) pieces.push_back({bytes(array)});
  }

  std::vector<Step> steps;
  std::vector<plan::Piece> pieces;
  std::vector<BufferId> given;
  size_t inputs = 0;

  Element element(BufferId id) const { return arrays_.at(id).element; }

  /// The content of all that is given, after the steps.
  std::vector<std::vector<double>> run(std::vector<Step> list,
                                       const std::vector<plan::Piece>& with) const {
    const auto device = law_device();
    const auto queue = device->queue();
    prepare(list, *device);
    std::vector<Buffer> memory;
    plan::StepContext context;
    context.loops = {0};
    context.queue = queue.get();
    for (size_t id = 0; id < with.size(); ++id) {
      memory.push_back(device->allocate(with[id].bytes));
      context.buffers.push_back(memory.back().data());
      if (id < arrays_.size()) fill(*device, *queue, id, memory.back());
    }
    run(list, context);
    std::vector<std::vector<double>> numbers;
    for (BufferId id : given) numbers.push_back(read(*device, *queue, id, memory[id]));
    return numbers;
  }

 private:
  int one_to(int most) { return static_cast<int>(dice_.between(1, most)); }
  bool chance(int of) { return one_to(of) == of; }  // seldom where the dice are smaller

  int64_t count(Shape shape) const {
    const int64_t counts[] = {rows_ * length_, rows_, length_, 1, times * rows_ * length_};
    return counts[static_cast<size_t>(shape)];
  }
  size_t bytes(const Array& array) const {
    return static_cast<size_t>(count(array.shape)) * size_of(array.element);
  }

  void fill(Device& device, Queue& queue, BufferId id, Buffer& to) const {
    std::mt19937_64 rng(id);
    std::vector<std::byte> host(to.bytes());
    for (size_t i = 0; i < host.size() / size_of(element(id)); ++i)
      set_number(element(id), host.data(), static_cast<int64_t>(i),
                 std::uniform_real_distribution<double>(-1, 1)(rng));
    device.copy_from_host(queue, to.data(), host.data(), host.size());
  }
  std::vector<double> read(Device& device, Queue& queue, BufferId id, const Buffer& from) const {
    std::vector<std::byte> host(bytes(arrays_[id]));
    device.copy_to_host(queue, host.data(), from.data(), host.size());
    std::vector<double> numbers;
    for (int64_t i = 0; i < count(arrays_[id].shape); ++i)
      numbers.push_back(number_at(element(id), host.data(), i));
    return numbers;
  }

  static void run(const std::vector<Step>& list, plan::StepContext& context) {
    for (const Step& step : list) {
      if (!step.is_loop) {
        step.run(step, context);
        continue;
      }
      for (int64_t i = 0; i < step.times; ++i) {
        context.loops[0] = step.reverse ? step.times - 1 - i : i;
        run(step.body, context);
      }
    }
  }

  // --- steps ---

  /// All of a buffer, or the part of a stack that is the loop's, or the first.
  Ref view(BufferId id, bool in_loop) {
    const Array& array = arrays_[id];
    const bool is_part = array.shape == Shape::stack;
    Ref ref{id, array.element, 0, {count(is_part ? Shape::entries : array.shape)}, {1}, {}};
    if (is_part && in_loop && !chance(3)) ref.terms = {{0, rows_ * length_}};
    return ref;
  }
  BufferId any(std::initializer_list<Shape> shapes) {
    std::vector<BufferId> fitting;
    for (BufferId id = 0; id < arrays_.size(); ++id)
      if (std::find(shapes.begin(), shapes.end(), arrays_[id].shape) != shapes.end())
        fitting.push_back(id);
    // Those made last more often.
    const size_t back = static_cast<size_t>(std::min(one_to(10), one_to(10)));
    return back <= fitting.size() && !chance(4)
               ? fitting[fitting.size() - back]
               : fitting[static_cast<size_t>(one_to(static_cast<int>(fitting.size())) - 1)];
  }
  /// Where a step writes: most often something new.
  BufferId target(Shape shape) {
    if (chance(4)) {
      const BufferId old =
          shape == Shape::entries ? any({Shape::entries, Shape::stack}) : any({shape});
      if (shape == Shape::entries || arrays_[old].element == Element::f32) return old;
    }
    const bool is_narrow = shape == Shape::entries && chance(3);
    arrays_.push_back({shape, is_narrow ? Element::bf16 : Element::f32});
    return arrays_.size() - 1;
  }
  BufferId entries() { return any({Shape::entries, Shape::entries, Shape::stack}); }

  Nest nest(const std::vector<BufferId>& operands) const {
    Nest nest{{rows_, length_}, {}};
    for (BufferId id : operands) {
      const Shape shape = arrays_[id].shape;
      const bool is_all = shape == Shape::entries || shape == Shape::stack;
      const int64_t down = is_all ? length_ : shape == Shape::row;
      nest.strides.push_back({down, int64_t{is_all || shape == Shape::column}});
    }
    return nest;
  }

  void add(std::vector<Step>& to, bool in_loop) {
    Step step;
    switch (one_to(8)) {
      case 1:
        add_copy(step, in_loop);
        break;
      case 2:
        add_reduce(step, in_loop, Reduction::max);  // it cannot be joined
        break;
      case 3:
        if (sums_) {
          add_reduce(step, in_loop, Reduction::sum);
          break;
        }
        [[fallthrough]];
      case 4:
        if (sums_) {
          add_norm(step, in_loop);
          break;
        }
        [[fallthrough]];
      default:
        add_chain(step, in_loop);
    }
    plan::for_each_ref(step, [&](const Ref& ref) { step.reads.push_back(ref.buffer); });
    const BufferId made = step.reads.front();
    step.reads.erase(step.reads.begin());
    step.writes = {made};
    // A kernel may write what it reads entry by entry only.
    const bool is_chain = step.op == "chain";
    if (plan::has(step.reads, made) && !(is_chain && arrays_[made].shape == Shape::entries)) return;
    to.push_back(std::move(step));
  }

  void add_chain(Step& step, bool in_loop) {
    using enum PointwiseFn;
    Pointwise op;
    std::vector<Ref> inputs;
    std::vector<BufferId> operands;
    for (int i = one_to(3); i > 0; --i) {
      const BufferId id =
          i == 1 ? entries() : any({Shape::entries, Shape::row, Shape::column, Shape::scalar});
      operands.push_back(id);
      inputs.push_back(view(id, in_loop));
      op.inputs.push_back(element(id));
    }
    size_t last = 0;
    for (size_t i = 0; i < inputs.size(); ++i) {
      constexpr PointwiseFn fns[] = {add_fn, mul, sub, maximum};
      op.steps.push_back({fns[static_cast<size_t>(one_to(4) - 1)], true, {last, i}, 0, {}});
      op.steps.push_back({tanh, true, {inputs.size() + op.steps.size() - 1}, 0, {}});
      last = inputs.size() + op.steps.size() - 1;
    }
    const BufferId out = target(Shape::entries);
    operands.insert(operands.begin(), out);
    op.output = element(out);
    op.nest = nest(operands);
    step.op = "chain";
    step.kernel = {op, view(out, in_loop), inputs};
  }
  static constexpr PointwiseFn add_fn = PointwiseFn::add;

  void add_copy(Step& step, bool in_loop) {
    const BufferId from = entries();
    BufferId to = target(Shape::entries);
    if (element(to) != element(from)) {
      arrays_.push_back({Shape::entries, element(from)});
      to = arrays_.size() - 1;
    }
    step.op = "copy";
    step.kernel = {
        Copy{nest({to, from}), size_of(element(to))}, view(to, in_loop), {view(from, in_loop)}};
  }

  void add_reduce(Step& step, bool in_loop, Reduction fn) {
    const bool down = chance(2);
    Reduce op;
    op.fn = fn;
    const BufferId out = target(down ? Shape::column : Shape::row);
    std::vector<Ref> inputs;
    op.kept = {{down ? length_ : rows_}, {{1}}};
    op.reduced = {{down ? rows_ : length_}, {}};
    for (int i = fn == Reduction::sum ? one_to(2) : 1; i > 0; --i) {
      const BufferId id = entries();
      inputs.push_back(view(id, in_loop));
      op.inputs.push_back(element(id));
      op.kept.strides.push_back({down ? 1 : length_});
      op.reduced.strides.push_back({down ? length_ : 1});
    }
    step.op = "reduce";
    step.kernel = {op, view(out, in_loop), inputs};
  }

  void add_norm(Step& step, bool in_loop) {
    const BufferId x = entries();
    BufferId g = entries(), out = target(Shape::entries);
    for (BufferId* id : {&g, &out})
      if (element(*id) != Element::f32) {
        arrays_.push_back({Shape::entries, Element::f32});
        *id = id == &g ? 0 : arrays_.size() - 1;
      }
    const Ref to = view(out, in_loop), from = view(x, in_loop), up = view(g, in_loop);
    const Scalar eps{0.5f};
    step.op = "norm";
    switch (one_to(4)) {
      case 1:
        step.fused = plan::FusedKernel{RmsNorm{rows_, length_, from.element, eps}, {to}, {from}};
        break;
      case 2:
        step.fused =
            plan::FusedKernel{RmsNormGrad{rows_, length_, from.element, eps}, {to}, {up, from}};
        break;
      case 3:
        step.fused = plan::FusedKernel{LayerNorm{rows_, length_, from.element, eps}, {to}, {from}};
        break;
      default:
        step.fused =
            plan::FusedKernel{LayerNormGrad{rows_, length_, from.element, eps}, {to}, {up, from}};
    }
  }

  laws::Dice dice_;
  int64_t rows_, length_;
  const bool sums_;
  std::vector<Array> arrays_;
};

size_t count_steps(const std::vector<Step>& steps, bool joined) {
  size_t count = 0;
  for (const Step& step : steps)
    count +=
        count_steps(step.body, joined) +
        (joined ? step.fused && std::holds_alternative<Rowwise>(step.fused->op) : !step.is_loop);
  return count;
}

struct DrawnSteps {
  Steps steps;
};
/// What RapidCheck prints of the smallest failure.
void showValue(const DrawnSteps& drawn, std::ostream& out) {
  out << "\n" << plan::text_of(drawn.steps.steps, drawn.steps.pieces) << "given:";
  for (BufferId id : drawn.steps.given) out << " %" << id;
}
rc::Gen<DrawnSteps> drawn_steps(bool sums) {
  return rc::gen::map(dice_words(240), [=](std::vector<uint64_t> words) {
    return DrawnSteps{Steps(laws::Dice(std::move(words)), sums)};
  });
}

/// What differs when rows are joined; empty: nothing. Sums are in another order: some units of bf16
/// off, where they are rounded to it.
std::string difference(const Steps& drawn, const std::vector<Step>& steps,
                       const std::vector<plan::Piece>& pieces, double off) {
  const auto wanted = drawn.run(drawn.steps, drawn.pieces), found = drawn.run(steps, pieces);
  for (size_t k = 0; k < wanted.size(); ++k)
    for (size_t i = 0; i < wanted[k].size(); ++i)
      if (const double most = off * std::max(1.0, std::abs(wanted[k][i]));
          !(std::abs(found[k][i] - wanted[k][i]) <= most))
        return "entry " + std::to_string(i) + " of %" + std::to_string(drawn.given[k]) + " is " +
               std::to_string(found[k][i]) + ", not " + std::to_string(wanted[k][i]);
  return "";
}

TEST(JoinedRows, LeaveWhatTheStepsLeft) {
  size_t before = 0, after = 0, chains = 0;
  EXPECT_TRUE(holds("joined rows leave what the steps left", 2000, 40'000, [&] {
    const bool sums = *rc::gen::element(false, true);
    const DrawnSteps drawn = *drawn_steps(sums);
    std::vector<Step> steps = drawn.steps.steps;
    std::vector<plan::Piece> pieces = drawn.steps.pieces;
    join_rows(steps, pieces, drawn.steps.given, *law_device());
    const std::string found = difference(drawn.steps, steps, pieces, sums ? 2e-2 : 0);
    if (!found.empty()) RC_FAIL(found + " after\n" + plan::text_of(steps, pieces));
    before += count_steps(drawn.steps.steps, false);
    after += count_steps(steps, false);
    chains += count_steps(steps, true);
  }));
  EXPECT_GT(chains, 1000u);
  EXPECT_LT(after * 10, before * 8);
}

}  // namespace
}  // namespace shardproof::properties
