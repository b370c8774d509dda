// Statements and loops: one statement a line, four spaces further in for each block.
#include "spec/syntax/parser.h"
#include "spec/syntax/printer.h"

namespace shardproof::syntax {
namespace {

std::string print_carries(const std::vector<Carry>& carries) {
  std::string text;
  for (const Carry& carry : carries)
    text += ", " + carry.name + ": " + print(carry.type) + " = " + print(carry.init);
  return text;
}

std::string print_head(const Loop& loop) {
  const std::string variables = join(loop.variables, ", ");
  const std::string dims = join(loop.dims, ", ");
  switch (loop.kind) {
    case Loop::Kind::scan:
      return "scan " + variables + " in " + dims + (loop.reverse ? " reverse" : "");
    case Loop::Kind::ring:
      return "ring " + variables + " over " + dims + "/" + loop.axis + " as " + loop.block_dim;
    case Loop::Kind::pipeline:
      return "pipeline " + variables + " in " + dims + " over " + loop.axis + " by " +
             loop.schedule +
             (loop.has_schedule_args ? print_arguments(loop.schedule_args, loop.schedule_arg_names)
                                     : "");
    case Loop::Kind::stages:
      return "stages " + variables + " in " + dims;
  }
  return "";
}

std::string print_bind(const Bind& bind, size_t indent) {
  std::vector<std::string> targets;
  for (const Target& target : bind.targets)
    targets.push_back(target.name + (target.type ? ": " + print(*target.type) : ""));
  const std::string head = join(targets, ", ") + " = ";
  if (bind.loop.empty()) return head + print_list(bind.value);
  const Loop& loop = bind.loop[0];
  return head + print_head(loop) + print_carries(loop.carries) + " " +
         print_block(loop.body, indent);
}

struct StatementPrinter {
  size_t indent;
  std::string operator()(const DimDecl& dim) const { return print_dim(dim); }
  std::string operator()(const Require& require) const {
    return "require " + print(require.condition);
  }
  std::string operator()(const Assume& assume) const {
    std::string text = "assume " + print_sum(assume.terms.at(0));
    for (size_t i = 0; i < assume.comparisons.size(); ++i)
      text += " " + assume.comparisons[i] + " " + print_sum(assume.terms.at(i + 1));
    return text;
  }
  std::string operator()(const Bind& bind) const { return print_bind(bind, indent); }
  std::string operator()(const Return& node) const { return "return " + print_list(node.values); }
  std::string operator()(const Next& node) const { return "next " + print_list(node.values); }
  std::string operator()(const Emit& node) const { return "emit " + print_list(node.values); }
};

}  // namespace

std::string print(const Statement& statement, int indent) {
  const size_t spaces = indent > 0 ? static_cast<size_t>(indent) : 0;
  return std::string(spaces, ' ') + std::visit(StatementPrinter{spaces}, statement.node) + "\n";
}

std::string print_block(const Block& block, size_t indent) {
  std::string text = "{\n";
  for (const Statement& statement : block) text += print(statement, static_cast<int>(indent + 4));
  return text + std::string(indent, ' ') + "}";
}

}  // namespace shardproof::syntax
