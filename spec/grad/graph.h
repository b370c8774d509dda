#pragma once
// The derived text before it is text: expressions and loops that use each other. What nothing uses
// is never written.
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::grad {

struct Node;
struct Block;

/// One result of a node.
struct Ref {
  Node* node = nullptr;
  size_t result = 0;
  explicit operator bool() const { return node != nullptr; }
  auto operator<=>(const Ref&) const = default;
};

struct Parameter {};  ///< of the plan, or a loop's index or carry: a name
/// A call by name; a library function's pattern speaks of the first operands.
struct CallText {
  Name function;
  std::vector<Shape> left;
  std::optional<Shape> right;
  std::vector<Dim> working;
  std::vector<Name> keywords;  ///< one per operand, empty where by position
};
/// operands: the carries' first values. Results: the last carries, then what is emitted.
struct ScanText {
  Dim dim;
  bool reverse;
  Ref index;
  std::vector<Ref> carries, next, emit;
  Block* body;
};

struct Node {
  std::variant<ir::Op, Parameter, CallText, ScanText> op;
  std::vector<Ref> operands;
  std::vector<Type> types;  ///< one per result
  std::vector<Name> names;  ///< wanted, one per result; empty: none
  Block* block = nullptr;
  bool again = false;  ///< of the forward pass
  Name hint = {};      ///< for a name, where it comes to need one
};

struct Block {
  Block* parent = nullptr;
  std::vector<Node*> nodes;  ///< in the order of their making
};

/// What the derived text was to say is refused by the rules: a mistake of the derivation.
struct Defect {
  std::string message;
};

class Graph {
 public:
  explicit Graph(const ir::Program& program) : program(program), top{} {}

  const ir::Program& program;
  Block top;

  Block* block(Block* parent);
  Ref parameter(Block& block, const Name& name, const Type& type);
  Node* make(Block& block);
  /// The op with the type that the rules give it. Throws Defect where they refuse it.
  Ref add(Block& block, ir::Op op, std::vector<Ref> operands);

 private:
  std::deque<Node> nodes_;
  std::deque<Block> blocks_;
};

inline const Type& type_of(Ref ref) { return ref.node->types.at(ref.result); }
inline Name& name_of(Ref ref) { return ref.node->names.at(ref.result); }

/// Ops added to one block, with the patterns that their operands' types give.
class Emit {
 public:
  Emit(Graph& graph, Block& block) : graph(graph), block(block) {}

  Graph& graph;
  Block& block;

  Ref op(ir::Op op, std::vector<Ref> operands) {
    return graph.add(block, std::move(op), std::move(operands));
  }
  Ref number(const std::string& text);
  Ref size(const Dim& dim);  ///< |M|, of a group the product
  Ref unary(ir::UnaryFn fn, Ref x) { return op(ir::Unary{fn}, {x}); }
  Ref binary(ir::BinaryFn fn, Ref a, Ref b) { return op(ir::Binary{fn}, {a, b}); }
  Ref add(Ref a, Ref b) { return binary(ir::BinaryFn::add, a, b); }
  Ref sub(Ref a, Ref b) { return binary(ir::BinaryFn::sub, a, b); }
  Ref mul(Ref a, Ref b) { return binary(ir::BinaryFn::mul, a, b); }
  Ref div(Ref a, Ref b) { return binary(ir::BinaryFn::div, a, b); }
  Ref where(Ref c, Ref a, Ref b) { return op(ir::Where{}, {c, a, b}); }
  Ref cast(Ref x, Dtype to);  ///< x itself where it has that dtype
  Ref zeros(const Type& type);
  Ref sum(Ref x, const Shape& right);     ///< x itself where no dim vanishes
  Ref expand(Ref x, const Shape& right);  ///< x itself where no dim is new
  /// x with the dims of `like`: another order, other names of the same dims.
  Ref arrange(Ref x, const Shape& like);
  Ref collective(ir::CollectiveFn fn, Ref x, const Shape& right);
  Ref entry(Ref x, Ref index, const Dim& dim);
};

}  // namespace shardproof::grad
