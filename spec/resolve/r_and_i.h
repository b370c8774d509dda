#pragma once
// `{?_t}` in a plan: R or I on t. Such a plan stands for one plan for each choice.
#include "spec/syntax/ast.h"

namespace shardproof::resolution {

/// The file with its instances, `f{R_t}` and `f{I_t}`, in place of each plan f that has `{?_t}` on
/// a parameter. Plans without a gradient, which are trusted or implement a gradient, stay.
syntax::File with_instances(syntax::File file);

}  // namespace shardproof::resolution
