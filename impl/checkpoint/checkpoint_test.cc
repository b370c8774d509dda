// What is saved is loaded on every mesh, and a faulty checkpoint is reported.
#include "impl/checkpoint/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>

#include "impl/checkpoint/manifest.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/checkpoint/test_state.h"

namespace shardproof::checkpoint {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Split split(const std::string& dim, const std::vector<Axis>& axes = {}) { return {{{dim}}, axes}; }

Type type_of(Dtype dtype, std::vector<Split> dims, Marks marks = {}) {
  return Type{{std::move(dims), std::move(marks)}, dtype};
}

/// Every element; copies, two axes on one dim, a group, a scalar.
TestTensors some_tensors() {
  return {
      {"w.up", {type_of(Dtype::f32, {split("M", {"t", "d"}), split("F")}), Element::f32, {8, 6}}},
      {"w.down", {type_of(Dtype::bf16, {split("F"), split("M", {"t"})}), Element::bf16, {6, 8}}},
      {"w.heads",
       {type_of(Dtype::f64, {split("N"), {{{"K", "D"}}, {"t"}}, split("M", {"d"})}),
        Element::f64,
        {3, 8, 4}}},
      {"ids", {type_of(Dtype::i32, {split("B", {"d"})}), Element::i32, {8}}},
      {"mask", {type_of(Dtype::boolean, {split("B")}), Element::u8, {5}}},
      {"count", {type_of(Dtype::u32, {}, {{"t", Mark::I}}), Element::u32, {}}},
      {"key", {type_of(Dtype::key, {}), Element::u64, {}}},
  };
}

const Mesh two_by_two = Mesh::parse("d=2,t=2");

/// The error of load() on the first rank; all ranks must have the same.
std::string refusal(const std::filesystem::path& checkpoint, const Mesh& mesh,
                    const TestTensors& tensors) {
  std::vector<std::string> said(static_cast<size_t>(mesh.ranks()));
  run_on_threads(static_cast<int>(mesh.ranks()), [&](Communicator& communicator) {
    TestState state(tensors, mesh, communicator.rank());
    try {
      load(checkpoint, communicator, mesh, {}, state.leaves());
    } catch (const FileError& error) {
      said[static_cast<size_t>(communicator.rank())] = error.what();
    }
  });
  EXPECT_EQ(said, std::vector<std::string>(said.size(), said[0]));
  return said[0];
}

TEST(Checkpoint, IsTheSameOnEveryMesh) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, some_tensors(), {100, {}});
  const auto checkpoint = newest(folder.path());
  ASSERT_EQ(checkpoint, folder.path() / "step-00000100");
  for (const char* mesh : {"d=2,t=2", "", "d=4", "t=4", "t=2", "t=2,d=2", "t=4,d=2"})
    EXPECT_EQ(wrong_after_load(*checkpoint, Mesh::parse(mesh), some_tensors()), 0) << mesh;
  EXPECT_GT(wrong_after_load(*checkpoint, two_by_two, some_tensors(), 1), 0);
}

TEST(Checkpoint, IsLoadedAtOtherTypes) {
  const TestFolder folder;
  TestTensors tensors = some_tensors();
  save_filled(folder.path(), Mesh::parse("d=4,t=2"), tensors, {1, {}});
  tensors["w.up"].type.dims = {split("M"), split("F", {"c"})};
  tensors["w.heads"].type.dims = {split("N", {"c"}), {{{"K", "D"}}, {"d"}}, split("M", {"t"})};
  tensors.erase("ids");  // a checkpoint may hold more than is wanted
  EXPECT_EQ(wrong_after_load(*newest(folder.path()), Mesh::parse("c=3,d=2,t=2"), tensors), 0);
}

/// Layers of a model: `dims` number them.
TestTensors layers(std::vector<Split> dims, std::vector<int64_t> whole) {
  const size_t stacked = dims.size();
  dims.push_back(split("M", {"d"}));
  dims.push_back(split("F"));
  whole.insert(whole.end(), {4, 3});
  return {{"w.layers.up", {type_of(Dtype::f32, dims), Element::f32, whole, stacked}}};
}

TEST(Checkpoint, LayersKeepTheirOrderInOtherStacks) {
  const std::vector<TestTensors> stacks{
      layers({split("X"), split("N", {"p"})}, {3, 4}), layers({split("X"), split("N")}, {1, 12}),
      layers({split("X"), split("N", {"p"})}, {2, 6}), layers({split("L", {"p"})}, {12}),
      layers({split("X", {"p"}), split("Y"), split("N")}, {2, 2, 3})};
  for (const TestTensors& from : stacks) {
    const TestFolder folder;
    save_filled(folder.path(), Mesh::parse("d=2,p=2"), from, {1, {}});
    for (const TestTensors& to : stacks)
      for (const char* mesh : {"", "p=2", "d=2,p=2", "p=2,d=4"})
        EXPECT_EQ(wrong_after_load(*newest(folder.path()), Mesh::parse(mesh), to), 0) << mesh;
  }
}

