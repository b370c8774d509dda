#pragma once
// Who is called, and with what.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

/// f(args), each f(args), DTYPE(args), Record(field=...).
std::vector<Values> call(Body& body, const syntax::Expr& expr);
/// The same with the arguments resolved: a primitive, a generic function, a plan or fn.
std::vector<Values> apply(Body& body, const CallSite& site);

/// An entity by its name: the file's, then the library's; null after E0101.
const FunctionEntity* find_function(Body& body, const Name& name, SourceRange range);

/// Positional, then keyword arguments, in the order of the parameters; empty after E0103.
std::vector<const Argument*> arrange(Body& body, const CallSite& site, const FunctionEntity& entity,
                                     std::vector<Argument>& defaults);

std::vector<Values> call_generic(Body& body, const CallSite& site, const FunctionEntity& entity);
std::vector<Values> call_function(Body& body, const CallSite& site, const FunctionEntity& entity);
std::vector<Values> construct(Body& body, const CallSite& site, size_t record);
/// `r with { attn.qn = e }`: the record with these fields replaced.
Values replace_fields(Body& body, const syntax::Expr& expr);
std::vector<Values> gradient(Body& body, const syntax::Expr& expr);

/// A pattern or arguments as they are read from the text.
CallSite read_site(Body& body, const syntax::Expr& expr);

}  // namespace shardproof::resolution
