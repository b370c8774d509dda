// Scans, and records made of leaves.
#include <algorithm>

#include "spec/grad/write.h"

namespace shardproof::grad {

/// The names that a scan's results are bound to; of an emitted record there is one.
std::vector<std::string> Writer::scan_results(const Node& node) {
  const ScanText& scan = std::get<ScanText>(node.op);
  std::vector<std::string> targets;
  Node* own = const_cast<Node*>(&node);
  for (size_t r = 0; r < node.types.size(); ++r) {
    const Ref ref{own, r};
    if (r >= scan.carries.size()) {
      if (!uses_.count(ref)) continue;
      if (stacked(ref)) continue;
    }
    Name wanted = node.names[r];
    if (wanted.empty() && r < scan.carries.size()) wanted = name_of(scan.carries[r]) + "_0";
    if (wanted.empty()) wanted = name_of(scan.emit[r - scan.carries.size()]) + "s";
    if (wanted == "s") wanted = "vs";
    wanted.erase(0, wanted.find_first_not_of('_'));
    if (!uses_.count(ref)) wanted = "_" + wanted;
    targets.push_back(names_[ref] = unique(wanted, node.block));
  }
  for (Stack& stack : stacks_)
    if (stack.leaves[0].node == &node)
      targets.push_back(stack.name = unique(stack.name, node.block));
  return targets;
}

std::string Writer::scan(const ScanText& scan, const Node& node, int indent) {
  const auto name = [&](Ref parameter) {
    placed_.insert(parameter.node);
    return names_[parameter] = unique(name_of(parameter), scan.body);
  };
  std::string text = (scan.ring ? "ring " : "scan ") + name(scan.index);
  if (scan.ring) {
    for (const Name& factor : scan.ring->block.factors) own_name(factor);
    text += " over " + shape({{scan.ring->of}, {}}) + " as " + dim(scan.ring->block);
  } else {
    text += " in " + dim(scan.dim) + (scan.reverse ? " reverse" : "");
  }
  for (size_t i = 0; i < scan.carries.size(); ++i) {
    const std::string own = name(scan.carries[i]);
    text += ", " + own + ": " + type_text(type_of(scan.carries[i])) + " = " +
            expression(node.operands[i]).text;
  }
  std::string out;
  loops_.push_back("|" + dim(scan.dim) + "|");
  for (size_t i = 0; i < scan.body->nodes.size(); ++i) place(scan.body->nodes[i], indent + 4, out);
  loops_.pop_back();
  const std::string inside(static_cast<size_t>(indent) + 4, ' ');
  if (!scan.next.empty()) {
    out += inside + "next ";
    for (size_t i = 0; i < scan.next.size(); ++i)
      out += (i ? ", " : "") + expression(scan.next[i]).text;
    out += "\n";
  }
  out += emitted(scan, node);
  return text + " {\n" + out + std::string(static_cast<size_t>(indent), ' ') + "}";
}

std::string Writer::emitted(const ScanText& scan, const Node& node) {
  std::string list, unused;
  Node* own = const_cast<Node*>(&node);
  const auto append = [&](const std::string& text) { list += (list.empty() ? "" : ", ") + text; };
  for (size_t i = 0; i < scan.emit.size(); ++i) {
    const Ref ref{own, scan.carries.size() + i};
    if (uses_.count(ref) && !stacked(ref)) append(expression(scan.emit[i]).text);
  }
  for (const Stack& stack : stacks_) {
    if (stack.leaves[0].node != own) continue;
    std::vector<Ref> leaves;
    for (Ref leaf : stack.leaves) leaves.push_back(scan.emit[leaf.result - scan.carries.size()]);
    ir::WrittenType one = *stack.type;
    one.dims.clear();
    size_t next = 0;
    append(made(one, leaves, next, "", "", 0, unused, &scan));
  }
  return list.empty() ? "" : "        emit " + list + "\n";
}

/// A tensor, or a record of its fields. A stacked record is what a scan emits: one that is there,
/// or one made for it.
std::string Writer::made(const ir::WrittenType& type, const std::vector<Ref>& leaves, size_t& next,
                         const std::string& index, const Name& name, int indent, std::string& out,
                         const ScanText* inside) {
  if (type.name.empty()) {
    const Ref leaf = leaves.at(next++);
    return index.empty() ? expression(leaf).text : operand(leaf, 9) + "[" + index + "]";
  }
  const auto record = [&](const std::string& at) {
    std::string text = type.name + "(";
    for (size_t i = 0; i < type.fields.size(); ++i) {
      const Name& field = type.field_names[i];
      text += (i ? ", " : "") + field + "=" +
              made(type.fields[i], leaves, next, at, name + "_" + field, indent, out, inside);
    }
    return text + ")";
  };
  if (type.dims.empty()) return record(index);
  if (!index.empty() || inside) throw Defect{"a record stacked twice"};
  for (const Stack& stack : stacks_)
    if (stack.type == &type && stack.leaves[0] == leaves.at(next)) {
      next += stack.leaves.size();
      return stack.name;
    }
  if (type.dims.size() > 1 || !type.dims[0].axes.empty()) {
    const size_t first = next;
    std::string fields;
    field_by_field(type, leaves, next, "", fields);
    const auto part = [&](const std::vector<Type>& all) {
      return std::vector<Type>(all.begin() + static_cast<std::ptrdiff_t>(first),
                               all.begin() + static_cast<std::ptrdiff_t>(next));
    };
    const std::string whole = dual_text_(type, part(result_->own), part(result_->duals));
    return "zeros(" + whole + ") with { " + fields + " }";
  }
  const Name whole = unique(name, nullptr), n = unique("n", nullptr);
  const std::string space(static_cast<size_t>(indent), ' ');
  const std::string text = record(n);
  out += space + whole + " = scan " + n + " in " + dim(type.dims[0].dim) + " {\n" + space +
         "    emit " + text + "\n" + space + "}\n";
  return whole;
}

/// The fields of a record as `with` takes them. One scan makes no record that is stacked over a
/// split dim, or over two.
void Writer::field_by_field(const ir::WrittenType& type, const std::vector<Ref>& leaves,
                            size_t& next, const Name& path, std::string& out) {
  if (type.name.empty()) {
    out += (out.empty() ? "" : ", ") + path + " = " + expression(leaves.at(next++)).text;
    return;
  }
  if (!path.empty() && !type.dims.empty()) throw Defect{"a record stacked twice"};
  for (size_t i = 0; i < type.fields.size(); ++i)
    field_by_field(type.fields[i], leaves, next,
                   (path.empty() ? "" : path + ".") + type.field_names[i], out);
}

}  // namespace shardproof::grad
