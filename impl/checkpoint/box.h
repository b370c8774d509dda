#pragma once
// The entries of a whole tensor that a rank holds, and the overlap of two parts.
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

/// The part that `rank` holds of a tensor of this type; each rank holds `local` entries per dim.
Box part_of(const Type& type, const Mesh& mesh, int64_t rank, const std::vector<int64_t>& local);

/// The extents of the whole tensor of which each rank holds `local`.
std::vector<int64_t> whole_of(const Type& type, const Mesh& mesh,
                              const std::vector<int64_t>& local);

/// Whether `rank` is the first rank with its part.
bool owns(const Type& type, const Mesh& mesh, int64_t rank);
/// Whether the part of `rank` enters the sum over all ranks that gives the value: of copies, the
/// first does; of the terms of an unreduced value, all do.
bool counts(Type type, const Mesh& mesh, int64_t rank);

/// Whether the boxes overlap.
bool meet(const Box& a, const Box& b);

/// Calls `run(i, j, n)` for runs that are contiguous in both, row-major: entries i .. i + n of
/// `from` are entries j .. j + n of `to`. In the order of `from`.
void for_each_run(const Box& from, const Box& to,
                  const std::function<void(int64_t, int64_t, int64_t)>& run);

}  // namespace shardproof::checkpoint