TEST(Checkpoint, OtherLayersAreRefused) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, layers({split("X"), split("N")}, {3, 4}), {1, {}});
  const auto said = [&](const TestTensors& wanted) {
    return refusal(*newest(folder.path()), two_by_two, wanted);
  };
  EXPECT_EQ(said(layers({split("X"), split("N")}, {2, 6})), "");
  EXPECT_THAT(said(layers({split("X"), split("N")}, {3, 5})), HasSubstr("has sizes [3 4 4 3]"));
  EXPECT_THAT(said(layers({split("N"), split("X")}, {4, 3})), HasSubstr("has dims [X N M F]"));
  TestTensors other = layers({split("L")}, {12});
  other["w.layers.up"].type.dims[1] = split("K");
  EXPECT_THAT(said(other), HasSubstr("wants [L K F]"));
  other = layers({split("X"), split("N")}, {3, 4});
  other["w.layers.up"].whole = {3, 4, 6, 2};
  EXPECT_THAT(said(other), HasSubstr("wants [3 4 6 2]"));
  other = layers({split("X"), split("N")}, {2, 6});
  other["w.layers.up"].stacked = 0;
  EXPECT_THAT(said(other), HasSubstr("wants [2 6 4 3]"));
}

TEST(Checkpoint, KeepsThePosition) {
  const TestFolder folder;
  const Position position{
      int64_t{1} << 40,
      {{"seed", "18446744073709551615"}, {"data", "a \"b\"\n\\ \xc3\xa9"}, {"empty", ""}}};
  save_filled(folder.path(), two_by_two, some_tensors(), position);
  EXPECT_EQ(position_of(*newest(folder.path())), position);
}

TEST(Checkpoint, OfCopiesOneIsWritten) {
  const TestFolder folder;
  TestTensors tensors = some_tensors();
  save_filled(folder.path(), two_by_two, tensors, {1, {}});
  std::map<std::string, int64_t> entries;
  for (int rank = 0; rank < 4; ++rank)
    for (const auto& [name, entry] :
         safetensors::read_header(File::open(*newest(folder.path()) / file_of_rank(rank)))) {
      int64_t count = 1;
      for (int64_t extent : entry.extents) count *= extent;
      entries[name] += count;
    }
  for (const auto& [name, tensor] : tensors) {
    int64_t count = 1;
    for (int64_t extent : tensor.whole) count *= extent;
    EXPECT_EQ(entries[name], count) << name;
  }
}

TEST(Checkpoint, IsThereWhenAllHaveWritten) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, some_tensors(), {1, {}});
  run_on_threads(4, [&](Communicator& communicator) {
    TestState state(some_tensors(), two_by_two, communicator.rank());
    state.fill(7);
    Saver saver(folder.path(), 1);
    saver.save(communicator, two_by_two, {}, state.leaves(), {2, {}});
    state.set(0);  // the step goes on
    if (communicator.rank() == 0) {
      EXPECT_EQ(newest(folder.path()), folder.path() / "step-00000001");
    }
    while (!saver.poll(communicator)) std::this_thread::yield();
    EXPECT_TRUE(saver.poll(communicator));
  });
  EXPECT_THAT(all(folder.path()), testing::ElementsAre(folder.path() / "step-00000002"));
  EXPECT_EQ(wrong_after_load(*newest(folder.path()), two_by_two, some_tensors(), 7), 0);
}

TEST(Checkpoint, SavingAgainWaitsForTheOneBefore) {
  const TestFolder folder;
  run_on_threads(4, [&](Communicator& communicator) {
    TestState state(some_tensors(), two_by_two, communicator.rank());
    Saver saver(folder.path(), 2);
    for (uint64_t step : {1, 2, 3, 3, 4}) {
      state.fill(step);
      saver.save(communicator, two_by_two, {}, state.leaves(), {static_cast<int64_t>(step), {}});
    }
    saver.wait(communicator);
  });
  EXPECT_THAT(all(folder.path()), testing::ElementsAre(folder.path() / "step-00000004",
                                                       folder.path() / "step-00000003"));
  for (uint64_t step : {3, 4})
    EXPECT_EQ(wrong_after_load(folder.path() / ("step-0000000" + std::to_string(step)), two_by_two,
                               some_tensors(), step),
              0);
}

TEST(Checkpoint, AnotherOneOfTheSameStepTakesItsPlace) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, some_tensors(), {5, {}}, 1);
  save_filled(folder.path(), Mesh::parse("t=2"), some_tensors(), {5, {}}, 1, 3);
  EXPECT_EQ(wrong_after_load(*newest(folder.path()), two_by_two, some_tensors(), 3), 0);
  // The checkpoint and the lock.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(Checkpoint, AnEarlierStepThanTheLastStays) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, some_tensors(), {9, {}}, 1);
  save_filled(folder.path(), two_by_two, some_tensors(), {5, {}}, 1);
  EXPECT_THAT(all(folder.path()), testing::ElementsAre(folder.path() / "step-00000005"));
}

