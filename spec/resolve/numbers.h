#pragma once
// Sizes and numbers inside a body.
#include "spec/resolve/body.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {

/// Sizes and scalars as `require` and `dim h = ...` see them: values become references.
ArithNames names_in(Body& body);

/// |M| as a value of the body; a group is a product.
Values size_value(Body& body, const syntax::Expr& expr);

}  // namespace shardproof::resolution
