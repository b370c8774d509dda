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

/// From the type of a parameter or of its field, or the pattern that made the value; through names,
/// entries, casts, pointwise operations and `@`. None where the text does not say it, as for a
/// field of a gradient.
std::optional<Stated> stated_type(const Body& body, const syntax::Expr& expr);

/// Where the function's text gives a name its value: the type of a parameter, or an expression.
struct Origin {
  const syntax::TypeExpr* type = nullptr;
  const syntax::Expr* value = nullptr;
};
std::optional<Origin> origin_of(const Body& body, const Name& name);

/// What `left @ right` may be: the sum over the last dim of the left that the right has too, and
/// over all dims that both have. Empty if they have none.
std::vector<Stated> products(const Stated& left, const Stated& right);

/// The sum (`U`) or maximum (`Max`) over all dims but `kept`: a split one leaves a mark.
Stated reduced(const Stated& stated, const std::vector<bool>& kept, Mark mark);

}  // namespace shardproof::resolution
