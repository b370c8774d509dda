#include "spec/lower/loops_in_parts.h"

#include <algorithm>
#include <cctype>
#include <numeric>

#include "spec/ir/walk.h"
#include "spec/lower/copied_block.h"

namespace shardproof::lower {

namespace {

using ir::ValueId;

constexpr int most_instructions = 4000;

struct TooLong {};

struct Splitter {
  const ir::Program& program;
  const size_t order;
  ir::Function& function;
  bool found = false;
  size_t orders = 1;
  int made = 0;
  std::vector<ir::Requirement> required = {};  ///< of steps that are part of the block now

  void all(ir::Block& block) {
    const std::vector<ir::Instr> instrs = std::exchange(block.instrs, {});
    const auto around = std::exchange(required, {});
    for (const ir::Instr& each : instrs) add(each, block.instrs);
    block.requirements.insert(block.requirements.end(), required.begin(), required.end());
    required = around;
  }

 private:
  void add(ir::Instr instr, std::vector<ir::Instr>& to) {
    if (++made > most_instructions) throw TooLong{};
    const auto* scan = std::get_if<ir::Scan>(&instr.op);
    std::vector<ir::Instr> instead;
    if (scan != nullptr) instead = in_parts(instr, *scan);
    found = found || !instead.empty();
    for (ir::Instr& each : instead) add(std::move(each), to);
    if (!instead.empty()) return;
    if (ir::Block* body = body_of(instr.op)) all(*body);
    to.push_back(std::move(instr));
  }

  std::vector<ir::Instr> in_parts(const ir::Instr& instr, const ir::Scan& scan) {
    std::vector<Name> base = program.base(scan.dim);
    if (base.size() > 1) {
      const Dim inner{{base.back()}};
      base.pop_back();
      return nested(instr, scan, {base}, inner);
    }
    std::vector<Part> parts = parts_of(program, scan.dim);
    const bool alike =
        std::adjacent_find(parts.begin(), parts.end(), std::not_equal_to<>{}) == parts.end();
    const size_t turns = parts.empty() ? 0 : alike ? 1 : parts.size();
    // What is emitted in blocks would have to become one dim.
    const auto blocks = scan.body->emit.empty() ? blocks_of(program, scan.dim) : std::nullopt;
    orders = std::max(orders, turns + (blocks ? 1 : 0));
    if (blocks && order % (turns + 1) == turns)
      return nested(instr, scan, blocks->count, blocks->entries);
    if (parts.empty()) return {};
    std::rotate(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(order % turns), parts.end());
    return in_sequence(instr, scan, parts);
  }

  // --- values and instructions ---

  ValueId fresh(ir::Value value) {
    value.name.clear();
    function.values.push_back(std::move(value));
    return static_cast<ValueId>(function.values.size() - 1);
  }
  ValueId like(ValueId value) { return fresh(ir::Value(function.values.at(value))); }
  ValueId with_dim(ValueId entry, const Dim& dim) {
    ir::Value value = function.values.at(entry);
    value.type.dims.insert(value.type.dims.begin(), Split{dim, {}});
    return fresh(std::move(value));
  }
  static void push(std::vector<ir::Instr>& to, const ir::Instr& at, ir::Op op,
                   std::vector<ValueId> operands, ValueId result) {
    to.push_back({std::move(op), std::move(operands), {result}, at.place, {}, {}});
  }
  void same(std::vector<ir::Instr>& to, const ir::Instr& at, ValueId from, ValueId result) {
    push(to, at, ir::Ascribe{function.values.at(result).type, false}, {from}, result);
  }
  ValueId binary(std::vector<ir::Instr>& to, const ir::Instr& at, ir::BinaryFn fn, ValueId left,
                 ValueId right, ValueId index) {
    const ValueId result = like(index);
    push(to, at, ir::Binary{fn}, {left, right}, result);
    return result;
  }
  ValueId size_of(std::vector<ir::Instr>& to, const ir::Instr& at, const Part& part,
                  ValueId index) {
    const ValueId result = like(index);
    const Name name = part ? part->factors.at(0) : "1";
    if (std::isdigit(static_cast<unsigned char>(name.at(0))))
      push(to, at, ir::Number{name, std::stod(name)}, {}, result);
    else
      push(to, at, ir::SizeOf{name, false}, {}, result);
    return result;
  }

  // --- over (P W): over P, around one over W ---

