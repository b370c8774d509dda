#include "spec/check/first_wrong_value.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "oracle/tape.h"
#include "spec/check/claim.h"
#include "spec/check/cost_of_run.h"
#include "spec/check/fixed_sizes.h"
#include "spec/check/one_device.h"
#include "spec/check/points.h"
#include "spec/check/points_to_refute.h"
#include "spec/check/rescale.h"
#include "spec/denote/array.h"
#include "spec/denote/evaluate.h"
#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using Numbers = denote::Array<double>;
using Values = std::vector<Numbers>;
/// What a value is each time it is computed.
using Trace = std::map<ValueAt, Values>;

constexpr double most_of_a_trace = 1e6;  ///< numbers computed to trace a plan
/// Seconds of all replacements together, as estimated: the same on each machine.
constexpr double most_of_replacements = 0.5, most_of_repairs = 0.5;

/// Entry by entry: a mask of -1e10 must not hide the other entries.
bool agree(const Numbers& a, const Numbers& b) {
  constexpr double rounding = 1e-9;
  if (a.data.size() != b.data.size()) return false;
  double most = 0;
  for (double x : b.data) most = std::max(most, std::abs(x));
  for (size_t i = 0; i < a.data.size(); ++i) {
    const double size = std::max(std::min(most, 1.0), std::abs(b.data[i]));
    if (a.data[i] != b.data[i] && !(std::abs(a.data[i] - b.data[i]) <= rounding * size))
      return false;
  }
  return true;
}

/// A value in the body of a ring is that of one block of a dim at a time.
struct Blocks {
  Name block;
  Dim whole;
  int64_t count = 1, entries = 1;
};

/// The indices of a tensor: groups opened, as written or without aliases. The index of a block is
/// that of the whole dim.
std::vector<Name> indices(const ir::Program& program, const Type& type, bool written,
                          const Blocks* blocks = nullptr) {
  std::vector<Name> names;
  for (const Split& split : type.dims)
    for (const Name& own : split.dim.factors) {
      const Name& factor = blocks && own == blocks->block ? blocks->whole.factors.at(0) : own;
      const auto info = program.dims.find(factor);
      const bool keep =
          info == program.dims.end() || (written && info->second.kind != ir::DimInfo::Kind::group);
      for (const Name& base : keep ? std::vector{factor} : program.base(Dim{{factor}}))
        names.push_back(base);
    }
  return names;
}

/// The ways to read dims `from` in the order `to`: positions in `from`.
void orders(const std::vector<Name>& from, const std::vector<Name>& to, std::vector<size_t>& taken,
            std::vector<std::vector<size_t>>& all) {
  constexpr size_t most = 6;
  if (all.size() == most) return;
  if (taken.size() == to.size()) return all.push_back(taken);
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != to[taken.size()] || std::find(taken.begin(), taken.end(), i) != taken.end())
      continue;
    taken.push_back(i);
    orders(from, to, taken, all);
    taken.pop_back();
  }
}

/// A value of the model in the plan's order of dims.
class Reordered {
 public:
  Reordered(const ir::Program& program, const denote::Sizes& sizes, const Type& plan,
            const Type& model, const Blocks* blocks = nullptr)
      : blocks_(blocks) {
    for (const bool written : {true, false}) {
      const std::vector<Name> from = indices(program, model, written);
      const std::vector<Name> to = indices(program, plan, written, blocks);
      if (blocks) cut_ = place_of_block(program, plan, written, *blocks);
      std::vector<size_t> taken;
      if (from.size() == to.size()) orders(from, to, taken, ways_);
      if (ways_.empty()) continue;
      for (const Name& name : from) extents_.push_back(program.size(Dim{{name}}, sizes.dims));
      return;
    }
  }

  size_t ways() const { return ways_.size(); }
  bool keeps_order(size_t way) const {
    return std::is_sorted(ways_.at(way).begin(), ways_.at(way).end());
  }
  /// `block`: which one of the blocks the value is of.
  Numbers operator()(const Numbers& model, size_t way, const denote::Extents& shape,
                     int64_t block = 0) const {
    const denote::Extents strides = denote::row_major(extents_);
    denote::Extents loops, steps;
    for (size_t i : ways_.at(way)) loops.push_back(extents_[i]), steps.push_back(strides[i]);
    int64_t first = 0;
    if (cut_) loops[*cut_] = blocks_->entries, first = block * blocks_->entries * steps[*cut_];
    Numbers result{shape, {}};
    denote::walk({1, loops, steps}, [&](const int64_t* at) {
      result.data.push_back(denote::at(model, first + at[0]));
    });
    return result;
  }
  bool of_a_block() const { return cut_.has_value(); }
  /// Numbers of one value.
  size_t entries() const {
    size_t product = 1;
    for (size_t i = 0; i < extents_.size(); ++i) product *= static_cast<size_t>(extents_[i]);
    return cut_ ? product / static_cast<size_t>(blocks_->count) : product;
  }

