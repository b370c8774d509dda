#include <algorithm>

#include "impl/plan/passes/passes.h"
#include "impl/plan/passes/rows.h"
#include "impl/plan/touching.h"

namespace shardproof::plan {
namespace {

/// A step that may be fused, at its position.
struct Place {
  Access access;
  std::optional<Rows> rows;
  std::vector<std::string> ops;  ///< the names of its ops, without duplicates
  bool is_changed = false, is_gone = false;
};

/// "rms_norm_grad + reduce": omits elementwise ops.
std::string name_of(const std::vector<std::string>& ops) {
  std::string name;
  for (const std::string& op : ops)
    if (op != "pointwise") name += (name.empty() ? "" : " + ") + op;
  return name.empty() ? "pointwise" : name;
}

/// The steps of one block.
class Block {
 public:
  Block(std::vector<Step>& steps, std::vector<Piece>& pieces, BufferUses& uses,
        const std::vector<BufferId>& given, const Device& device)
      : steps_(steps),
        pieces_(pieces),
        uses_(uses),
        given_(given),
        device_(device),
        touching_(steps) {
    for (const Step& step : steps) places_.push_back({access_of(step), rows_of(step), {step.op}});
  }

  void run() {
    for (size_t i = 0; i < steps_.size(); ++i) hand_on(i);
    for (bool found = true; found;) {
      found = false;
      for (size_t j = 1; j < steps_.size(); ++j)
        while (join_into(j)) found = true;
    }
    write_back();
  }

 private:
  // --- recomputation: readers recompute a step's output if that reads less memory ---

  /// The steps after i that read an output of it completely, while that output and the step's
  /// inputs are unchanged.
  std::vector<size_t> readers(size_t i) const {
    std::vector<size_t> found;
    for (size_t j : touching_.of(places_[i].access)) {
      if (j <= i) continue;
      if (may_join(i, j) && reads(j, i)) found.push_back(j);
      if (writes_any(j, places_[i].access.reads) || writes_any(j, places_[i].access.writes)) break;
    }
    return found;
  }

  bool may_join(size_t i, size_t j) const {
    return places_[i].rows && !places_[i].is_gone && places_[j].rows && !places_[j].is_gone &&
           steps_[i].turn == steps_[j].turn;
  }
  bool reads(size_t j, size_t i) const {
    return std::any_of(places_[i].access.writes.begin(), places_[i].access.writes.end(),
                       [&](BufferId id) { return has(places_[j].access.reads, id); });
  }
  bool writes_any(size_t j, const std::vector<BufferId>& ids) const {
    return !places_[j].is_gone && std::any_of(ids.begin(), ids.end(), [&](BufferId id) {
      return has(places_[j].access.writes, id);
    });
  }

  /// The bytes that i reads and j does not.
  double more_to_read(size_t i, size_t j) const {
    const Rows &from = *places_[i].rows, &to = *places_[j].rows;
    double bytes = 0;
    for (size_t k = 0; k < from.inputs.size(); ++k)
      if (std::none_of(to.inputs.begin(), to.inputs.end(),
                       [&](const Ref& ref) { return same_place(ref, from.inputs[k]); }))
        bytes += from.bytes(from.op.inputs[k]);
    return bytes;
  }

  void hand_on(size_t i) {
    const auto& own = places_[i].rows;
    if (!own || own->outputs.size() != 1) return;
    const BufferId made = own->outputs[0].buffer;
    if (has(places_[i].access.reads, made)) return;  // its operands are gone
    std::vector<std::pair<size_t, Rows>> takers;
    double in = 0, more = 0;
    for (const auto& input : own->op.inputs) in += own->bytes(input);
    const double out = own->bytes(own->op.outputs[0]);
    const std::vector<size_t> all = readers(i);
    for (size_t j : all) {
      auto rows = joined(*own, *places_[j].rows, {false});
      if (!rows || !device_.has_fused(rows->op)) continue;
      more += more_to_read(i, j);
      takers.emplace_back(j, std::move(*rows));
    }
    const bool goes = !has(given_, made) && takers.size() == uses_.reads_of(made);
    const bool is_less = more < in + out * static_cast<double>(1 + takers.size());
    for (auto& [j, rows] : takers)
      if ((goes && is_less) || more_to_read(i, j) < out) put(j, std::move(rows), i);
    if (goes && is_less && !takers.empty()) remove(i);
  }

  // --- fusion of steps with a common input, or of a step with a reader of its output ---

  /// Fuses step j with the nearest earlier step with which it shares data.
  bool join_into(size_t j) {
    if (!places_[j].rows || places_[j].is_gone) return false;
    std::vector<BufferId> read;
    for (const Ref& input : places_[j].rows->inputs) read.push_back(input.buffer);
    const std::vector<size_t> near = touching_.of(read);
    for (auto each = near.rbegin(); each != near.rend(); ++each) {
      const size_t i = *each;
      if (i >= j || !may_join(i, j) || !shares(i, j)) continue;
      const bool is_down = passes(i, i + 1, j), is_up = !is_down && passes(j, i + 1, j);
      if (!is_down && !is_up) continue;
      auto rows = joined(*places_[i].rows, *places_[j].rows, kept(i, j));
      if (rows && device_.has_fused(rows->op)) {
        const size_t to = is_down ? j : i;
        put(to, std::move(*rows), is_down ? i : j);
        remove(is_down ? i : j);
        if (is_up) return false;  // j no longer exists
        return true;
      }
    }
    return false;
  }

