// mpi_plans laws|ordered_laws|<a fault> [n]: plans of the models on 4 processes give what they give
// on 4 threads, and what a user sees of a fault in the middle of one.
#include <mpi.h>

#include <csignal>
#include <cstring>
#include <iostream>
#include <limits>

#include "impl/comm/mpi/mpi_communicator.h"
#include "impl/comm/threads.h"
#include "properties/generators/at_call.h"
#include "properties/generators/plan_run.h"

namespace shardproof::properties {
namespace {

const std::map<Name, int64_t> mlp{{"B", 8}, {"L", 2}, {"M", 8}, {"F", 4}, {"A", 3}};
const std::map<Name, int64_t> llama{{"A", 2}, {"B", 2}, {"L", 4}, {"M", 8}, {"F", 8},
                                    {"Q", 2}, {"K", 4}, {"D", 2}, {"V", 8}, {"N", 2}};

struct ModelPlan {
  const char *file, *plan;
  denote::Sizes sizes;
};
const ModelPlan plans[] = {
    {"data_parallel", "step_ddp", {{{"d", 4}}, mlp}},
    {"data_parallel", "step_zero1", {{{"d", 4}}, mlp}},
    {"data_parallel", "step_zero3", {{{"d", 4}}, mlp}},
    {"llama3_tensor_parallel", "llama_t", {{{"d", 1}, {"t", 4}}, llama}},
    {"llama3_tensor_parallel", "llama_s", {{{"d", 2}, {"t", 2}}, llama}},
    {"llama_train", "train_step_sharded", {{{"d", 2}, {"t", 2}}, llama}},
};

Program model(const std::string& file, const Name& only = {}) {
  CheckOptions options;
  options.fixes = false;
  options.only = only;
  return Program::load(SHARDPROOF_SOURCE_DIR "/spec/models/" + file + ".shard", disk_reader(),
                       options);
}

/// Empty where this rank's results are those of the thread rank: bitwise, or near.
std::string apart(const std::vector<LocalTensor>& got, const std::vector<LocalTensor>& wanted,
                  const Bounds* bounds) {
  for (size_t r = 0; r < wanted.size(); ++r) {
    std::string found;
    if (got.at(r).buffer.bytes() != wanted[r].buffer.bytes()) return "another size";
    if (!bounds && std::memcmp(got[r].data<char>(), wanted[r].data<char>(), got[r].buffer.bytes()))
      found = "other bits";
    std::vector<double> a, b;
    for (int64_t i = 0; i < got[r].count(); ++i) {
      a.push_back(get(got[r], static_cast<size_t>(i)));
      b.push_back(get(wanted[r], static_cast<size_t>(i)));
    }
    if (bounds) found = difference(a, b, bounds->at(r));
    if (!found.empty()) return "result " + std::to_string(r) + ": " + found;
  }
  return "";
}

void hold(Communicator& communicator, const PlanCase& one, Precision precision,
          const Bounds* bounds) {
  std::vector<std::vector<LocalTensor>> wanted(4);
  run_on_threads(4, [&](Communicator& threads) {
    wanted[static_cast<size_t>(threads.rank())] = run_on(threads, one, {.precision = precision});
  });
  for (bool overlap : {false, true}) {
    const auto got = run_on(communicator, one, {.precision = precision, .overlap = overlap});
    const std::string found = apart(got, wanted[static_cast<size_t>(communicator.rank())], bounds);
    if (!found.empty())
      throw std::runtime_error(text(one) + (overlap ? " with overlap, " : ", ") + found);
  }
}

void laws(Communicator& communicator, bool ordered) {
  int held = 0;
  for (const ModelPlan& each : plans) {
    const Program program = model(each.file, each.plan);
    const PlanReport& report = program.plan(each.plan);
    if (report.verdict != Verdict::proved) throw std::runtime_error("not proved");
    PlanCase one = case_of(program, report);
    one.sizes = each.sizes;
    const auto claimed = draw_inputs(one, 1, false);
    if (!claimed) throw std::runtime_error("nothing is claimed");
    const Bounds bounds = rounding_bounds(one, *claimed).f64;
    hold(communicator, one, Precision::f64, ordered ? nullptr : &bounds);
    if (ordered) hold(communicator, one, Precision::as_written, nullptr);
    ++held;
  }
  if (communicator.rank() == 0)
    std::cout << held << " plans agree with thread ranks on " << communicator.size() << " processes"
              << std::endl;
}

struct Job {
  Program program = model("data_parallel");
  std::vector<LocalTensor> inputs;