  std::vector<ir::Instr> nested(const ir::Instr& instr, const ir::Scan& scan, const Dim& outer,
                                const Dim& inner) {
    ir::Block body = *scan.body, around;
    const ValueId n = body.params.at(0), i = like(n), j = like(n);
    std::vector<ir::Instr> index;
    const ValueId start =
        binary(index, instr, ir::BinaryFn::mul, i, size_of(index, instr, inner, n), n);
    push(index, instr, ir::Binary{ir::BinaryFn::add}, {start, j}, n);
    body.params[0] = j;
    body.instrs.insert(body.instrs.begin(), index.begin(), index.end());

    ir::Instr inside{ir::Scan{inner, scan.reverse, nullptr}, {}, {}, instr.place, {}, {}};
    around.params.push_back(i);
    for (size_t k = 1; k < body.params.size(); ++k) {
      around.params.push_back(like(body.params[k]));
      inside.operands.push_back(around.params.back());
      inside.results.push_back(like(body.params[k]));
    }
    around.next = inside.results;
    for (ValueId emit : body.emit) around.emit.push_back(with_dim(emit, inner));
    inside.results.insert(inside.results.end(), around.emit.begin(), around.emit.end());
    around.next_range = body.next_range;
    std::get<ir::Scan>(inside.op).body = std::make_shared<ir::Block>(std::move(body));
    around.instrs.push_back(std::move(inside));

    ir::Instr outside = instr;
    outside.op = ir::Scan{outer, scan.reverse, std::make_shared<ir::Block>(around)};
    std::vector<ir::Instr> result;
    for (size_t r = around.next.size(); r < instr.results.size(); ++r)
      if (instr.results[r] != ir::no_value)
        outside.results[r] = with_dim(around.emit.at(r - around.next.size()), outer);
    result.push_back(outside);
    for (size_t r = around.next.size(); r < instr.results.size(); ++r)
      if (instr.results[r] != ir::no_value)
        joined(result, instr, outside.results[r], instr.results[r]);
    return result;
  }

  /// The result with its first two positions as one.
  void joined(std::vector<ir::Instr>& to, const ir::Instr& at, ValueId parts, ValueId result) {
    const Shape &left = function.values.at(parts).type, &right = function.values.at(result).type;
    ir::Pattern pattern;
    pattern.left = {left}, pattern.right = right;
    std::vector<ir::Position> positions = positions_of(left, pattern.indices);
    pattern.indices.left = {positions};
    positions[0].insert(positions[0].end(), positions[1].begin(), positions[1].end());
    positions.erase(positions.begin() + 1);
    pattern.indices.right = positions;
    push(to, at, ir::Rearrange{pattern}, {parts}, result);
  }
  /// An index for each factor of each position.
  std::vector<ir::Position> positions_of(const Shape& shape, ir::Indices& indices) const {
    std::vector<ir::Position> result;
    for (const Split& split : shape.dims) {
      result.push_back({});
      for (const Name& name : program.base(split.dim)) {
        result.back().push_back(indices.all.size());
        indices.all.push_back({name, name + " " + std::to_string(indices.all.size())});
      }
    }
    return result;
  }

  // --- one part after the other ---

