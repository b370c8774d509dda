// The program as its user runs it: on threads, on processes, again from a checkpoint, and with a
// process that is killed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "impl/checkpoint/safetensors.h"
#include "impl/shard_train/gpus.h"

namespace shardproof::shard_train {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string small =
    " " SHARDPROOF_SOURCE_DIR "/impl/shard_train/bigram.shard --config tiny --schedule constant";

struct Result {
  int code;
  std::string text;
};

Result shell(const std::string& command) {
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  std::string text;
  for (char buffer[4096]; size_t got = std::fread(buffer, 1, sizeof buffer, pipe);)
    text.append(buffer, got);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
}
Result train(const std::string& flags) { return shell(SHARD_TRAIN + small + " " + flags); }

/// A folder that is empty.
std::string folder(const std::string& name) {
  const auto path = std::filesystem::path(::testing::TempDir()) / ("shard_train_" + name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

std::string read(const std::string& path) {
  std::stringstream all;
  all << std::ifstream(path).rdbuf();
  return all.str();
}

/// `"loss": ` of each step in a log, as text.
std::vector<std::string> losses(const std::string& log) {
  const std::string text = read(log);
  const std::regex loss("\"event\": \"step\".*?\"loss\": ([^,]+)");
  std::vector<std::string> all;
  for (auto at = std::sregex_iterator(text.begin(), text.end(), loss); at != std::sregex_iterator();
       ++at)
    all.push_back((*at)[1]);
  return all;
}

TEST(ShardTrain, SaysAtOnceThatItCannotSave) {
  const Result run = train("--steps 1 --save /proc/checkpoints");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("--save /proc/checkpoints: cannot be written"));
}

TEST(ShardTrain, TrainsAndTells) {
  const std::string at = folder("tells");
  const Result run = train("--mesh d=2,t=2 --steps 6 --eval-every 3 --sample 20 --log " + at +
                           "/log --plot " + at + "/loss.svg");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("step 6/6  loss "));
  EXPECT_THAT(run.text, HasSubstr("validation loss 5."));
  EXPECT_THAT(run.text, HasSubstr("sample: "));
  EXPECT_EQ(losses(at + "/log").size(), 6u);
  EXPECT_THAT(read(at + "/loss.svg"), HasSubstr("</svg>"));
}

const std::string stages =
    " " SHARDPROOF_SOURCE_DIR "/spec/models/mlp_pipeline.shard --config tiny --schedule constant ";

void expect_near(const std::vector<std::string>& found, const std::vector<std::string>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (size_t i = 0; i < found.size(); ++i)
    EXPECT_NEAR(std::stod(found[i]), std::stod(wanted[i]), 1e-5) << i;
}

TEST(ShardTrain, StagesGoOnAsMoreOrFewerOfThem) {
  const std::string at = folder("stages"), program = SHARD_TRAIN + stages;
  const Result run = shell(program + "--mesh p=2,t=2 --steps 4 --save-every 2 --save " + at +
                           "/two --log " + at + "/log --plot-schedule " + at + "/stages.svg");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("stages.svg: stages wait "));
  const std::string drawn = read(at + "/stages.svg");
  for (const char* each : {"stage 1", ">F(3), ", ">B(3), ", "</svg>"})
    EXPECT_THAT(drawn, HasSubstr(each));
  const auto all = losses(at + "/log");
  ASSERT_EQ(all.size(), 4u);
  std::filesystem::remove_all(at + "/two/step-00000004");
  for (const std::string mesh : {"p=4", "d=2", "p=2,d=2"}) {
    std::filesystem::copy(at + "/two", at + "/" + mesh, std::filesystem::copy_options::recursive);
    const Result again = shell(program + "--mesh " + mesh + " --steps 4 --resume --save " + at +
                               "/" + mesh + " --log " + at + "/" + mesh + ".log");
    EXPECT_THAT(again.text, HasSubstr("resumed from"));
    expect_near(losses(at + "/" + mesh + ".log"), {all[2], all[3]});
  }
}

/// Each family that has a Hugging Face configuration also trains from its own first weights.
TEST(ShardTrain, EachFamilyTrainsFromItsTinyConfig) {
  for (const std::string family :
       {"llama_train", "llama31", "mistral", "qwen2", "qwen3", "gemma2", "mixtral", "deepseek2",
        "deepseek2_236b", "deepseek3", "moonlight", "gpt2_padded"}) {
    const Result run = shell(SHARD_TRAIN " " SHARDPROOF_SOURCE_DIR "/spec/models/" + family +
                             ".shard --config tiny --mesh d=2 --steps 2");
    EXPECT_EQ(run.code, 0) << family << run.text;
    EXPECT_THAT(run.text, HasSubstr("validation loss 5.")) << family;
  }
}

