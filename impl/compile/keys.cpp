#include "impl/compile/keys.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "impl/compile/compiler.h"
#include "impl/compile/ops.h"

namespace shardproof::compile {
namespace {

/// A sequence of numbers and texts, hashed in two ways.
class Hash {
 public:
  explicit Hash(std::string_view kind) { add(kind); }

  Hash& add(uint64_t number) {
    key_.first = mixed(key_.first ^ number, 0x9e3779b97f4a7c15ull);
    key_.second = mixed(key_.second ^ number, 0xbf58476d1ce4e5b9ull);
    return *this;
  }
  Hash& add(std::string_view text) {
    add(~uint64_t{text.size()});  // larger than sizes and ids: a text is not read as those
    for (size_t at = 0; at < text.size(); at += sizeof(uint64_t)) {
      uint64_t part = 0;
      std::memcpy(&part, text.data() + at, std::min(text.size() - at, sizeof part));
      add(part);
    }
    return *this;
  }
  Hash& add(const Key& key) { return add(key.first).add(key.second); }
  Key key() const { return key_; }

 private:
  static uint64_t mixed(uint64_t word, uint64_t factor) {
    word *= factor;
    return word ^ word >> 32;
  }

  Key key_{0xcbf29ce484222325ull, 0x6c62272e07bb0142ull};
};

void add(Hash& hash, const std::optional<size_t>& position) {
  hash.add(position ? *position + 1 : 0);
}

/// Numbers indices in order of occurrence: names do not matter. Each list begins with its length.
void add(Hash& hash, const Placement& placement, const ir::Pattern& pattern) {
  hash.add(pattern.indices.all.size());
  for (const ir::PatternIndex& index : pattern.indices.all)
    hash.add(static_cast<uint64_t>(placement.size(index.dim)));
  const auto side = [&](const Positions& positions) {
    hash.add(positions.size());
    for (const ir::Position& position : positions) {
      hash.add(position.size());
      for (IndexId id : position) hash.add(id);
    }
  };
  hash.add(pattern.indices.left.size());
  for (const Positions& left : pattern.indices.left) side(left);
  side(pattern.indices.right);
  add(hash, pattern.left_bracket);
  hash.add(pattern.bracket_operand);
  add(hash, pattern.right_bracket);
}

/// Ignores {I}: it concerns gradients, not what a rank holds.
void add(Hash& hash, const Placement& placement, const Type& type) {
  hash.add(static_cast<uint64_t>(type.dtype));
  for (const auto& [axis, mark] : type.marks)
    if (mark != Mark::I) hash.add(axis).add(static_cast<uint64_t>(mark));
  hash.add(type.dims.size());
  for (const Split& split : type.dims) {
    hash.add(static_cast<uint64_t>(placement.size(split.dim))).add(split.axes.size());
    for (const Axis& axis : split.axes) hash.add(axis);
  }
}

/// The attributes of an op other than its name, its pattern and its types.
struct Attributes {
  Hash& hash;
  const Unit& unit;
  const Placement& placement;
  const ir::Instr& instr;

  void operator()(const ir::Number& op) const { hash.add(std::bit_cast<uint64_t>(op.value)); }
  void operator()(const ir::SizeOf& op) const {
    hash.add(
        static_cast<uint64_t>(op.axis ? placement.mesh().size(op.name) : placement.size(op.name)));
  }
  void operator()(const ir::Binary&) const { matches(); }
  void operator()(const ir::Where&) const { matches(); }
  void operator()(const ir::Cast& op) const { hash.add(static_cast<uint64_t>(op.to)); }
  void operator()(const ir::Fold& op) const {
    hash.add(op.tag.value_or("\1"));
    matches();
  }
  void operator()(const ir::Einsum& op) const { dtype(op.to); }
  void operator()(const ir::Reduce& op) const {
    hash.add(static_cast<uint64_t>(op.fn));
    dtype(op.to);
  }
  void operator()(const ir::Iota& op) const { hash.add(op.dim); }
  void operator()(const ir::Ordered& op) const { hash.add(op.dim); }
  void operator()(const ir::Total& op) const {
    for (const auto& [axis, mark] : op.marks) hash.add(axis).add(static_cast<uint64_t>(mark));
  }
  void operator()(const ir::Entry& op) const {
    hash.add(position_of(op, unit.type(instr.operands.at(0))));
  }
  void operator()(const ir::Grad& op) const {
    hash.add(op.function).add(op.with_value);
    for (size_t leaf : op.wrt) hash.add(leaf);
  }
  /// Ops without attributes: the name suffices.
  void operator()(const auto&) const {}

  /// Which positions of the operands are which positions of the result.
  void matches() const {
    for (ir::ValueId id : instr.operands) {
      const Ids to = matched(*unit.program, unit.type(id), unit.type(instr.results.at(0)));
      hash.add(to.size());
      for (size_t position : to) hash.add(position);
    }
  }
  void dtype(const std::optional<Dtype>& to) const {
    hash.add(to ? static_cast<uint64_t>(*to) + 1 : 0);
  }
};

class Numbering {
 public:
  Numbering(const Unit& unit, const Placement& placement, size_t depth)
      : unit_(unit),
        placement_(placement),
        depth_(depth),
        keys_(unit.plan().values.size()),
        types_(keys_.size()) {}

