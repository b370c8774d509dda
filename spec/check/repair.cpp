#include "spec/check/repair.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "spec/ir/walk.h"

namespace shardproof {
namespace {

using ir::BinaryFn;
using ir::ValueId;

bool known(const SourceRange& range) { return range.file >= 0; }

bool inside(const SourceRange& own, const SourceRange& around) {
  return own.file == around.file && around.begin <= own.begin && own.end <= around.end;
}

/// Where a value is read: operands of one instruction or library call, or a slot of a list.
struct Use {
  ir::Block* block = nullptr;
  size_t at = 0;                                    ///< the instruction, or the end of the block
  std::vector<std::pair<size_t, size_t>> operands;  ///< instruction, operand
  std::vector<ValueId>* list = nullptr;             ///< `next`, `emit` or what is returned
  size_t slot = 0;
  SourceRange range;   ///< of what is read there
  SourceRange around;  ///< of the expression that reads it
};

class Search {
 public:
  explicit Search(const RepairSearch& search)
      : search_(search),
        program_(own_copy(search.program, search.plan)),
        plan_(program_.functions.own().at(search.plan)) {
    if (plan_.model) note_numbers(program_.functions.at(*plan_.model));
    for_each_instr(plan_.body, [&](const ir::Instr& instr) {
      if (std::holds_alternative<ir::Number>(instr.op) ||
          std::holds_alternative<ir::SizeOf>(instr.op) ||
          std::holds_alternative<ir::Zeros>(instr.op))
        constants_.insert(instr.results.begin(), instr.results.end());
    });
  }

  std::optional<Repair> run() {
    for (const Kind kind : {&Search::changes_of_op, &Search::other_operands, &Search::left_out,
                            &Search::functions_left_out}) {
      kind_ = kind;
      std::vector<ValueId> scope = named(plan_.params);
      for (ValueId v : named(plan_.saved_params)) scope.push_back(v);
      walk(plan_.body, scope, true);
      returned(scope);
      if (search_.ended()) return std::nullopt;  // others may be as good
      if (!found_.empty()) return best();
    }
    return std::nullopt;
  }

 private:
  using Kind = void (Search::*)(const Use*, ir::Block&, size_t, const std::vector<ValueId>&);
  struct Found {
    Repair repair;
    ValueId own = ir::no_value;  ///< the value
    bool of_value = false;  ///< of the expression that computes a value, not of one that reads it
    bool masks = false, of_condition = false;
  };

  const ir::Value& value(ValueId v) const { return plan_.values.at(v); }
  const Type& type(ValueId v) const { return value(v).type; }
  std::string quoted(ValueId v) const { return "`" + value(v).name + "`"; }
  bool suspect(ValueId v) const { return search_.suspects.contains(v); }

  std::vector<ValueId> named(const std::vector<ValueId>& values) const {
    std::vector<ValueId> result;
    for (ValueId v : values)
      if (v != ir::no_value && !value(v).name.empty()) result.push_back(v);
    return result;
  }

  /// Masks are written with numbers as large as the model's.
  void note_numbers(const ir::Function& model) {
    for_each_instr(model.body, [&](const ir::Instr& instr) {
      const auto* number = std::get_if<ir::Number>(&instr.op);
      if (number && std::abs(number->value) >= 1e4) masks_.insert(-std::abs(number->value));
    });
  }

  // --- places ---