TEST(ShardTrain, TheMadeUpTextNeedsAVocabularyOfBytes) {
  const Result run = train("--steps 1 --set V=32");
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.text, HasSubstr("the vocabulary ends below 32: give it 256 tokens with --set"));
}

TEST(ShardTrain, APlanWithoutStagesHasNoScheduleToPlot) {
  const Result run = train("--steps 1 --plot-schedule " + folder("no_stages") + "/a.svg");
  EXPECT_NE(run.code, 0);
  EXPECT_THAT(run.text, HasSubstr("has no pipeline"));
}

/// The printed sample of a model, and what follows.
std::string sampled(const std::string& model, const std::string& flags) {
  const Result run = shell(SHARD_TRAIN " " + model +
                           " --config tiny --precision f32 --seed 5 --prompt abcabc " + flags);
  EXPECT_EQ(run.code, 0) << run.text;
  const size_t at = run.text.find("sample: ");
  EXPECT_NE(at, std::string::npos) << run.text;
  return at == std::string::npos ? "" : run.text.substr(at);
}

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Greedy text with a key-value cache is the text from all logits, computed again for each token.
TEST(ShardTrain, ACacheChangesNoSample) {
  const auto sample = [](const std::string& flags) {
    return sampled(SHARDPROOF_SOURCE_DIR "/spec/models/llama_train.shard",
                   "--set L=24 --set B=4 --temperature 0 --steps 3 " + flags);
  };
  const std::string whole = sample("--sample 17 --decode none");
  EXPECT_THAT(whole, HasSubstr("tokens/s without a cache"));
  const std::string sharded = sample("--sample 17 --mesh d=2,t=2");
  EXPECT_THAT(sharded, HasSubstr("tokens/s with a key-value cache"));
  EXPECT_EQ(first_line(sharded), first_line(whole));
  const std::string longer = sample("--sample 40");  // than the cache
  EXPECT_THAT(longer, testing::StartsWith(first_line(whole)));
}

/// The files that a model imports may have a cache, but of another model.
TEST(ShardTrain, ASampleUsesTheCacheOfItsOwnModel) {
  const std::string models = SHARDPROOF_SOURCE_DIR "/spec/models/", some = folder("own_cache");
  for (const std::string file : {"llama3", "llama3_decode", "llama31", "next_token"})
    std::filesystem::copy(models + file + ".shard", some);
  const auto sample = [](const std::string& model, const std::string& flags) {
    return sampled(model, "--set V=128,L=24 --temperature 0 --steps 3 --sample 17 " + flags);
  };
  EXPECT_THAT(sample(some + "/llama31.shard", ""), HasSubstr("tokens/s without a cache"));
  for (const char* model : {"llama31.shard", "mistral.shard", "gemma2.shard"}) {
    const std::string whole = sample(models + model, "--decode none");
    const std::string cached = sample(models + model, "");
    EXPECT_THAT(cached, HasSubstr("tokens/s with a key-value cache"));
    EXPECT_EQ(first_line(cached), first_line(whole));
  }
}

/// A file of another model is refused before the first step, and says what differs: a weight, its
/// type, or with the same weights the logits.
TEST(ShardTrain, RefusesTheCacheOfAnotherModel) {
  const auto refused = [](const std::string& model, const std::string& decode,
                          const std::string& why) {
    const std::string models = SHARDPROOF_SOURCE_DIR "/spec/models/";
    const Result run = shell(SHARD_TRAIN " " + models + model +
                             " --config tiny --steps 1 --sample 4 --decode " + models + decode);
    EXPECT_EQ(run.code, 2) << model << ", " << decode;
    EXPECT_THAT(run.text, AllOf(HasSubstr("extends the cache of another model"), HasSubstr(why),
                                HasSubstr("--decode none"), Not(HasSubstr("step 1/1"))));
  };
  refused("llama_train.shard", "qwen2_decode.shard",
          "it takes w.layers.attn.b_kv: f32[N kv K/t D], which train_step_sharded does not have");
  refused("qwen2.shard", "llama3_decode.shard", "it does not take w.layers.attn.b_kv");
  refused("gpt2_padded.shard", "gpt2_decode.shard",
          "w.tokens is f32[V/t M] in it, and f32[W/t M] in train_step_w");
  refused("mistral.shard", "llama3_decode.shard", "that of logits_sharded is");
  refused("llama_train.shard", "mistral_decode.shard", "that of llama_sharded is");
  refused("jaxformer_pipeline.shard", "llama3_decode.shard", "w.embed is");
}

