#pragma once
// The primitives of NOTATION.md, by family. A handler returns one Values per result; after an
// error, an unknown value or one of the type that the pattern states.
#include "spec/resolve/body.h"

namespace shardproof::resolution {

using Handler = std::vector<Values> (*)(Body&, const CallSite&);
using Handlers = std::map<Name, Handler, ByName>;  ///< by the name of the primitive
const Handlers& primitives();

Values unary(Body& body, const std::string& op, const Argument& x, SourceRange range);
Values binary(Body& body, const std::string& op, const Argument& a, const Argument& b,
              SourceRange range);
Values cast(Body& body, const CallSite& site, Dtype to);
Values zeros(Body& body, const Types& type, SourceRange range);

void add_pointwise(Handlers& table);
void add_reductions(Handlers& table);
void add_structure(Handlers& table);
void add_slices(Handlers& table);
void add_indexing(Handlers& table);
void add_created(Handlers& table);
void add_ordered(Handlers& table);
void add_collectives(Handlers& table);

/// E0103 unless there are `least` to `most` arguments, and no keywords but `keywords`.
bool expect(Body& body, const CallSite& site, size_t least, size_t most,
            const std::vector<Name>& keywords = {});
std::optional<Dtype> dtype_argument(const CallSite& site, const Name& keyword);
/// A keyword argument that is an integer or an i32 scalar. no_value after an error.
ir::ValueId offset_argument(Body& body, const CallSite& site, const Name& keyword);
std::vector<Values> unknown_result(size_t count = 1);

}  // namespace shardproof::resolution