  /// `on_the_way`: whether the results of the block's loop may be wrong.
  void walk(ir::Block& block, std::vector<ValueId>& scope, bool on_the_way) {
    const size_t outside = scope.size();
    for (ValueId v : named(block.params)) scope.push_back(v);
    for (size_t i = 0; i < block.instrs.size(); ++i) {
      const std::vector<ValueId> results = block.instrs[i].results;
      const bool may_be_wrong = std::any_of(results.begin(), results.end(), [&](ValueId v) {
        return v != ir::no_value && suspect(v);
      });
      if (ir::Block* body = body_of(block.instrs[i].op)) walk(*body, scope, may_be_wrong);
      if (may_be_wrong && shown(block.instrs[i])) at(block, i, scope);
      const bool read = std::any_of(results.begin(), results.end(), [&](ValueId v) {
        return search_.read_by_suspects.contains(v);
      });
      const bool further = kind_ == &Search::left_out || kind_ == &Search::functions_left_out;
      if (read && further && shown(block.instrs[i])) (this->*kind_)(nullptr, block, i, scope);
      for (ValueId v : named(results)) scope.push_back(v);
    }
    if (on_the_way && &block != &plan_.body) {
      for (auto* list : {&block.next, &block.emit})
        for (size_t slot = 0; slot < list->size(); ++slot)
          if (!value((*list)[slot]).name.empty())
            read(list_use(block, *list, slot, block.next_range), scope);
    }
    scope.resize(outside);
  }

  /// Whether the user wrote it, or a library call that it belongs to.
  static bool shown(const ir::Instr& instr) { return known(instr.place.range); }

  static Use list_use(ir::Block& block, std::vector<ValueId>& list, size_t slot,
                      const SourceRange& around) {
    Use use{&block, block.instrs.size(), {}, &list, slot, {}, around};
    return use;
  }

  void returned(const std::vector<ValueId>& scope) {
    std::vector<ValueId> all = scope;
    for (const ir::Instr& instr : plan_.body.instrs)
      for (ValueId v : named(instr.results)) all.push_back(v);
    const size_t slot = search_.result;
    const ValueId v = plan_.returned.at(slot);
    if (value(v).name.empty()) return;
    const bool several = plan_.returned_ranges.size() == plan_.returned.size();
    Use use = list_use(plan_.body, plan_.returned, slot,
                       several ? plan_.returned_ranges[slot] : plan_.return_range);
    if ((several || plan_.returned.size() == 1) && known(use.around)) {
      use.range = use.around;
      const auto length = static_cast<uint32_t>(value(v).name.size());
      if (use.range.end - use.range.begin >= length) use.range.begin = use.range.end - length;
    }
    if (!known(use.around)) return;
    read(use, all);
  }

  void at(ir::Block& block, size_t i, const std::vector<ValueId>& scope) {
    (this->*kind_)(nullptr, block, i, scope);
    const ir::Instr instr = block.instrs[i];
    std::set<ValueId> seen;
    for (size_t operand = 0; operand < instr.operands.size(); ++operand) {
      const ValueId v = instr.operands[operand];
      Use use{&block, i, {{i, operand}}, nullptr, 0, {}, instr.place.range};
      if (instr.library_call) {
        if (!seen.insert(v).second || !first_of_call(block, i, v)) continue;
        use.operands = operands_of_call(block, *instr.library_call, v);
      } else if (operand < instr.operand_ranges.size()) {
        use.range = instr.operand_ranges[operand];
      }
      read(use, scope);
    }
  }

  /// Whether the library call's first instruction that reads this value of the user's is this one.
  static bool first_of_call(const ir::Block& block, size_t i, ValueId v) {
    const auto call = block.instrs[i].library_call;
    for (size_t j = 0; j < block.instrs.size(); ++j) {
      const ir::Instr& each = block.instrs[j];
      if (each.library_call != call) continue;
      const auto& results = each.results;
      if (std::find(results.begin(), results.end(), v) != results.end()) return false;
      if (j < i && std::find(each.operands.begin(), each.operands.end(), v) != each.operands.end())
        return false;
    }
    return true;
  }
  static std::vector<std::pair<size_t, size_t>> operands_of_call(const ir::Block& block,
                                                                 size_t call, ValueId v) {
    std::vector<std::pair<size_t, size_t>> places;
    for (size_t j = 0; j < block.instrs.size(); ++j)
      for (size_t k = 0; k < block.instrs[j].operands.size(); ++k)
        if (block.instrs[j].library_call == call && block.instrs[j].operands[k] == v)
          places.push_back({j, k});
    return places;
  }