/// A pipeline's loss computes its logits inside: the file's plan of the logits gives them.
TEST(ShardTrain, SamplesFromAPipeline) {
  const auto sample = [](const std::string& model, const std::string& flags) {
    return first_line(sampled(SHARDPROOF_SOURCE_DIR "/spec/models/" + model,
                              "--temperature 1 --steps 20 --set L=16 --sample 10 " + flags));
  };
  for (const char* model : {"mlp_pipeline.shard", "gpt2_pipeline.shard", "llama3_pipeline.shard"})
    EXPECT_EQ(sample(model, "--mesh d=1,p=2,t=2"), sample(model, "--mesh d=1,p=1,t=1")) << model;
  const std::string whole = sample("jaxformer_pipeline.shard", "--decode none --mesh p=1,t=1");
  EXPECT_EQ(sample("jaxformer_pipeline.shard", "--decode none --mesh p=2,t=2"), whole);
  EXPECT_EQ(sample("jaxformer_pipeline.shard", "--mesh p=2,t=2"), whole);  // with its cache
}

TEST(ShardTrain, SaysWhichPlanOfTheLogitsToWrite) {
  const std::string path = folder("no_logits") + "/model.shard";
  std::ifstream model(SHARDPROOF_SOURCE_DIR "/spec/models/mlp_pipeline.shard");
  std::string text(std::istreambuf_iterator<char>(model), {});
  const size_t begin = text.find("plan logits_p"), end = text.find("plan step_p");
  std::ofstream(path) << text.erase(begin, end - begin);
  const Result run = shell(SHARD_TRAIN " " + path + " --config tiny --steps 1 --sample 4");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("plan logits_p implements logits(w: Stages, ids: i32[A B/d L]) "
                                  "-> f32[A B/d L V]"));
}

/// Models whose data are not tokens train on numbers that are made up, the same on every mesh.
TEST(ShardTrain, TrainsOnNumbersThatAreMadeUp) {
  const auto last_loss = [](const std::string& flags) {
    const Result run = shell(SHARD_TRAIN " " SHARDPROOF_SOURCE_DIR "/spec/models/" + flags +
                             " --config tiny --precision f64 --lr 1e-2 --steps 20");
    EXPECT_EQ(run.code, 0) << run.text;
    const size_t at = run.text.find("validation loss ");
    EXPECT_NE(at, std::string::npos) << run.text;
    return at == std::string::npos ? 0 : std::stod(run.text.substr(at + 16));
  };
  const double vit = last_loss("vit.shard");
  EXPECT_LT(vit, 0.9);
  EXPECT_NEAR(last_loss("vit.shard --mesh d=2,t=2"), vit, 1e-6);
  EXPECT_LT(last_loss("clip.shard --mesh d=2"), 1.4);
  const std::string text = folder("made_up") + "/some.txt";
  std::ofstream(text) << std::string(2000, 'a');
  const Result given = shell(SHARD_TRAIN " " SHARDPROOF_SOURCE_DIR
                                         "/spec/models/vit.shard --config tiny --steps 1 --data " +
                             text);
  EXPECT_EQ(given.code, 2);
  EXPECT_THAT(given.text, HasSubstr("train_step_sharded takes x, and the data are ids, targets"));
}

TEST(ShardTrain, ValidatesNothingWhereNothingIsHeldOut) {
  const Result run = train("--steps 1 --validation 0");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, Not(HasSubstr("validation")));
  const Result eval = train("--steps 1 --validation 0 --eval loss_p");
  EXPECT_EQ(eval.code, 2);
  EXPECT_THAT(eval.text, HasSubstr("--validation 0 holds out no tokens for --eval loss_p"));
}

TEST(ShardTrain, SaysWhichFileHasNoCache) {
  const Result run =
      train("--steps 1 --sample 4 --decode " SHARDPROOF_SOURCE_DIR "/spec/models/llama3.shard");
  EXPECT_EQ(run.code, 2);
  EXPECT_THAT(run.text, HasSubstr("no plan extends a cache"));
}

