#include "properties/collectives/case.h"

#include <algorithm>
#include <numeric>
#include <ostream>
#include <random>

#include "properties/collectives/entries.h"

namespace shardproof::properties {
namespace {

/// How many blocks of `count` a rank sends.
size_t blocks_sent(const CollectiveCase& c, size_t members) {
  const Collective collective = c.call.collective;
  const bool scatters =
      collective == Collective::reduce_scatter || collective == Collective::all_to_all;
  return scatters ? members : 1;
}

template <class Sum>
Sum joined(Reduction reduction, Sum a, Sum b) {
  if (reduction == Reduction::max) return std::max(a, b);
  if (reduction == Reduction::min) return std::min(a, b);
  return a + b;
}

template <class Entry>
Entry entry_at(const Bytes& bytes, size_t i) {
  Entry entry;
  std::memcpy(&entry, bytes.data() + i * sizeof entry, sizeof entry);
  return entry;
}

/// Integers stay small, so that no sum of them overflows.
template <class Entry, class Sum>
Entry draw(std::mt19937_64& rng, bool dyadic) {
  if constexpr (std::is_integral_v<Entry>) return static_cast<Entry>(rng() % 30);
  if (dyadic) return Entry(static_cast<Sum>(static_cast<int>(rng() % 65) - 32) / 4);
  return Entry(static_cast<Sum>(std::uniform_real_distribution<double>(-1, 1)(rng)));
}

size_t position_of(const std::vector<int>& members, int rank) {
  return std::find(members.begin(), members.end(), rank) - members.begin();
}

/// Block `block` of what the members send, joined in the order of the group.
Bytes joined_block(const CollectiveCase& c, const std::vector<Bytes>& inputs, size_t block) {
  Bytes result(c.call.count * size_of(c.call.element));
  visit_element(c.call.element, [&](auto entry, auto sum) {
    using Entry = decltype(entry);
    using Sum = decltype(sum);
    for (size_t i = 0; i < c.call.count; ++i) {
      const size_t from = block * c.call.count + i;
      sum = static_cast<Sum>(entry_at<Entry>(inputs[0], from));
      for (size_t m = 1; m < inputs.size(); ++m)
        sum =
            joined<Sum>(c.call.reduction, sum, static_cast<Sum>(entry_at<Entry>(inputs[m], from)));
      entry = Entry(sum);
      std::memcpy(result.data() + i * sizeof entry, &entry, sizeof entry);
    }
  });
  return result;
}

Bytes block_of(const Bytes& bytes, size_t block, size_t size) {
  return {bytes.begin() + block * size, bytes.begin() + (block + 1) * size};
}

std::vector<Bytes> inputs_of(const CollectiveCase& c, const std::vector<int>& members) {
  std::vector<Bytes> inputs;
  for (int member : members) inputs.push_back(sent(c, member));
  return inputs;
}

/// The position that receives from `position`.
int shifted(const CollectiveCase& c, size_t position, size_t size, bool back) {
  const size_t by = c.call.to % size;
  return static_cast<int>((position + (back ? size - by : by)) % size);
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const CollectiveCase& c) {
  out << to_string(PlacedCall{c.call, "mesh"});
  for (int size : c.mesh) out << " " << size;
  out << " over axes";
  for (size_t axis : c.over) out << " " << axis;
  return out << (c.dyadic ? " dyadic" : " real") << " seed " << c.seed;
}

int world_of(const CollectiveCase& c) {
  return std::accumulate(c.mesh.begin(), c.mesh.end(), 1, std::multiplies<>());
}

std::vector<int> members_of(const CollectiveCase& c, int rank) {
  std::vector<int> strides(c.mesh.size(), 1);
  for (size_t axis = c.mesh.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * c.mesh[axis];
  std::vector<int> members{rank};
  for (size_t axis : c.over) members[0] -= rank / strides[axis] % c.mesh[axis] * strides[axis];
  for (size_t axis : c.over) {
    std::vector<int> next;
    for (int member : members)
      for (int digit = 0; digit < c.mesh[axis]; ++digit)
        next.push_back(member + digit * strides[axis]);
    members = next;
  }
  return members;
}

bool reduces(Collective collective) {
  return collective == Collective::all_reduce || collective == Collective::reduce_scatter;
}

Bytes sent(const CollectiveCase& c, int rank) {
  std::mt19937_64 rng(c.seed * 1000 + rank);
  const size_t entries = c.call.count * blocks_sent(c, members_of(c, rank).size());
  Bytes bytes(entries * size_of(c.call.element));
  visit_element(c.call.element, [&](auto entry, auto sum) {
    for (size_t i = 0; i < entries; ++i) {
      entry = draw<decltype(entry), decltype(sum)>(rng, c.dyadic);
      std::memcpy(bytes.data() + i * sizeof entry, &entry, sizeof entry);
    }
  });
  return bytes;
}

Bytes defined(const CollectiveCase& c, int rank) {
  const std::vector<int> members = members_of(c, rank);
  const size_t own = position_of(members, rank), size = c.call.count * size_of(c.call.element);
  const std::vector<Bytes> inputs = inputs_of(c, members);
  switch (c.call.collective) {
    case Collective::all_reduce:
      return joined_block(c, inputs, 0);
    case Collective::reduce_scatter:
      return joined_block(c, inputs, own);
    case Collective::permute:
      return inputs[shifted(c, own, members.size(), true)];
    case Collective::all_gather:
    case Collective::all_to_all:
    case Collective::send:
      break;
  }
  Bytes result;
  for (const Bytes& input : inputs) {
    const bool gathers = c.call.collective == Collective::all_gather;
    const Bytes block = gathers ? input : block_of(input, own, size);
    result.insert(result.end(), block.begin(), block.end());
  }
  return result;
}

Bytes received(const CollectiveCase& c, Communicator& communicator) {
  const int rank = communicator.rank();
  const std::vector<int> members = members_of(c, rank);
  const size_t own = position_of(members, rank), size = members.size();
  const Bytes send = sent(c, rank);
  Group& group = communicator.group(members);
  const Call& call = c.call;
  const size_t bytes = call.count * size_of(call.element);
  const bool collects =
      call.collective == Collective::all_gather || call.collective == Collective::all_to_all;
  Bytes receive(collects ? size * bytes : bytes, std::byte{0xab});
  switch (call.collective) {
    case Collective::all_gather:
      communicator.all_gather(group, send.data(), receive.data(), bytes, "law");
      break;
    case Collective::all_to_all:
      communicator.all_to_all(group, send.data(), receive.data(), bytes, "law");
      break;
    case Collective::permute:
      communicator.permute(group, send.data(), shifted(c, own, size, false), receive.data(),
                           shifted(c, own, size, true), bytes, "law");
      break;
    case Collective::all_reduce:
      communicator.all_reduce(group, send.data(), receive.data(), call.count, call.element,
                              call.reduction, "law");
      break;
    case Collective::reduce_scatter:
      communicator.reduce_scatter(group, send.data(), receive.data(), call.count, call.element,
                                  call.reduction, "law");
      break;
    case Collective::send:
      break;
  }
  return receive;
}

std::string beyond_bound(const CollectiveCase& c, int rank, const Bytes& got) {
  const Bytes wanted = defined(c, rank);
  const bool rounds = (c.call.element == Element::f32 || c.call.element == Element::f64) &&
                      c.call.reduction == Reduction::sum && reduces(c.call.collective);
  if (!rounds || c.dyadic) return got == wanted ? "" : "the bits differ";
  const std::vector<int> members = members_of(c, rank);
  const std::vector<Bytes> inputs = inputs_of(c, members);
  const bool scatters = c.call.collective == Collective::reduce_scatter;
  const size_t offset = scatters ? position_of(members, rank) * c.call.count : 0;
  return visit_element(c.call.element, [&](auto entry, auto sum) -> std::string {
    const auto number = [](const Bytes& bytes, size_t i) -> double {
      return static_cast<decltype(sum)>(entry_at<decltype(entry)>(bytes, i));
    };
    const double unit = c.call.element == Element::f32 ? 0x1p-24 : 0x1p-53;
    for (size_t i = 0; i < c.call.count; ++i) {
      double sizes = 0;
      for (const Bytes& input : inputs) sizes += std::abs(number(input, offset + i));
      // Twice: the definition is rounded as well.
      const double bound = 2 * unit * static_cast<double>(members.size() - 1) * sizes * 1.001;
      const double error = std::abs(number(got, i) - number(wanted, i));
      if (!(error <= bound))
        return "entry " + std::to_string(i) + " is off by " + std::to_string(error / bound) +
               " bounds";
    }
    return "";
  });
}

}  // namespace shardproof::properties
