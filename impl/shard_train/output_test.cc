// The output of a run, and the errors of the command line.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "impl/shard_train/job.h"
#include "impl/shard_train/plot.h"
#include "impl/shard_train/progress.h"
#include "kernels/cpu/isa.h"

namespace shardproof::shard_train {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

Told told(int64_t step) {
  return {{step, 1e-3, 0.5, {{"loss", 2.5}, {"norm", 1}}}, 40, 12345.6, 75, 12'300'000};
}

TEST(Progress, IsPlainWhereNobodyLooks) {
  std::ostringstream out;
  Progress progress(out, false, false);
  for (int64_t step = 1; step <= 40; ++step) progress.step(told(step));
  progress.say("done");
  const std::string text = out.str();
  EXPECT_THAT(text, HasSubstr("step  1/40  loss 2.5000  norm 1.0000  lr 1.00e-03  12,346 tok/s  "
                              "12.3 MB/rank  1:15 left\n"));
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 22);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(Progress, IsOneLineOnATerminal) {
  std::ostringstream out;
  Progress progress(out, true, true);
  progress.step(told(1));
  progress.step(told(2));
  progress.say("done");
  const std::string text = out.str();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 2);
  EXPECT_THAT(text, HasSubstr("\r\x1b[K\x1b[1mstep  2/40"));
}