/// The kernels of GPUs, queues, state in place and virtual ranks, with a checkpoint on the way.
TEST(ShardTrain, TrainsOnADeviceAsOnThisProcessor) {
  const std::string at = folder("device");
  const std::string flags = "--mesh d=2,t=2 --steps 6 --precision f64 --eval-every 3 --log " + at;
  const Result here = train(flags + "/cpu");
  EXPECT_EQ(here.code, 0) << here.text;
  const Result there =
      train(flags + "/device --device emulated --overlap --save " + at + "/saved --save-every 3");
  EXPECT_EQ(there.code, 0) << there.text;
  const std::vector<std::string> one = losses(at + "/cpu"), two = losses(at + "/device");
  ASSERT_EQ(one.size(), 6u);
  ASSERT_EQ(two.size(), 6u);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_NEAR(std::stod(one[i]), std::stod(two[i]), 1e-9) << i;
  const Result again =
      train("--mesh d=4 --steps 8 --precision f64 --resume --save " + at + "/saved");
  EXPECT_EQ(again.code, 0) << again.text;
  EXPECT_THAT(again.text, HasSubstr("resumed from "));
}

TEST(ShardTrain, SaysWhichDeviceIsNotThere) {
  const auto says = [](const std::string& flags, const std::string& what) {
    const Result run = train("--steps 1 " + flags);
    EXPECT_EQ(run.code, 2) << flags;
    EXPECT_THAT(run.text, HasSubstr(what));
  };
  says("--device cuda:999", "--device cuda: ");
  says("--device gpu", "--device gpu: there are cpu, cuda, cuda:N and emulated");
  says("--device emulated --transport mpi", "use --transport nccl");
  says("--store /tmp/x", "--transport nccl");
}

TEST(ShardTrain, FindsItsPlaceAmongTheRanksOfALauncher) {
  const auto seat = [](const std::map<std::string, std::string>& set) {
    return seat_of([&](const char* name) {
      const auto found = set.find(name);
      return found == set.end() ? nullptr : found->second.c_str();
    });
  };
  EXPECT_FALSE(seat({}));
  EXPECT_FALSE(seat({{"RANK", "one"}, {"WORLD_SIZE", "4"}}));
  const auto torchrun = seat({{"RANK", "5"}, {"WORLD_SIZE", "16"}, {"LOCAL_RANK", "1"}});
  ASSERT_TRUE(torchrun);
  EXPECT_EQ(torchrun->rank, 5);
  EXPECT_EQ(torchrun->world, 16);
  EXPECT_EQ(torchrun->local, 1);
  const auto slurm = seat({{"SLURM_PROCID", "3"}, {"SLURM_NTASKS", "8"}, {"SLURM_LOCALID", "3"}});
  ASSERT_TRUE(slurm);
  EXPECT_EQ(slurm->world, 8);
  EXPECT_TRUE(seat({{"OMPI_COMM_WORLD_RANK", "0"}, {"OMPI_COMM_WORLD_SIZE", "2"}}));
}

TEST(ShardTrain, GoesOnFromACheckpointWithTheSameBits) {
  const std::string at = folder("resume");
  const std::string mesh = "--mesh d=2 --seed 3 ";
  EXPECT_EQ(train(mesh + "--steps 6 --log " + at + "/whole").code, 0);
  const std::string kept = " --save " + at + "/run --log " + at + "/parts";
  EXPECT_EQ(train(mesh + "--steps 4" + kept).code, 0);
  const Result rest = train(mesh + "--steps 6 --resume" + kept);
  EXPECT_EQ(rest.code, 0) << rest.text;
  EXPECT_THAT(rest.text, HasSubstr("step-00000004, step 4"));
  const auto whole = losses(at + "/whole");
  EXPECT_EQ(whole.size(), 6u);
  EXPECT_EQ(losses(at + "/parts"), whole);
  EXPECT_THAT(train("--steps 6" + kept).text, HasSubstr("step-00000006 of another run"));
  const Result other = train("--seed 4 --steps 6 --resume" + kept);
  EXPECT_THAT(other.text, HasSubstr("is of a run with --seed 3"));
  EXPECT_NE(other.code, 0);
}

TEST(ShardTrain, ExportsWeightsThatItImportsOnAnotherMesh) {
  const std::string at = folder("exchange");
  const std::string llama =
      " " SHARDPROOF_SOURCE_DIR "/spec/models/llama_train.shard --steps 1 --set B=4,L=16 ";
  const Result one =
      shell(SHARD_TRAIN + llama +
            "--config tiny --mesh t=2 --set M=16,F=16,D=4 --mapping " SHARDPROOF_SOURCE_DIR
            "/spec/models/llama3.hf.json --export " +
            at + "/hf");
  EXPECT_EQ(one.code, 0) << one.text;
  const Result two =  // nothing is learnt
      shell(SHARD_TRAIN + llama + "--mesh d=2 --lr 0 --import " + at + "/hf");
  EXPECT_EQ(two.code, 0) << two.text;
  const auto validation = [](const std::string& text) {
    const size_t begin = text.find("validation loss ");
    return begin == std::string::npos ? NAN : std::stod(text.substr(begin + 16));
  };
  EXPECT_NEAR(validation(two.text), validation(one.text), 2e-3) << two.text;  // bf16
  const Result unknown = train("--steps 1 --export " + at + "/other");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.text, HasSubstr("--mapping FILE"));
}

