#pragma once
// The derived text as a graph: expressions and loops that use each other. Unused nodes are not
// written.
#include <deque>
#include <map>
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
/// A call by name; for a library function, the pattern of the first operands.
struct CallText {
  Name function;
  std::vector<Shape> left;
  std::optional<Shape> right;
  std::vector<Dim> working;
  std::vector<Name> keywords;  ///< one per operand; empty if by position
};
/// A scan or a ring. Operands: the carries' initial values. Results: the last carries, then emitted
/// values.
struct ScanText {
  Dim dim;
  bool reverse;
  Ref index;
  std::vector<Ref> carries, next, emit;
  Block* body;
  std::optional<Tape::Blocks> ring = {};
};

/// The type of what the loop makes of values that its body emits.
Type emitted_type(const ScanText& loop, const Type& emitted);

struct Node {
  std::variant<ir::Op, Parameter, CallText, ScanText> op;
  std::vector<Ref> operands;
  std::vector<Type> types;  ///< one per result
  std::vector<Name> names;  ///< preferred names, one per result; may be empty
  Block* block = nullptr;
  bool again = false;  ///< recomputes a value of the forward pass
  bool apart = false;  ///< on a separate line: a ring needs its operands as named values
  Name hint = {};      ///< a name, if it needs one
};

struct Block {
  Block* parent = nullptr;
  std::vector<Node*> nodes;  ///< in order of creation
};

/// The rules refuse the derived text: a bug of the derivation.
struct Defect {
  std::string message;
};

/// A value as `where(mask, value, 0)`, or, unless `where_true`, `where(mask, 0, value)`.
struct Masked {
  Ref mask, value;
  bool where_true = true;
};

class Graph {
 public:
  explicit Graph(const ir::Program& program) : program(program), top{} {
    dims.dims = program.dims;
    dims.axes = program.axes;
    dims.consts = program.consts;
  }

  const ir::Program& program;
  ir::Program dims;  ///< no functions; the dims of the program and new names
  Block top;
  std::map<Ref, Masked> masks;  ///< found so far; without a mask: the value has none

  Block* block(Block* parent);
  Ref parameter(Block& block, const Name& name, const Type& type);
  Node* make(Block& block);
  /// Adds the op with the type that the rules infer; its pattern is already written. Throws Defect
  /// if they refuse it.
  Ref add(Block& block, ir::Op op, std::vector<Ref> operands);

 private:
  std::deque<Node> nodes_;
  std::deque<Block> blocks_;
};

inline const Type& type_of(Ref ref) { return ref.node->types.at(ref.result); }
inline Name& name_of(Ref ref) { return ref.node->names.at(ref.result); }

using PatternIndices = std::vector<ir::PatternIndex>;

/// Adds ops to one block. An op with a pattern is given by its indices: by operand, and for the
/// result the index of each factor. `right` has the preferred names of the result, its axes and
/// marks; if no pattern text gives these names, it gets others, and `renamed` changes them.
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
  Ref size(const Dim& dim);  ///< |M|; for a group, the product
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
  Ref cast(Ref x, Dtype to);  ///< x itself if it has the dtype
  Ref zeros(const Type& type);
  Ref iota(const Shape& shape, size_t dim);  ///< the index along that dim of the shape

  /// Sums x, with positions `from`, to positions `to`, over the indices that `to` lacks. Returns x
  /// itself if the positions are equal.
  Ref sum(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
          const Shape& right);
  /// The reverse: expands by the indices that `from` lacks.
  Ref expand(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
             const Shape& right);
  /// The same indices on both sides, in other positions.
  Ref rearrange(const PatternIndices& all, Ref x, const Positions& from, const Positions& to,
                const Shape& right);
  /// Renames the positions of x like those of `like`.
  Ref renamed(Ref x, const Shape& like);
  /// Equal positions on both sides; returns x itself if it already has type `right`.
  Ref collective(ir::CollectiveFn fn, Ref x, const Shape& right);
  Ref entry(Ref x, Ref index, const Dim& dim);
  /// The current block of x in a ring.
  Ref block_of(Ref x, Ref index, const Dim& dim, const Dim& block);
};

/// The positions, restricted to these indices.
Positions kept(const Positions& positions, const std::vector<ir::IndexId>& ids);
/// Positions with the names and axes that `shape` has for these indices in `at`; a position's axes
/// are those of its leading index.
Shape regrouped(const ir::Program& program, const PatternIndices& all, const Positions& positions,
                const Positions& at, const Shape& shape);

}  // namespace shardproof::grad
