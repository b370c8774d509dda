#include "impl/compile/keys.h"

#include <bit>

#include "impl/compile/compiler.h"
#include "kernels/fnv1a.h"

namespace shardproof::compile {
namespace {

/// A text that is hashed as it is written.
class Text {
 public:
  explicit Text(std::string_view kind) { add(kind); }

  Text& add(std::string_view part) {
    for (uint64_t& word : key_.words) word = fnv1a(std::string_view("\0", 1), fnv1a(part, word));
    return *this;
  }
  Text& add(uint64_t number) { return add(std::to_string(number)); }
  Text& add(const Key& key) { return add(key.words[0]).add(key.words[1]); }
  Key key() const { return key_; }

 private:
  Key key_{{0xcbf29ce484222325ull, 0x6c62272e07bb0142ull}};
};

void add(Text& text, const ir::Pattern& pattern) {
  for (const Shape& shape : pattern.left) text.add(to_string(shape)).add(",");
  text.add("->").add(to_string(pattern.right));
  text.add(pattern.left_bracket.value_or(99)).add(pattern.bracket_operand);
  text.add(pattern.right_bracket.value_or(99));
}

void add(Text& text, const ir::Created& created) { text.add(to_string(created.shape)); }

/// What an op says besides its name and its pattern.
struct Attributes {
  Text& text;

  void operator()(const ir::Number& op) const { text.add(std::bit_cast<uint64_t>(op.value)); }
  void operator()(const ir::SizeOf& op) const { text.add(op.name).add(op.axis); }
  void operator()(const ir::Cast& op) const { text.add(to_string(op.to)); }
  void operator()(const ir::Fold& op) const { text.add(op.tag.value_or("\1")); }
  void operator()(const ir::Einsum& op) const { dtype(op.to); }
  void operator()(const ir::Reduce& op) const {
    text.add(static_cast<uint64_t>(op.fn));
    dtype(op.to);
  }
  void operator()(const ir::Iota& op) const {
    add(text, op.created);
    text.add(op.dim);
  }
  void operator()(const ir::Random& op) const { add(text, op.created); }
  void operator()(const ir::Zeros& op) const {
    add(text, op.created);
    text.add(to_string(op.dtype));
  }
  void operator()(const ir::Ordered& op) const { text.add(op.dim); }
  void operator()(const ir::Total& op) const {
    for (const auto& [axis, mark] : op.marks) text.add(axis).add(static_cast<uint64_t>(mark));
  }
  void operator()(const ir::Entry& op) const { text.add(to_string(op.dim)); }
  void operator()(const ir::Grad& op) const {
    text.add(op.function).add(op.with_value);
    for (size_t leaf : op.wrt) text.add(leaf);
  }
  /// Its name says which.
  void operator()(const auto&) const {}

  void dtype(const std::optional<Dtype>& to) const { text.add(to ? to_string(*to) : "as it is"); }
};

class Numbering {
 public:
  Numbering(const Unit& unit, size_t depth)
      : unit_(unit), depth_(depth), keys_(unit.plan().values.size()) {}

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
    if (const auto* scan = std::get_if<ir::Scan>(&instr.op)) return this->scan(*scan, instr);
    if (hands_on(instr)) return set(instr, 0, keys_.at(instr.operands.at(0)));
    Text text(ir::name_of(instr.op));
    text.add(instr.op.index());
    if (const ir::Pattern* pattern = ir::pattern_of(instr.op)) add(text, *pattern);
    std::visit(Attributes{text}, instr.op);
    for (ir::ValueId id : instr.operands) text.add(keys_.at(id));
    for (size_t r = 0; r < instr.results.size(); ++r) set(instr, r, typed(text, instr, r));
  }

  /// The result is the operand.
  bool hands_on(const ir::Instr& instr) const {
    if (std::holds_alternative<ir::Save>(instr.op) ||
        std::holds_alternative<ir::StopGrad>(instr.op))
      return true;
    return std::holds_alternative<ir::Ascribe>(instr.op) &&
           unit_.type(instr.operands.at(0)) == unit_.type(instr.results.at(0));
  }

  void call(const ir::Call& op, const ir::Instr& instr) {
    Unit callee = unit_;
    callee.function = op.function;
    if (callee.plan().trusted) return;  // it cannot be run
    std::vector<Key> arguments;
    for (ir::ValueId id : instr.operands) arguments.push_back(keys_.at(id));
    const std::vector<Key> keys = keys_of(callee, arguments, depth_);
    for (size_t r = 0; r < instr.results.size(); ++r)
      set(instr, r, keys.at(callee.plan().returned.at(r)));
  }

  void scan(const ir::Scan& op, const ir::Instr& instr) {
    const ir::Block& body = *op.body;
    ++depth_;
    for (size_t i = 0; i < body.params.size(); ++i)
      keys_.at(body.params[i]) = Text("of a loop").add(depth_).add(i).key();
    block(body);
    --depth_;
    Text text("scan");
    text.add(to_string(op.dim)).add(op.reverse);
    for (ir::ValueId id : instr.operands) text.add(keys_.at(id));
    for (ir::ValueId id : body.next) text.add(keys_.at(id));
    for (size_t r = 0; r < instr.results.size(); ++r) {
      Text result = text;
      if (r < instr.operands.size())
        result.add("last").add(r);
      else
        result.add("stack").add(keys_.at(body.emit.at(r - instr.operands.size())));
      set(instr, r, typed(result, instr, r));
    }
  }

  Key typed(Text text, const ir::Instr& instr, size_t r) const {
    const ir::ValueId id = instr.results[r];
    if (id == ir::no_value) return text.key();
    return text.add(to_string(unit_.type(id))).add(r).key();
  }
  void set(const ir::Instr& instr, size_t r, const Key& key) {
    if (instr.results.at(r) != ir::no_value) keys_.at(instr.results[r]) = key;
  }

  const Unit& unit_;
  size_t depth_;
  std::vector<Key> keys_;
};

}  // namespace

Key outside_key(const std::string& kind, size_t n) { return Text(kind).add(n).key(); }

std::vector<Key> keys_of(const Unit& unit, const std::vector<Key>& parameters, size_t depth) {
  return Numbering(unit, depth).take(parameters);
}

}  // namespace shardproof::compile
