// Damaged files, full disks and killed processes: an error that names the file, and the last good
// checkpoint loads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "impl/checkpoint/checksum.h"
#include "impl/checkpoint/manifest.h"
#include "impl/checkpoint/safetensors.h"
#include "impl/checkpoint/test_state.h"

namespace shardproof::checkpoint {
namespace {

using testing::HasSubstr;

const Mesh two = Mesh::parse("t=2");

/// Each rank has `n` x 8 entries of one tensor, and rank 0 a copied one.
TestTensors tensors_of(int64_t n) {
  const Type wide{{{{{{"M"}}, {"t"}}, {{{"F"}}, {}}}, {}}, Dtype::f32};
  const Type narrow{{{{{{"F"}}, {}}}, {}}, Dtype::i32};
  return {{"wide", {wide, Element::f32, {2 * n, 8}}}, {"narrow", {narrow, Element::i32, {8}}}};
}

std::string text_in(const std::filesystem::path& path) { return read_text(path); }

void put(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// The error of loading on a mesh of two; empty: it loads.
std::string load_error(const std::filesystem::path& checkpoint, const TestTensors& tensors) {
  std::string said;
  run_on_threads(2, [&](Communicator& communicator) {
    TestState state(tensors, two, communicator.rank());
    try {
      load(checkpoint, communicator, two, {}, state.leaves());
    } catch (const FileError& error) {
      if (communicator.rank() == 0) said = error.what();
    }
  });
  return said;
}

/// A good checkpoint of step 1 and one of step 2 whose files are damaged one after the other.
class DamagedCheckpoint : public testing::Test {
 protected:
  void SetUp() override {
    for (int step : {1, 2}) save_filled(folder_.path(), two, tensors_, {step, {}});
  }
  std::filesystem::path last() const { return folder_.path() / "step-00000002"; }

  /// `text` instead of the file: refused with its name.
  void expect_named(const std::filesystem::path& file, const std::string& text,
                    const std::string& what) {
    put(file, text);
    ASSERT_THAT(load_error(last(), tensors_), HasSubstr(file.string())) << what;
  }
  /// Every byte up to `end` and some after it flipped, and the file cut there.
  void damage_each_byte(const std::filesystem::path& file, size_t end) {
    const std::string good = text_in(file);
    for (size_t i = 0; i < good.size(); i += i < end ? 1 : 13) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
      expect_named(file, bad, "byte " + std::to_string(i));
      expect_named(file, good.substr(0, i), "cut at " + std::to_string(i));
    }
    expect_named(file, good + "x", "a byte too much");
    put(file, good);
    ASSERT_EQ(load_error(last(), tensors_), "");
  }

  const TestTensors tensors_ = tensors_of(4);
  const TestFolder folder_;
};

TEST_F(DamagedCheckpoint, EachByteOfADataFileCounts) {
  for (int rank : {0, 1}) damage_each_byte(last() / file_of_rank(rank), 200);
}

TEST_F(DamagedCheckpoint, EachByteOfTheManifestCounts) {
  const std::filesystem::path file = manifest_path(last());
  damage_each_byte(file, 100);
  put(file, text_in(file).replace(40, 1, "#"));
  EXPECT_EQ(newest(folder_.path()), folder_.path() / "step-00000001");
}

/// A manifest that was edited and has the right checksum again.
TEST_F(DamagedCheckpoint, AnEditedManifestIsRefusedByItsField) {
  const std::string text = text_of(read_manifest(last()));
  const std::string body = text.substr(text.find('\n') + 1);
  const std::string size = "[\"t\",2]", first = file_of_rank(0), second = file_of_rank(1);
  const std::tuple<std::string, std::string, const char*> edits[] = {
      {size, "[\"t\",2.5]", "is not a whole number"},
      {size, "[\"t\",1e300]", "is not a whole number"},
      {size, "[\"t\",18446744073709551615]", "is not a whole number"},
      {size, "[\"t\",66666666666666666666]", "is not a whole number"},
      {size, "[\"t\",-2]", "the axis t has the size -2"},
      {size, "[\"t\"]", "mesh: "},
      {"\"step\":", "\"steps\":", "step: key 'step' not found"},
      {"\"bytes\":", "\"bites\":", "files: bytes: key 'bytes' not found"},
      {"\"file\":0", "\"file\":\"0\"", ": pieces: file: type must be number, but is string"},
      {"\"file\":0", "\"file\":-1", "a piece of a tensor is not inside of it"},
      {"\"extents\":[", "\"extents\":[1,", "tensor "},
      {"\"name\":\"" + first, "\"name\":\"" + second,
       "its files are not in the order of their ranks"},
  };
  for (const auto& [from, to, words] : edits) {
    std::string other = body;
    const size_t at = body.find(from);
    ASSERT_NE(at, std::string::npos) << from << " in " << body;
    other.replace(at, from.size(), to);
    put(manifest_path(last()),
        "{\"xxh3\":\"" + hex(checksum(other.data(), other.size())) + "\",\n" + other);
    EXPECT_THAT(load_error(last(), tensors_), HasSubstr(words)) << to;
    EXPECT_EQ(newest(folder_.path()), folder_.path() / "step-00000001") << to;
  }
}

TEST_F(DamagedCheckpoint, IsNotTheNewestWithoutAllFilesInFull) {
  const std::filesystem::path file = last() / file_of_rank(1);
  put(file, text_in(file).substr(1));
  EXPECT_EQ(newest(folder_.path()), folder_.path() / "step-00000001");
  std::filesystem::remove(file);
  EXPECT_EQ(newest(folder_.path()), folder_.path() / "step-00000001");
  EXPECT_THAT(load_error(last(), tensors_), HasSubstr(file.string() + ": cannot be opened"));
  EXPECT_EQ(wrong_after_load(*newest(folder_.path()), two, tensors_), 0);
}

TEST_F(DamagedCheckpoint, AFileOfAnotherCheckpointIsRefused) {
  save_filled(folder_.path(), two, tensors_, {3, {}}, 0, 5);
  expect_named(last() / file_of_rank(1),
               text_in(folder_.path() / "step-00000003" / file_of_rank(1)), "another's file");
}

TEST_F(DamagedCheckpoint, AManifestWithOtherTensorsThanTheFileIsRefused) {
  Manifest manifest = read_manifest(last());
  const StoredTensor wide = manifest.tensors.at("wide");
  const auto said = [&](const StoredTensor& tensor) {
    manifest.tensors["wide"] = tensor;
    put(manifest_path(last()), text_of(manifest));
    return load_error(last(), tensors_);
  };
  StoredTensor edited = wide;
  edited.pieces.pop_back();
  EXPECT_THAT(said(edited), HasSubstr("tensor wide has pieces missing"));
  edited = wide;
  edited.pieces[1].box.extents[0] -= 1;
  EXPECT_THAT(said(edited),
              HasSubstr("rank-00001.safetensors: tensor wide differs from the manifest"));
  edited = wide;
  edited.pieces[1].box.first[0] += 1;
  EXPECT_THAT(said(edited), HasSubstr("a piece of a tensor is not inside of it"));
  edited = wide;
  edited.pieces[1].box = edited.pieces[0].box;
  EXPECT_THAT(said(edited), HasSubstr("tensor wide has pieces that overlap"));
  edited.pieces[1].box.first[0] += 2;  // and others are missing
  EXPECT_THAT(said(edited), HasSubstr("tensor wide has pieces that overlap"));
  edited = wide;
  edited.pieces[1].file = 2;
  EXPECT_THAT(said(edited), HasSubstr("a piece of a tensor is not inside of it"));
}

TEST(Safetensors, AHeaderWithAnyByteChangedNeverLeadsOutOfTheFile) {
  const TestFolder folder;
  save_filled(folder.path(), two, tensors_of(4), {1, {}});
  const std::filesystem::path file = folder.path() / "step-00000001" / file_of_rank(0);
  const std::string good = text_in(file);
  const size_t end = good.size() - 4 * 8 * 4 - 8 * 4;
  int refused = 0;
  for (size_t i = 0; i < end; ++i)
    for (int flip : {1, 2, 4, 8, 16, 32, 64, 128}) {
      std::string bad = good;
      bad[i] = static_cast<char>(bad[i] ^ flip);
      put(file, bad);
      try {
        for (const auto& [name, entry] : safetensors::read_header(File::open(file))) {
          ASSERT_LE(entry.begin, bad.size());
          ASSERT_LE(entry.bytes, bad.size() - entry.begin);
        }
      } catch (const FileError& error) {
        ++refused;
        ASSERT_THAT(error.what(), HasSubstr(file.string()));
      }
    }
  EXPECT_GT(refused, static_cast<int>(4 * end));  // most of what is no name
}

TEST(Safetensors, HeadersThatLieAreRefused) {
  const TestFolder folder;
  const std::filesystem::path file = folder.path() / "file";
  const auto said = [&](const std::string& header, size_t data) -> std::string {
    std::string text(8, '\0');
    text[0] = static_cast<char>(header.size());
    put(file, text + header + std::string(data, 'x'));
    try {
      safetensors::read_header(File::open(file));
      return "";
    } catch (const FileError& error) {
      return error.what();
    }
  };
  const auto one = [](const char* shape, const char* offsets) {
    return std::string(R"({"a":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":)" +
           offsets + "}}";
  };
  EXPECT_EQ(said(one("[2]", "[0,8]"), 8), "");
  EXPECT_EQ(said("{}", 0), "");
  EXPECT_THAT(said(one("[2]", "[0,8]"), 7), HasSubstr("lies beyond the end"));
  EXPECT_THAT(said(one("[2]", "[0,8]"), 9), HasSubstr("bytes after its last tensor"));
  EXPECT_THAT(said(one("[2]", "[1,9]"), 9), HasSubstr("leave a gap"));
  EXPECT_THAT(said(one("[3]", "[0,8]"), 8), HasSubstr("other bytes than its shape needs"));
  EXPECT_THAT(said(one("[-2]", "[0,8]"), 8), HasSubstr("has a size that is not a whole number"));
  EXPECT_THAT(said(one("[4611686018427387904, 4]", "[0,0]"), 0), HasSubstr("larger than"));
  EXPECT_THAT(said(one("[2]", "[8,0]"), 8), HasSubstr("lies beyond the end"));
  EXPECT_THAT(said(one("[2]", "[0]"), 8), HasSubstr("needs two data_offsets"));
  EXPECT_THAT(said(R"({"a":{"dtype":"F3","shape":[2],"data_offsets":[0,8]}})", 8),
              HasSubstr("unknown dtype F3"));
  EXPECT_THAT(said(R"({"a":{"shape":[2]}})", 8), HasSubstr("dtype"));
  EXPECT_THAT(said("[1]", 8), HasSubstr("not a JSON object"));
  EXPECT_THAT(said("nonsense", 8), HasSubstr("not a safetensors file"));
}

/// In a child process, which ends: 0 where `body` returns true.
int in_child(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    bool good = false;
    try {
      good = body();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s\n", error.what());
    }
    ::_exit(good ? 0 : 1);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

/// Saving 2 MB on two ranks must fail with the file's and the rank's name, and may be tried again.
bool fails_for_space(const std::filesystem::path& folder, const std::string& why) {
  std::atomic<int> named = 0;
  run_on_threads(2, [&](Communicator& communicator) {
    TestState state(tensors_of(1 << 15), two, communicator.rank());
    Saver saver(folder, 1);
    for (int step : {2, 3}) {
      saver.save(communicator, two, {}, state.leaves(), {step, {}});
      try {
        saver.wait(communicator);
      } catch (const FileError& error) {
        const std::string text = error.what();
        named += text.find("rank 0: " + folder.string()) == 0 &&
                 text.find("partial/rank-00000.safetensors: cannot be written: " + why) !=
                     std::string::npos;
      }
    }
  });
  return named == 4;
}

TEST(FullDisk, ALimitOfFileSizesIsAnError) {
  const TestFolder folder;
  save_filled(folder.path(), two, tensors_of(4), {1, {}});
  EXPECT_EQ(in_child([&] {
              const rlimit limit{100'000, 100'000};
              ::setrlimit(RLIMIT_FSIZE, &limit);
              return fails_for_space(folder.path(), "File too large");
            }),
            0);
  EXPECT_EQ(wrong_after_load(*newest(folder.path()), two, tensors_of(4)), 0);
  // The checkpoint and the lock.
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 2);
}

TEST(FullDisk, ASmallFileSystemIsAnError) {
  const TestFolder folder;
  if (::mount("tmpfs", folder.path().c_str(), "tmpfs", 0, "size=256k") != 0)
    GTEST_SKIP() << "only root may mount a small file system: a full disk was not tried";
  save_filled(folder.path(), two, tensors_of(4), {1, {}});
  EXPECT_EQ(in_child([&] { return fails_for_space(folder.path(), "No space left on device"); }), 0);
  EXPECT_EQ(wrong_after_load(*newest(folder.path()), two, tensors_of(4)), 0);
  ::umount(folder.path().c_str());
}

TEST(Killed, AtAnyPointOfSavingALastGoodOneLoads) {
  const TestFolder folder;
  const TestTensors tensors = tensors_of(1 << 12);
  save_filled(folder.path(), two, tensors, {0, {}}, 1, 0);
  int64_t step = 0;
  for (int kill = 0; kill < 20; ++kill) {
    const pid_t child = ::fork();
    if (child == 0) {
      for (int64_t next = step + 1;; ++next)
        save_filled(folder.path(), two, tensors, {next, {}}, 1, static_cast<uint64_t>(next));
    }
    ::usleep(static_cast<useconds_t>(1000 + kill * 1777));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const auto checkpoint = newest(folder.path());
    ASSERT_TRUE(checkpoint);
    ASSERT_GE(position_of(*checkpoint).step, step);
    step = position_of(*checkpoint).step;
    ASSERT_EQ(wrong_after_load(*checkpoint, two, tensors, static_cast<uint64_t>(step)), 0);
  }
  EXPECT_GT(step, 0);
}

}  // namespace
}  // namespace shardproof::checkpoint
