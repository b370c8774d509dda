#pragma once
// Patterns of primitives: names known, left sides compared with the operands (in a library body:
// matched as sets).
#include "spec/elaborate/elaborate.h"
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// A pattern beside its operands. `right` is empty where none is written.
struct Read {
  ir::Pattern pattern;
  bool has_right = false;
  std::vector<Dim> working;
  std::vector<ir::ValueId> operands;
  std::vector<SourceRange> ranges;
};

enum class Right { required, none, optional };

/// Reads the pattern of `site` for its first `count` arguments; nullopt after an error (E0101,
/// E0103, E0305). `brackets`: the only side that may have a bracket, "left", "right", "both", "".
std::optional<Read> read_pattern(Body& body, const CallSite& site, size_t count, Right right,
                                 const std::string& brackets = "");

/// One side as dims with axes, and where its bracket is.
std::optional<Shape> read_operand(Body& body, const syntax::OperandExpr& operand,
                                  std::optional<size_t>* bracket);

/// The op with the indices that its pattern's names stand for; nullopt after E0305.
std::optional<ir::Op> elaborated(Body& body, const CallSite& site, const Read& read, ir::Op op);

/// E0305 for a pattern that means nothing; false.
bool pattern_problem(Body& body, const CallSite& site, const std::vector<ir::ValueId>& operands,
                     const elaborate::Problem& problem);

/// E0305 at the pattern, with the operands' types.
void dims_error(Body& body, const CallSite& site, const Read& read, const std::string& message,
                const std::string& label = "");

/// A value of the type the right side states, when it can be read; without `dtype` it has the
/// first argument's.
std::vector<Values> recovered(Body& body, const CallSite& site,
                              std::optional<Dtype> dtype = std::nullopt);

std::optional<size_t> position(const Shape& shape, const Dim& dim);
/// In a library body the order is the caller's: dims that `like` has stand in its order, and one
/// new dim stands where one vanished.
void align(Body& body, Read& read, const Shape& like);

}  // namespace shardproof::resolution
