#include <algorithm>
#include <atomic>
#include <thread>

#include "impl/checkpoint/agree.h"
#include "impl/checkpoint/checksum.h"
#include "impl/checkpoint/folder.h"
#include "impl/checkpoint/lock.h"
#include "impl/checkpoint/manifest.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/comm/gather_texts.h"

namespace shardproof::checkpoint {

/// A copy of a tensor's local entries.
struct Part {
  safetensors::Item item;
  Buffer bytes;
};

namespace {

const std::string saving_place = "saving a checkpoint";

Part copy_of(const Leaf& leaf) {
  const LocalTensor& tensor = *leaf.tensor;
  Part part{{leaf.name, tensor.element, tensor.extents}, Buffer(tensor.buffer.bytes())};
  std::copy_n(tensor.buffer.data(), part.bytes.bytes(), part.bytes.data());
  return part;
}

/// The parts that this rank writes, in order of decreasing entry size, so that all are aligned.
std::vector<Part> parts_of(const std::vector<Leaf>& leaves, const Mesh& mesh, int rank) {
  std::vector<Part> parts;
  for (const Leaf& leaf : leaves)
    if (owns(leaf.type, mesh, rank)) parts.push_back(copy_of(leaf));
  std::stable_sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return size_of(a.item.element) > size_of(b.item.element);
  });
  return parts;
}

Sums write_parts(const std::filesystem::path& path, const std::vector<Part>& parts) {
  std::vector<safetensors::Item> items;
  for (const Part& part : parts) items.push_back(part.item);
  const std::string begin = safetensors::begin_of(items);
  BlockWriter writer(path);
  writer.append(begin.data(), begin.size());
  for (const Part& part : parts) writer.append(part.bytes.data(), part.bytes.bytes());
  return writer.finish();
}

/// Sums as a message to other ranks: the size, then 16 digits per block.
std::string told(const Sums& sums) {
  std::string text = hex(sums.bytes);
  for (uint64_t each : sums.blocks) text += hex(each);
  return text;
}

Sums heard(const std::string& text) {
  Sums sums{from_hex(text.substr(0, 16)), {}};
  for (size_t i = 16; i < text.size(); i += 16) sums.blocks.push_back(from_hex(text.substr(i, 16)));
  return sums;
}

void refuse_part_values(const Leaf& leaf) {
  for (const auto& [axis, mark] : leaf.type.marks)
    if (mark != Mark::I)
      throw PlanError(leaf.name + ": " + to_string(leaf.type) +
                      " is not whole on any rank of axis " + axis +
                      ": a checkpoint holds whole values; reduce it in the plan");
}

void refuse(const Leaf& leaf) {
  refuse_part_values(leaf);
  if (!leaf.tensor || leaf.tensor->extents.size() != leaf.type.dims.size())
    throw PlanError(leaf.name + ": its tensor does not have the dims of " + to_string(leaf.type));
}

/// Every tensor with all of its pieces; each rank's file gets the sums that the rank reported.
Manifest manifest_of(const Mesh& mesh, const DimSizes& dims, const std::vector<Leaf>& leaves,
                     const Position& position) {
  Manifest manifest{position, mesh.axes(), dims, {}, {}};
  for (const Leaf& leaf : leaves)
    manifest.tensors[leaf.name] = {leaf.tensor->element,
                                   to_string(leaf.type),
                                   dims_of(leaf.type),
                                   whole_of(leaf.type, mesh, leaf.tensor->extents),
                                   {}};
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    bool any = false;
    for (const Leaf& leaf : leaves)
      if (owns(leaf.type, mesh, rank)) {
        manifest.tensors[leaf.name].pieces.push_back(
            {manifest.files.size(), part_of(leaf.type, mesh, rank, leaf.tensor->extents)});
        any = true;
      }
    if (any) manifest.files.push_back({file_of_rank(rank), {}});
  }
  return manifest;
}

}  // namespace