 private:
  static std::optional<size_t> place_of_block(const ir::Program& program, const Type& plan,
                                              bool written, const Blocks& blocks) {
    Type before = plan;
    for (size_t i = 0; i < plan.dims.size(); ++i) {
      if (plan.dims[i].dim != Dim{{blocks.block}}) continue;
      before.dims.resize(i);
      return indices(program, before, written).size();
    }
    return std::nullopt;
  }

  const Blocks* blocks_;
  std::optional<size_t> cut_;  ///< the block's place among the plan's indices
  std::vector<std::vector<size_t>> ways_;
  denote::Extents extents_;
};

class LineSearch {
 public:
  LineSearch(const ir::Program& program, size_t plan, const denote::Sizes& sizes, size_t result,
             const Values& inputs, CostOfRun& cost)
      : program_(program),
        plan_(plan),
        sizes_(sizes),
        result_(result),
        inputs_(inputs),
        of_a_run_(seconds_of_run(program, plan, sizes, cost)) {
    const auto record = [](Trace& trace, const Values& parameters, const ir::Function& function,
                           size_t index) {
      for (size_t i = 0; i < std::min(parameters.size(), function.params.size()); ++i)
        trace[{index, function.params[i]}] = {parameters[i]};
      return [&trace](size_t f, ir::ValueId v, denote::Distributed<double>& value) {
        trace[{f, v}].push_back(value[0]);
      };
    };
    const size_t model = *own().model;
    const ir::Function& modelled = program_.functions.at(model);
    const Values results = denote::evaluate<double>(program_, plan_, sizes_, inputs_,
                                                    record(of_plan_, inputs_, own(), plan_));
    const Values primal(inputs_.begin(),
                        inputs_.begin() + static_cast<std::ptrdiff_t>(modelled.params.size()));
    claimed_ = denote::evaluate<double>(program_, model, sizes_, primal,
                                        record(of_model_, primal, modelled, model));
    if (own().implements_grad) take_gradients();
    for (size_t i = 0; i < results.size() && i < claimed_.size(); ++i)
      if (agree(results[i], claimed_[i])) right_.push_back(i);
    find_places(results);
  }

  /// The model's result in place of the result itself, or of a value that becomes it unchanged, is
  /// right whatever is wrong; and what leaves other results wrong may be one of two that are. There
  /// a small change of the plan names the line, if one is right.
  std::optional<FirstWrong> run() {
    if (std::count(right_.begin(), right_.end(), result_) > 0) return std::nullopt;
    order(plan_);
    if (auto found = exchanged()) return found;
    std::optional<FirstWrong> found = searched();
    if (found) found->suspects = suspects(), move_to_the_return(*found);
    return found;
  }

 private:
  /// For each claimed result which of the plan's it is, if those that are wrong are the model's in
  /// another order.
  void find_places(const Values& results) {
    for (size_t i = 0; i < claimed_.size(); ++i) {
      size_t j = i;
      if (std::count(right_.begin(), right_.end(), i) == 0)
        for (j = 0; j < results.size(); ++j)
          if (std::count(right_.begin(), right_.end(), j) == 0 && agree(results[j], claimed_[i]) &&
              std::count(places_.begin(), places_.end(), j) == 0)
            break;
      if (j == results.size()) return places_.clear();
      places_.push_back(j);
    }
  }

  /// `m1` of the field `m1.attn.wq`.
  static Name written(const Name& leaf) { return leaf.substr(0, leaf.find('.')); }

