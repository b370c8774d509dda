#include "impl/shard_train/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <map>

#include "kernels/cpu/isa.h"
#include "kernels/cpu/onednn.h"
#include "spec/shell/number.h"
#include "spec/shell/shell.h"
#include "spec/shell/version.h"

namespace shardproof::shard_train {
namespace {

using shell::one_of;

const char description[] =
    "shard-train trains a model whose training step is a proved program. It checks MODEL.shard as\n"
    "check-sharding does. The step runs on every rank of a mesh: threads, MPI processes or GPUs.\n"
    "The losses are the same on every mesh, up to rounding. Without --data it generates a text.";

const char footer[] = R"(
What a model file needs
  a step      plan step(w m v: Shards, ids: .., targets: .., step lr: f32[]) -> (loss: f32[], w1 m1 v1: Shards)
              a result w1 replaces the parameter w after each step; the trainer sets step and lr;
              ids, targets (the next tokens) and starts (first token of a document) are data;
              it prints the other results
  an init     plan init(k: key[]) -> Shards     draws w; state that it does not return (m, v) is zero

Examples
  shard-train spec/models/llama_train.shard --config tiny
                                      one rank, a generated text; needs no other file
  shard-train spec/models/llama_train.shard --config tiny --mesh d=2,t=2 --plot loss.svg --sample 200
                                      four threads: batch over d, tensors over t
  shard-train spec/models/llama_train.shard --config tiny --mesh d=2,t=2 --transport mpi
                                      four processes: starts mpirun itself
  shard-train spec/models/gpt2_tensor_parallel.shard --step train_step_f --config gpt2_124m \
      --set B=8,L=256 --data train.bin --validation-data val.bin --lr 6e-4 --warmup 100
  shard-train ... --save runs/a --save-every 100           checkpoints; add --resume to continue,
                                      also with another --mesh
  shard-train ... --transport mpi --save runs/a --save-every 50 --max-restarts 3
  shard-train ... --device cuda                            on a GPU; with --mesh its ranks share it
  torchrun --no-python --nproc-per-node 8 shard-train ... --mesh d=8 --transport nccl \
      --store /tmp/meet/ --run job17      one GPU per rank; srun and mpirun work too

Exit codes
  0 done   1 the run failed   130, 143 stopped by SIGINT, SIGTERM after the step, and saved
  2 the command, the model, the sizes or the data do not fit)";

std::vector<Assignment> assignments(const std::vector<std::string>& texts) {
  std::vector<Assignment> result;
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    result.emplace_back(text.substr(0, equals),
                        equals == std::string::npos ? "" : text.substr(equals + 1));
  }
  return result;
}

template <class Number>
CLI::Validator from(Number least) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        Number number;
        const bool read = shell::fits(text, number) && number <= std::numeric_limits<Number>::max();
        if (read && number >= least) return "";
        return text + " is not a number of at least " + CLI::detail::to_string(least);
      },
      "");
}

/// CLI::Range lets nan pass.
template <class Number>
CLI::Validator up_to(Number most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        Number number;
        if (shell::fits(text, number) && number >= 0 && number <= most) return "";
        return text + " is not a number from 0 to " + CLI::detail::to_string(most);
      },
      CLI::Range(Number{0}, most).get_description());
}

std::vector<std::string> machine_levels() {
  std::vector<std::string> names;
  for (cpu::Isa each : cpu::machine_levels()) names.push_back(cpu::name_of(each));
  return names;
}

/// Why kernels cannot use this instruction level; empty if they can.
std::string not_a_level(const std::string& text) {
  const std::vector<std::string> levels = machine_levels();
  if (std::find(levels.begin(), levels.end(), text) != levels.end()) return "";
  return text + ": the levels of this processor are " + CLI::detail::join(levels, ", ");
}

class Flags {
 public:
  Flags(CLI::App& app, Options& options, std::vector<std::string>& set)
      : app_(app), o_(options), set_(set) {}

