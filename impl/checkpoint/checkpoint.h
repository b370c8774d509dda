#pragma once
// Checkpoints: the state of a run as safetensors files, one per rank that owns some of it, with a
// manifest of types. A checkpoint is there under its name only when it is whole, and any mesh may
// load it.
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "impl/comm/communicator.h"
#include "impl/file_error.h"
#include "impl/tensor/placement.h"
#include "impl/tensor/tensor.h"

namespace shardproof::checkpoint {

/// A tensor of the state: `tensor` is this rank's part, placed as `type` says on the mesh.
struct Leaf {
  Name name;
  Type type;
  Tensor* tensor = nullptr;
  size_t stacked = 0;  ///< the number of leading dims that index records, such as layers
};

/// Where a run stands, without its tensors.
struct Position {
  int64_t step = 0;
  std::map<std::string, std::string> values;  ///< "seed", "data": whatever the caller has
  bool operator==(const Position&) const = default;
};

/// Writes checkpoints into `folder`, as `step-00000100`, beside the steps that follow.
class Saver {
 public:
  /// The last `keep` checkpoints stay; 0: all. One is removed only when a newer one is whole.
  Saver(std::filesystem::path folder, int keep);
  /// Ends the writing, and commits nothing: see wait().
  ~Saver();
  Saver(Saver&&) noexcept;

  /// Collective: no other run writes to the folder while this Saver lives. save() does it where it
  /// was not done. Throws on every rank FileError that names the other run.
  void claim(Communicator& communicator);
  /// Collective: copies what this rank owns and returns; a thread of its own writes it. Waits for
  /// the checkpoint before. Throws PlanError where a tensor is not whole (U or Max), on every rank
  /// FileError where a folder cannot be made.
  void save(Communicator& communicator, const Mesh& mesh, const DimSizes& dims,
            const std::vector<Leaf>& leaves, const Position& position);
  /// Collective, once a step: makes the checkpoint valid when all ranks have written. Throws on
  /// every rank FileError with file and rank where one of them could not; then there is no such
  /// checkpoint, and saving may be tried again. True: there is nothing under way now.
  bool poll(Communicator& communicator);
  /// Collective: poll() until nothing is under way.
  void wait(Communicator& communicator);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A folder of a step, and why it is no checkpoint; empty: it is one, as far as its manifest and
/// the sizes of its files tell.
struct Found {
  std::filesystem::path path;
  std::string damage;
};
/// All in `folder` that have or had the name of a step, the last step first.
std::vector<Found> found(const std::filesystem::path& folder);

/// The checkpoints in `folder`, the last step first: those with a valid manifest and all files in
/// their full size.
std::vector<std::filesystem::path> all(const std::filesystem::path& folder);
/// The first of them.
std::optional<std::filesystem::path> newest(const std::filesystem::path& folder);

/// What the manifest says without its tensors.
Position position_of(const std::filesystem::path& checkpoint);

/// Collective: fills the leaves' tensors, which have the extents of their types on this mesh,
/// whatever mesh wrote them. Records that were stacked along other dims, or along dims of other
/// sizes, keep their order: chunks of layers, X of them with N each, are read as X * N layers. A
/// rank reads the blocks that its parts lie in, and compares their checksums. Throws on every rank
/// FileError where the checkpoint is damaged, lacks a tensor or has it with another type; tensors
/// may then have been overwritten in part.
Position load(const std::filesystem::path& checkpoint, Communicator& communicator, const Mesh& mesh,
              const DimSizes& dims, const std::vector<Leaf>& leaves);

}  // namespace shardproof::checkpoint