  void read(const Use& use, const std::vector<ValueId>& scope) {
    (this->*kind_)(&use, *use.block, use.at, scope);
  }

  ValueId read_by(const Use& use) const {
    return use.list ? (*use.list)[use.slot]
                    : use.block->instrs[use.operands[0].first].operands[use.operands[0].second];
  }
  static void put(const Use& use, ValueId v) {
    if (use.list) (*use.list)[use.slot] = v;
    for (const auto& [instr, operand] : use.operands)
      use.block->instrs[instr].operands[operand] = v;
  }

  // --- kinds of changes ---

  bool alike(ValueId a, ValueId b) const {
    const Type &x = type(a), &y = type(b);
    return x.dtype == y.dtype && x.dims.size() == y.dims.size() &&
           std::equal(x.dims.begin(), x.dims.end(), y.dims.begin(),
                      [](const Split& one, const Split& two) { return one.dim == two.dim; });
  }
  /// Whether a pointwise op of both gives the type of `wide`.
  bool fits(ValueId wide, ValueId narrow) const {
    const Type &x = type(wide), &y = type(narrow);
    return x.dtype == y.dtype && within(x, y);
  }
  static bool within(const Type& wide, const Type& narrow) {
    return std::all_of(narrow.dims.begin(), narrow.dims.end(), [&](const Split& each) {
      return std::any_of(wide.dims.begin(), wide.dims.end(),
                         [&](const Split& other) { return other.dim == each.dim; });
    });
  }