  /// The results in another order: wrong is where they are returned, or, if each is returned under
  /// its own name, where one call gives them their names.
  std::optional<FirstWrong> exchanged() const {
    const std::vector<SourceRange>& ranges = own().returned_ranges;
    if (places_.empty() || ranges.size() != places_.size() ||
        own().result_names.size() != places_.size())
      return std::nullopt;
    bool named = true;
    const ValueAt last{plan_, own().returned[result_]};
    std::string words;
    std::vector<Edit> edits;
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_[i] == i) continue;
      const ValueAt v{plan_, own().returned[i]};
      const Name name = written(own().values.at(v.value).name),
                 meant = written(own().values.at(own().returned[places_[i]]).name);
      if (name.empty() || meant.empty() || !at_.contains(v)) return std::nullopt;
      if (name != written(own().result_names[i])) named = false;
      if (named && !(at_.at(v)->place.range == at_.at(last)->place.range)) return std::nullopt;
      if (!edits.empty() && edits.back().range == ranges[i])
        continue;  // a field of the same record
      words += (words.empty() ? "with `" : ", `") + meant + "` in place of `" + name + "`";
      edits.push_back({ranges[i], meant});
    }
    FirstWrong found{last, {}, named ? at_.at(last)->place.range : own().return_range, {}};
    found.exchanged = true;
    found.repair = Repair{found.range, words, edits};
    return found;
  }

  std::optional<FirstWrong> searched() {
    const ValueAt last{plan_, own().returned.at(result_)};
    reach(last);
    auto found = first_wrong(last);
    const bool news = found && found->meant && !becomes(found->own, last) && !of_a_loop(found->own);
    const bool all_right = news && found->right == claimed_.size();
    RepairSearch search{program_, plan_, result_, suspects(), {}, {}, {}, {}};
    search.read_by_suspects = read_by(search.suspects);
    search.right = [&](const ir::Program& changed) { return right_when(changed); };
    search.ended = [&] { return spent_on_repairs_ > most_of_repairs; };
    if (const auto rescaled = find_rescale(search)) return changed_there(*rescaled);
    if (all_right && !is_taken_gradient(*found->meant)) {
      if (!is_sum(*found->meant)) return found;
      search.suspects.clear();  // it is in this sum
      add_suspect(found->own, search.suspects);
      search.read_by_suspects.clear();
    }
    if (found && !of_a_loop(found->own)) search.likely = found->range;
    const auto repair = find_repair(search);
    const bool inside = found && repair && found->range.begin <= repair->range.begin &&
                        repair->range.end <= found->range.end && !of_a_loop(found->own);
    if (all_right) {
      if (inside) found->repair = repair;
      return found;
    }
    if (inside) {
      if (ends_a_loop(found->own, last)) found->repair = repair;
      return found;
    }
    if (!repair && found) found->last_of_a_loop = !news && ends_a_loop(found->own, last);
    return repair ? changed_there(*repair) : found;
  }

  FirstWrong changed_there(const Repair& repair) const {
    FirstWrong changed{{plan_, own().returned.at(result_)}, {}, repair.range, {}};
    changed.repair = repair;
    return changed;
  }

  /// `l, g = value_and_grad(loss)(..)` of the model: of the plan's text it says nothing.
  bool is_taken_gradient(const ValueAt& v) const {
    const ir::Instr* instr = defining_instr(function_of(v).body, v.value);
    return instr && std::holds_alternative<ir::Grad>(instr->op);
  }

  /// What is left out of a sum is not seen in another value.
  bool is_sum(const ValueAt& v) const {
    const ir::Instr* instr = defining_instr(function_of(v).body, v.value);
    const auto* binary = instr ? std::get_if<ir::Binary>(&instr->op) : nullptr;
    return binary && binary->fn == ir::BinaryFn::add;
  }

  /// A value of the model that is returned where the model returns another is wrong there, not
  /// where it is computed.
  void move_to_the_return(FirstWrong& found) const {
    const ValueAt last{plan_, own().returned.at(result_)};
    const SourceRange& returned = own().return_range;
    if (found.repair || !(found.own == last) || returned.file < 0 || own().returned.size() != 1 ||
        !model_has(last, Named::alike))
      return;
    found.range = returned;
    found.returned = true;
  }

  std::optional<FirstWrong> first_wrong(const ValueAt& last) {
    if (reached_.empty()) return std::nullopt;
    std::vector<ValueAt> origins, others;
    for (const ValueAt& v : in_order(reached_)) {
      const std::set<ValueAt>& needs = needs_.at(v);
      const bool first = std::none_of(needs.begin(), needs.end(),
                                      [&](const ValueAt& n) { return reached_.contains(n); });
      if (first || v != last) (first ? origins : others).push_back(v);
    }
    for (const ValueAt& v : origins)
      if (const auto found = first_of(v)) return found;
    for (const ValueAt& v : origins)
      if (const auto found = operand_of(v, Kind::any)) return found;
    for (const ValueAt& v : others)
      if (const auto found = replacement(v, of_model_)) return found;
    std::erase_if(origins, [&](const ValueAt& v) { return needs_.at(v).empty(); });
    for (const ValueAt& v : in_order(reached_))
      if ((origins.size() > 1 || in_one_statement()) && !reaches_without(v, last, origins))
        return wrong(v);
    return std::nullopt;
  }

  /// Whether what the model does not have has no names: it is computed in one statement.
  bool in_one_statement() const {
    return std::count_if(reached_.begin(), reached_.end(), [&](const ValueAt& v) {
             return !function_of(v).values.at(v.value).name.empty();
           }) == 0;
  }

  /// Whether `later` is `v`, perhaps gathered, cast or as the last value of a loop.
  bool becomes(const ValueAt& v, ValueAt later) const {
    while (!(v == later)) {
      const auto found = at_.find(later);
      if (found == at_.end()) return false;
      const ir::Instr& instr = *found->second;
      if (const ir::Block* body = body_of(instr.op)) {
        std::vector<ir::ValueId> ends = body->next;
        ends.insert(ends.end(), body->emit.begin(), body->emit.end());
        const auto place = std::find(instr.results.begin(), instr.results.end(), later.value);
        later.value = ends.at(static_cast<size_t>(place - instr.results.begin()));
      } else if (instr.operands.size() == 1 && passes_on(instr.op)) {
        later.value = instr.operands[0];
      } else {
        return false;
      }
    }
    return true;
  }
  /// Whether it is what a loop ends with, and not all that it is computed from is the model's.
  bool ends_a_loop(const ValueAt& v, const ValueAt& last) const {
    const std::vector<ir::Instr>& instrs = own().body.instrs;
    const std::set<ValueAt> needs = needed(v);
    return becomes(v, last) &&
           std::any_of(instrs.begin(), instrs.end(),
                       [](const ir::Instr& instr) { return body_of(instr.op); }) &&
           std::any_of(needs.begin(), needs.end(),
                       [&](const ValueAt& need) { return reached_.contains(need); });
  }
  bool of_a_loop(const ValueAt& v) const {
    const auto found = at_.find(v);
    return found != at_.end() && body_of(found->second->op);
  }
  static bool passes_on(const ir::Op& op) {
    return std::holds_alternative<ir::Collective>(op) || std::holds_alternative<ir::Cast>(op) ||
           std::holds_alternative<ir::Ascribe>(op) || std::holds_alternative<ir::Save>(op) ||
           std::holds_alternative<ir::Rearrange>(op);
  }
  /// The values that the model does not have, and what they are written with in one expression.
  void add_suspect(const ValueAt& v, std::set<ir::ValueId>& values) const {
    if (v.function != plan_ || !at_.contains(v) || !values.insert(v.value).second) return;
    for (const ValueAt& need : needed(v))
      if (function_of(need).values.at(need.value).name.empty()) add_suspect(need, values);
  }
  std::set<ir::ValueId> suspects() const {
    std::set<ir::ValueId> values;
    for (const ValueAt& v : reached_) add_suspect(v, values);
    return values;
  }

  std::set<ir::ValueId> read_by(const std::set<ir::ValueId>& suspects) const {
    std::set<ir::ValueId> values;
    for (ir::ValueId v : suspects)
      for (const ValueAt& need : needed({plan_, v}))
        if (need.function == plan_ && at_.contains(need) && !suspects.contains(need.value))
          values.insert(need.value);
    return values;
  }

  /// Whether the changed plan gives the claimed results, at other inputs too.
  bool right_when(const ir::Program& changed) {
    spent_on_repairs_ += of_a_run_;
    const auto are_right = [&](const Values& inputs, const Values& claimed) {
      const Values now = denote::evaluate<double>(changed, plan_, sizes_, inputs);
      const auto is_right = [&](size_t result) {
        return agree(now.at(result), claimed.at(result));
      };
      const std::vector<double>& wanted = claimed.at(result_).data;
      const bool zero =
          std::all_of(wanted.begin(), wanted.end(), [](double x) { return std::abs(x) < 1e-9; });
      return !zero && is_right(result_);
    };
    try {
      if (!are_right(inputs_, claimed_)) return false;
      if (own().implements_grad) return true;
      if (elsewhere_.empty()) {
        constexpr unsigned seed = 4711;
        elsewhere_ = random_inputs(program_, own(), sizes_, seed, Draw::mixed);
        claimed_elsewhere_ = denote::evaluate<double>(program_, *own().model, sizes_, elsewhere_);
      }
      return are_right(elsewhere_, claimed_elsewhere_);
    } catch (const std::exception&) {
      return false;  // a change that has no value
    }
  }

  enum class Kind { same, any };

  const ir::Function& own() const { return program_.functions.at(plan_); }
  /// The gradient of a value has the number of its function, and that of all functions.
  bool is_gradient(const ValueAt& v) const { return v.function >= program_.functions.size(); }
  const ir::Function& function_of(const ValueAt& v) const {
    return program_.functions.at(v.function % program_.functions.size());
  }
  const Type& type(const ValueAt& v) const { return function_of(v).values.at(v.value).type; }

  /// The claim, and the gradients of the model's values, where the plan claims a gradient.
  void take_gradients() {
    const oracle::GradientsSeen seen([&](const oracle::Origin& of, const oracle::Tensor& gradient) {
      if (!of.instr || of.instr->results.size() != 1) return;
      for (size_t f = 0; f < program_.functions.size(); ++f)
        if (&program_.functions[f] == of.function)
          of_model_[{f + program_.functions.size(), of.instr->results[0]}].push_back(
              array_of(gradient));
    });
    const denote::Types types = denote::types_for(program_, plan_);
    const auto params = static_cast<std::ptrdiff_t>(own().params.size());
    claimed_.clear();
    for (const oracle::Tensor& each : claimed(PointOfPlan{
             &program_, &types, plan_, sizes_, {inputs_.begin(), inputs_.begin() + params}, {}}))
      claimed_.push_back(array_of(each));
    const ir::Function& model = program_.functions.at(*own().model);
    const std::vector<size_t> wrt = own().wrt.empty() ? float_params(model) : own().wrt;
    for (size_t i = 0; i < wrt.size(); ++i)
      of_claim_[{*own().model + program_.functions.size(), model.params.at(wrt[i])}] = {
          claimed_.at(i)};
  }

  /// Plans without a model are part of the plan that calls them.
  std::optional<size_t> part(const ir::Op& op) const {
    const auto* call = std::get_if<ir::Call>(&op);
    if (!call) return std::nullopt;
    const ir::Function& callee = program_.functions.at(call->function);
    return callee.kind == ir::Function::Kind::plan && !callee.model ? std::optional(call->function)
                                                                    : std::nullopt;
  }

  /// Numbers the instructions, those of a part before the call.
  void order(size_t function) {
    const ir::Function& f = program_.functions.at(function);
    for_each_instr(f.body, [&](const ir::Instr& instr) {
      if (const auto callee = part(instr.op)) {
        const std::vector<ir::ValueId>& params = program_.functions.at(*callee).params;
        for (size_t i = 0; i < params.size(); ++i)
          arguments_[{*callee, params[i]}].insert({function, instr.operands.at(i)});
        order(*callee);
      }
      if (const auto* ring = std::get_if<ir::Ring>(&instr.op)) note(function, instr, *ring);
      for (ir::ValueId v : instr.operands) readers_[{function, v}].insert(&instr);
      for (ir::ValueId v : instr.results)
        if (v != ir::no_value)
          at_[{function, v}] = &instr, number_.try_emplace({function, v}, number_.size());
    });
  }

  /// The values of a ring's body, and where its carries begin: a right beginning would hide what is
  /// wrong in the body.
  void note(size_t function, const ir::Instr& instr, const ir::Ring& ring) {
    const std::vector<Name> whole = program_.base(ring.dim.dim);
    if (whole.size() != 1 || ring.block.factors.size() != 1) return;
    Blocks blocks{ring.block.factors[0], ring.dim.dim, 1, program_.size(ring.block, sizes_.dims)};
    blocks.count = program_.size(ring.dim.dim, sizes_.dims) / blocks.entries;
    for_each_instr(*ring.body, [&](const ir::Instr& inside) {
      for (ir::ValueId v : inside.results) blocks_[{function, v}] = blocks;
      for (ir::ValueId v : inside.operands) read_.insert({function, v});
    });
    for (ir::ValueId v : ring.body->next) ends_.insert({function, v});
    for (ir::ValueId v : instr.operands) add_begin({function, v});
  }
  void add_begin(const ValueAt& v) {
    if (begins_.insert(v).second)
      for (const ValueAt& part : needed(v))
        if (function_of(part).values.at(part.value).name.empty()) add_begin(part);
  }
  const Blocks* blocks(const ValueAt& v) const {
    const auto found = blocks_.find(v);
    return found == blocks_.end() ? nullptr : &found->second;
  }
  /// For a carry that nothing else reads: the last value in place of an earlier one of a maximum
  /// would hide what is wrong in a sum that is scaled by it.
  bool only_carried(const ValueAt& v) const { return ends_.contains(v) && !read_.contains(v); }
  size_t count_of_blocks(const ValueAt& v) const {
    return blocks(v) ? static_cast<size_t>(blocks(v)->count) : 1;
  }

  std::vector<ValueAt> in_order(const std::set<ValueAt>& values) const {
    std::vector<ValueAt> sorted;
    for (const ValueAt& v : values)
      if (at_.contains(v)) sorted.push_back(v);
    std::sort(sorted.begin(), sorted.end(),
              [&](const ValueAt& a, const ValueAt& b) { return number_.at(a) < number_.at(b); });
    return sorted;
  }

  /// What a value is computed from: operands, the last values of a loop's body, those of a part.
  std::set<ValueAt> needed(const ValueAt& v) const {
    if (const auto passed = arguments_.find(v); passed != arguments_.end()) return passed->second;
    std::set<ValueAt> needs;
    const auto found = at_.find(v);
    if (found == at_.end()) return needs;
    const ir::Instr& instr = *found->second;
    if (const auto callee = part(instr.op)) {
      const auto place = std::find(instr.results.begin(), instr.results.end(), v.value);
      needs.insert({*callee, program_.functions.at(*callee).returned.at(
                                 static_cast<size_t>(place - instr.results.begin()))});
      return needs;
    }
    for (ir::ValueId operand : instr.operands) needs.insert({v.function, operand});
    if (const ir::Block* body = body_of(instr.op))
      for (const auto* last : {&body->next, &body->emit})
        for (ir::ValueId value : *last) needs.insert({v.function, value});
    return needs;
  }

  enum class Named { any, alike };

  /// Whether the model has a value that is this one, the first time that the plan computes it.
  bool model_has(const ValueAt& v, Named named = Named::any) const {
    const auto own = of_plan_.find(v);
    if (own == of_plan_.end()) return !arguments_.contains(v);
    const Values& values = own->second;
    const size_t count = std::min(count_of_blocks(v), values.size());
    return std::any_of(of_model_.begin(), of_model_.end(), [&](const auto& each) {
      if (named == Named::alike && !same_name(v, each.first)) return false;
      const Reordered reordered(program_, sizes_, type(v), type(each.first), blocks(v));
      if (reordered.ways() == 0 || reordered.entries() != values[0].data.size()) return false;
      for (size_t way = 0; way < reordered.ways(); ++way)
        for (const Numbers& other : each.second) {
          size_t same = 0;
          while (same < count &&
                 agree(reordered(other, way, values[same].shape, static_cast<int64_t>(same)),
                       values[same]))
            ++same;
          if (same == count) return true;
        }
      return false;
    });
  }

  void reach(const ValueAt& v) {
    if (!at_.contains(v) && !arguments_.contains(v)) return;
    if (!visited_.insert(v).second) return;
    if (at_.contains(v)) reached_.insert(v);
    needs_[v] = needed(v);
    for (const ValueAt& need : needs_.at(v))
      if (!model_has(need)) reach(need);
  }

  /// Whether the result needs one of `origins` without v. If it does not, all that the model does
  /// not have meets in v.
  bool reaches_without(const ValueAt& v, const ValueAt& last, const std::vector<ValueAt>& origins) {
    std::set<ValueAt> seen = {v};
    std::vector<ValueAt> left = {last};
    while (!left.empty()) {
      const ValueAt next = left.back();
      left.pop_back();
      if (!seen.insert(next).second) continue;
      if (std::find(origins.begin(), origins.end(), next) != origins.end()) return true;
      for (const ValueAt& need : needs_.at(next))
        if (needs_.contains(need)) left.push_back(need);
    }
    return false;
  }

  /// A value that the model has too may be another one than is meant here: the earliest operand
  /// that has a replacement, of the `same` op (the other entry is read, another weight multiplied)
  /// or any. What the model calls by the same name is right: its reader is not.
  std::optional<FirstWrong> operand_of(const ValueAt& v, Kind kind) {
    for (const ValueAt& operand : in_order(needed(v))) {
      if (reached_.contains(operand) || (kind == Kind::any && blocks(operand))) continue;
      if (model_has(operand, Named::alike)) continue;
      auto found = replacement(operand, of_model_, kind);
      const bool only = needed(operand).size() == 1;  // a cast or collective: look through it
      auto earlier = found || only ? operand_of(operand, found ? Kind::same : kind) : std::nullopt;
      if (earlier || found) return earlier ? earlier : found;
    }
    return std::nullopt;
  }

  /// An operand is at fault rather than the value computed from it, but not where others read it
  /// and no more results are right with another one: there it is read in place of what is meant.
  std::optional<FirstWrong> first_of(const ValueAt& v) {
    const auto shared = [&](const FirstWrong& operand) { return readers_[operand.own].size() > 1; };
    auto operand = operand_of(v, Kind::same);
    if (operand && !shared(*operand)) return operand;
    auto own = replacement(v, of_model_);
    if (!operand && !own) {  // any value on the way to a result can be what is claimed
      own = replacement(v, of_claim_);
      operand = own ? operand_of(v, Kind::any) : std::nullopt;
      if (!operand || !shared(*operand)) return operand;
    }
    return operand && !(own && own->right >= operand->right) ? operand : own;
  }

  /// The value of the model that makes the result right in the place of this one.
  std::optional<FirstWrong> replacement(const ValueAt& v, const Trace& of_model,
                                        Kind kind = Kind::any) {
    const auto own = of_plan_.find(v);
    if (own == of_plan_.end() || begins_.contains(v)) return std::nullopt;
    const size_t count = own->second.size(), parts = count_of_blocks(v), times = count / parts;
    for (const auto& [meant, values] : of_model) {
      if (times == 0 || count % parts != 0 || values.size() % times != 0) continue;
      if (kind == Kind::same && op_of(meant) != op_of(v) && !same_name(meant, v)) continue;
      const Reordered reordered(program_, sizes_, type(v), type(meant), blocks(v));
      if (reordered.ways() == 0 || reordered.entries() != own->second[0].data.size()) continue;
      if (blocks(v) && !reordered.of_a_block() && !only_carried(v)) continue;
      for (size_t way = 0; way < reordered.ways(); ++way)
        for (size_t call = 0; call < values.size() / times; ++call) {
          Values instead;
          for (size_t i = 0; i < count; ++i)
            instead.push_back(reordered(values[i / parts * (values.size() / times) + call], way,
                                        own->second[0].shape, static_cast<int64_t>(i % parts)));
          const auto first = instead.begin() + static_cast<std::ptrdiff_t>(parts);
          if (std::equal(instead.begin(), first, own->second.begin(), agree)) continue;
          const size_t right = right_with(v, instead);
          if (right == 0) continue;
          FirstWrong found = wrong(v);
          found.right = right;
          found.meant = meant;
          found.of_gradient = is_gradient(meant);
          found.meant->function %= program_.functions.size();
          if ((!only_a_number(meant) || (only_a_number(v) && !in_the_library(meant))) &&
              &of_model == &of_model_)
            found.meant_range = range(meant);
          found.same_order =
              !blocks(v) && reordered.keeps_order(way) && !at_.at(v)->operands.empty();
          return found;
        }
    }
    return std::nullopt;
  }

  FirstWrong wrong(const ValueAt& v) const { return {v, {}, at_.at(v)->place.range, {}, false}; }

  bool same_name(const ValueAt& a, const ValueAt& b) const {
    const auto name = [&](const ValueAt& v) -> const Name& {
      return function_of(v).values.at(v.value).name;
    };
    return !name(a).empty() && name(a) == name(b);
  }

  /// A number of the model that makes the result right is there by chance, unless it is meant in
  /// place of another number.
  bool only_a_number(const ValueAt& v) const {
    const ir::Instr* instr = defining_instr(function_of(v).body, v.value);
    return instr && std::holds_alternative<ir::Number>(instr->op);
  }
  bool in_the_library(const ValueAt& v) const {
    return defining_instr(function_of(v).body, v.value)->place.inner.has_value();
  }

  /// Which op computes the value, of conditions which comparison; 0 for a parameter or carry.
  size_t op_of(const ValueAt& v) const {
    if (is_gradient(v)) return 0;
    const ir::Instr* instr = defining_instr(function_of(v).body, v.value);
    if (!instr) return 0;
    // A condition is not meant for another: where one holds everywhere, both together do as well.
    const auto* binary = std::get_if<ir::Binary>(&instr->op);
    const bool condition = binary && type(v).dtype == Dtype::boolean;
    return instr->op.index() + 1 +
           (condition ? (static_cast<size_t>(binary->fn) + 1) * std::variant_size_v<ir::AnyOp> : 0);
  }

  SourceRange range(const ValueAt& v) const {
    const ir::Function& function = function_of(v);
    const ir::Instr* instr = defining_instr(function.body, v.value);
    return instr ? instr->place.range : function.values.at(v.value).range;
  }

  /// How many results are right then; 0 if the one in question is not, or one that was.
  size_t right_with(const ValueAt& v, const Values& values) {
    spent_ += of_a_run_;
    if (spent_ > most_of_replacements) return 0;
    size_t times = 0;
    const auto replace = [&](size_t function, ir::ValueId value, denote::Distributed<double>& now) {
      if (function == v.function && value == v.value) now = {values.at(times++)};
    };
    try {
      const Values now = denote::evaluate<double>(program_, plan_, sizes_, inputs_, replace);
      const auto is_right = [&](size_t result) {
        return agree(now.at(result), claimed_.at(result));
      };
      if (!is_right(result_) || !std::all_of(right_.begin(), right_.end(), is_right)) return 0;
      size_t right = 0;
      for (size_t i = 0; i < std::min(now.size(), claimed_.size()); ++i) right += is_right(i);
      return right;
    } catch (const std::exception&) {
      return 0;  // no valid index
    }
  }

  const ir::Program& program_;
  size_t plan_;
  const denote::Sizes& sizes_;
  size_t result_;
  const Values& inputs_;
  Trace of_plan_, of_model_;
  Trace of_claim_;  ///< the gradients of the model's parameters
  Values claimed_;
  std::vector<size_t> right_;   ///< results that are right, and have to stay so
  std::vector<size_t> places_;  ///< as in find_places
  std::map<ValueAt, const ir::Instr*> at_;
  std::map<ValueAt, size_t> number_;
  std::map<ValueAt, std::set<const ir::Instr*>> readers_;
  std::map<ValueAt, std::set<ValueAt>> arguments_;  ///< of the calls of parts
  std::map<ValueAt, std::set<ValueAt>> needs_;
  std::map<ValueAt, Blocks> blocks_;      ///< of values in the body of a ring
  std::set<ValueAt> begins_, ends_;       ///< of the carries of rings
  std::set<ValueAt> read_;                ///< in the body of a ring
  std::set<ValueAt> visited_, reached_;   ///< not in the model, on the way to the result
  Values elsewhere_, claimed_elsewhere_;  ///< other inputs, and the model's results there
  double of_a_run_, spent_ = 0, spent_on_repairs_ = 0;  ///< estimated seconds
};

