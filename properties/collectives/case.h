#pragma once
// One collective on the groups of a mesh, with its data, and what each rank must receive by its
// definition: a plain loop over the members.
#include <iosfwd>

#include "impl/comm/call.h"
#include "impl/comm/communicator.h"

namespace shardproof::properties {

using Bytes = std::vector<std::byte>;

struct CollectiveCase {
  std::vector<int> mesh;     ///< sizes of the axes, the first one slowest
  std::vector<size_t> over;  ///< axes of the groups, in the order in which members are counted
  Call call;                 ///< of a permute, `to` is by how many positions it shifts
  bool dyadic = false;       ///< small multiples of 1/4, whose sums are exact
  unsigned seed = 0;
};

std::ostream& operator<<(std::ostream& out, const CollectiveCase& c);

int world_of(const CollectiveCase& c);
/// The group of `rank`, in the order of the axes of `over`.
std::vector<int> members_of(const CollectiveCase& c, int rank);
bool reduces(Collective collective);

/// The tensor that `rank` sends.
Bytes sent(const CollectiveCase& c, int rank);
/// The tensor that `rank` receives by definition; sums are in the order of the group.
Bytes defined(const CollectiveCase& c, int rank);
/// The tensor that it receives from the communicator.
Bytes received(const CollectiveCase& c, Communicator& communicator);

/// Empty where each entry of `got` is within the bound of a sum in any order: (n - 1) roundings of
/// the sum of the members' sizes; of everything but sums of floats the bits are the same.
std::string beyond_bound(const CollectiveCase& c, int rank, const Bytes& got);

}  // namespace shardproof::properties