TEST(ShardTrain, AFullDiskLeavesNoPartOfAnExport) {
  const std::string at = folder("full_export");
  const Result full =
      shell("ulimit -f 4; " SHARD_TRAIN " " SHARDPROOF_SOURCE_DIR
            "/spec/models/llama_train.shard --config tiny --mesh d=2 --steps 0 "
            "--mapping " SHARDPROOF_SOURCE_DIR "/spec/models/llama3.hf.json --export " +
            at + "/hf");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.text, HasSubstr("model.safetensors: cannot be written: File too large"));
  EXPECT_TRUE(std::filesystem::is_empty(at));
}

TEST(ShardTrain, AVocabularyThatDoesNotDivideIsStoredWithPadding) {
  const std::string model = " " SHARDPROOF_SOURCE_DIR "/spec/models/gpt2_padded.shard ";
  const std::string fixture = SHARDPROOF_SOURCE_DIR "/properties/interchange/fixtures/gpt2";
  const std::string at = folder("padded"), data = at + "/tokens.bin";
  std::ofstream(data, std::ios::binary) << std::string(2000, '\0');
  const Result run =
      shell(SHARD_TRAIN + model + "--import " + fixture + " --export " + at +
            "/out --mesh d=2,t=2 --set B=2,L=8,W=22 --steps 0 --sample 8" + " --data " + data);
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("after step 0"));
  const auto tensor = [](const std::string& from, const std::string& name) {
    const auto opened = checkpoint::File::open(from + "/model.safetensors");
    const auto entry = safetensors::read_header(opened).at(name);
    std::string bytes(entry.bytes, 0);
    opened.read(entry.begin, bytes.data(), bytes.size());
    return bytes;
  };
  EXPECT_EQ(tensor(at + "/out", "transformer.wte.weight"),
            tensor(fixture, "transformer.wte.weight"));
  const Result rounded =
      shell(SHARD_TRAIN + model + "--config tiny --mesh t=2 --set M=16,F=16,D=4" +
            " --steps 1 --print-plan --data " + data);
  EXPECT_THAT(rounded.text, HasSubstr("extent=129"));  // 257 are 258 rows
}

/// The weights and the bias of the choice, which is no weight; and no plan draws the others.
TEST(ShardTrain, ImportsWhatNoPlanDraws) {
  const std::string fixtures = " " SHARDPROOF_SOURCE_DIR "/properties/interchange/fixtures/";
  const std::string models = " " SHARDPROOF_SOURCE_DIR "/spec/models/";
  const std::string data = folder("biased") + "/tokens.bin";
  std::ofstream(data, std::ios::binary) << std::string(4000, '\0');
  const std::string few = " --steps 1 --lr 0 --set B=4,L=16 --mesh d=2 --data " + data;
  const Result mixtral =
      shell(SHARD_TRAIN + models + "mixtral.shard --import" + fixtures + "mixtral" + few);
  EXPECT_EQ(mixtral.code, 0) << mixtral.text;
  const std::string to = folder("biased_out") + "/out";
  const Result biased = shell(SHARD_TRAIN + models + "deepseek3.shard --import" + fixtures +
                              "deepseek3 --export " + to + few + " --set speed=0");
  EXPECT_EQ(biased.code, 0) << biased.text;
  const std::string wanted = "model.layers.2.mlp.gate.e_score_correction_bias";
  const auto bias = [&](const std::string& file) {
    const auto opened = checkpoint::File::open(file);
    const auto entry = safetensors::read_header(opened).at(wanted);
    std::string bytes(entry.bytes, 0);
    opened.read(entry.begin, bytes.data(), bytes.size());
    return bytes;
  };
  EXPECT_EQ(bias(to + "/model.safetensors"),
            bias(fixtures.substr(1) + "deepseek3/model.safetensors"));
}

