#pragma once
// The command line of shard-train.
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "impl/data/tokens.h"
#include "impl/tensor/tensor.h"
#include "impl/trainer/learning_rate.h"

namespace shardproof::shard_train {

enum class Transport { threads, mpi, nccl };
/// On a GPU: our own kernels, or cuDNN's where it supports the op.
enum class WhoseAttention { own, library, library_unordered };
enum class When { automatic, always, never };
/// `bf16`: as written, for a program that uses bf16.
enum class Numbers { as_written, bf16, f32, f64 };

/// `name=text` from the command line; the text may be empty or not a number.
using Assignment = std::pair<std::string, std::string>;

struct Options {
  std::string model, mesh, config;
  std::vector<std::string> allow_import;  ///< folders outside the model's project
  Transport transport = Transport::threads;
  std::string device = "cpu";  ///< cpu, cuda, cuda:N, emulated
  std::string isa;             ///< a level of kernels/cpu/isa.h; empty: the processor's level
  int threads = 0;             ///< of each rank; 0: its share of the processor's cores
  WhoseAttention attention = WhoseAttention::library;
  bool time_products = false;  ///< on a GPU, algorithms of products are chosen by a clock
  std::string store, run;      ///< where ranks of nccl meet, and the name of the run
  bool overlap = false;
  std::vector<Assignment> set;
  std::string step, init, eval, logits;  ///< plans; empty: found by their roles
  std::string decode;                    ///< a file; empty: beside the model's; "none": no cache
  std::vector<std::string> accept_unknown;
  LearningRate rate{Schedule::cosine, 1e-3, -1, 200, 0.1};  ///< warmup below 0: a twentieth
  uint64_t seed = 0;
  Numbers precision = Numbers::as_written;

  std::vector<std::string> data, validation_data;  ///< empty: the made-up corpus, and a part of it
  data::TokenFormat format = data::TokenFormat::automatic;
  std::optional<uint32_t> document;
  std::string tokenizer;
  double validation = 0.05;
  int64_t eval_every = 0, eval_batches = 4;

  std::string log, plot, plot_schedule, report;
  std::string print_plan;  ///< empty: train; "final", "queues" or "after:PASS"
  int64_t sample = 0;
  double temperature = 0.8;
  std::string prompt;

  std::string save;
  int64_t save_every = 0;
  int keep = 3;
  bool resume = false;

  std::string import_from, export_to, mapping;  ///< Hugging Face folders

  int64_t ranks = 0;  ///< 0: the number of ranks of the mesh
  int max_restarts = 0;
  When colour = When::automatic;
};

struct CommandLine {
  Options options;
  std::optional<int> exit;  ///< set if the program should exit: --help, an error
};
CommandLine parse_command_line(const std::vector<std::string>& args, std::ostream& out,
                               std::ostream& err);

}  // namespace shardproof::shard_train
