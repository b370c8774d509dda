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

/// What a checkpoint has against what the program wants, for messages.
std::string versus(const Name& leaf, const std::string& what, const std::string& stored,
                   const std::string& wanted) {
  return "tensor " + leaf + " has " + what + " " + stored + ", the program wants " + wanted;
}

/// What is wrong with a stored tensor for this leaf; empty: nothing.
std::string mismatch(const Leaf& leaf, const StoredTensor& stored, const Mesh& mesh) {
  const Tensor& tensor = *leaf.tensor;
  if (stored.element != tensor.element)
    return versus(leaf.name, "dtype", name_of(stored.element), name_of(tensor.element));
  if (stored.dims != dims_of(leaf.type))
    return versus(leaf.name, "dims", list_of(stored.dims), list_of(dims_of(leaf.type)));
  const std::vector<int64_t> whole = whole_of(leaf.type, mesh, tensor.extents);
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

/// A leaf, what the checkpoint has of it, and how many entries are still missing.
struct Wanted {
  const Leaf* leaf;
  const StoredTensor* stored;
  Box box;
  int64_t missing;
};

/// Pieces that overlap would hide that others are missing: entries are counted.
void require_disjoint(const Wanted& wanted, const std::filesystem::path& checkpoint) {
  std::vector<const Piece*> here;
  for (const Piece& piece : wanted.stored->pieces) {
    if (!meet(piece.box, wanted.box)) continue;
    for (const Piece* other : here)
      if (meet(piece.box, other->box))
        throw FileError(manifest_path(checkpoint).string() + ": tensor " + wanted.leaf->name +
                        " has pieces that overlap");
    here.push_back(&piece);
  }
}

/// The entry of a piece; FileError where the file's header disagrees with the manifest.
const safetensors::Entry& find_entry(const safetensors::Header& header, const Wanted& wanted,
                                     const Piece& piece, const File& file) {
  const auto found = header.find(wanted.leaf->name);
  if (found == header.end()) file.fail("has no tensor " + wanted.leaf->name);
  if (found->second.dtype != safetensors::dtype_of(wanted.stored->element) ||
      found->second.extents != piece.box.extents)
    file.fail("tensor " + wanted.leaf->name + " is another one than the manifest says");
  return found->second;
}

/// Copies what the piece and the wanted box share, run by run.
void read_piece(BlockReader& reader, const safetensors::Entry& entry, const Piece& piece,
                Wanted& wanted) {
  const size_t bytes = size_of(wanted.stored->element);
  std::byte* const to = wanted.leaf->tensor->buffer.data();
  for_each_run(piece.box, wanted.box, [&](int64_t from, int64_t at, int64_t count) {
    reader.read(entry.begin + static_cast<uint64_t>(from) * bytes,
                to + static_cast<uint64_t>(at) * bytes, static_cast<uint64_t>(count) * bytes);
    wanted.missing -= count;
  });
}

/// One file is open at a time.
void read_file(const std::filesystem::path& checkpoint, const Manifest& manifest, size_t file,
               std::vector<Wanted>& all_wanted) {
  std::vector<std::pair<Wanted*, const Piece*>> pieces;
  for (Wanted& wanted : all_wanted)
    for (const Piece& piece : wanted.stored->pieces)
      if (piece.file == file && meet(piece.box, wanted.box)) pieces.emplace_back(&wanted, &piece);
  if (pieces.empty()) return;
  const StoredFile& stored = manifest.files[file];
  BlockReader reader(checkpoint / stored.name, stored.sums);
  const safetensors::Header header = safetensors::read_header(reader);
  for (const auto& [wanted, piece] : pieces)
    read_piece(reader, find_entry(header, *wanted, *piece, reader.file()), *piece, *wanted);
}

Position load_part(const std::filesystem::path& checkpoint, const Mesh& mesh, int rank,
                   const std::vector<Leaf>& leaves) {
  const Manifest manifest = read_manifest(checkpoint);
  std::vector<Wanted> all_wanted;
  for (const Leaf& leaf : leaves) {
    const StoredTensor& stored = find_tensor(manifest, leaf, mesh, checkpoint);
    const Box box = part_of(leaf.type, mesh, rank, leaf.tensor->extents);
    all_wanted.push_back({&leaf, &stored, box, box.count()});
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