  void add() {
    app_.add_option("MODEL", o_.model, "The .shard file")->required()->type_name("");
    model();
    steps();
    data();
    output();
    checkpoints();
  }

 private:
  CLI::Option* text(const char* flag, auto& target, const char* help, const char* type) {
    CLI::Option* option = app_.add_option(flag, target, help)->type_name(type)->group(group_);
    if constexpr (!requires { target.emplace_back(); }) option->take_last();
    return option;
  }

  void model() {
    group_ = "Model and mesh";
    text("--mesh", o_.mesh, "Ranks by axis, e.g. d=2,t=2 (default: one rank)", "AXIS=N,..")
        ->join(',');
    text("--transport", o_.transport, "threads (default), mpi, or nccl: a GPU for each process",
         "KIND")
        ->transform(one_of<Transport>(
            {{"threads", Transport::threads}, {"mpi", Transport::mpi}, {"nccl", Transport::nccl}}));
    text("--device", o_.device,
         "cpu (default); cuda or cuda:N: with threads all ranks share that GPU;\n"
         "emulated: a GPU's kernels and streams on the CPU, slowly",
         "NAME");
    text("--isa", o_.isa,
         "Instruction set of CPU kernels: baseline; x86-64-v2, x86-64-v3, x86-64-v4,\n"
         "avx512-bf16 or amx-bf16; neon on aarch64 (default: the processor's highest)",
         "LEVEL")
        ->check(shell::with_choices(CLI::Validator(not_a_level, ""), machine_levels()));
    text("--threads", o_.threads,
         "Threads of each rank's CPU kernels; the results are the same for every number\n"
         "(default: the cores that its process may use, divided among the ranks there)",
         "N")
        ->check(CLI::Range(1, 1024));
    text("--attention", o_.attention,
         "Attention on a GPU: library (default), cuDNN's if installed and the mask is causal;\n"
         "unordered, the same, faster at long sequences, with other bits in every run;\n"
         "own, our kernels",
         "KIND")
        ->transform(one_of<WhoseAttention>({{"own", WhoseAttention::own},
                                            {"library", WhoseAttention::library},
                                            {"unordered", WhoseAttention::library_unordered}}));
    app_.add_flag("--time-products", o_.time_products,
                  "On a GPU, choose the algorithm of each large product by a clock: faster, and\n"
                  "another run may get other bits")
        ->group(group_);
    text("--store", o_.store,
         "Where NCCL ranks rendezvous: HOST:PORT of rank 0, or a shared folder", "PLACE");
    text("--run", o_.run,
         "With --store: a name that no earlier run used. It lets ranks in: choose one that is hard "
         "to guess",
         "NAME")
        ->envname("SHARDPROOF_RUN");
    app_.add_flag("--overlap", o_.overlap, "Overlap collectives with computation")->group(group_);
    text("--config", o_.config, "Use the sizes of a `config` in the file", "NAME");
    text("--allow-import", o_.allow_import,
         "Allow imports from a folder outside the model's project", "DIR")
        ->check(CLI::ExistingDirectory.description(""))
        ->allow_extra_args(false);
    text("--set", set_, "Sizes of dims, or consts, e.g. B=8,L=64,clip=0.5", "NAME=N,..")
        ->delimiter(',')
        ->allow_extra_args(false);
    text("--step", o_.step, "The plan of a training step (default: the only one)", "PLAN");
    text("--init", o_.init, "The plan that draws the weights (default: the only one)", "PLAN");
    text("--precision", o_.precision,
         "as-written (default), bf16 (as written, requires bf16 in the program), f32, f64", "KIND")
        ->transform(one_of<Numbers>({{"as-written", Numbers::as_written},
                                     {"bf16", Numbers::bf16},
                                     {"f32", Numbers::f32},
                                     {"f64", Numbers::f64}}));
    text("--accept-unknown", o_.accept_unknown,
         "Run this plan even if its verdict is unknown; the log records it", "PLAN,..")
        ->delimiter(',')
        ->allow_extra_args(false);
  }