TEST(ShardTrain, GoesOnFromTheCheckpointBeforeADamagedOne) {
  const std::string at = folder("damaged"), kept = " --save " + at + "/run";
  EXPECT_EQ(train("--mesh d=2 --steps 4 --save-every 2" + kept).code, 0);
  const std::string file = at + "/run/step-00000004/rank-00000.safetensors";
  std::string bytes = read(file);
  bytes.back() ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  const Result rest = train("--mesh d=2 --steps 5 --resume" + kept);
  EXPECT_EQ(rest.code, 0) << rest.text;
  EXPECT_THAT(rest.text, HasSubstr(file + ": is damaged"));
  EXPECT_THAT(rest.text, HasSubstr("step-00000002, step 2"));
}

/// A run that goes on until it is stopped, in the background as $run; `then` when it has saved.
Result beside_a_run(const std::string& at, const std::string& then) {
  return shell(
      "at=" + at + "; " SHARD_TRAIN + small +
      " --mesh d=2 --steps 100000000 --save-every 1 --save $at/run >$at/out 2>&1 & run=$!; "
      "for i in $(seq 600); do ls -d $at/run/step-*[0-9] >/dev/null 2>&1 && break; sleep 0.1; "
      "done; " +
      then + "; cat $at/out");
}

TEST(ShardTrain, ASignalEndsItAfterItsStepAndSaves) {
  for (const auto& [signal, code] : {std::pair{"INT", "130"}, {"TERM", "143"}}) {
    const std::string at = folder(std::string("stopped_") + signal);
    const Result run =
        beside_a_run(at, std::string("kill -") + signal + " $run; wait $run; echo ended with $?");
    EXPECT_THAT(run.text, HasSubstr(std::string("ended with ") + code));
    EXPECT_THAT(run.text, HasSubstr("saved step ")) << run.text;
    const Result rest = train("--mesh d=2 --steps 1 --resume --save " + at + "/run");
    EXPECT_EQ(rest.code, 0) << rest.text;
    EXPECT_THAT(rest.text, HasSubstr("resumed from"));
  }
}

TEST(ShardTrain, ASignalEndsAValidationAndASample) {
  for (const char* flags : {"--steps 1 --eval-batches 100000000", "--steps 1 --sample 1000000"}) {
    const Result run = shell("timeout -k 20 -s INT 3 " SHARD_TRAIN + small + " " + flags);
    EXPECT_TRUE(run.code == 124 || run.code == 130) << run.code << run.text;  // 137: it went on
  }
}

TEST(ShardTrain, TwoRunsDoNotWriteToOneFolder) {
  const std::string at = folder("two");
  const Result run = beside_a_run(
      at, SHARD_TRAIN + small +
              " --mesh d=2 --steps 1 --resume --save $at/run; echo second ended with $?;"
              " kill -9 $run; wait $run; " SHARD_TRAIN +
              small + " --mesh d=2 --steps 1 --resume --save $at/run; echo third ended with $?");
  EXPECT_THAT(run.text, HasSubstr("writes here: wait for it, or name another folder"));
  EXPECT_THAT(run.text, HasSubstr("second ended with 1"));
  EXPECT_THAT(run.text, HasSubstr("third ended with 0")) << run.text;
}

TEST(ShardTrain, WhatALiveRunHasNotFinishedStays) {
  const std::string at = folder("live");
  const Result run = shell("at=" + at + "; " SHARD_TRAIN + small +
                           " --steps 100000000 --save $at/run >$at/out 2>&1 & run=$!; "
                           "for i in $(seq 600); do grep -q process $at/run/.lock 2>/dev/null && "
                           "break; sleep 0.1; done; "
                           "mkdir $at/run/step-00000007.partial; " SHARD_TRAIN +
                           small +
                           " --steps 1 --save $at/run; echo second ended with $?; ls $at/run; kill "
                           "-9 $run; echo pid $run");
  EXPECT_THAT(run.text, ContainsRegex("live/run: process [0-9]+ on .* since .* writes here"));
  EXPECT_THAT(run.text, HasSubstr("second ended with 1"));
  EXPECT_THAT(run.text, HasSubstr("step-00000007.partial")) << run.text;
}

TEST(ShardTrain, ASaveThatIsWholeBeforeANanIsACheckpoint) {
  const std::string at = folder("nan");
  const Result run = train("--steps 9 --lr 1e30 --save-every 1 --save " + at + "/run");
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.text, HasSubstr("step 2: loss is "));
  const Result rest = train("--steps 1 --resume --save " + at + "/run");
  EXPECT_EQ(rest.code, 0) << rest.text;
  EXPECT_THAT(rest.text, HasSubstr("step-00000001, step 1"));
}

