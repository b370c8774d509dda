#include "impl/check_sharding/run.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "spec/cli/report.h"

namespace shardproof::check_sharding {

using namespace cli;

namespace run_test {

namespace fs = std::filesystem;

struct Result {
  int code;
  std::string out, err;
};

Result run_with(const std::vector<std::string>& args, const std::string& in = "",
                Environment environment = {}) {
  std::istringstream input(in);
  std::ostringstream out, err;
  environment.seconds = [] { return 0.0; };
  const int code = run(args, input, out, err, environment);
  return {code, out.str(), err.str()};
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ =
        fs::path(::testing::TempDir()) /
        (std::string("cli_") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return path(name);
  }

  fs::path folder_;
};

TEST_F(Files, AMissingFileIsE0001AndTheNearestNameIsSaid) {
  write("ffn.shard", "dim M\n");
  for (const char* wrong : {"ffn.shrd", "ffn"}) {
    const Result result = run_with({path(wrong)});
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(result.out, "error[E0001]: " + path(wrong) + " does not exist\n  = did you mean " +
                              path("ffn.shard") + "?\n\ninvalid (0.00 s)\n");
  }
}

TEST_F(Files, WhatIsNoTextIsRefused) {
  struct Row {
    std::string path;
    const char* why;
  };
  const std::vector<Row> rows = {
      {folder_.string(), " is a directory\n  = name a file in it\n"},
      {write("empty", ""), " is empty\n"},
      {write("blank", " \n\t\n"), " is blank\n"},
      {write("zero", std::string("mesh\0d", 6)), " is not text: byte 4 is zero\n"},
      {write("noise", "\x7f\xfe\xff\x80\x81\x01\x02"), " is not text\n"}};
  for (const Row& row : rows) {
    const Result result = run_with({row.path});
    EXPECT_EQ(result.code, 3);
    EXPECT_NE(result.out.find("error[E0001]: " + row.path + row.why), std::string::npos)
        << result.out;
  }
}

/// One F64 tensor `name` of this shape, as safetensors.
std::string safetensors(const std::string& name, const std::string& shape,
                        const std::vector<double>& data) {
  const std::string header = "{\"" + name + "\":{\"dtype\":\"F64\",\"shape\":" + shape +
                             ",\"data_offsets\":[0," + std::to_string(8 * data.size()) + "]}}";
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), 8) + header +
         std::string(reinterpret_cast<const char*>(data.data()), 8 * data.size());
}

/// The last bytes of a safetensors file: its header is padded, its entries are at the end.
std::string entries_of(const std::string& path, size_t bytes) {
  std::ostringstream file;
  file << std::ifstream(path, std::ios::binary).rdbuf();
  return file.str().substr(file.str().size() - bytes);
}

TEST_F(Files, RunEvaluatesAFnAndAPlan) {
  const std::string program = write("sum.shard",
                                    "mesh d\ndim B M\n"
                                    "fn f(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n"
                                    "plan p implements f(x: f32[B/d M]) -> f32[M] {\n"
                                    "  return all_reduce(\"M {U_d} -> M\", sum(\"B/d M -> M "
                                    "{U_d}\", x))\n}\n"
                                    "plan of_terms implements f(x: f32[B M]{U_d}) -> f32[M] {\n"
                                    "  return sum(\"B M -> M\", all_reduce(\"B M {U_d} -> B M\", "
                                    "x))\n}\n");
  const std::string in = write("x", safetensors("x", "[4,2]", {1, 2, 3, 4, 5, 6, 7, 8.5}));
  const std::string want = safetensors("0", "[2]", {16, 20.5});
  for (const char* name : {"f", "p", "of_terms"}) {
    const Result result = run_with({program, "--run", name, "--inputs", in, "--outputs", path("y"),
                                    "--mesh", "d=2", "--set", "B=4,M=2"});
    EXPECT_EQ(result.code, 0) << result.err;
    EXPECT_EQ(entries_of(path("y"), 16), want.substr(want.size() - 16)) << name;
  }
  for (const char* name : {"f", "p", "of_terms"}) {  // at the sizes of the tensors
    const Result printed = run_with({program, "--run", name, "--inputs", in, "--mesh", "d=2"});
    EXPECT_EQ(printed.out, "result 0: [2]\n  [16, 20.5]\n") << printed.err;
  }
  const Result bare = run_with({program, "--run", "p", "--mesh", "d=2"});
  EXPECT_EQ(bare.code, 3);
  EXPECT_NE(bare.err.find("it takes x: f32[B/d M]; name a file"), std::string::npos) << bare.err;
  const Result wrong = run_with({program, "--run", "f", "--inputs", in, "--outputs", path("y"),
                                 "--mesh", "d=2", "--set", "B=4,M=3"});
  EXPECT_EQ(wrong.code, 3) << wrong.err;
  EXPECT_NE(run_with({program, "--run", "q", "--inputs", in, "--outputs", path("y")}).code, 0);
}