  /// An operand is the value; the other operator of its kind; operands in the other order.
  void changes_of_op(const Use* use, ir::Block& block, size_t i, const std::vector<ValueId>&) {
    if (use || block.instrs[i].library_call || block.instrs[i].results.size() != 1) return;
    ir::Instr& instr = block.instrs[i];
    if (std::all_of(instr.operands.begin(), instr.operands.end(),
                    [&](ValueId v) { return constants_.contains(v); }))
      return;
    const SourceRange range = instr.place.range;
    const ValueId own = instr.results[0];
    const bool ranges = instr.operand_ranges.size() == instr.operands.size();
    const size_t before = found_.size();
    for (size_t k = 0; k < instr.operands.size(); ++k) {
      if (!alike(instr.operands[k], own) || !is_pointwise(instr.op) || !simple_beside(instr, k))
        continue;
      std::vector<Edit> edits;
      if (ranges) {
        const SourceRange part = instr.operand_ranges[k];
        edits = {{{range.file, range.begin, part.begin}, ""},
                 {{range.file, part.end, range.end}, ""}};
      }
      const ir::Instr saved =
          std::exchange(instr, ir::Instr{ir::Save{}, {instr.operands[k]}, {own}, instr.place, {}});
      try_it(range, "without `" + left_out_text(saved, k) + "`", std::move(edits), true);
      instr = saved;
    }
    if (found_.size() > before) return;  // `x * 1` and `x / 1` for `x + 1` say no more
    auto* binary = std::get_if<ir::Binary>(&instr.op);
    if (!binary) return;
    const SourceRange between =
        ranges ? SourceRange{range.file, instr.operand_ranges[0].end, instr.operand_ranges[1].begin}
               : SourceRange{};
    const BinaryFn fn = binary->fn;
    for (const BinaryFn other : others(fn)) {
      if (other == BinaryFn::div && !is_float(type(own).dtype)) continue;
      binary->fn = other;
      const std::string text = ir::name_of(instr.op);
      std::vector<Edit> edits;
      if (known(between)) edits = {{between, " " + text + " "}};
      binary->fn = fn;
      const std::string own_text = ir::name_of(instr.op);
      binary->fn = other;
      try_it(range, "with `" + text + "` in place of `" + own_text + "`", std::move(edits), true);
    }
    binary->fn = fn;
    if (fn != BinaryFn::sub && fn != BinaryFn::div) return;
    std::swap(instr.operands[0], instr.operands[1]);
    std::vector<Edit> edits;
    const std::string &a = value(instr.operands[1]).name, &b = value(instr.operands[0]).name;
    if (known(between) && !a.empty() && !b.empty())
      edits = {{instr.operand_ranges[0], b}, {instr.operand_ranges[1], a}};
    try_it(range, std::string("with the operands of `") + ir::name_of(instr.op) + "` exchanged",
           std::move(edits), true);
    std::swap(instr.operands[0], instr.operands[1]);
  }
  /// `/ |d|` of x / |d| where operand 0 is kept; the name of the op where the rest has no short
  /// text.
  std::string left_out_text(const ir::Instr& instr, size_t kept) const {
    const std::string op = ir::name_of(instr.op);
    if (instr.operands.size() != 2 || std::isalpha(op[0])) return op;
    const ValueId other = instr.operands[1 - kept];
    std::string text = value(other).name;
    if (const ir::Instr* made = text.empty() ? defining_instr(plan_.body, other) : nullptr) {
      if (const auto* size = std::get_if<ir::SizeOf>(&made->op)) text = "|" + size->name + "|";
      if (const auto* number = std::get_if<ir::Number>(&made->op))
        text = number->constant.empty() ? number->text : number->constant;
    }
    if (text.empty()) return op;
    return kept == 0 ? op + " " + text : text + " " + op;
  }
  /// Whether the other operands are names and constants: more is not written by a slip.
  bool simple_beside(const ir::Instr& instr, size_t operand) const {
    for (size_t k = 0; k < instr.operands.size(); ++k)
      if (k != operand && value(instr.operands[k]).name.empty() &&
          !constants_.contains(instr.operands[k]))
        return false;
    return true;
  }
  static bool is_pointwise(const ir::Op& op) {
    return std::holds_alternative<ir::Binary>(op) || std::holds_alternative<ir::Unary>(op) ||
           std::holds_alternative<ir::Where>(op);
  }
  static std::vector<BinaryFn> others(BinaryFn fn) {
    using enum BinaryFn;
    for (const std::vector<BinaryFn>& family :
         {std::vector{lt, le, gt, ge, eq, ne}, {add, sub, mul, div}, {logical_and, logical_or}}) {
      if (std::find(family.begin(), family.end(), fn) == family.end()) continue;
      std::vector<BinaryFn> result = family;
      std::erase(result, fn);
      return result;
    }
    return {};
  }

  /// Another value with a name is read.
  void other_operands(const Use* use, ir::Block&, size_t, const std::vector<ValueId>& scope) {
    if (!use) return;
    const ValueId own = read_by(*use);
    if (value(own).name.empty()) return;
    for (ValueId other : scope) {
      if (other == own || !alike(own, other) || value(other).name.starts_with("_")) continue;
      put(*use, other);
      std::vector<Edit> edits;
      if (known(use->range)) edits = {{use->range, value(other).name}};
      try_it(known(use->range) ? use->range : use->around,
             "with " + quoted(other) + " in place of " + quoted(own), std::move(edits), false);
      put(*use, own);
    }
  }

  /// A value with a name is a further factor, divisor, term or condition, or masks.
  void left_out(const Use* use, ir::Block& block, size_t i, const std::vector<ValueId>& scope) {
    const auto own = subject(use, block, i);
    if (!own) return;
    for (ValueId other : scope) {
      if (other == *own) continue;
      if (fits(*own, other))
        for (const BinaryFn fn : joined(type(*own).dtype))
          apply(use, block, i, *own, {ir::Binary{fn}, {*own, other}});
      if (type(other).dtype == Dtype::boolean && is_float(type(*own).dtype) &&
          within(type(*own), type(other))) {
        for (const double mask : masks_) masked(use, block, i, *own, other, mask);
        if (masks_.empty()) masked(use, block, i, *own, other, 0);
      }
    }
  }
  static std::vector<BinaryFn> joined(Dtype dtype) {
    using enum BinaryFn;
    if (dtype == Dtype::boolean) return {logical_and, logical_or};
    if (is_float(dtype)) return {mul, div, add, sub};
    return {add, sub};
  }

