#pragma once
// Resolves calls: the function, and its arguments.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// Resolves f(args), each f(args), DTYPE(args), Record(field=...).
std::vector<Values> call(Body& body, const syntax::Expr& expr);
/// The same for resolved arguments: a primitive, a generic function, a plan or a function.
std::vector<Values> apply(Body& body, const CallSite& site);

/// Looks up a function in the file, then in the library. Null after E0101.
const FunctionEntity* find_function(Body& body, const Name& name, SourceRange range);

/// Positional and keyword arguments, in the order of the parameters. Empty after E0103.
std::vector<const Argument*> arrange(Body& body, const CallSite& site, const FunctionEntity& entity,
                                     std::vector<Argument>& defaults);

std::vector<Values> call_generic(Body& body, const CallSite& site, const FunctionEntity& entity);
std::vector<Values> call_function(Body& body, const CallSite& site, const FunctionEntity& entity);
std::vector<Values> construct(Body& body, const CallSite& site, size_t record);
/// `r with { attn.qn = e }`: a copy of the record with these fields replaced.
Values replace_fields(Body& body, const syntax::Expr& expr);
std::vector<Values> gradient(Body& body, const syntax::Expr& expr);
/// Only parameters of such types have a gradient.
bool all_floats(const Types& type);

/// E0109 for a plan that calls a fn of a file, with the plans of that fn.
void refuse_fn_in_plan(Body& body, const CallSite& site);

/// Reads the pattern and the arguments of a call.
CallSite read_site(Body& body, const syntax::Expr& expr);

}  // namespace shardproof::resolution