TEST_F(Files, RunEvaluatesTheFilesOwnFunction) {
  write("base.shard",
        "dim B\n"
        "fn f(x: f32[B]) -> f32[B] {\n  return x\n}\n"
        "fn g(x: f32[B]) -> f32[B] {\n  return f(x)\n}\n");
  const std::string program = write("own.shard",
                                    "import g from \"base.shard\"\ndim B\n"
                                    "fn f(x: f32[B]) -> f32[B] {\n  return 3 * g(x)\n}\n");
  const std::string in = write("x", safetensors("x", "[1]", {2}));
  const std::string want = safetensors("0", "[1]", {6});
  const Result result =
      run_with({program, "--run", "f", "--inputs", in, "--outputs", path("y"), "--set", "B=1"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(entries_of(path("y"), 4), want.substr(want.size() - 4));
}

TEST_F(Files, RunRefusesWhatAVerdictDoesNotCover) {
  const std::string program =
      write("ids.shard",
            "mesh d\ndim B V\n"
            "fn f(ids: i32[B]) -> f32[B] {\n"
            "  return index(\"[V], B -> B\", zeros(f32[V]) + 1, ids)\n}\n"
            "plan p implements f(ids: i32[B/d]) -> f32[B/d] {\n"
            "  return index(\"[V], B/d -> B/d\", zeros(f32[V]) + 1, ids)\n}\n"
            "plan untyped(x: f32[B/d]) -> f32[B] { return x }\n");
  const auto run = [&](const std::string& name, const std::string& in) {
    return run_with({program, "--run", name, "--inputs", in, "--outputs", path("y"), "--mesh",
                     "d=2", "--set", "B=2,V=3"});
  };
  const std::string in = write("ids", safetensors("ids", "[2]", {0, 2}));
  const std::string beyond = write("beyond", safetensors("ids", "[2]", {0, 3}));
  EXPECT_EQ(run("p", in).code, 0) << run("p", in).err;
  EXPECT_EQ(run("p", beyond).code, 3);
  EXPECT_NE(run("p", beyond).err.find("ids indexes V, which has 3 entries, and one of it is 3"),
            std::string::npos)
      << run("p", beyond).err;
  EXPECT_EQ(run("f", beyond).code, 3);
  const std::string x = write("x", safetensors("x", "[2]", {1, 2}));
  EXPECT_EQ(run("untyped", x).code, 3);
  EXPECT_NE(run("untyped", x).err.find("untyped"), std::string::npos) << run("untyped", x).err;
}

TEST_F(Files, DevicesAreRefusedAtOnceAndPipesAreRead) {
  for (const char* device : {"/dev/zero", "/dev/null", "/dev/full"}) {
    const Result result = run_with({device});
    EXPECT_EQ(result.code, 3);
    EXPECT_NE(result.out.find(std::string("E0001]: ") + device + " is a device"), std::string::npos)
        << result.out;
  }
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  std::thread writer([&] { std::ofstream(path("pipe")) << "dim M\n"; });
  EXPECT_EQ(run_with({path("pipe")}).code, 0);
  writer.join();
  fs::create_directories(folder_ / "hf");
  ASSERT_EQ(mkfifo(path("hf/config.json").c_str(), 0600), 0);
  const Result folder = run_with({"--hf", path("hf")});
  EXPECT_NE(folder.out.find("config.json is a pipe"), std::string::npos) << folder.out;
  const Result large = run_with({write("large", std::string((16 << 20) + 1, '#'))});
  EXPECT_NE(large.out.find("is larger than 16 MB"), std::string::npos) << large.out;
  EXPECT_EQ(run_with({"-"}, std::string((16 << 20) + 1, '#')).code, 3);
}

TEST_F(Files, ImportsAreRegularFilesOfTheProject) {
  fs::create_directories(folder_ / "project/sub");
  const std::string imported = "fn f(x: f32[]) -> f32[] { return x }\n";
  write("outside.shard", imported);
  write("project/inside.shard", imported);
  fs::create_symlink(path("outside.shard"), folder_ / "project/link.shard");
  const auto importing = [&](const std::string& what, std::vector<std::string> more = {}) {
    more.push_back(write("project/sub/a.shard", "import f from \"" + what + "\"\n"));
    return run_with(more);
  };
  const auto refused = [&](const std::string& what, const std::string& why) {
    const Result result = importing(what);
    EXPECT_EQ(result.code, 3) << result.out;
    EXPECT_NE(result.out.find(why), std::string::npos) << result.out;
  };
  refused("../inside.shard", "` is outside of the project, " + path("project/sub"));
  fs::create_directories(folder_ / "project/.git");
  EXPECT_EQ(importing("../inside.shard").code, 0);
  refused("../../outside.shard", "` is outside of the project, " + path("project"));
  refused("../link.shard", "` is outside of the project");
  refused("/dev/zero", "` is outside of the project");
  EXPECT_EQ(importing("../../outside.shard", {"--allow-import", path("")}).code, 0);
  for (const std::string& no_folder : {path("nowhere"), path("outside.shard")}) {
    const Result result = importing("../inside.shard", {"--allow-import", no_folder});
    EXPECT_EQ(result.code, 3);
    EXPECT_NE(result.err.find("--allow-import: Directory"), std::string::npos) << result.err;
  }
  ASSERT_EQ(mkfifo(path("project/pipe").c_str(), 0600), 0);
  refused("../pipe", "` is a pipe");
  refused("../sub", "` is a directory");
}

TEST_F(Files, AnUnknownSaysWhatToWriteMeanwhile) {
  const Result result = run_with({SHARDPROOF_SOURCE_DIR "/spec/tests/codes/u0011_schedule.shard"});
  EXPECT_EQ(result.code, 2);
  for (const char* words :
       {"checked: types, layouts", "Not decided: whether the stages end", "help: meanwhile, "})
    EXPECT_NE(result.out.find(words), std::string::npos) << result.out;
}

TEST_F(Files, NothingOfAFileOrAnArgumentMovesATerminal) {
  const std::string nasty =
      "\x1b]0;title\x07 \xc2\x9b"
      "2J \xe2\x80\xae back \xff";
  const auto is_plain = [](const std::string& text) {
    return std::none_of(text.begin(), text.end(), [](char c) {
      return (static_cast<unsigned char>(c) < 32 && c != '\n') ||
             static_cast<unsigned char>(c) > 126;
    });
  };
  const std::string file = write("a" + nasty + ".shard", "mesh t # " + nasty + "\nx" + nasty);
  for (const std::string& option :
       {std::string("--stats"), std::string("--annotate"), std::string("--latex"), "--" + nasty,
        "--mesh=" + nasty, "--backward=" + nasty}) {
    const Result result = run_with({file, option});
    EXPECT_TRUE(is_plain(result.out)) << result.out;
    EXPECT_TRUE(is_plain(result.err)) << result.err;
    EXPECT_NE((result.out + result.err).find("\\x1b]0;title\\x07 \\u{9b}2J \\u{202e} back \\xff"),
              std::string::npos)
        << result.out << result.err;
  }
  EXPECT_TRUE(is_plain(run_with({"--explain", nasty}).err));
  for (const std::string format : {"json", "sarif", "markdown"})
    EXPECT_TRUE(is_plain(run_with({file, "--format", format}).out)) << format;
}

TEST_F(Files, AReportThatCannotBeWrittenIsNoPass) {
  const std::string file = write("a.shard", "dim M\n");
  std::ofstream full("/dev/full");
  std::istringstream in;
  std::ostringstream err;
  EXPECT_EQ(run({file}, in, full, err), 3);
  EXPECT_NE(err.str().find("the report cannot be written: No space left"), std::string::npos)
      << err.str();
}

TEST_F(Files, AFileThatCannotBeFormattedIsNotLost) {
  const std::string text = "mesh d  \ndim M\n", file = write("a.shard", text);
  const auto held = [&] {
    std::stringstream all;
    all << std::ifstream(file).rdbuf();
    return all.str();
  };
  // Not even root may write into a folder of this name.
  std::filesystem::create_directory(file + ".unfinished");
  const Result refused = run_with({"--format-source", file});
  EXPECT_EQ(refused.code, 3);
  EXPECT_NE(refused.err.find("cannot be written: "), std::string::npos) << refused.err;
  EXPECT_EQ(held(), text);
  std::filesystem::remove(file + ".unfinished");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const std::string link = file + ".link";
  std::filesystem::create_symlink(file, link);
  EXPECT_EQ(run_with({"--format-source", link}).code, 0);
  EXPECT_EQ(held(), "mesh d\ndim M\n");
  EXPECT_TRUE(std::filesystem::is_symlink(link));
  EXPECT_EQ(std::filesystem::status(file).permissions(), std::filesystem::perms::owner_read);
}

TEST_F(Files, ASizeIsGivenOnce) {
  const std::string file = write("a.shard", "mesh d\ndim M\nconfig c { M = 8 }\n");
  for (const std::vector<std::string>& twice : {std::vector<std::string>{"--mesh", "d=2,d=2"},
                                                {"--mesh", "d=2", "--mesh", "d=4"},
                                                {"--mesh", "d=2", "--set", "d=2"},
                                                {"--set", "M=1,M=2"}}) {
    std::vector<std::string> args = twice;
    args.push_back(file);
    const Result result = run_with(args);
    EXPECT_EQ(result.code, 3);
    EXPECT_NE(result.out.find("is given twice"), std::string::npos) << result.out;
  }
  EXPECT_EQ(run_with({file, "--config", "c", "--set", "M=2"}).code, 0);
}

/// What could not be read has no backward to derive.
TEST_F(Files, NoBackwardOfWhatIsBroken) {
  const std::string model = "mesh d\ndim B M\nfn f(x: f32[B M]) -> f32[B M] { return x }\n";
  for (const std::string& text :
       {model + "plan p implements f(x: f32[B/d M]) -> f32[B/d M] { }\n"
                "plan q implements f(x: f32[B/d M]) -> f32[B/d M] { return p(x) }\n",
        std::string("mesh d\ndim B M\nrecord R { a: f32[B Q]  b: f32[M] }\n"
                    "fn f(x: R) -> f32[M] { return x.b }\n"
                    "plan p implements f(x: R) -> f32[M] { return x.b }\n"),
        std::string("mesh t\ndim M F\nlayout WT of W { up: f32[M F/t] }\n"
                    "plan p(w: WT) -> f32[M F/t] { return w.up }\n")}) {
    const Result result = run_with({"-", "--backward", "--stats"}, text);
    EXPECT_EQ(result.code, 3);
    EXPECT_EQ(result.out.find("derived"), std::string::npos) << result.out;
  }
}

/// Small files that took minutes: an einsum over 32 names is not run, a plan's fix is tried alone.
TEST_F(Files, SmallFilesEndSoon) {
  std::string names, pattern, operands, plans;
  for (int i = 0; i < 32; ++i) names += " I" + std::to_string(i);
  for (int i = 0; i < 31; ++i) {
    pattern += (i ? ", I" : "I") + std::to_string(i) + " I" + std::to_string(i + 1);
    operands += ", x";
  }
  const std::string product = "einsum(\"" + pattern + " -> \"" + operands + ")";
  const std::string einsum =
      "mesh d\ndim A\ndim" + names + " = A\nfn f(x: f32[A I0]) -> f32[] { return " + product +
      " }\nplan p implements f(x: f32[A I0]) -> f32[] { return 2 * " + product + " }\n";
  for (int i = 0; i < 60; ++i)
    plans += "plan p" + std::to_string(i) +
             " implements f(x: f32[B/d M]) -> f32[M] { return sum(\"B/d M -> M\", x) }\n";
  const std::string wrong =
      "mesh d\ndim B M\nfn f(x: f32[B M]) -> f32[M] { return sum(\"B M -> M\", x) }\n" + plans;
  std::string loops[2];
  for (int plan : {0, 1}) {
    const std::string type = plan ? "f32[B/d]" : "f32[B]";
    std::string& text = loops[plan];
    text = (plan ? "plan p implements f(x: " : "fn f(x: ") + type + ") -> " + type + " {\n";
    for (int i = 0; i < 18; ++i)
      text += "r" + std::to_string(i) + " = scan n" + std::to_string(i) + " in I" +
              std::to_string(i) + ", c" + std::to_string(i) + ": " + type + " = " +
              (i ? "c" + std::to_string(i - 1) : std::string("x")) + " {\n";
    for (int i = 17; i >= 0; --i)
      text += "next " + (i == 17 ? std::string("c17 * 2") : "r" + std::to_string(i + 1)) + "\n}\n";
    text += "return r0\n}\n";
  }
  const std::string scans = "mesh d\ndim B" + names + "\n" + loops[0] + loops[1];
  for (const std::string& text : {einsum, wrong, scans}) {
    const std::clock_t begin = std::clock();
    const int code = run_with({"-"}, text).code;
    EXPECT_TRUE(code == 1 || code == 2) << code << text.substr(0, 200);
    EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  }
}

TEST_F(Files, AFileWithoutPlansHasNothingToProve) {
  const Result result = run_with({write("a.shard", "dim M\n")});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.out, "nothing to prove: no plan in the file (0.00 s)\n");
  EXPECT_EQ(run_with({"-"}, "dim M\n").code, 0);
}

TEST_F(Files, TheWorstOfSeveralFilesCounts) {
  const Result result = run_with({write("a.shard", "dim M\n"), path("gone.shard")});
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.out.find("a.shard:\nnothing to prove"), std::string::npos) << result.out;
  const Verdict order[] = {Verdict::invalid, Verdict::refuted, Verdict::unknown, Verdict::proved};
  for (int i = 0; i < 4; ++i)
    for (int k = i; k < 4; ++k) {
      EXPECT_EQ(worse(order[i], order[k]), order[i]);
      EXPECT_EQ(worse(order[k], order[i]), order[i]);
    }
}

