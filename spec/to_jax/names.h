#pragma once
// Names and sizes of the printed program.
#include <map>
#include <set>
#include <stdexcept>
#include <string>

#include "spec/ir/program.h"

namespace shardproof::to_jax {

/// Raised for a plan that has no form in a shard_map program.
struct NotPrinted : std::runtime_error {
  NotPrinted(const std::string& what, const SourceRange& where)
      : std::runtime_error(what), range(where) {}
  SourceRange range;
};

/// The sizes of a program as Python: a dim is a variable of its name, an axis too.
class Sizes {
 public:
  explicit Sizes(const ir::Program& program) : program_(program) {}

  const ir::Program& program() const { return program_; }
  std::string size(const Dim& dim);                        ///< `M`, `(4 * M)`
  std::string local_size(const Split& dim);                ///< `F // t`, `M // (t * d)`
  std::string count(const std::vector<Axis>& axes) const;  ///< `t`, `(t * d)`
  const std::set<Name>& dims() const { return dims_; }     ///< those that are arguments

 private:
  const ir::Program& program_;
  std::set<Name> dims_;
};

std::string tuple(const std::vector<std::string>& items);  ///< `(a,)`
std::string joined(const std::vector<std::string>& items, const std::string& between = ", ");
std::string quoted(const std::vector<Axis>& axes);  ///< `"t"`, `("t", "d")`
/// A path as an identifier: `w.attn.ln` is `w_attn_ln`.
std::string identifier(const Name& name);

/// Identifiers, each given once.
class Names {
 public:
  explicit Names(const ir::Program& program);
  std::string fresh(const Name& name);

 private:
  std::set<std::string> taken_;
  std::map<std::string, int> next_;  ///< the number that the next of this name is tried with
};

}  // namespace shardproof::to_jax