/// Scalars that are no simple fractions: `lr` of 1/2 is 1 / |d| on two devices by chance.
Values with_scalars_apart(const ir::Function& plan, Values inputs) {
  constexpr double apart = 0.9371;
  for (size_t i = 0; i < std::min(inputs.size(), plan.params.size()); ++i) {
    const Type& type = plan.values.at(plan.params[i]).type;
    if (type.dims.empty() && is_float(type.dtype))
      for (double& x : inputs[i].data) x *= apart;
  }
  return inputs;
}

}  // namespace

std::optional<FirstWrong> first_wrong_value(const ir::Program& program, size_t plan,
                                            const denote::Sizes& sizes, size_t result,
                                            const std::vector<denote::Array<double>>& inputs) {
  CostOfRun cost(program);
  if (cost.at(plan, sizes).numbers > most_of_a_trace) return std::nullopt;
  const auto search = [&](const ir::Program& there) {
    const Values apart = with_scalars_apart(there.functions.at(plan), inputs);
    const auto found = LineSearch(there, plan, sizes, result, apart, cost).run();
    return found ? found : LineSearch(there, plan, sizes, result, inputs, cost).run();
  };
  try {
    return search(names_mesh_sizes(program, plan) ? at_mesh_sizes(program, sizes) : program);
  } catch (const std::exception&) {
    return std::nullopt;  // what cannot run here is explained by the algebra alone
  }
}

}  // namespace shardproof