  std::vector<ir::Instr> in_sequence(const ir::Instr& instr, const ir::Scan& scan,
                                     const std::vector<Part>& parts) {
    std::vector<ir::Instr> result;
    std::vector<ValueId> carries = instr.operands;
    std::vector<std::vector<ValueId>> emits(parts.size());
    std::vector<size_t> sequence(parts.size());
    std::iota(sequence.begin(), sequence.end(), size_t{0});
    if (scan.reverse) std::reverse(sequence.begin(), sequence.end());
    for (size_t k : sequence) {
      ir::Block body = copied_block(function, *scan.body);
      const std::vector<Part> before(parts.begin(), parts.begin() + static_cast<ptrdiff_t>(k));
      const size_t count = carries.size();
      if (parts[k])
        carries = looped(result, instr, scan, *parts[k], before, std::move(body), carries);
      else
        carries = stepped(result, instr, before, std::move(body), carries);
      emits[k].assign(carries.begin() + static_cast<ptrdiff_t>(count), carries.end());
      carries.resize(count);
    }
    for (size_t r = 0; r < instr.results.size(); ++r) {
      if (instr.results[r] == ir::no_value) continue;
      if (r < carries.size()) {
        same(result, instr, carries[r], instr.results[r]);
        continue;
      }
      std::vector<ValueId> pieces;
      for (const auto& each : emits) pieces.push_back(each.at(r - carries.size()));
      concatenated(result, instr, parts, pieces, instr.results[r]);
    }
    return result;
  }
  /// n, as an index of the parts before it and one of its own.
  void index_after(std::vector<ir::Instr>& to, const ir::Instr& at, const std::vector<Part>& before,
                   std::optional<ValueId> own, ValueId n) {
    ValueId sum = own ? *own : like(n);
    if (!own) push(to, at, ir::Number{"0", 0}, {}, sum);
    for (const Part& part : before)
      sum = binary(to, at, ir::BinaryFn::add, sum, size_of(to, at, part, n), n);
    same(to, at, sum, n);
  }
  /// Its last carries, and what it emits.
  std::vector<ValueId> looped(std::vector<ir::Instr>& to, const ir::Instr& instr,
                              const ir::Scan& scan, const Dim& dim, const std::vector<Part>& before,
                              ir::Block body, const std::vector<ValueId>& carries) {
    const ValueId n = body.params.at(0), own = like(n);
    std::vector<ir::Instr> index;
    index_after(index, instr, before, own, n);
    body.params[0] = own;
    body.instrs.insert(body.instrs.begin(), index.begin(), index.end());
    std::vector<ValueId> results;
    for (size_t i = 0; i < carries.size(); ++i) results.push_back(like(body.params.at(i + 1)));
    for (ValueId emit : body.emit) results.push_back(with_dim(emit, dim));
    to.push_back({ir::Scan{dim, scan.reverse, std::make_shared<ir::Block>(std::move(body))},
                  carries,
                  results,
                  instr.place,
                  {},
                  {}});
    return results;
  }
  std::vector<ValueId> stepped(std::vector<ir::Instr>& to, const ir::Instr& instr,
                               const std::vector<Part>& before, ir::Block body,
                               const std::vector<ValueId>& carries) {
    required.insert(required.end(), body.requirements.begin(), body.requirements.end());
    index_after(to, instr, before, {}, body.params.at(0));
    for (size_t i = 0; i < carries.size(); ++i) same(to, instr, carries[i], body.params.at(i + 1));
    to.insert(to.end(), body.instrs.begin(), body.instrs.end());
    std::vector<ValueId> results = body.next;
    results.insert(results.end(), body.emit.begin(), body.emit.end());
    return results;
  }
  void concatenated(std::vector<ir::Instr>& to, const ir::Instr& at, const std::vector<Part>& parts,
                    const std::vector<ValueId>& pieces, ValueId result) {
    ir::Pattern pattern;
    pattern.right = function.values.at(result).type, pattern.right_bracket = 0;
    pattern.indices.right = positions_of(pattern.right, pattern.indices);
    for (size_t k = 0; k < pieces.size(); ++k) {
      const Shape& shape = function.values.at(pieces[k]).type;
      std::vector<ir::Position> left = pattern.indices.right;
      left.erase(left.begin());
      if (parts[k])
        left.insert(left.begin(), positions_of({{shape.dims.at(0)}, {}}, pattern.indices).at(0));
      pattern.left.push_back(shape);
      pattern.indices.left.push_back(left);
    }
    push(to, at, ir::Concat{pattern}, pieces, result);
  }
};

}  // namespace

std::optional<LoopsInParts> with_loops_in_parts(const ir::Program& program, size_t plan,
                                                size_t order) {
  std::set<size_t> reached{plan};
  const ir::Function& claimant = program.functions.at(plan);
  add_reached(program, claimant, reached);
  if (claimant.after && reached.insert(*claimant.after).second)
    add_reached(program, program.functions.at(*claimant.after), reached);
  std::optional<LoopsInParts> result;
  try {
    for (size_t f : reached) {
      ir::Function function = program.functions.at(f);
      function.body = deep_copy(function.body);
      Splitter splitter{program, order, function};
      splitter.all(function.body);
      if (!splitter.found) continue;
      if (!result) result = LoopsInParts{program};
      result->program.functions.own().at(f) = std::move(function);
      result->orders = std::max(result->orders, splitter.orders);
    }
  } catch (const TooLong&) {
    return std::nullopt;
  }
  return result;
}

}  // namespace shardproof::lower