  void steps() {
    group_ = "Steps";
    text("--steps", o_.rate.steps,
         "Total number of steps (default 200); 0: no step, only what is done at the end", "N")
        ->check(from<int64_t>(0));
    text("--lr", o_.rate.peak, "Peak learning rate (default 1e-3)", "X")->check(from<double>(0));
    text("--schedule", o_.rate.schedule, "cosine (default), wsd or constant", "KIND")
        ->transform(one_of<Schedule>({{"cosine", Schedule::cosine},
                                      {"wsd", Schedule::wsd},
                                      {"constant", Schedule::constant}}));
    text("--warmup", o_.rate.warmup, "Steps of linear warm-up (default: 5 % of the steps)", "N")
        ->check(from<int64_t>(0));
    text("--lr-floor", o_.rate.floor, "Final learning rate as a fraction of the peak (default 0.1)",
         "X")
        ->check(up_to<double>(1));
    text("--decay", o_.rate.decay,
         "wsd: fraction of the steps in which the rate decays (default 0.2)", "X")
        ->check(up_to<double>(1));
    text("--seed", o_.seed, "Seed of weights, data order and dropout (default 0)", "N")
        ->check(from<uint64_t>(0));
  }

  void data() {
    group_ = "Data";
    text("--data", o_.data,
         "Token files: llm.c's .bin, raw uint16 (or --tokens u32), .txt\n"
         "(default: a generated text, V=256, and numbers for what is not tokens)",
         "FILE..");
    text("--tokens", o_.format, "u8, u16 or u32, for files without a header", "KIND")
        ->transform(one_of<data::TokenFormat>({{"u8", data::TokenFormat::u8},
                                               {"u16", data::TokenFormat::u16},
                                               {"u32", data::TokenFormat::u32}}));
    text("--tokenizer", o_.tokenizer,
         "A byte-pair tokenizer.json: encodes .txt files and prompts, decodes samples", "FILE");
    text("--document-token", o_.document, "The token that begins a document", "ID");
    text("--validation", o_.validation,
         "Fraction of the data held out, from its end (default 0.05); 0: no validation", "X")
        ->check(up_to<double>(0.9));
    text("--validation-data", o_.validation_data, "Token files for validation", "FILE..");
    text("--eval", o_.eval, "The plan of the validation loss (default: the step's)", "PLAN");
    text("--eval-every", o_.eval_every, "Validate every N steps (default: at the end)", "N")
        ->check(from<int64_t>(0));
    text("--eval-batches", o_.eval_batches, "Batches of a validation (default 4)", "N")
        ->check(from<int64_t>(1));
  }

  void output() {
    group_ = "Output";
    text("--log", o_.log, "Write metrics as JSON, one object per line", "FILE");
    app_.add_flag(
            "--print-plan{final}", o_.print_plan,
            "Print rank 0's plan of a step and exit: =after:PASS, =after:compile for the steps\n"
            "before all passes; =queues for the commands of a device's streams")
        ->group(group_);
    text("--plot", o_.plot, "Plot the losses at the end", "FILE.svg");
    text("--plot-schedule", o_.plot_schedule,
         "Plot the measured times of the pipeline stages in the last step", "FILE.svg");
    text("--report", o_.report,
         "Write an HTML page during the run: losses, rates, times, memory and verdicts",
         "FILE.html");
    text("--sample", o_.sample, "Sample N tokens from the model at the end", "N")
        ->check(up_to<int64_t>(1'000'000));
    text("--prompt", o_.prompt, "The text to continue", "TEXT");
    text("--temperature", o_.temperature, "Sampling temperature; 0: greedy (default 0.8)", "X")
        ->check(from<double>(0));
    text("--decode", o_.decode,
         "A file with a plan that extends a key-value cache, for --sample (default:\n"
         "NAME_decode.shard next to NAME.shard); none: compute all logits for each token",
         "FILE");
    text("--logits", o_.logits, "The plan that computes logits (default: the one of the loss)",
         "PLAN");
    text("--color", o_.colour, "auto, always or never", "WHEN")
        ->transform(one_of<When>(
            {{"auto", When::automatic}, {"always", When::always}, {"never", When::never}}));
  }

