#include "impl/checkpoint/box.h"

#include <algorithm>

#include "impl/tensor/tensor.h"

namespace shardproof::checkpoint {
namespace {

Box meet_of(const Box& a, const Box& b) {
  Box both = a;
  for (size_t i = 0; i < a.first.size(); ++i) {
    both.first[i] = std::max(a.first[i], b.first[i]);
    const int64_t end = std::min(a.first[i] + a.extents[i], b.first[i] + b.extents[i]);
    both.extents[i] = std::max<int64_t>(0, end - both.first[i]);
  }
  return both;
}

/// The row-major offset in `box` of the entry with this index in the whole tensor.
int64_t offset_in(const Box& box, const std::vector<int64_t>& index) {
  int64_t offset = 0;
  for (size_t i = 0; i < index.size(); ++i)
    offset = offset * box.extents[i] + index[i] - box.first[i];
  return offset;
}

/// The first dim of contiguous runs: all later dims are full in both boxes.
size_t run_begin(const Box& both, const Box& a, const Box& b) {
  size_t i = both.first.size();
  while (i > 0 && (i == both.first.size() ||
                   (both.extents[i] == a.extents[i] && both.extents[i] == b.extents[i])))
    --i;
  return i;
}

/// Advances to the next index over the dims before `end`; false at the end.
bool advance(std::vector<int64_t>& index, const Box& box, size_t end) {
  while (end-- > 0) {
    if (++index[end] < box.first[end] + box.extents[end]) return true;
    index[end] = box.first[end];
  }
  return false;
}

}  // namespace

int64_t Box::count() const {
  int64_t product = 1;
  for (int64_t extent : extents) product *= extent;
  return product;
}

Box part_of(const Type& type, const Mesh& mesh, int64_t rank, const std::vector<int64_t>& local) {
  Box box{{}, local};
  for (size_t i = 0; i < local.size(); ++i)
    box.first.push_back(mesh.block(rank, type.dims[i].axes) * local[i]);
  return box;
}

std::vector<int64_t> whole_of(const Type& type, const Mesh& mesh,
                              const std::vector<int64_t>& local) {
  std::vector<int64_t> whole = local;
  for (size_t i = 0; i < whole.size(); ++i) whole[i] *= mesh.blocks(type.dims[i].axes);
  return whole;
}

bool owns(const Type& type, const Mesh& mesh, int64_t rank) {
  const std::vector<Axis> split = split_axes(type);
  return std::all_of(mesh.axes().begin(), mesh.axes().end(), [&](const auto& axis) {
    return mesh.digit(rank, axis.first) == 0 ||
           std::find(split.begin(), split.end(), axis.first) != split.end();
  });
}

bool counts(Type type, const Mesh& mesh, int64_t rank) {
  std::vector<Axis> summed;
  for (const auto& [axis, mark] : type.marks)
    if (mark == Mark::U) summed.push_back(axis);
  if (!summed.empty()) type.dims.push_back({{{"1"}}, summed});
  return owns(type, mesh, rank);
}

bool meet(const Box& a, const Box& b) { return meet_of(a, b).count() > 0; }

void for_each_run(const Box& from, const Box& to,
                  const std::function<void(int64_t, int64_t, int64_t)>& run) {
  const Box both = meet_of(from, to);
  if (both.count() == 0) return;
  const size_t begin = run_begin(both, from, to);
  int64_t length = 1;
  for (size_t i = begin; i < both.extents.size(); ++i) length *= both.extents[i];
  std::vector<int64_t> index = both.first;
  do {
    run(offset_in(from, index), offset_in(to, index), length);
  } while (advance(index, both, begin));
}

}  // namespace shardproof::checkpoint
