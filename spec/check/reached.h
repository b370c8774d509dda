#pragma once
// The functions and dims that a claim depends on. A run of it needs no sizes of other dims.
#include <map>
#include <set>

#include "spec/denote/denote.h"

namespace shardproof {

/// The function, its model, the plan that it comes after, and all that they call or differentiate,
/// with the claims of those.
std::set<size_t> reached_functions(const ir::Program& program, size_t function);
/// Whether one of `others` is among them.
bool reaches_any(const ir::Program& program, size_t function, const std::set<size_t>& others);

/// The plain dims in the types, ops and conditions of these functions. Reads each function once;
/// the program must not change and must outlive this.
class ReachedDims {
 public:
  explicit ReachedDims(const ir::Program& program) : program_(program) {}
  std::set<Name> of(size_t function);

 private:
  const ir::Program& program_;
  std::map<size_t, std::set<Name>> own_;
};

/// The sizes of these dims, on the same mesh.
denote::Sizes sizes_of(const std::set<Name>& dims, const denote::Sizes& sizes);

}  // namespace shardproof
