#pragma once
// Where each name of a file stands, and what it names: what go to definition, rename, completion
// and colors read.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "spec/syntax/ast.h"

namespace shardproof::lsp {

enum class NameKind {
  dim,
  axis,
  value,
  parameter,
  function,
  record,
  constant,
  config,
  schedule,
  field
};

struct Occurrence {
  NameKind kind;
  Name name;  ///< of a field its path: "w.attn.ln"
  SourceRange range;
  bool declares = false;
  int function = -1;  ///< the declaration that it stands in, of File::declarations; -1: none
};

/// All of a file, in the order of the text. A name that stands for a value is a parameter if its
/// function has one of that name, and a constant if nothing in the function has it.
std::vector<Occurrence> occurrences_of(const Sources& sources, const syntax::File& file);

/// The occurrence at an offset, its end included; null for none.
const Occurrence* occurrence_at(const std::vector<Occurrence>& all, uint32_t offset);

/// Whether another occurrence of the file names the same thing.
class SameName {
 public:
  SameName(const std::vector<Occurrence>& all, const Occurrence& name);
  bool operator()(const Occurrence& other) const;

 private:
  const Occurrence& name_;
  std::set<int> bodies_;  ///< which declare a dim of this name: it is that body's own
};

}  // namespace shardproof::lsp
