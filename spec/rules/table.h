#pragma once
// The table: one rule per op. A rule gets operands without axes of size 1 and, if the op has a
// pattern, the completed pattern. It returns the result types or throws Refused.
#include "spec/rules/application.h"

namespace shardproof::rules {

Types rule(Application& app, const ir::Number& op);
Types rule(Application& app, const ir::SizeOf& op);
Types rule(Application& app, const ir::Unary& op);
Types rule(Application& app, const ir::Binary& op);
Types rule(Application& app, const ir::Where& op);
Types rule(Application& app, const ir::Cast& op);
Types rule(Application& app, const ir::StopGrad& op);
Types rule(Application& app, const ir::Save& op);
Types rule(Application& app, const ir::Fold& op);
Types rule(Application& app, const ir::Einsum& op);
Types rule(Application& app, const ir::Reduce& op);
Types rule(Application& app, const ir::Expand& op);
Types rule(Application& app, const ir::Rearrange& op);
Types rule(Application& app, const ir::Read& op);
Types rule(Application& app, const ir::Write& op);
Types rule(Application& app, const ir::Concat& op);
Types rule(Application& app, const ir::Index& op);
Types rule(Application& app, const ir::IndexUnreduced& op);
Types rule(Application& app, const ir::IndexAdd& op);
Types rule(Application& app, const ir::Iota& op);
Types rule(Application& app, const ir::Random& op);
Types rule(Application& app, const ir::Zeros& op);
Types rule(Application& app, const ir::Roll& op);
Types rule(Application& app, const ir::Rev& op);
Types rule(Application& app, const ir::Ordered& op);
Types rule(Application& app, const ir::Argmax& op);
Types rule(Application& app, const ir::TopK& op);
Types rule(Application& app, const ir::Collective& op);
Types rule(Application& app, const ir::Ppermute& op);
Types rule(Application& app, const ir::Total& op);
Types rule(Application& app, const ir::Ascribe& op);
Types rule(Application& app, const ir::Entry& op);

}  // namespace shardproof::rules