TEST(ShardTrain, AFullDiskIsNamedAndTheLastCheckpointStays) {
  const std::string at = folder("full"), run = at + "/run";
  EXPECT_EQ(train("--steps 2 --save " + run).code, 0);
  const std::string flags = " --steps 4 --save-every 1 --keep 1 --resume --save " + run;
  const Result full = shell("ulimit -f 4; " SHARD_TRAIN + small + flags);
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.text,
              ContainsRegex("step-00000003.partial/.*cannot be written: File too large"));
  EXPECT_FALSE(std::filesystem::exists(run + "/step-00000003.partial"));
  const Result rest = train(flags);
  EXPECT_EQ(rest.code, 0) << rest.text;
  EXPECT_THAT(rest.text, HasSubstr("step-00000002, step 2"));
}

TEST(ShardTrain, NamesEveryCheckpointThatItSkips) {
  const std::string at = folder("skipped"), run = at + "/run";
  EXPECT_EQ(train("--steps 4 --save-every 1 --keep 0 --save " + run).code, 0);
  std::filesystem::resize_file(run + "/step-00000004/manifest.json", uint64_t{1} << 40);
  std::filesystem::resize_file(run + "/step-00000003/rank-00000.safetensors", uint64_t{1} << 40);
  std::filesystem::rename(run + "/step-00000002", run + "/step-00000009");
  std::filesystem::create_directories(run + "/step-00000010.partial");
  const Result rest = train("--steps 5 --resume --save " + run);
  EXPECT_EQ(rest.code, 0) << rest.text;
  for (const char* skipped :
       {"skipped ", "step-00000010.partial: was not finished",
        "step-00000009/manifest.json: is of step 2",
        "step-00000004/manifest.json: has 1099511627776 bytes",
        "step-00000003/rank-00000.safetensors: has 1099511627776 bytes", "step-00000001, step 1"})
    EXPECT_THAT(rest.text, HasSubstr(skipped));
}

TEST(ShardTrain, SixtyFourRanksShareTheProcessorsThatThereAre) {
  const std::string at = folder("many");
  for (const char* mesh : {"d=64", "d=1"})
    EXPECT_EQ(
        train(std::string("--mesh ") + mesh + " --set B=64 --steps 3 --log " + at + "/" + mesh)
            .code,
        0);
  expect_near(losses(at + "/d=64"), losses(at + "/d=1"));
}

TEST(ShardTrain, SaysThatNobodyReadsIt) {
  const Result full = shell(SHARD_TRAIN + small + " --steps 1 >/dev/full");
  EXPECT_EQ(full.code, 1);
  EXPECT_THAT(full.text, HasSubstr("the output cannot be written"));
}

#ifdef WITH_MPI
TEST(ShardTrain, StartsProcessesAndGivesTheLossesOfThreads) {
  const std::string at = folder("processes");
  const Result run = train("--mesh d=2 --steps 3 --transport mpi --log " + at + "/mpi");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_EQ(train("--mesh d=2 --steps 3 --log " + at + "/threads").code, 0);
  expect_near(losses(at + "/mpi"), losses(at + "/threads"));
}

TEST(ShardTrain, StagesAreProcesses) {
  const std::string at = folder("stages_mpi"), program = SHARD_TRAIN + stages;
  const std::string mesh = std::getenv("SHARDPROOF_FULL") ? "d=2,p=2,t=2" : "p=2";
  const Result run = shell(program + "--mesh " + mesh + " --steps 3 --transport mpi --log " + at +
                           "/mpi --plot-schedule " + at + "/stages.svg");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(read(at + "/stages.svg"), HasSubstr(">B(3), "));
  EXPECT_EQ(shell(program + "--mesh p=1 --steps 3 --log " + at + "/threads").code, 0);
  expect_near(losses(at + "/mpi"), losses(at + "/threads"));
}

/// Kills one rank, or does what the function `act` does with it, when there is the checkpoint
/// `saved` in `folder`, and says so. What is left of the ranks waits for the dead one: mpirun gives
/// them 20 s to end, and here one.
const char* const before =
    "export OMPI_MCA_odls_base_sigkill_timeout=1; "
    "act() { kill -9 $1 && echo 'killed one'; }; ";
