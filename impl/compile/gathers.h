#pragma once
// Tables of matrices that ids choose from, as in a mixture of experts. A product with what `index`
// takes from a table reads the table itself, and a sum of products into a table adds there: what
// is indexed is not in memory.
#include "impl/compile/views.h"
#include "kernels/ops.h"

namespace shardproof::compile {

/// The value that an `index` wrote: out[..] = table[.., ids, ..].
struct Gathered {
  Ref out, table, ids;
  std::vector<int64_t> table_strides, ids_strides;  ///< by dim of out; 0 where it lacks the dim
  IndexWindow window;
};

/// The gathers of the current function or loop body.
class Gathers {
 public:
  void add(Gathered made) { all_.push_back(std::move(made)); }
  /// A step writes the buffer.
  void forget(BufferId buffer);
  /// A loop begins or ends: what is outside may have another value in the next iteration.
  void leave() { all_.clear(); }

  /// The table and the ids of a view of what was indexed, with their strides along its indices.
  struct Sources {
    View table, ids;
    IndexWindow window;
    Ref whole_table, whole_ids;
  };
  std::optional<Sources> of(const View& view) const;

 private:
  std::vector<Gathered> all_;
};

/// Removes each `index` whose readers all read its table.
void drop_unread(std::vector<Step>& steps, const std::vector<BufferId>& given);

}  // namespace shardproof::compile
