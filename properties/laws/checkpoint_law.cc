// What a mesh saves, any other mesh loads at any other types, and back, bit for bit.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <numeric>

#include "impl/checkpoint/test_state.h"

namespace shardproof::properties {
namespace {

using checkpoint::TestTensor;
using checkpoint::TestTensors;

constexpr int64_t most_ranks = 12;

struct DrawnMesh {
  std::vector<std::pair<Axis, int64_t>> axes;
  Mesh mesh() const { return Mesh(axes); }
};

DrawnMesh drawn_mesh() {
  DrawnMesh drawn;
  int64_t ranks = 1;
  for (const char* axis : {"d", "t", "p"}) {
    const int64_t size = std::min(most_ranks / ranks, *rc::gen::element<int64_t>(1, 2, 3, 4));
    if (*rc::gen::element(true, true, true, false)) {
      drawn.axes.insert(drawn.axes.begin() + (*rc::gen::arbitrary<bool>() ? 0 : drawn.axes.size()),
                        {axis, size});
      ranks *= size;
    }
  }
  return drawn;
}

/// Some axes over each dim, in any order; an axis splits one dim at most. On others it is R or I.
void draw_axes(const DrawnMesh& mesh, Type& type) {
  for (Split& split : type.dims) split.axes.clear();
  type.marks.clear();
  for (const auto& [axis, size] : mesh.axes) {
    const size_t dim = *rc::gen::inRange<size_t>(0, type.dims.size() + 2);
    if (dim < type.dims.size()) {
      std::vector<Axis>& axes = type.dims[dim].axes;
      axes.insert(axes.begin() + (*rc::gen::arbitrary<bool>() ? 0 : axes.size()), axis);
    } else if (dim == type.dims.size()) {
      type.marks[axis] = Mark::I;
    }
  }
}

/// A size that any of the meshes' axes on it divide: a multiple of both meshes' ranks.
TestTensor drawn_tensor(int64_t multiple) {
  const std::pair<Dtype, Element> kind =
      *rc::gen::elementOf(std::vector<std::pair<Dtype, Element>>{{Dtype::f64, Element::f64},
                                                                 {Dtype::f32, Element::f32},
                                                                 {Dtype::bf16, Element::bf16},
                                                                 {Dtype::i32, Element::i32},
                                                                 {Dtype::u32, Element::u32},
                                                                 {Dtype::boolean, Element::u8},
                                                                 {Dtype::key, Element::u64}});
  TestTensor tensor{Type{{}, kind.first}, kind.second, {}};
  const size_t dims = *rc::gen::element<size_t>(0, 1, 2, 2);
  for (size_t i = 0; i < dims; ++i) {
    const std::string name(1, static_cast<char>('A' + i));
    tensor.type.dims.push_back(
        {Dim{*rc::gen::arbitrary<bool>() ? std::vector<Name>{name}
                                         : std::vector<Name>{name, name + "x"}},
         {}});
    tensor.whole.push_back(multiple * *rc::gen::element<int64_t>(1, 2, 3));
  }
  return tensor;
}

void with_axes_of(const DrawnMesh& mesh, TestTensors& tensors) {
  for (auto& [name, tensor] : tensors) draw_axes(mesh, tensor.type);
}

/// Loads on `mesh` and saves what it loaded as the next step; how many entries were wrong.
int64_t load_and_save(const std::filesystem::path& folder, int64_t step, const Mesh& mesh,
                      const TestTensors& tensors) {
  std::atomic<int64_t> wrong = 0;
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    checkpoint::TestState state(tensors, mesh, communicator.rank());
    const auto position =
        load(checkpoint::newest(folder).value(), communicator, mesh, {}, state.leaves());
    wrong += state.wrong() + (position.step != step);
    checkpoint::Saver saver(folder, 2);
    saver.save(communicator, mesh, {}, state.leaves(), {step + 1, position.values});
    saver.wait(communicator);
  });
  return wrong;
}

RC_GTEST_PROP(CheckpointLaw, FromMeshToMeshAndBackIsTheIdentity, ()) {
  const DrawnMesh a = drawn_mesh(), b = drawn_mesh();
  const int64_t multiple = std::lcm(a.mesh().ranks(), b.mesh().ranks());
  TestTensors tensors;
  const int count = *rc::gen::inRange(1, 5);
  for (int i = 0; i < count; ++i) tensors["w" + std::to_string(i)] = drawn_tensor(multiple);
  RC_CLASSIFY(a.mesh().ranks() > 1 && b.mesh().ranks() > 1 && a.axes != b.axes);

  const checkpoint::TestFolder folder;
  with_axes_of(a, tensors);
  const TestTensors first = tensors;
  checkpoint::save_filled(folder.path(), a.mesh(), tensors, {1, {{"seed", "7"}}});
  with_axes_of(b, tensors);
  RC_ASSERT(load_and_save(folder.path(), 1, b.mesh(), tensors) == 0);
  RC_ASSERT(load_and_save(folder.path(), 2, a.mesh(), first) == 0);
  RC_ASSERT(checkpoint::position_of(*checkpoint::newest(folder.path())) ==
            (checkpoint::Position{3, {{"seed", "7"}}}));
}

}  // namespace
}  // namespace shardproof::properties
