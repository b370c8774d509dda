#pragma once
// What the text itself states of a value's dims, axes and marks. Resolution does not infer axes.
#include <optional>
#include <string>
#include <vector>

#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// `B/d M {U_t}`: one side of a pattern.
struct Stated {
  std::vector<syntax::SplitExpr> dims;
  std::vector<syntax::MarkExpr> marks;

  /// The same without marks.
  Stated whole() const { return {dims, {}}; }
};

std::string to_string(const Stated& stated);

/// From the type of a parameter, or the pattern that made the value; through names, casts and
/// pointwise operations. None where the text does not say it, as for a record's fields.
std::optional<Stated> stated_type(const Body& body, const syntax::Expr& expr);

/// The sum (`U`) or maximum (`Max`) over all dims but `kept`: a split one leaves a mark.
Stated reduced(const Stated& stated, const std::vector<bool>& kept, Mark mark);

}  // namespace shardproof::resolution
