#pragma once
#include "spec/algebra/engine.h"

namespace shardproof::algebra {

/// The body of a sum with `binders`, those over one range exchanged so that they are read as in
/// `other`: the order of a sum over two dims of one size is free.
Nf exchanged_like(Engine& g, Nf body, const VarSet& binders, Nf other);

}  // namespace shardproof::algebra
