#pragma once
// A dim as parts, one after the other: Z as P and Q where |Z| is |P| + |Q|, a dim of size 3 as
// three single entries, N as an entry and R where |R| is |N| - 1.
#include <optional>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::lower {

/// A dim, or a single entry if there is none.
using Part = std::optional<Dim>;

/// In the order in which a size is written, and single entries before the rest: other orders are
/// as good. Empty for a dim without parts. `dim` is no group.
std::vector<Part> parts_of(const ir::Program& program, const Dim& dim);

/// A dim as blocks of a few entries each: |N| is 2 |P|, or |P| is |N| / 2.
struct Blocks {
  Dim count, entries;
};
std::optional<Blocks> blocks_of(const ir::Program& program, const Dim& dim);

}  // namespace shardproof::lower
