#pragma once
// Which entries of a whole tensor a rank has, and which of them two parts share.
#include <cstdint>
#include <functional>
#include <vector>

#include "impl/tensor/mesh.h"
#include "spec/types/type.h"

namespace shardproof::checkpoint {

/// Entries first[i] .. first[i] + extents[i] of each dim i.
struct Box {
  std::vector<int64_t> first, extents;
  int64_t count() const;
  bool operator==(const Box&) const = default;
};

/// The part that `rank` has of a tensor of this type, of which each rank has `local` entries.
Box part_of(const Type& type, const Mesh& mesh, int64_t rank, const std::vector<int64_t>& local);

/// The extents of the whole of which each rank has `local`.
std::vector<int64_t> whole_of(const Type& type, const Mesh& mesh,
                              const std::vector<int64_t>& local);

/// Whether `rank` is the first of those that have the same part.
bool owns(const Type& type, const Mesh& mesh, int64_t rank);

/// Whether they share an entry.
bool meet(const Box& a, const Box& b);

/// Calls `run(i, j, n)` for entries that are next to each other in both, row-major: entries
/// i .. i + n of `from` are j .. j + n of `to`. In the order of `from`.
void for_each_run(const Box& from, const Box& to,
                  const std::function<void(int64_t, int64_t, int64_t)>& run);

}  // namespace shardproof::checkpoint