TEST_F(Files, UnknownSizesExit3) {
  const std::string file = write("a.shard", "dim M\n");
  const Result result = run_with({file, "--mesh", "d=8,t=4", "--set", "Q=1"});
  EXPECT_EQ(result.code, 3);
  for (const char* text : {"--mesh d=8: unknown mesh axis d", "--mesh t=4: unknown mesh axis t",
                           "--set Q=1: unknown name Q"})
    EXPECT_NE(result.out.find(text), std::string::npos) << result.out;
  EXPECT_EQ(run_with({file, "--config", "none"}).code, 3);
}

TEST_F(Files, ProgressIsForATerminalOnly) {
  const std::string file = write("a.shard",
                                 "dim M\nplan p(x: f32[M]) -> f32[M] { return x }\nplan q(x: "
                                 "f32[M]) -> f32[M] { return x }\n");
  EXPECT_EQ(run_with({file, "--test"}).err, "");
  Environment terminal;
  terminal.err_is_terminal = true;
  const std::string err = run_with({file, "--test"}, "", terminal).err;
  for (const char* line : {"\r\033[Kchecking ", "\r\033[Ktesting p (1 of 2)", "testing q (2 of 2)"})
    EXPECT_NE(err.find(line), std::string::npos) << line;
  EXPECT_TRUE(err.ends_with("\r\033[K"));
}

