#pragma once
// State for tests: every entry's bits are a function of its tensor and its index in the whole.
#include <stdlib.h>

#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <list>

#include "impl/checkpoint/box.h"
#include "impl/checkpoint/checkpoint.h"
#include "impl/comm/threads.h"

namespace shardproof::checkpoint {

/// A temporary folder.
class TestFolder {
 public:
  TestFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "shardproof-XXXXXX").string();
    if (!::mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TestFolder() { std::filesystem::remove_all(path_); }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A tensor of the state with the extents of the whole.
struct TestTensor {
  Type type;
  Element element;
  std::vector<int64_t> whole;
  size_t stacked = 0;
};
using TestTensors = std::map<Name, TestTensor>;

/// A tensor over both axes of a mesh d t, and a copy, 1 MB.
inline TestTensors mpi_tensors() {
  const Split rows{{{"M"}}, {"d"}}, columns{{{"F"}}, {"t"}}, whole{{{"F"}}, {}};
  return {{"weights", {Type{{{rows, columns}, {}}, Dtype::f32}, Element::f32, {512, 512}}},
          {"gain", {Type{{{whole}, {}}, Dtype::f32}, Element::f32, {512}}}};
}

/// The bits of entry `index` of the whole tensor `name`.
inline uint64_t bits_of(const Name& name, uint64_t index, Element element) {
  uint64_t bits = std::hash<std::string>{}(name) + index * 0x9e3779b97f4a7c15ull;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ull;
  bits ^= bits >> 27;
  return element == Element::u8 ? bits & 1 : bits;
}

/// One rank's part of the state.
class TestState {
 public:
  TestState(const TestTensors& tensors, const Mesh& mesh, int64_t rank)
      : tensors_(tensors), mesh_(mesh), rank_(rank) {
    for (const auto& [name, each] : tensors) {
      std::vector<int64_t> local = each.whole;
      for (size_t i = 0; i < local.size(); ++i)
        for (const Axis& axis : each.type.dims[i].axes) local[i] /= mesh.size(axis);
      LocalTensor& tensor = parts_.emplace_back(each.type, each.element, local);
      leaves_.push_back({name, each.type, &tensor, each.stacked});
    }
    set(0xee);
  }
  const std::vector<Leaf>& leaves() const { return leaves_; }

  /// Sets all bytes.
  void set(int byte) {
    for (LocalTensor& part : parts_) std::memset(part.buffer.data(), byte, part.buffer.bytes());
  }
  /// Sets each entry to its bits plus `shift`.
  void fill(uint64_t shift = 0) {
    for_each_entry([&](std::byte* at, uint64_t bits, size_t bytes) {
      bits += shift;
      std::memcpy(at, &bits, bytes);
    });
  }
  /// The number of entries that differ from fill(shift).
  int64_t wrong(uint64_t shift = 0) {
    int64_t count = 0;
    for_each_entry([&](std::byte* at, uint64_t bits, size_t bytes) {
      bits += shift;
      count += std::memcmp(at, &bits, bytes) != 0;
    });
    return count;
  }

 private:
  void for_each_entry(const std::function<void(std::byte*, uint64_t, size_t)>& visit) {
    for (const Leaf& leaf : leaves_) {
      const TestTensor& whole = tensors_.at(leaf.name);
      const size_t bytes = size_of(whole.element);
      const Box box = part_of(leaf.type, mesh_, rank_, leaf.tensor->extents);
      for (int64_t i = 0; i < box.count(); ++i)
        visit(leaf.tensor->buffer.data() + static_cast<size_t>(i) * bytes,
              bits_of(leaf.name, index_of(box, i, whole.whole), whole.element), bytes);
    }
  }
  /// The row-major index, in the whole tensor, of the box's entry i.
  static uint64_t index_of(const Box& box, int64_t i, const std::vector<int64_t>& whole) {
    uint64_t index = 0, stride = 1;
    for (size_t dim = whole.size(); dim-- > 0;) {
      index += stride * static_cast<uint64_t>(box.first[dim] + i % box.extents[dim]);
      i /= box.extents[dim];
      stride *= static_cast<uint64_t>(whole[dim]);
    }
    return index;
  }

  TestTensors tensors_;
  Mesh mesh_;
  int64_t rank_;
  std::list<LocalTensor> parts_;
  std::vector<Leaf> leaves_;
};

/// Saves the state of fill(shift) as this step, and waits for it.
inline void save_filled(const std::filesystem::path& folder, const Mesh& mesh,
                        const TestTensors& tensors, const Position& position, int keep = 0,
                        uint64_t shift = 0) {
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    TestState state(tensors, mesh, communicator.rank());
    state.fill(shift);
    Saver saver(folder, keep);
    saver.save(communicator, mesh, {}, state.leaves(), position);
    saver.wait(communicator);
  });
}

/// Loads it on all ranks of a mesh; returns the number of entries that differ from fill(shift).
inline int64_t wrong_after_load(const std::filesystem::path& checkpoint, const Mesh& mesh,
                                const TestTensors& tensors, uint64_t shift = 0) {
  std::atomic<int64_t> wrong = 0;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    TestState state(tensors, mesh, communicator.rank());
    load(checkpoint, communicator, mesh, {}, state.leaves());
    wrong += state.wrong(shift);
  });
  return wrong;
}

}  // namespace shardproof::checkpoint
