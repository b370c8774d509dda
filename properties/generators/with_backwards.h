#pragma once
// A file with the derived backwards of its plans after its text: so they can be run, and be given
// faults, like any plan that was written.
#include <memory>

#include "spec/check/check.h"
#include "spec/denote/evaluate.h"

namespace shardproof::properties {

struct WithBackwards {
  std::unique_ptr<Sources> sources;
  ir::Program program;
  denote::Types types;
  std::vector<size_t> written, derived;  ///< proved plans of the file itself, with a model
  std::vector<bool> proved;              ///< by function: it may stand for its model
  denote::Backwards backwards;           ///< written ones, and derived ones that are proved
};

/// Reads and checks the file, derives the backward of each gradient that its plans take, and with
/// `all` that of every other proved plan of its own. Null where it cannot be read.
std::unique_ptr<WithBackwards> with_backwards(const std::string& path, const FileReader& reader,
                                              bool all);

}  // namespace shardproof::properties