TEST_F(Files, ColourOnlyWhereItIsWanted) {
  const std::string file = path("gone");
  Environment terminal;
  terminal.out_is_terminal = true;
  auto coloured = [](const Result& result) { return result.out.find('\033') != std::string::npos; };
  EXPECT_FALSE(coloured(run_with({file})));
  EXPECT_TRUE(coloured(run_with({file, "--color", "always"})));
  EXPECT_FALSE(coloured(run_with({file, "--no-color"}, "", terminal)));
  EXPECT_FALSE(coloured(run_with({file, "--color", "never"}, "", terminal)));
}

TEST_F(Files, SmtlibWritesEveryObligation) {
  const std::string file =
      write("a.shard", "mesh t\ndim M\nplan p(x: f32[M/t]) -> f32[M/t] { return 2 * x }\n");
  const std::string folder = file + "-smt";
  EXPECT_EQ(run_with({file, "--smtlib", folder}).code, 0);
  EXPECT_FALSE(std::filesystem::is_empty(folder));
  EXPECT_EQ(run_with({file, "--smtlib", file}).code, 3) << "a file is not a folder";
}

TEST(CommandLine, HelpTeachesAndMistakesExit3) {
  const Result help = run_with({"--help"});
  EXPECT_EQ(help.code, 0);
  for (const char* text : {"Examples", "Exit codes", "--mesh d=8,t=4", "--explain E0207"})
    EXPECT_NE(help.out.find(text), std::string::npos) << help.out;
  EXPECT_EQ(run_with({"--version"}).out, "check-sharding 0.1.0\n");
  EXPECT_EQ(run_with({}).code, 3);
  EXPECT_EQ(run_with({"--nonsense"}).code, 3);
  EXPECT_EQ(run_with({"a.shard", "--format", "xml"}).code, 3);
  EXPECT_EQ(run_with({"a.shard", "--annotate", "--latex"}).code, 3);
}

TEST(CommandLine, Explain) {
  const Result page = run_with({"--explain", "e0207"});
  EXPECT_EQ(page.code, 0);
  EXPECT_TRUE(page.out.starts_with("# E0207: a nonlinear function of an unreduced value\n"))
      << page.out;
  const Result wrong = run_with({"--explain", "E9207"});
  EXPECT_EQ(wrong.code, 3);
  EXPECT_TRUE(wrong.err.starts_with("error: --explain: no code E9207; did you mean E0207?\n"))
      << wrong.err;
}

}  // namespace run_test
}  // namespace shardproof::check_sharding
