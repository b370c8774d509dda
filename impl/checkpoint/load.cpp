#include <algorithm>
#include <functional>
#include <numeric>

#include "impl/checkpoint/agree.h"
#include "impl/checkpoint/manifest.h"
#include "impl/checkpoint/safetensors.h"

namespace shardproof::checkpoint {
namespace {

template <class T>
std::string list_of(const std::vector<T>& parts) {
  std::string text;
  for (const T& part : parts) {
    if (!text.empty()) text += ' ';
    if constexpr (std::is_same_v<T, std::string>)
      text += part;
    else
      text += std::to_string(part);
  }
  return '[' + text + ']';
}

/// The checkpoint's property next to the one that the program expects, for messages.
std::string versus(const Name& leaf, const std::string& what, const std::string& stored,
                   const std::string& wanted) {
  return "tensor " + leaf + " has " + what + " " + stored + ", the program wants " + wanted;
}

int64_t product(const std::vector<int64_t>& extents, size_t first) {
  return std::accumulate(extents.begin(), extents.begin() + static_cast<std::ptrdiff_t>(first),
                         int64_t{1}, std::multiplies<>());
}

template <class T>
std::vector<T> without_first(const std::vector<T>& all, size_t first) {
  return {all.begin() + static_cast<std::ptrdiff_t>(first), all.end()};
}

/// Whether the same number of records is stacked along other dims.
bool stacked_otherwise(const Leaf& leaf, const StoredTensor& stored,
                       const std::vector<int64_t>& whole) {
  const std::vector<std::string> dims = dims_of(leaf.type);
  const size_t own = dims.size() - leaf.stacked;
  if (leaf.stacked == 0 || stored.dims.size() < own) return false;
  const size_t outer = stored.dims.size() - own;
  std::vector<std::string> before = stored.dims, now = dims;
  std::sort(before.begin(), before.end());
  std::sort(now.begin(), now.end());
  const bool reordered = before == now && stored.dims != dims;  // such as [N X] and [X N]
  return !reordered && without_first(stored.dims, outer) == without_first(dims, leaf.stacked) &&
         without_first(stored.extents, outer) == without_first(whole, leaf.stacked) &&
         product(stored.extents, outer) == product(whole, leaf.stacked);
}

/// Why a stored tensor does not fit this leaf; empty if it does.
std::string mismatch(const Leaf& leaf, const StoredTensor& stored, const Mesh& mesh) {
  const LocalTensor& tensor = *leaf.tensor;
  if (stored.element != tensor.element)
    return versus(leaf.name, "dtype", name_of(stored.element), name_of(tensor.element));
  const std::vector<int64_t> whole = whole_of(leaf.type, mesh, tensor.extents);
  if (stacked_otherwise(leaf, stored, whole)) return "";
  if (stored.dims != dims_of(leaf.type))
    return versus(leaf.name, "dims", list_of(stored.dims), list_of(dims_of(leaf.type)));
  if (stored.extents != whole)
    return versus(leaf.name, "sizes", list_of(stored.extents), list_of(whole));
  return "";
}

const StoredTensor& find_tensor(const Manifest& manifest, const Leaf& leaf, const Mesh& mesh,
                                const std::filesystem::path& checkpoint) {
  const auto found = manifest.tensors.find(leaf.name);
  std::string wrong = found == manifest.tensors.end() ? "there is no tensor " + leaf.name
                                                      : mismatch(leaf, found->second, mesh);
  if (!wrong.empty()) throw FileError(manifest_path(checkpoint).string() + ": " + wrong);
  return found->second;
}

/// A box for one record, and the offset of its first entry in the part's memory.
struct Slab {
  Box box;
  int64_t offset = 0;
};

/// The part `box` of a tensor of these extents, whose first `outer` dims index records.
std::vector<Slab> slabs_of(const Box& box, const std::vector<int64_t>& extents, size_t outer) {
  Slab slab{{{0}, {1}}, 0};
  for (size_t d = outer; d < extents.size(); ++d) {
    slab.box.first.push_back(box.first[d]);
    slab.box.extents.push_back(box.extents[d]);
  }
  if (outer == 0) return {slab};
  const size_t last = outer - 1;
  slab.box.extents[0] = box.extents[last];
  std::vector<Slab> slabs;
  const int64_t count = product(box.extents, last), entries = slab.box.count();
  for (int64_t i = 0; i < count; ++i) {
    int64_t number = 0, left = i, stride = extents[last];
    for (size_t d = last; d-- > 0; left /= box.extents[d], stride *= extents[d])
      number += (box.first[d] + left % box.extents[d]) * stride;
    slab.box.first[0] = number + box.first[last];
    slab.offset = i * entries;
    slabs.push_back(slab);
  }
  return slabs;
}

struct WantedPiece {
  const Piece* piece;
  std::vector<Slab> slabs;
};

/// A leaf, its pieces in the checkpoint, and the number of entries still missing.
struct Wanted {
  const Leaf* leaf;
  const StoredTensor* stored;
  std::vector<Slab> slabs;
  std::vector<WantedPiece> pieces;  ///< pieces that overlap it
  int64_t missing;
};

bool meet(const std::vector<Slab>& some, const std::vector<Slab>& others) {
  return std::any_of(some.begin(), some.end(), [&](const Slab& a) {
    return std::any_of(others.begin(), others.end(),
                       [&](const Slab& b) { return meet(a.box, b.box); });
  });
}

Wanted wanted_of(const Leaf& leaf, const StoredTensor& stored, const Mesh& mesh, int rank) {
  const std::vector<int64_t>& local = leaf.tensor->extents;
  const Box box = part_of(leaf.type, mesh, rank, local);
  const size_t outer = stored.extents.size() - (local.size() - leaf.stacked);
  Wanted wanted{&leaf,
                &stored,
                slabs_of(box, whole_of(leaf.type, mesh, local), leaf.stacked),
                {},
                box.count()};
  for (const Piece& piece : stored.pieces) {
    std::vector<Slab> slabs = slabs_of(piece.box, stored.extents, outer);
    if (meet(slabs, wanted.slabs)) wanted.pieces.push_back({&piece, std::move(slabs)});
  }
  return wanted;
}

/// Missing entries are counted, so overlapping pieces would hide gaps.
void require_disjoint(const Wanted& wanted, const std::filesystem::path& checkpoint) {
  for (size_t i = 0; i < wanted.pieces.size(); ++i)
    for (size_t j = 0; j < i; ++j)
      if (meet(wanted.pieces[i].piece->box, wanted.pieces[j].piece->box))
        throw FileError(manifest_path(checkpoint).string() + ": tensor " + wanted.leaf->name +
                        " has pieces that overlap");
}

/// The header entry of a piece. FileError if the file's header disagrees with the manifest.
const safetensors::Entry& find_entry(const safetensors::Header& header, const Wanted& wanted,
                                     const Piece& piece, const File& file) {
  const auto found = header.find(wanted.leaf->name);
  if (found == header.end()) file.fail("has no tensor " + wanted.leaf->name);
  if (found->second.dtype != safetensors::dtype_of(wanted.stored->element) ||
      found->second.extents != piece.box.extents)
    file.fail("tensor " + wanted.leaf->name + " differs from the manifest");
  return found->second;
}

/// Copies the overlap of the piece and the wanted box, run by run.
void read_piece(BlockReader& reader, const safetensors::Entry& entry, const WantedPiece& piece,
                Wanted& wanted) {
  const size_t bytes = size_of(wanted.stored->element);
  std::byte* const to = wanted.leaf->tensor->buffer.data();
  for (const Slab& source : piece.slabs)
    for (const Slab& part : wanted.slabs) {
      if (!meet(source.box, part.box)) continue;
      for_each_run(source.box, part.box, [&](int64_t from, int64_t at, int64_t count) {
        reader.read(entry.begin + static_cast<uint64_t>(source.offset + from) * bytes,
                    to + static_cast<uint64_t>(part.offset + at) * bytes,
                    static_cast<uint64_t>(count) * bytes);
        wanted.missing -= count;
      });
    }
}

/// Opens one file at a time.
void read_file(const std::filesystem::path& checkpoint, const Manifest& manifest, size_t file,
               std::vector<Wanted>& all_wanted) {
  std::vector<std::pair<Wanted*, const WantedPiece*>> pieces;
  for (Wanted& wanted : all_wanted)
    for (const WantedPiece& piece : wanted.pieces)
      if (piece.piece->file == file) pieces.emplace_back(&wanted, &piece);
  if (pieces.empty()) return;
  const StoredFile& stored = manifest.files[file];
  BlockReader reader(checkpoint / stored.name, stored.sums);
  const safetensors::Header header = safetensors::read_header(reader);
  for (const auto& [wanted, piece] : pieces)
    read_piece(reader, find_entry(header, *wanted, *piece->piece, reader.file()), *piece, *wanted);
}

Position load_part(const std::filesystem::path& checkpoint, const Mesh& mesh, int rank,
                   const std::vector<Leaf>& leaves) {
  const Manifest manifest = read_manifest(checkpoint);
  std::vector<Wanted> all_wanted;
  for (const Leaf& leaf : leaves) {
    const StoredTensor& stored = find_tensor(manifest, leaf, mesh, checkpoint);
    all_wanted.push_back(wanted_of(leaf, stored, mesh, rank));
    require_disjoint(all_wanted.back(), checkpoint);
  }
  for (size_t file = 0; file < manifest.files.size(); ++file)
    read_file(checkpoint, manifest, file, all_wanted);
  for (const Wanted& wanted : all_wanted)
    if (wanted.missing != 0)
      throw FileError(manifest_path(checkpoint).string() + ": tensor " + wanted.leaf->name +
                      " has pieces missing");
  return manifest.position;
}

}  // namespace

Position load(const std::filesystem::path& checkpoint, Communicator& communicator, const Mesh& mesh,
              const DimSizes&, const std::vector<Leaf>& leaves) {
  Position position;
  const std::string error =
      error_of([&] { position = load_part(checkpoint, mesh, communicator.rank(), leaves); });
  agree(communicator, error, "loading a checkpoint");
  return position;
}

}  // namespace shardproof::checkpoint
