#include "impl/compile/opening.h"
#include "impl/compile/ops.h"

namespace shardproof::compile {

void compile(const ir::Expand& op, const Site& site) {
  const Opening opening(site, op.pattern);
  opening.define(opening.operand(0));
}

void compile(const ir::Rearrange& op, const Site& site) {
  const Opening opening(site, op.pattern);
  opening.define(opening.operand(0));
}

}  // namespace shardproof::compile
