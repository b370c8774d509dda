#pragma once
// Patterns of primitives: resolves names and compares the left sides with the operands (as sets in
// a library body).
#include "spec/elaborate/elaborate.h"
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// A pattern and its operands. `right` is empty if none is written.
struct Read {
  ir::Pattern pattern;
  bool has_right = false;
  std::vector<Dim> working;
  std::vector<ir::ValueId> operands;
  std::vector<SourceRange> ranges;
  bool regrouped = false;  ///< the left sides are grouped as the operands are
};

enum class Right { required, none, optional };

/// Reads the pattern of `site` for its first `count` arguments. Nullopt after an error (E0101,
/// E0103, E0305). `brackets`: the side that may have a bracket: "left", "right", "both", "".
std::optional<Read> read_pattern(Body& body, const CallSite& site, size_t count, Right right,
                                 std::string_view brackets = "");

/// One side as dims with axes, and the position of its bracket.
std::optional<Shape> read_operand(Body& body, const syntax::OperandExpr& operand,
                                  std::optional<size_t>* bracket);

/// The op with the indices of its pattern. Nullopt after E0305.
std::optional<ir::Op> elaborated(Body& body, const CallSite& site, const Read& read, ir::Op op);

/// Reports E0305 and returns false if the pattern has no meaning.
bool pattern_problem(Body& body, const CallSite& site, const std::vector<ir::ValueId>& operands,
                     const elaborate::Problem& problem);

/// E0305 at the pattern, with the operands' types.
void dims_error(Body& body, const CallSite& site, const Read& read, const std::string& message,
                const std::string& label = "");

/// A placeholder of the type that the right side states, if it is readable. Without `dtype`, it has
/// the first argument's.
std::vector<Values> recovered(Body& body, const CallSite& site,
                              std::optional<Dtype> dtype = std::nullopt);

std::optional<size_t> position(const Shape& shape, const Dim& dim);
/// In a library body, dims have the caller's order: those of `like` come in its order, and a new
/// dim takes the place of one that disappears.
void align(Body& body, Read& read, const Shape& like);

/// Whether a dim after `;` has no axes; reports them.
bool named_alone(Body& body, const syntax::SplitExpr& split);

}  // namespace shardproof::resolution
