#pragma once
// The graph as text: what is used, each name once, short expressions inside those that use them.
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "spec/grad/graph.h"

namespace shardproof::grad {

class Writer {
 public:
  Writer(const ir::Program& program, std::set<Name> taken);

  /// The results: one tree of leaves for each type.
  struct Result {
    const ir::WrittenType* type;
    std::vector<Ref> leaves;
    std::vector<Type> own, duals;  ///< of the leaves: of the parameter, of its gradient
    Name name;                     ///< for what has to be made of it first
  };
  /// A written type as text, with these types of gradients in the place of its own.
  using DualText = std::function<std::string(const ir::WrittenType&, const std::vector<Type>& own,
                                             const std::vector<Type>& duals)>;
  /// The statements of the plan's body, `return` included.
  std::string body(Block& top, const std::vector<Result>& results, DualText dual_text);
  std::string type_text(const Type& type);
  /// Declarations of the dims of the text that are not among these.
  std::string dims_beside(const std::vector<Name>& declared);
  bool used(Ref ref) const { return uses_.count(ref) > 0; }
  /// The all_gathers of the forward pass in the text, each step of a loop counted.
  std::string gathers_again() const;
  /// The indices of the patterns in the text.
  std::vector<ir::Indices> indices() const;
  /// The text of a parameter.
  void set_name(Ref ref, const Name& text) { names_[ref] = text; }
  Name unique(const Name& wanted, const Block* block);

 private:
  struct Text {
    std::string text;
    int level;
  };
  class OpText;   ///< write_ops.cpp
  struct Stack {  ///< a record that a scan emits whole
    const ir::WrittenType* type;
    std::vector<Ref> leaves;
    Name name;
  };
  void need(Ref ref, const Block* user);
  void find_stacks(const ir::WrittenType& type, const std::vector<Ref>& leaves, size_t& next,
                   const Name& name);
  void place(Node* node, int indent, std::string& out);
  void inside(const Node& node, const Block* block, std::vector<Node*>& found) const;
  void count(const Node& node);
  bool stacked(Ref leaf) const;  ///< part of a record that a scan emits
  bool loosen(const Node& node, int indent, std::string& out);
  bool stays_inside(const Node& node, const Text& text) const;
  void bind(Node& node, const std::string& text, int indent, std::string& out);
  Name hint(const Node& node);
  Text expression(Ref ref);
  Text render(const Node& node);
  Text render(const ir::Op& op, const Node& node);
  Text call(const CallText& call, const Node& node);
  std::string scan(const ScanText& scan, const Node& node, int indent);
  std::string emitted(const ScanText& scan, const Node& node);
  std::vector<std::string> scan_results(const Node& node);
  std::string made(const ir::WrittenType& type, const std::vector<Ref>& leaves, size_t& next,
                   const std::string& index, const Name& name, int indent, std::string& out,
                   const ScanText* inside);
  void field_by_field(const ir::WrittenType& type, const std::vector<Ref>& leaves, size_t& next,
                      const Name& path, std::string& out);
  std::string args(const Node& node);
  std::string operand(Ref ref, int level);
  std::string pattern(const ir::Pattern& pattern, bool result = true);
  std::string shape(const Shape& shape, std::optional<size_t> bracket = {});
  std::string dim(const Dim& dim);
  std::string size(const ir::Arith& arith);
  const Name& own_name(const Name& dim);
  void declare(const Name& dim);
  std::string definition(const ir::DimInfo& info);

  const ir::Program& program_;
  std::map<const Block*, std::set<Name>> taken_;
  std::map<std::pair<const Block*, Name>, int> next_number_;  ///< below it all are taken
  std::map<Ref, size_t> uses_;
  std::set<const Node*> live_, placed_;
  std::map<const Node*, Text> nested_;
  std::map<Ref, Name> names_;
  std::map<const Node*, Name> named_for_;  ///< of names that `hint` made: the value without the ops
  std::vector<Stack> stacks_;
  DualText dual_text_;
  const Result* result_ = nullptr;  ///< the one that is being written
  std::map<Name, Name> local_dims_;
  std::set<Name> file_dims_;
  std::string dim_lines_;
  std::vector<std::string> loops_;               ///< the sizes of those around
  std::map<std::string, size_t> gathers_again_;  ///< by the product of the sizes around
};

}  // namespace shardproof::grad