  void functions_left_out(const Use* use, ir::Block& block, size_t i, const std::vector<ValueId>&) {
    const auto own = subject(use, block, i);
    if (!own || !is_float(type(*own).dtype)) return;
    using enum ir::UnaryFn;
    for (const ir::UnaryFn fn : {exp, log, sqrt, rsqrt, tanh, abs, neg})
      apply(use, block, i, *own, {ir::Unary{fn}, {*own}});
  }

  /// The value that a further op applies to: the one that is read, or the instruction's.
  std::optional<ValueId> subject(const Use* use, const ir::Block& block, size_t i) const {
    if (use) return read_by(*use);
    const ir::Instr& instr = block.instrs[i];
    if (instr.results.size() != 1 || body_of(instr.op) || instr.results[0] == ir::no_value)
      return std::nullopt;
    if (instr.library_call && value(instr.results[0]).name.empty()) return std::nullopt;
    return instr.results[0];
  }

  struct Further {
    ir::Op op;
    std::vector<ValueId> operands;
  };

  void masked(const Use* use, ir::Block& block, size_t i, ValueId own, ValueId mask,
              double number) {
    ir::Number literal;
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    literal.text = text;
    literal.value = number;
    const ValueId beside = fresh(Type{{}, Dtype::number});
    block.instrs.insert(block.instrs.begin(), {literal, {}, {beside}, block_place(), {}});
    Use moved = use ? *use : Use{};
    ++moved.at;
    for (auto& [instr, operand] : moved.operands) ++instr;
    apply(use ? &moved : nullptr, block, i + 1, own, {ir::Where{}, {mask, own, beside}},
          literal.text);
    block.instrs.erase(block.instrs.begin());
    plan_.values.pop_back();
  }
  ir::Place block_place() const { return {plan_.range, {}, {}}; }

  ValueId fresh(Type type) {
    plan_.values.push_back({"", std::move(type), {}, false});
    return static_cast<ValueId>(plan_.values.size() - 1);
  }

