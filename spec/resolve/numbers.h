#pragma once
// Sizes and numbers in a body.
#include "spec/resolve/body.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {

/// Names for the arithmetic of `require` and `dim h = ...` in a body: values become references.
ArithNames names_in(Body& body);

/// |M| as a value; a group's size is a product.
Values size_value(Body& body, const syntax::Expr& expr);

}  // namespace shardproof::resolution
