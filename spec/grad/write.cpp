#include "spec/grad/write.h"

#include <algorithm>

#include "spec/syntax/words.h"

namespace shardproof::grad {
namespace {

constexpr size_t longest_inside = 56;  // characters of an expression that stands in another
constexpr size_t longest_line = 84;    // of one that is assigned

std::string indented(int indent) { return std::string(static_cast<size_t>(indent), ' '); }

bool is_number(const Node& node) { return node.types[0].dtype == Dtype::number; }

const ir::Op* op_of(const Node& node) { return std::get_if<ir::Op>(&node.op); }

std::string join(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}

}  // namespace

Writer::Writer(const ir::Program& program, std::set<Name> taken) : program_(program) {
  taken_[nullptr] = std::move(taken);
}

/// A list of what is open, no calls: a long chain would end the stack.
void Writer::need(Ref wanted, const Block* from) {
  std::vector<std::pair<Ref, const Block*>> open{{wanted, from}};
  while (!open.empty()) {
    const auto [ref, user] = open.back();
    open.pop_back();
    Node& node = *ref.node;
    const bool first = uses_[ref] == 0;
    uses_[ref] += node.block == user ? 1 : 2;
    auto* scan = std::get_if<ScanText>(&node.op);
    if (scan && first && ref.result >= scan->carries.size())
      open.emplace_back(scan->emit[ref.result - scan->carries.size()], scan->body);
    if (!live_.insert(&node).second) continue;
    for (Ref operand : node.operands) open.emplace_back(operand, node.block);
    if (!scan) continue;
    for (Ref next : scan->next) open.emplace_back(next, scan->body);
  }
}

Name Writer::unique(const Name& wanted, const Block* block) {
  Name base = wanted;
  std::replace_if(
      base.begin(), base.end(),
      [](char c) { return !std::isalnum(static_cast<unsigned char>(c)) && c != '_'; }, '_');
  const auto taken = [&](const Name& name) {
    if (syntax::is_reserved(name) || syntax::is_mark(name)) return true;
    for (const Block* at = block; at; at = at->parent)
      if (taken_[at].count(name)) return true;
    return taken_[nullptr].count(name) > 0;
  };
  Name name = base;
  for (int& n = next_number_.try_emplace({block, base}, 2).first->second; taken(name); ++n)
    name = base + "_" + std::to_string(n);
  taken_[block].insert(name);
  return name;
}

/// A stacked record whose fields one scan emits, for nothing else, is emitted as a record.
void Writer::find_stacks(const ir::WrittenType& type, const std::vector<Ref>& leaves, size_t& next,
                         const Name& name) {
  const size_t first = next;
  if (type.name.empty()) {
    ++next;
    return;
  }
  for (size_t i = 0; i < type.fields.size(); ++i)
    find_stacks(type.fields[i], leaves, next, name + "_" + type.field_names[i]);
  if (type.dims.empty()) return;
  Stack stack{&type,
              {leaves.begin() + static_cast<std::ptrdiff_t>(first),
               leaves.begin() + static_cast<std::ptrdiff_t>(next)},
              name};
  const Node* node = stack.leaves.at(0).node;
  auto* scan = std::get_if<ScanText>(&node->op);
  const bool whole =
      scan && type.dims.size() == 1 && type.dims[0].dim == scan->dim &&
      std::all_of(stack.leaves.begin(), stack.leaves.end(), [&](Ref leaf) {
        return leaf.node == node && leaf.result >= scan->carries.size() && uses_[leaf] == 1;
      });
  if (whole)
    stacks_.push_back(std::move(stack));
  else
    for (Ref leaf : stack.leaves) uses_[leaf] += 2;
}

bool Writer::stacked(Ref leaf) const {
  return std::any_of(stacks_.begin(), stacks_.end(), [&](const Stack& stack) {
    return std::find(stack.leaves.begin(), stack.leaves.end(), leaf) != stack.leaves.end();
  });
}

std::string Writer::body(Block& top, const std::vector<Result>& results, DualText dual_text) {
  dual_text_ = std::move(dual_text);
  for (const Result& result : results)
    for (Ref leaf : result.leaves) need(leaf, &top);
  for (const Result& result : results) {
    size_t next = 0;
    find_stacks(*result.type, result.leaves, next, result.name);
    // The fields of a record have lines of their own.
    for (Ref leaf : result.leaves)
      if (!result.type->name.empty() && !stacked(leaf)) ++uses_[leaf];
  }
  std::string out;
  // Index: a node that is made while the text is written is not there yet.
  for (size_t i = 0; i < top.nodes.size(); ++i)
    if (live_.count(top.nodes[i])) place(top.nodes[i], 4, out);
  std::string line = "    return ";
  for (size_t i = 0; i < results.size(); ++i) {
    size_t next = 0;
    result_ = &results[i];
    line += (i ? ", " : "") +
            made(*results[i].type, results[i].leaves, next, "", results[i].name, 4, out, nullptr);
  }
  return dim_lines_ + out + line + "\n";
}

/// The nodes of `block` that a node uses, a loop's body included.
void Writer::inside(const Node& node, const Block* block, std::vector<Node*>& found) const {
  const auto note = [&](Ref ref) {
    if (ref.node->block == block) found.push_back(ref.node);
  };
  for (Ref operand : node.operands) note(operand);
  auto* scan = std::get_if<ScanText>(&node.op);
  if (!scan) return;
  for (Ref next : scan->next) note(next);
  for (Ref emit : scan->emit) note(emit);
  for (Node* each : scan->body->nodes)
    if (live_.count(each)) inside(*each, block, found);
}

void Writer::count(const Node& node) {
  const ir::Op* op = op_of(node);
  auto* collective = op ? std::get_if<ir::Collective>(op) : nullptr;
  if (!collective || collective->fn != ir::CollectiveFn::all_gather || !node.again) return;
  std::string product;
  for (const std::string& size : loops_) product += "*" + size;
  ++gathers_again_[product];
}

std::string Writer::gathers_again() const {
  std::string text;
  for (const auto& [product, count] : gathers_again_)
    text += (text.empty() ? "" : " + ") + std::to_string(count) + product;
  return text.empty() ? "0" : text;
}

std::vector<ir::Indices> Writer::indices() const {
  std::vector<ir::Indices> result;
  for (const Node* node : placed_) {
    const ir::Op* op = live_.count(node) ? op_of(*node) : nullptr;
    if (const ir::Pattern* pattern = op ? ir::pattern_of(*op) : nullptr)
      result.push_back(pattern->indices);
  }
  return result;
}

void Writer::place(Node* node, int indent, std::string& out) {
  if (!placed_.insert(node).second || !live_.count(node)) return;
  std::vector<Node*> before;
  inside(*node, node->block, before);
  for (Node* each : before) place(each, indent, out);
  if (std::holds_alternative<Parameter>(node->op)) {
    if (!names_.count({node, 0})) names_[{node, 0}] = unique(node->names[0], node->block);
    return;
  }
  if (auto* scan = std::get_if<ScanText>(&node->op))
    return bind(*node, this->scan(*scan, *node, indent), indent, out);
  count(*node);
  Text text = render(*node);
  while (text.text.size() > longest_line && loosen(*node, indent, out)) text = render(*node);
  if (stays_inside(*node, text))
    nested_[node] = text;
  else
    bind(*node, text.text, indent, out);
}

/// The longest expression inside this one gets a line of its own; false: there is none.
bool Writer::loosen(const Node& node, int indent, std::string& out) {
  Node* longest = nullptr;
  for (Ref operand : node.operands) {
    const auto inside = nested_.find(operand.node);
    if (inside == nested_.end() || inside->second.text.size() < 20 ||
        operand.node->block != node.block)
      continue;
    if (!longest || inside->second.text.size() > nested_[longest].text.size())
      longest = operand.node;
  }
  if (!longest) return false;
  const std::string text = nested_[longest].text;
  nested_.erase(longest);
  bind(*longest, text, indent, out);
  return true;
}

bool Writer::stays_inside(const Node& node, const Text& text) const {
  if (node.types.size() != 1 || node.apart) return false;
  const ir::Op* op = op_of(node);
  if (op && (std::holds_alternative<ir::Number>(*op) || std::holds_alternative<ir::SizeOf>(*op) ||
             std::holds_alternative<ir::Entry>(*op)))
    return true;
  if (!node.names[0].empty()) return false;
  if (is_number(node)) return text.text.size() <= longest_inside;
  return uses_.at({const_cast<Node*>(&node), 0}) == 1 && text.text.size() <= longest_inside;
}

/// A name for what has none: the op and what it is of. What is of a value with such a name itself
/// is named for the same value: names in a long sum would grow with each term.
Name Writer::hint(const Node& node) {
  if (!node.hint.empty() && node.hint != "g_") return node.hint;
  Name name = "v";
  if (auto* call = std::get_if<CallText>(&node.op)) name = call->function;
  if (const ir::Op* op = op_of(node)) {
    const std::string word = ir::name_of(*op);
    if (std::isalpha(static_cast<unsigned char>(word[0]))) name = word;
  }
  Name& of = named_for_[&node];
  of = "v";
  for (Ref operand : node.operands)
    if (auto known = names_.find(operand); known != names_.end()) {
      const auto made = named_for_.find(operand.node);
      of = made != named_for_.end() ? made->second
                                    : known->second.substr(0, known->second.find('.'));
      break;
    }
  return name + "_" + of;
}

void Writer::bind(Node& node, const std::string& text, int indent, std::string& out) {
  std::vector<std::string> targets;
  if (std::holds_alternative<ScanText>(node.op)) {
    targets = scan_results(node);
  } else {
    for (size_t r = 0; r < node.types.size(); ++r) {
      Name wanted = node.names[r].empty() ? hint(node) : node.names[r];
      if (!uses_.count({&node, r})) wanted = "_" + wanted;
      targets.push_back(names_[{&node, r}] = unique(wanted, node.block));
    }
  }
  out += indented(indent) + join(targets) + " = " + text + "\n";
}

Writer::Text Writer::expression(Ref ref) {
  if (auto known = names_.find(ref); known != names_.end()) return {known->second, 9};
  if (auto nested = nested_.find(ref.node); nested != nested_.end()) return nested->second;
  throw Defect{"a value is written before it is made"};
}

std::string Writer::operand(Ref ref, int level) {
  const Text text = expression(ref);
  return text.level >= level ? text.text : "(" + text.text + ")";
}

}  // namespace shardproof::grad