  /// Runs the plan with a further op on `own`, for all that read it or for this use.
  void apply(const Use* use, ir::Block& block, size_t i, ValueId own, Further further,
             const std::string& number = {}) {
    const ValueId made = fresh(type(own));
    ir::Instr instr{further.op, further.operands, {made}, block_place(), {}};
    SourceRange range =
        use ? (known(use->range) ? use->range : use->around) : block.instrs[i].place.range;
    const bool exact = !use || known(use->range);
    auto [words, edits] = said(further, own, number, range, use && !value(own).name.empty());
    if (!exact) edits.clear();
    if (use) {
      block.instrs.insert(block.instrs.begin() + static_cast<std::ptrdiff_t>(i), instr);
      Use moved = *use;
      for (auto& [at, operand] : moved.operands) ++at;
      put(moved, made);
      try_it(range, words, std::move(edits), false, own);
      put(moved, own);
      block.instrs.erase(block.instrs.begin() + static_cast<std::ptrdiff_t>(i));
    } else {
      block.instrs[i].results[0] = made;
      std::replace(instr.operands.begin(), instr.operands.end(), own, made);
      instr.results = {own};
      block.instrs.insert(block.instrs.begin() + static_cast<std::ptrdiff_t>(i) + 1, instr);
      try_it(range, words, std::move(edits), true, own);
      block.instrs.erase(block.instrs.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      block.instrs[i].results[0] = own;
    }
    plan_.values.pop_back();
  }

  /// The words and the edit for a further op. `name`: what stands there is one name.
  std::pair<std::string, std::vector<Edit>> said(const Further& further, ValueId own,
                                                 const std::string& number,
                                                 const SourceRange& range, bool name) const {
    const std::string op = ir::name_of(further.op), what = name ? value(own).name : "..";
    std::string before, after;
    if (std::holds_alternative<ir::Binary>(further.op)) {
      before = name ? "" : "(";
      after = (name ? " " : ") ") + op + " " + value(further.operands.at(1)).name;
    } else if (std::holds_alternative<ir::Unary>(further.op)) {
      before = op + "(", after = ")";
    } else {
      before = "where(" + value(further.operands.at(0)).name + ", ", after = ", " + number + ")";
    }
    const std::string written = before + what + after;
    const SourceRange first{range.file, range.begin, range.begin},
        last{range.file, range.end, range.end};
    return {"with `" + written + "`" + (name ? " in place of " + quoted(own) : ""),
            {{first, before}, {last, after}}};
  }

  // --- runs ---

  void try_it(const SourceRange& range, std::string words, std::vector<Edit> edits, bool of_value,
              ValueId own = ir::no_value) {
    if (!known(range) || search_.ended() || !search_.right(program_)) return;
    std::erase_if(edits, [](const Edit& edit) {
      return edit.text.empty() && edit.range.begin == edit.range.end;
    });
    const bool masks = words.starts_with("with `where");
    found_.push_back({{range, std::move(words), std::move(edits)},
                      own,
                      of_value,
                      masks,
                      words.starts_with("with `(..) and ") || words.find(" and ") != words.npos});
  }

  /// What can be changed where a value is computed is not counted where it is read.
  void forget_readers() {
    std::set<ValueId> values;
    for (const Found& each : found_)
      if (each.of_value) values.insert(each.own);
    std::erase_if(found_, [&](const Found& each) {
      return !each.of_value && each.own != ir::no_value && values.contains(each.own);
    });
  }

  /// The number of expressions, without those inside another.
  size_t places() const {
    std::set<std::pair<uint32_t, uint32_t>> outermost;
    for (const Found& each : found_) {
      const SourceRange& own = each.repair.range;
      if (std::none_of(found_.begin(), found_.end(), [&](const Found& other) {
            return !(other.repair.range == own) && inside(own, other.repair.range);
          }))
        outermost.insert({own.begin, own.end});
    }
    return outermost.size();
  }

  /// Changes of a value come before those of one that reads it; of several the last, in which the
  /// others meet, but the first mask: what follows is masked too.
  std::optional<Repair> best() {
    for (const Found& each : found_)
      if (inside(each.repair.range, search_.likely)) return each.repair;
    const auto mask = std::find_if(found_.begin(), found_.end(),
                                   [](const Found& each) { return each.masks && each.of_value; });
    if (mask != found_.end()) return mask->repair;
    forget_readers();
    if (places() > (found_.back().of_condition ? 3 : 1)) return std::nullopt;
    return found_.back().repair;
  }

  const RepairSearch& search_;
  ir::Program program_;
  ir::Function& plan_;
  std::set<double> masks_;
  std::set<ValueId> constants_;  ///< numbers, sizes and zeros
  std::vector<Found> found_;
  Kind kind_ = nullptr;
};

}  // namespace

ir::Program own_copy(const ir::Program& program, size_t plan) {
  std::set<size_t> reached{plan};
  add_reached(program, program.functions.at(plan), reached);
  ir::Program result = ir::without_functions(program);
  std::vector<ir::Function>& own = result.functions.own();
  own.resize(program.functions.size());
  for (const size_t f : reached) own[f] = program.functions[f];
  own[plan].body = deep_copy(program.functions[plan].body);
  return result;
}

std::optional<Repair> find_repair(const RepairSearch& search) { return Search(search).run(); }

}  // namespace shardproof