TEST(Progress, WritesTimesAndSizes) {
  EXPECT_EQ(duration(5), "0:05");
  EXPECT_EQ(duration(3723), "1:02:03");
  EXPECT_EQ(memory(5000), "5 kB");
  EXPECT_EQ(memory(3'210'000'000), "3.21 GB");
}

TEST(Progress, ShowsOnlyWhatATerminalCan) {
  EXPECT_EQ(printable("a\n\u00e9\u20ac"), "a\n\u00e9\u20ac");
  EXPECT_EQ(printable("\x1b[1m\xff"
                      "a\xc3"),
            "\ufffd[1m\ufffda\ufffd");
}

TEST(Log, IsOneJsonObjectALine) {
  const std::string path = ::testing::TempDir() + "/log.jsonl";
  Log log(path, false);
  log.write(Log::Line("step").add("step", int64_t{3}).add("loss", 0.1).add("norm", INFINITY));
  log.write(Log::Line("sample").add("text", std::string("a \"b\"\n\xff")));
  std::stringstream all;
  all << std::ifstream(path).rdbuf();
  EXPECT_EQ(all.str(),
            "{\"event\": \"step\", \"step\": 3, \"loss\": 0.10000000000000001, \"norm\": null}\n"
            "{\"event\": \"sample\", \"text\": \"a \\\"b\\\"\\u000a\\u00ff\"}\n");
  EXPECT_THROW(Log("/no/such/folder/log", false), FileError);
}

TEST(Plot, DrawsEachCurveWhereItIs) {
  const std::string svg =
      svg_of("a < b", {{"loss", {{0, 4}, {50, NAN}, {100, 2}}}, {"validation", {{100, 3}}}});
  EXPECT_THAT(svg, HasSubstr("a &lt; b"));
  EXPECT_THAT(svg, HasSubstr("points=\"56.0,36.0 704.0,360.0 \""));  // corners of the frame
  EXPECT_THAT(svg, HasSubstr("points=\"704.0,198.0 \""));            // half way
  EXPECT_THAT(svg, HasSubstr(">validation</text>"));
  EXPECT_THAT(svg_of("nothing", {}), HasSubstr("</svg>"));
}

const char* const model = SHARDPROOF_SOURCE_DIR "/impl/shard_train/bigram.shard";

CommandLine parsed(const std::vector<std::string>& args, std::ostream& out) {
  return parse_command_line(args, out, out);
}

TEST(CommandLine, SaysItsVersion) {
  std::ostringstream out, err;
  EXPECT_EQ(parse_command_line({"--version"}, out, err).exit, 0);
  EXPECT_THAT(out.str(), ::testing::StartsWith("shard-train 0."));
  EXPECT_THAT(out.str(),
              HasSubstr(std::string("CPU kernels: ") + cpu::name_of(cpu::machine_isa())));
}

TEST(CommandLine, TakesALevelThatTheProcessorHas) {
  std::ostringstream out;
  EXPECT_EQ(parsed({model, "--isa", "baseline"}, out).options.isa, "baseline");
  EXPECT_EQ(parsed({model, "--isa", cpu::name_of(cpu::machine_isa())}, out).exit, std::nullopt);
  EXPECT_EQ(parsed({model, "--isa", "avx2"}, out).exit, 2);
  EXPECT_THAT(out.str(), HasSubstr("the levels of this processor are baseline"));
  const bool neon = cpu::machine_isa() == cpu::Isa::neon;
  EXPECT_EQ(parsed({model, "--isa", neon ? "x86-64-v2" : "neon"}, out).exit, 2);
}

TEST(CommandLine, TakesANumberOfThreads) {
  std::ostringstream out;
  EXPECT_EQ(parsed({model}, out).options.threads, 0);  // the rank's share
  EXPECT_EQ(parsed({model, "--threads", "3"}, out).options.threads, 3);
  for (const char* wrong : {"0", "-1", "two", "1.5", "1025", ""}) {
    std::ostringstream complaint;
    EXPECT_EQ(parsed({model, "--threads", wrong}, complaint).exit, 2) << wrong;
    EXPECT_THAT(complaint.str(), HasSubstr("--threads")) << wrong;
  }
}

TEST(CommandLine, Teaches) {
  std::ostringstream out;
  EXPECT_EQ(parsed({"--help"}, out).exit, 0);
  for (const char* word : {"w1", "init", "--mesh", "--max-restarts", "Exit codes"})
    EXPECT_THAT(out.str(), HasSubstr(word));
}

TEST(CommandLine, NamesMistakes) {
  const auto said = [](const std::vector<std::string>& args) {
    std::ostringstream out;
    EXPECT_EQ(parsed(args, out).exit, 2);
    return out.str();
  };
  EXPECT_THAT(said({}), HasSubstr("MODEL"));
  EXPECT_THAT(said({"m.shard", "--steps", "-1"}), HasSubstr("-1 is not a number of at least 0"));
  EXPECT_THAT(said({"m.shard", "--steps", "0", "--plot-schedule", "x.svg"}),
              HasSubstr("--steps 1 or more"));
  for (const char* flag : {"--steps", "--seed", "--warmup", "--save-every", "--keep", "--sample"})
    EXPECT_THAT(said({"m.shard", flag, "99999999999999999999"}), HasSubstr("is not a number"))
        << flag;
  EXPECT_THAT(said({"m.shard", "--sample", "99999999999"}),
              HasSubstr("99999999999 is not a number from 0 to 1000000"));
  EXPECT_THAT(said({"m.shard", "--steps", "1e30"}),
              HasSubstr("1e30 is not a number of at least 0"));
  EXPECT_THAT(said({"m.shard", "--transport", "tcp"}), HasSubstr("tcp"));
  EXPECT_THAT(said({"m.shard", "--resume"}), HasSubstr("--save"));
  EXPECT_THAT(said({"m.shard", "--max-restarts", "2"}), HasSubstr("--transport mpi"));
}

/// The error of prepare() for the model with these flags.
std::string refusal(std::vector<std::string> args) {
  args.insert(args.begin(), {model, "--config", "tiny"});
  std::ostringstream out;
  const CommandLine line = parsed(args, out);
  if (line.exit) return out.str();
  try {
    prepare(line.options);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Job, IsRefusedWithTheNameOfWhatDoesNotFit) {
  EXPECT_EQ(refusal({"--mesh", "d=2,t=2", "--set", "B=4,L=8"}), "accepted");
  EXPECT_EQ(refusal({"--mesh", "d=2", "--mesh", "t=2", "--ranks", "4"}), "accepted");
  EXPECT_THAT(refusal({"--mesh", "d=2", "--mesh", "d=4"}), HasSubstr("axis d is given twice"));
  EXPECT_THAT(refusal({"--save", ""}), HasSubstr("--save: its value is empty"));
  for (const char* number : {"1e-400", "1e400", "nan", "0x10", ""})
    EXPECT_THAT(refusal({"--set", std::string("clip=") + number}), HasSubstr("not a number that"));
  EXPECT_THAT(refusal({"--mesh", "x=2"}), HasSubstr("no mesh axis x; it has d, t"));
  EXPECT_THAT(refusal({"--mesh", "d=0"}), HasSubstr("mesh axis d has size 0"));
  EXPECT_THAT(refusal({"--mesh", "d=8192", "--set", "B=8192"}),
              HasSubstr("the mesh d=8192 has 8192 ranks, and one machine starts 4096 at most"));
  EXPECT_THAT(refusal({"--ranks", "7"}), HasSubstr("--ranks 7: without --mesh there is one rank"));
  EXPECT_THAT(refusal({"--ranks", "7", "--mesh", "d=2"}), HasSubstr("the mesh d=2 has 2 ranks"));
  EXPECT_THAT(refusal({"--set", "Z=4"}),
              HasSubstr("no dim or const Z; it has the dims B, L, M, V"));
  EXPECT_THAT(refusal({"--set", "d=4"}), HasSubstr("--mesh d=4"));
  EXPECT_THAT(refusal({"--config", "none"}), HasSubstr("tiny"));
  EXPECT_THAT(refusal({"--data", "none.bin"}), HasSubstr("none.bin: cannot open"));
  EXPECT_THAT(refusal({"--set", "V=64"}), HasSubstr("the vocabulary ends below 64"));
  EXPECT_THAT(refusal({"--step", "bigram_sharded"}), HasSubstr("is not a training step"));
  EXPECT_THAT(refusal({"--plot", "/no/such/folder/a.svg"}), HasSubstr("cannot be written"));
}

TEST(Job, ReadsSizesAndConsts) {
  std::ostringstream out;
  const CommandLine line =
      parsed({model, "--config", "tiny", "--set", "B=2,L=8", "--set", "clip=0.5,M=6"}, out);
  const Job job = prepare(line.options);
  EXPECT_EQ(job.dims.at("B"), 2);
  EXPECT_EQ(job.dims.at("M"), 6);
  EXPECT_EQ(job.vocabulary, 256);
  EXPECT_EQ(job.step, "step_sharded");
  EXPECT_EQ(job.eval, "loss_sharded");
  EXPECT_EQ(job.program->checked().program().consts.at("clip"), 0.5);
}

}  // namespace
}  // namespace shardproof::shard_train