  Plan plan(Communicator& communicator, const Name& name, const std::string& mesh,
            const PlanOptions& options = {}, const DimSizes& dims = mlp) {
    Plan plan = compile_plan(program, name, Mesh::parse(mesh), dims, communicator.rank(), options);
    inputs.clear();
    for (size_t i = 0; i < plan.inputs().size(); ++i) {
      inputs.push_back(plan.input(i));
      std::memset(inputs.back().data<char>(), 0, inputs.back().buffer.bytes());
    }
    return plan;
  }
};

/// Before the n-th collective of rank 2 in a run, modulo how many there are; every other n with
/// overlap.
void at(Communicator& communicator, size_t n, const std::function<void()>& action) {
  Job job;
  Plan plan = job.plan(communicator, "step_zero2", "d=4", {.overlap = n % 2 == 1});
  AtCall counted(communicator, ~size_t{0}, [] {});
  plan.run(counted, job.inputs);
  AtCall faulty(communicator, communicator.rank() == 2 ? n % counted.calls() : ~size_t{0}, action);
  plan.run(faulty, job.inputs);
}

void run(const std::string& what, size_t n, Communicator& communicator) {
  const int rank = communicator.rank();
  if (communicator.size() != 4)
    throw std::runtime_error("needs 4 ranks, not " + std::to_string(communicator.size()));
  if (what == "laws" || what == "ordered_laws") return laws(communicator, what == "ordered_laws");
  if (what == "throw")
    return at(communicator, n, [] { throw std::runtime_error("no more memory"); });
  if (what == "kill") return at(communicator, n, [] { std::raise(SIGKILL); });
  Job job;
  if (what == "mesh") {
    if (rank == 0) job.plan(communicator, "step_ddp", "d=2").run(communicator, job.inputs);
  } else if (what == "other_sizes") {
    DimSizes dims = mlp;
    if (rank == 2) dims["A"] = 4;  // the same first call, and more of them
    job.plan(communicator, "step_zero2", "d=4", {}, dims).run(communicator, job.inputs);
  } else if (what == "other_plan") {
    job.plan(communicator, "step_zero2", "d=4").run(communicator, job.inputs);
    job.plan(communicator, rank == 2 ? "step_zero1" : "step_zero2", "d=4")
        .run(communicator, job.inputs);
  } else if (what == "outside") {
    if (rank == 2) {
      int32_t send = 0, receive[4];
      communicator.all_gather(communicator.group({0, 1, 2, 3}), &send, receive, 4, "a metric");
    }
    job.plan(communicator, "step_zero2", "d=4").run(communicator, job.inputs);
  } else if (what == "end") {
    Plan plan = job.plan(communicator, "step_zero2", "d=4");
    for (int run = 0; run < (rank == 2 ? 1 : 2); ++run) plan.run(communicator, job.inputs);
  } else if (what == "nan") {
    Plan plan = job.plan(communicator, "loss_dp", "d=4",
                         {.precision = Precision::f32, .check_finite = true});
    if (rank == 1) job.inputs.at(2).data<float>()[8] = std::numeric_limits<float>::quiet_NaN();
    plan.run(communicator, job.inputs);
  } else {
    throw std::runtime_error("no such fault: " + what);
  }
}

}  // namespace
}  // namespace shardproof::properties

/// MPI as a program without threads initializes it.
int run_on_one_thread(int argc, char** argv) {
  int provided;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
  const std::unique_ptr<shardproof::Communicator> communicator = shardproof::mpi_communicator();
  try {
    shardproof::properties::Job job;
    job.plan(*communicator, "step_zero2", "d=4", {.overlap = true}).run(*communicator, job.inputs);
  } catch (const std::exception& error) {
    communicator->abort(error.what());
  }
  return MPI_Finalize();
}

int main(int argc, char** argv) {
  using namespace shardproof;
  const std::string what = argc > 1 ? argv[1] : "laws";
  if (what == "one_thread") return run_on_one_thread(argc, argv);
  const size_t n = argc > 2 ? std::stoul(argv[2]) : 0;
  return run_on_mpi(
      argc, argv, [&](Communicator& communicator) { properties::run(what, n, communicator); },
      what == "ordered_laws");
}