TEST(Checkpoint, ValuesMustBeWhole) {
  const TestFolder folder;
  TestTensors tensors = some_tensors();
  for (const Mark mark : {Mark::U, Mark::Max}) {
    tensors["mask"].type.marks = {{"t", mark}};
    run_on_threads(4, [&](Communicator& communicator) {
      TestState state(tensors, two_by_two, communicator.rank());
      Saver saver(folder.path(), 1);
      try {
        saver.save(communicator, two_by_two, {}, state.leaves(), {1, {}});
        ADD_FAILURE() << "saved";
      } catch (const PlanError& error) {
        EXPECT_THAT(error.what(), AllOf(HasSubstr("mask"), HasSubstr("axis t")));
      }
    });
  }
}

TEST(Checkpoint, AnotherProgramIsRefused) {
  const TestFolder folder;
  save_filled(folder.path(), two_by_two, some_tensors(), {1, {}});
  const auto checkpoint = *newest(folder.path());
  const auto with = [](auto edit) {
    TestTensors tensors = some_tensors();
    edit(tensors);
    return tensors;
  };
  const std::string manifest = manifest_path(checkpoint).string();
  EXPECT_EQ(refusal(checkpoint, two_by_two, with([](auto& t) { t["v.up"] = t["w.up"]; })),
            "rank 0: " + manifest + ": there is no tensor v.up");
  EXPECT_THAT(
      refusal(checkpoint, two_by_two, with([](auto& t) { t["w.up"].element = Element::f64; })),
      HasSubstr("tensor w.up has dtype f32, the program wants f64"));
  EXPECT_THAT(refusal(checkpoint, two_by_two, with([](auto& t) {
                        t["w.up"].whole = {8, 4};
                      })),
              HasSubstr("tensor w.up has sizes [8 6], the program wants [8 4]"));
  EXPECT_THAT(refusal(checkpoint, two_by_two, with([](auto& t) {
                        t["w.up"].type.dims = {split("F"), split("M")};
                      })),
              HasSubstr("tensor w.up has dims [M F], the program wants [F M]"));
}

TEST(Checkpoint, AFolderThatCannotBeMadeIsNamed) {
  const TestFolder folder;
  std::ofstream(folder.path() / "file") << "no folder";
  run_on_threads(2, [&](Communicator& communicator) {
    const Mesh mesh = Mesh::parse("t=2");
    TestState state(some_tensors(), mesh, communicator.rank());
    Saver saver(folder.path() / "file", 1);
    try {
      saver.save(communicator, mesh, {}, state.leaves(), {1, {}});
      ADD_FAILURE() << "saved";
    } catch (const FileError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("rank 0: "), HasSubstr("file: cannot be made")));
    }
  });
}

TEST(Checkpoint, ThereIsNoneInAFolderOfOtherThings) {
  const TestFolder folder;
  EXPECT_EQ(newest(folder.path() / "nowhere"), std::nullopt);
  for (const char* name : {"step-00000007", "step-00000008.partial", "step-", "step-1x", "other"})
    std::filesystem::create_directory(folder.path() / name);
  EXPECT_EQ(newest(folder.path()), std::nullopt);
  EXPECT_THAT(refusal(folder.path() / "step-00000007", Mesh(), some_tensors()),
              HasSubstr("step-00000007/manifest.json: cannot be opened"));
}

TEST(Checkpoint, ThePythonPackageReadsIt) {
  if (std::system("python3 -c 'import safetensors.numpy' 2>/dev/null") != 0)
    GTEST_SKIP() << "python3 has no package safetensors: its reader was not tried";
  const TestFolder folder;
  TestTensors tensors = some_tensors();
  tensors.erase("w.down");  // NumPy has no bf16
  save_filled(folder.path(), Mesh(), tensors, {1, {}});
  uint64_t bits = bits_of("w.heads", 2 * 32 + 7 * 4 + 3, Element::f64);
  std::ofstream(folder.path() / "read.py")
      << "import sys, safetensors.numpy as s\n"
         "t = s.load_file(sys.argv[1])\n"
         "assert t['w.up'].shape == (8, 6) and t['w.up'].dtype == 'float32'\n"
         "assert t['count'].shape == () and t['mask'].dtype == bool and t['key'].dtype == "
         "'uint64'\n"
         "assert t['w.heads'].view('uint64')[2, 7, 3] == "
      << bits << "\n";
  const std::string command = "python3 " + (folder.path() / "read.py").string() + " " +
                              (*newest(folder.path()) / file_of_rank(0)).string();
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace shardproof::checkpoint
