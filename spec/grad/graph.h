#pragma once
// The derived text before it is text: expressions and loops that use each other. What nothing uses
// is never written.
#include <deque>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/grad/names.h"
#include "spec/grad/tape.h"

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
/// A call by name; a library function's pattern is of the first operands.
struct CallText {
  Name function;
  std::vector<Shape> left;
  std::optional<Shape> right;
  std::vector<Dim> working;
  std::vector<Name> keywords;  ///< one per operand, empty where by position
};
/// A scan, or a ring. operands: the carries' first values. Results: the last carries, then what is
/// emitted.
struct ScanText {
  Dim dim;
  bool reverse;
  Ref index;
  std::vector<Ref> carries, next, emit;
  Block* body;
  std::optional<Tape::Blocks> ring = {};
};

struct Node {
  std::variant<ir::Op, Parameter, CallText, ScanText> op;
  std::vector<Ref> operands;
  std::vector<Type> types;  ///< one per result
  std::vector<Name> names;  ///< wanted, one per result; empty: none
  Block* block = nullptr;
  bool again = false;  ///< of the forward pass
  bool apart = false;  ///< on a line of its own: a ring passes blocks of what is there before it
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
  explicit Graph(const ir::Program& program) : program(program), top{} {
    dims.dims = program.dims;
    dims.axes = program.axes;
    dims.consts = program.consts;
  }

  const ir::Program& program;
  ir::Program dims;  ///< without functions; its dims are those of the program and the new names
  Block top;

  Block* block(Block* parent);
  Ref parameter(Block& block, const Name& name, const Type& type);
  Node* make(Block& block);
  /// The op with the type that the rules give it; a pattern is written already. Throws Defect where
  /// they refuse it.
  Ref add(Block& block, ir::Op op, std::vector<Ref> operands);

 private:
  std::deque<Node> nodes_;
  std::deque<Block> blocks_;
};

inline const Type& type_of(Ref ref) { return ref.node->types.at(ref.result); }
inline Name& name_of(Ref ref) { return ref.node->names.at(ref.result); }

using PatternIndices = std::vector<ir::PatternIndex>;

/// Ops added to one block. An op with a pattern is given by its indices: by operand and of the
/// result the index of each factor. `right` has the names that the result should have, its axes and
/// marks; where no text gives it these names it has others, and `renamed` changes them.
class Emit {
 public:
  Emit(Graph& graph, Block& block) : graph(graph), block(block) {}

  Graph& graph;
  Block& block;

  Ref op(ir::Op op, std::vector<Ref> operands) {
    return graph.add(block, std::move(op), std::move(operands));
  }
  Ref op(ir::Op op, const ir::Indices& in, std::vector<Ref> operands, const Shape& right);
  Ref number(const std::string& text);
  Ref size(const Dim& dim);  ///< |M|, of a group the product
  Ref unary(ir::UnaryFn fn, Ref x) { return op(ir::Unary{fn}, {x}); }
  Ref binary(ir::BinaryFn fn, Ref a, Ref b) { return op(ir::Binary{fn}, {a, b}); }
  Ref add(Ref a, Ref b) { return binary(ir::BinaryFn::add, a, b); }
  Ref add(const std::vector<Ref>& all) {
    Ref sum = all.at(0);
    for (size_t i = 1; i < all.size(); ++i) sum = add(sum, all[i]);
    return sum;
  }
  Ref sub(Ref a, Ref b) { return binary(ir::BinaryFn::sub, a, b); }
  Ref mul(Ref a, Ref b) { return binary(ir::BinaryFn::mul, a, b); }
  Ref div(Ref a, Ref b) { return binary(ir::BinaryFn::div, a, b); }
  Ref where(Ref c, Ref a, Ref b) { return op(ir::Where{}, {c, a, b}); }
  Ref cast(Ref x, Dtype to);  ///< x itself where it has that dtype
  Ref zeros(const Type& type);

  /// x, with positions `from`, as a value with positions `to`: indices that `to` lacks are added
  /// up. Where the positions are the same it is x itself.
  Ref sum(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
          const Shape& right);
  /// The same the other way round: indices that `from` lacks are new.
  Ref expand(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
             const Shape& right);
  /// The same indices on both sides.
  Ref rearrange(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
                const Shape& right);
  /// The positions of x under the names that `like` has.
  Ref renamed(Ref x, const Shape& like);
  /// Position for position the same, x itself where it is `right` already.
  Ref collective(ir::CollectiveFn fn, Ref x, const Shape& right);
  Ref entry(Ref x, Ref index, const Dim& dim);
  /// The block of x that a ring is at.
  Ref block_of(Ref x, Ref index, const Dim& dim, const Dim& block);
};

/// The positions as far as they have these indices.
Positions kept(const Positions& positions, const std::vector<ir::IndexId>& ids);
/// Positions under the names and with the axes that `shape` has for these indices at `at`; the axes
/// of a position are its leading index's.
Shape regrouped(const ir::Program& program, const PatternIndices& all, const Positions& positions,
                const Positions& at, const Shape& shape);

}  // namespace shardproof::grad