const char* const killer = R"(
  run=$!
  rank_of() { for child in $(cat /proc/$1/task/*/children 2>/dev/null); do
    case $(readlink /proc/$child/exe) in *mpirun*|*orterun*|*prterun*) rank_of $child;; *shard-train) last=$child;; esac; done; }
  for i in $(seq 600); do
    [ -d "$folder/$saved" ] && rank_of $run && [ "$last" ] && act $last && break
    sleep 0.05
  done
  wait $run; echo "ended with $?"
)";

TEST(ShardTrain, StartsAgainWhenARankIsKilled) {
  const std::string at = folder("killed");
  const Result run = shell(
      std::string(before) + "saved=step-00000020; folder=" + at + "/run; " SHARD_TRAIN + small +
      " --set L=64,M=64 --mesh d=2 --steps 400 --transport mpi --save-every 20 --max-restarts 2"
      " --save $folder --log " +
      at + "/log & " + killer);
  EXPECT_THAT(run.text, HasSubstr("killed one"));
  EXPECT_THAT(run.text, HasSubstr("restart 1 of 2 from " + at + "/run/step-"));
  EXPECT_THAT(run.text, HasSubstr("resumed from"));
  EXPECT_THAT(run.text, HasSubstr("saved step 400"));
  EXPECT_THAT(run.text, HasSubstr("ended with 0")) << run.text;
}

/// mpirun would kill at once what does not end on its own signal.
TEST(ShardTrain, ASignalEndsProcessesAfterTheirStep) {
  for (const auto& [signal, code] : {std::pair{"INT", "130"}, {"TERM", "143"}}) {
    const std::string at = folder(std::string("processes_stopped_") + signal);
    const Result run = shell(
        "export OMPI_MCA_odls_base_sigkill_timeout=0; at=" + at + "; " SHARD_TRAIN + small +
        " --mesh d=2 --steps 100000000 --transport mpi --save-every 20 --save $at/run & run=$!; "
        "for i in $(seq 600); do ls -d $at/run/step-*[0-9] >/dev/null 2>&1 && break; sleep 0.1; "
        "done; kill -" +
        signal + " $run; wait $run; echo ended with $?");
    EXPECT_THAT(run.text, HasSubstr("saved step ")) << run.text;
    EXPECT_THAT(run.text, HasSubstr(std::string("ended with ") + code));
  }
}

TEST(ShardTrain, ARankThatIsStoppedIsNamedAndWaitedFor) {
  const std::string at = folder("stopped");
  const std::string how = " --mesh d=2 --steps 60 ";
  const Result run =
      shell(std::string(before) +
            "act() { kill -STOP $1; sleep 0.5; seen=$(ls $folder);"
            " for i in $(seq 600); do grep -q stopped $folder/../err && break; sleep 0.1; done;"
            " [ \"$seen\" = \"$(ls $folder)\" ] && echo 'the others wait'; kill -CONT $1;"
            " grep \"process $1 is stopped\" $folder/../err; }; "
            "saved=step-00000001; folder=" +
            at + "/run; " SHARD_TRAIN + small + how +
            "--transport mpi --save-every 1 --keep 0 --save $folder --log " + at + "/log 2>" + at +
            "/err & " + killer);
  EXPECT_THAT(run.text, HasSubstr("the others wait"));
  EXPECT_THAT(run.text,
              ContainsRegex("is stopped, and the ranks wait for it: `kill -CONT [0-9]+`"));
  EXPECT_THAT(run.text, HasSubstr("ended with 0")) << run.text;
  EXPECT_EQ(train(how + "--log " + at + "/threads").code, 0);
  expect_near(losses(at + "/log"), losses(at + "/threads"));
}

TEST(ShardTrain, AStageThatIsKilledEndsTheOthersWithItsName) {
  const Result run =
      shell(std::string(before) + "saved=step-00000001; folder=" + folder("killed_stage") +
            "/run; " SHARD_TRAIN + stages +
            "--mesh p=2 --steps 100000 --transport mpi --save-every 1 --keep 0"
            " --save $folder & " +
            killer);
  EXPECT_THAT(run.text, HasSubstr("killed one"));
  EXPECT_THAT(run.text, ContainsRegex("rank [01] with PID .* exited on signal 9"));
  EXPECT_THAT(run.text, HasSubstr("ended with 1")) << run.text;
}

TEST(ShardTrain, LeavesRestartsToAnotherLauncher) {
  const std::string mpirun = MPI_COMMAND;
  const Result run = shell(mpirun + " " SHARD_TRAIN + small +
                           " --mesh d=2 --steps 2 --transport mpi --max-restarts 3");
  EXPECT_EQ(run.code, 0) << run.text;
  EXPECT_THAT(run.text, HasSubstr("--max-restarts is left to it"));
  const Result wrong = shell(mpirun + " " SHARD_TRAIN + small + " --mesh d=4 --transport mpi");
  EXPECT_NE(wrong.code, 0);
  EXPECT_THAT(wrong.text, HasSubstr("has 4 ranks, and 2 processes were started"));
}
#endif

}  // namespace
}  // namespace shardproof::shard_train
