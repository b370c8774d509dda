#pragma once
// Checkpoints: the state of a run as safetensors files, one per rank that owns a part of it, and a
// manifest with types. A checkpoint has its name only once it is complete. It can be loaded on any
// mesh.
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

/// A tensor of the state: `tensor` is this rank's part, with the layout `type` on the mesh.
struct Leaf {
  Name name;
  Type type;
  LocalTensor* tensor = nullptr;
  size_t stacked = 0;  ///< the number of leading dims that index records, such as layers
};

/// The position of a run, without its tensors.
struct Position {
  int64_t step = 0;
  std::map<std::string, std::string> values;  ///< "seed", "data": whatever the caller has
  bool operator==(const Position&) const = default;
};

/// Writes checkpoints to `folder`, as `step-00000100`, while training continues.
class Saver {
 public:
  /// Keeps the last `keep` checkpoints; 0: all. Removes one only when a newer one is complete.
  Saver(std::filesystem::path folder, int keep);
  /// Stops writing without committing: call wait() first.
  ~Saver();
  Saver(Saver&&) noexcept;

  /// Collective: locks the folder for this Saver; save() does so if needed. Throws FileError with
  /// the name of the other run on every rank if another run holds the lock.
  void claim(Communicator& communicator);
  /// Collective: copies what this rank owns and returns; a thread writes it. Waits for the previous
  /// checkpoint. Throws PlanError for a tensor that is not whole (U or Max), and FileError on every
  /// rank if a folder cannot be made.
  void save(Communicator& communicator, const Mesh& mesh, const DimSizes& dims,
            const std::vector<Leaf>& leaves, const Position& position);
  /// Collective, once per step: commits the checkpoint when all ranks have written. If one could
  /// not, throws FileError with file and rank on every rank; the checkpoint then does not exist,
  /// and the caller may save again. Returns true if no write is in progress.
  bool poll(Communicator& communicator);
  /// Collective: calls poll() until no write is in progress.
  void wait(Communicator& communicator);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A folder of a step, and why it is not a checkpoint. Empty: its manifest and file sizes are
/// valid.
struct Found {
  std::filesystem::path path;
  std::string damage;
};
/// All folders in `folder` that have or had a step's name, latest step first.
std::vector<Found> found(const std::filesystem::path& folder);

/// The checkpoints in `folder`, latest step first: those with a valid manifest and all files at
/// full size.
std::vector<std::filesystem::path> all(const std::filesystem::path& folder);
/// The first of them.
std::optional<std::filesystem::path> newest(const std::filesystem::path& folder);

/// The manifest's contents without tensors.
Position position_of(const std::filesystem::path& checkpoint);

/// Collective: fills the leaves' tensors, which have the extents of their types on this mesh; the
/// checkpoint may come from any mesh. Stacked records keep their order if they are now stacked
/// along other dims: X chunks of N layers are read as X * N layers. Each rank reads only the blocks
/// that contain its parts, and verifies their checksums. Throws FileError on every rank if the
/// checkpoint is damaged, or lacks a tensor or has it with another type; tensors may then be partly
/// overwritten.
Position load(const std::filesystem::path& checkpoint, Communicator& communicator, const Mesh& mesh,
              const DimSizes& dims, const std::vector<Leaf>& leaves);

}  // namespace shardproof::checkpoint