  std::vector<Key> take(const std::vector<Key>& parameters) {
    const ir::Function& function = unit_.plan();
    std::vector<ir::ValueId> params = function.params;
    params.insert(params.end(), function.saved_params.begin(), function.saved_params.end());
    for (size_t i = 0; i < params.size(); ++i) keys_.at(params[i]) = parameters.at(i);
    block(function.body);
    return std::move(keys_);
  }

 private:
  void block(const ir::Block& block) {
    for (const ir::Instr& instr : block.instrs) this->instr(instr);
  }

  void instr(const ir::Instr& instr) {
    if (const auto* call = std::get_if<ir::Call>(&instr.op)) return this->call(*call, instr);
    if (const auto* scan = std::get_if<ir::Scan>(&instr.op))
      return loop({scan->dim}, scan->reverse, *scan->body, instr);
    if (const auto* pipeline = std::get_if<ir::Pipeline>(&instr.op))
      return loop({pipeline->dim}, false, *pipeline->body, instr);
    if (const auto* ring = std::get_if<ir::Ring>(&instr.op))
      return loop({ring->dim.dim, ring->block}, false, *ring->body, instr);
    if (const auto* stages = std::get_if<ir::Stages>(&instr.op))
      return loop(stages->dims, false, *stages->body, instr);
    if (hands_on(instr)) return set(instr, 0, keys_.at(instr.operands.at(0)));
    Hash hash(ir::name_of(instr.op));
    hash.add(instr.op.index());
    if (const ir::Pattern* pattern = ir::pattern_of(instr.op)) add(hash, placement_, *pattern);
    std::visit(Attributes{hash, unit_, placement_, instr}, instr.op);
    for (ir::ValueId id : instr.operands) hash.add(keys_.at(id)).add(type_key(id));
    for (size_t r = 0; r < instr.results.size(); ++r) set(instr, r, typed(hash, instr, r));
  }

  /// Whether the result is the operand itself.
  bool hands_on(const ir::Instr& instr) {
    if (std::holds_alternative<ir::Save>(instr.op) ||
        std::holds_alternative<ir::StopGrad>(instr.op))
      return true;
    if (const auto* collective = std::get_if<ir::Collective>(&instr.op))
      return collective->fn == ir::CollectiveFn::fan_out;
    return std::holds_alternative<ir::Ascribe>(instr.op) &&
           type_key(instr.operands.at(0)) == type_key(instr.results.at(0));
  }

  void call(const ir::Call& op, const ir::Instr& instr) {
    Unit callee = unit_;
    callee.function = op.function;
    if (callee.plan().trusted) return;  // it cannot run
    std::vector<Key> arguments;
    for (ir::ValueId id : instr.operands) arguments.push_back(keys_.at(id));
    const std::vector<Key> keys = keys_of(callee, placement_, arguments, depth_);
    for (size_t r = 0; r < instr.results.size(); ++r)
      set(instr, r, keys.at(callee.plan().returned.at(r)));
  }

  void loop(const std::vector<Dim>& dims, bool reverse, const ir::Block& body,
            const ir::Instr& instr) {
    ++depth_;
    for (size_t i = 0; i < body.params.size(); ++i)
      keys_.at(body.params[i]) = Hash("of a loop").add(depth_).add(i).key();
    block(body);
    --depth_;
    Hash hash(ir::name_of(instr.op));
    for (const Dim& dim : dims) hash.add(static_cast<uint64_t>(placement_.size(dim)));
    hash.add(reverse);
    for (ir::ValueId id : instr.operands) hash.add(keys_.at(id));
    for (ir::ValueId id : body.next) hash.add(keys_.at(id));
    for (size_t r = 0; r < instr.results.size(); ++r) {
      Hash result = hash;
      if (r < instr.operands.size())
        result.add("last").add(r);
      else
        result.add("stack").add(keys_.at(body.emit.at(r - instr.operands.size())));
      set(instr, r, typed(result, instr, r));
    }
  }

  Key typed(Hash hash, const ir::Instr& instr, size_t r) {
    const ir::ValueId id = instr.results[r];
    if (id == ir::no_value) return hash.key();
    return hash.add(type_key(id)).add(r).key();
  }
  const Key& type_key(ir::ValueId id) {
    std::optional<Key>& key = types_.at(id);
    if (!key) {
      Hash hash("type");
      add(hash, placement_, unit_.type(id));
      key = hash.key();
    }
    return *key;
  }
  void set(const ir::Instr& instr, size_t r, const Key& key) {
    if (instr.results.at(r) != ir::no_value) keys_.at(instr.results[r]) = key;
  }

  const Unit& unit_;
  const Placement& placement_;
  size_t depth_;
  std::vector<Key> keys_;
  std::vector<std::optional<Key>> types_;  ///< the keys of the values' types
};

}  // namespace

Key outside_key(const std::string& kind, size_t n) { return Hash(kind).add(n).key(); }

std::vector<Key> keys_of(const Unit& unit, const Placement& placement,
                         const std::vector<Key>& parameters, size_t depth) {
  return Numbering(unit, placement, depth).take(parameters);
}

}  // namespace shardproof::compile