  /// Whether they share an array with one entry per (row, column).
  bool shares(size_t i, size_t j) const {
    const Rows &a = *places_[i].rows, &b = *places_[j].rows;
    for (size_t k = 0; k < b.inputs.size(); ++k) {
      if (b.op.inputs[k].per != Per::entry) continue;
      const auto same = [&](const Ref& ref) { return same_place(ref, b.inputs[k]); };
      if (std::any_of(a.inputs.begin(), a.inputs.end(), same) ||
          std::any_of(a.outputs.begin(), a.outputs.end(), same))
        return true;
    }
    return false;
  }

  /// Whether step `moved` can be reordered with the steps [first, last).
  bool passes(size_t moved, size_t first, size_t last) const {
    for (size_t k : touching_.of(places_[moved].access))
      if (first <= k && k < last && !places_[k].is_gone &&
          conflict(places_[k].access, places_[moved].access))
        return false;
    return true;
  }

  /// Which outputs of i have readers besides j.
  std::vector<bool> kept(size_t i, size_t j) const {
    std::vector<bool> keeps;
    for (const Ref& made : places_[i].rows->outputs) {
      const size_t own = has(places_[j].access.reads, made.buffer);
      keeps.push_back(has(given_, made.buffer) || uses_.reads_of(made.buffer) > own);
    }
    return keeps;
  }

  // --- changes ---

  /// Replaces the step at `at` by these rows, into which step `with` was fused.
  void put(size_t at, Rows rows, size_t with) {
    Place& place = places_[at];
    uses_.remove(place.access);
    place.access = {};
    for (const Ref& input : rows.inputs) place.access.reads.push_back(input.buffer);
    for (const Ref& output : rows.outputs) place.access.writes.push_back(output.buffer);
    for (std::vector<BufferId>* each : {&place.access.reads, &place.access.writes}) {
      std::sort(each->begin(), each->end());
      each->erase(std::unique(each->begin(), each->end()), each->end());
    }
    uses_.add(place.access);
    touching_.add(at, place.access.reads);
    touching_.add(at, place.access.writes);
    place.rows = std::move(rows);
    place.is_changed = true;
    std::vector<std::string> ops = places_[std::min(at, with)].ops;
    for (const std::string& op : places_[std::max(at, with)].ops)
      if (std::find(ops.begin(), ops.end(), op) == ops.end()) ops.push_back(op);
    place.ops = std::move(ops);
  }

  void remove(size_t at) {
    uses_.remove(places_[at].access);
    places_[at].is_gone = true;
  }

  void write_back() {
    std::vector<Step> left;
    for (size_t i = 0; i < steps_.size(); ++i) {
      if (places_[i].is_gone) continue;
      Step& step = left.emplace_back(std::move(steps_[i]));
      if (!places_[i].is_changed) continue;
      Rows& rows = *places_[i].rows;
      step.op = name_of(places_[i].ops);
      step.kernel.reset();
      step.fused = FusedKernel{std::move(rows.op), std::move(rows.outputs), std::move(rows.inputs)};
      step.reads = std::move(places_[i].access.reads);
      step.writes = std::move(places_[i].access.writes);
      for (size_t bytes : device_.fused_scratch(step.fused->op)) {
        step.fused->outputs.push_back(scratch(bytes));
        step.writes.push_back(pieces_.size() - 1);
      }
    }
    steps_ = std::move(left);
  }

  Ref scratch(size_t bytes) {
    pieces_.push_back({bytes});
    return {pieces_.size() - 1, Element::u8, 0, {static_cast<int64_t>(bytes)}, {1}, {}};
  }

  std::vector<Step>& steps_;
  std::vector<Piece>& pieces_;
  BufferUses& uses_;
  const std::vector<BufferId>& given_;
  const Device& device_;
  Touching touching_;
  std::vector<Place> places_;
};

void join_in(std::vector<Step>& steps, std::vector<Piece>& pieces, BufferUses& uses,
             const std::vector<BufferId>& given, const Device& device) {
  for (Step& step : steps) join_in(step.body, pieces, uses, given, device);
  Block(steps, pieces, uses, given, device).run();
}

}  // namespace

void join_rows(std::vector<Step>& steps, std::vector<Piece>& pieces,
               const std::vector<BufferId>& given, const Device& device) {
  const Rowwise copy{1, 1 << 20, {{}}, {}, {{}}};
  if (!device.has_fused(copy)) return;
  BufferUses uses(steps);
  join_in(steps, pieces, uses, given, device);
}

}  // namespace shardproof::plan