  void checkpoints() {
    group_ = "Checkpoints, Hugging Face, ranks";
    text("--save", o_.save, "A folder for checkpoints", "DIR");
    text("--save-every", o_.save_every, "Save every N steps (default: at the end)", "N")
        ->check(from<int64_t>(0));
    text("--keep", o_.keep, "Number of checkpoints to keep; 0: all (default 3)", "N")
        ->check(from<int64_t>(0));
    app_.add_flag("--resume", o_.resume, "Continue from the last checkpoint in --save, on any mesh")
        ->group(group_);
    text("--import", o_.import_from,
         "Start from a Hugging Face folder (config.json, safetensors); with --resume only its\n"
         "sizes",
         "DIR");
    text("--export", o_.export_to, "Write the weights as a Hugging Face folder at the end", "DIR");
    text("--mapping", o_.mapping,
         "Names of the weights there (default: the .hf.json next to the model)", "FILE");
    text("--ranks", o_.ranks, "Number of processes; must equal the number of devices of the mesh",
         "N")
        ->check(from<int64_t>(1));
    text("--max-restarts", o_.max_restarts,
         "With --transport mpi: restart from the last checkpoint if a rank dies", "N")
        ->check(from<int64_t>(0));
  }

  CLI::App& app_;
  Options& o_;
  std::vector<std::string>& set_;  ///< as written
  std::string group_;
};

std::string version() {
  const std::string products = cpu::onednn_version();
  return std::string("shard-train ") + shell::version +
         "\nCPU kernels: " + cpu::name_of(cpu::isa()) + (products.empty() ? "" : ", " + products);
}

void require_consistent(const Options& o) {
  if (o.resume && o.save.empty())
    throw CLI::RequiresError("--resume", "--save DIR, the folder that has the checkpoints");
  if (o.save_every > 0 && o.save.empty()) throw CLI::RequiresError("--save-every", "--save DIR");
  if (o.max_restarts > 0 && o.transport != Transport::mpi)
    throw CLI::RequiresError("--max-restarts", "--transport mpi: threads die together");
  if (o.rate.steps == 0 && !o.plot_schedule.empty())
    throw CLI::RequiresError("--plot-schedule", "a step that it measures: --steps 1 or more");
  const bool run = !o.run.empty() && !std::getenv("SHARDPROOF_RUN");
  if (o.transport != Transport::nccl && (run || !o.store.empty()))
    throw CLI::RequiresError("--store and --run", "--transport nccl");
  if (o.device != "cpu" && o.transport == Transport::mpi)
    throw CLI::ValidationError("--device", "ranks of MPI run on CPUs: use --transport nccl");
}

}  // namespace

CommandLine parse_command_line(const std::vector<std::string>& args, std::ostream& out,
                               std::ostream& err) {
  CommandLine line;
  std::vector<std::string> set;
  CLI::App app(description, "shard-train");
  app.footer(footer);
  app.set_version_flag("--version", version);
  app.get_formatter()->column_width(30);
  Flags(app, line.options, set).add();
  std::optional<std::string> for_a_shell;
  shell::add_option(app, shell::version, for_a_shell);
  try {
    std::vector<std::string> reversed(args.rbegin(), args.rend());
    app.parse(std::move(reversed));
    shell::refuse_empty(app);
    require_consistent(line.options);
  } catch (const CLI::ParseError& error) {
    const bool asked = error.get_exit_code() == 0;
    app.exit(error, out, err);
    if (for_a_shell) out << *for_a_shell;
    line.exit = asked ? 0 : 2;
  }
  Options& o = line.options;
  o.set = assignments(set);
  if (o.rate.warmup < 0) o.rate.warmup = o.rate.steps / 20;
  return line;
}

}  // namespace shardproof::shard_train