struct Saver::State {
  std::filesystem::path folder;
  int keep;
  std::unique_ptr<FolderLock> lock;  ///< held by rank 0

  bool under_way = false;
  std::filesystem::path checkpoint;
  Manifest manifest;
  std::vector<Part> parts;
  std::thread thread;
  std::atomic<bool> written{true};
  // Written by the thread until it is joined.
  Sums sums;
  std::string error;

  ~State() { join(); }
  void join() {
    if (thread.joinable()) thread.join();
  }
  void start(int rank) {
    written = false;
    under_way = true;
    thread = std::thread([this, rank] { write(rank); });
  }
  void write(int rank) {
    sums = {};
    error = error_of([&] {
      if (!parts.empty()) sums = write_parts(unfinished(checkpoint) / file_of_rank(rank), parts);
    });
    parts.clear();
    written.store(true, std::memory_order_release);
  }
  bool all_written(Communicator& communicator) const {
    const bool here = written.load(std::memory_order_acquire);
    const std::vector<std::string> states =
        gather_texts(communicator, here ? "" : "writes", saving_place);
    return std::all_of(states.begin(), states.end(), [](const auto& each) { return each.empty(); });
  }
  void finish(Communicator& communicator);
  void commit_all(const std::vector<std::string>& told_sums);
};

void Saver::State::finish(Communicator& communicator) {
  join();
  under_way = false;
  std::string failed = error;
  try {
    agree(communicator, failed, saving_place);
    const std::vector<std::string> sums_of_all =
        gather_texts(communicator, sums.bytes ? told(sums) : "", saving_place);
    if (communicator.rank() == 0) failed = error_of([&] { commit_all(sums_of_all); });
    agree(communicator, failed, saving_place);
  } catch (const FileError&) {
    if (communicator.rank() == 0) discard(checkpoint);
    throw;
  }
}

void Saver::State::commit_all(const std::vector<std::string>& told_sums) {
  size_t file = 0;
  for (const std::string& each : told_sums)
    if (!each.empty()) manifest.files.at(file++).sums = heard(each);
  write_text(manifest_path(unfinished(checkpoint)), text_of(manifest));
  commit(checkpoint);
  prune(checkpoint, keep);
}

Saver::Saver(std::filesystem::path folder, int keep) : state_(std::make_unique<State>()) {
  state_->folder = std::filesystem::absolute(folder).lexically_normal();
  state_->keep = keep;
}
Saver::~Saver() = default;
Saver::Saver(Saver&&) noexcept = default;

void Saver::claim(Communicator& communicator) {
  State& state = *state_;
  std::string error;
  if (communicator.rank() == 0 && !state.lock)
    error = error_of([&] { state.lock = std::make_unique<FolderLock>(state.folder); });
  agree(communicator, error, saving_place);
}

void Saver::save(Communicator& communicator, const Mesh& mesh, const DimSizes& dims,
                 const std::vector<Leaf>& leaves, const Position& position) {
  for (const Leaf& leaf : leaves) refuse(leaf);
  if (mesh.ranks() != communicator.size())
    throw PlanError("the mesh " + mesh.text() + " has " + std::to_string(mesh.ranks()) +
                    " ranks, the communicator " + std::to_string(communicator.size()));
  wait(communicator);
  State& state = *state_;
  state.checkpoint = path_of_step(state.folder, position.step);
  const bool first = communicator.rank() == 0;
  claim(communicator);
  agree(communicator, first ? error_of([&] { begin(state.checkpoint); }) : "", saving_place);
  state.manifest = manifest_of(mesh, dims, leaves, position);
  state.parts = parts_of(leaves, mesh, communicator.rank());
  state.start(communicator.rank());
}

bool Saver::poll(Communicator& communicator) {
  if (!state_->under_way) return true;
  if (!state_->all_written(communicator)) return false;
  state_->finish(communicator);
  return true;
}

void Saver::wait(Communicator& communicator) {
  if (!state_->under_way) return;
  state_->finish(communicator);
}

}  // namespace shardproof::checkpoint
