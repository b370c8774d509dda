// shard-train: parses the command line, starts the ranks and runs the job on each.
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>
#include <sstream>

#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/shard_train/gpus.h"
#include "impl/shard_train/launch.h"
#include "impl/shard_train/lowest_isa.h"
#include "impl/shard_train/print_plan.h"
#include "impl/shard_train/run.h"
#include "impl/shard_train/share.h"
#include "impl/shard_train/stop.h"
#include "kernels/cpu/isa.h"
#include "kernels/cpu/threads.h"
#include "spec/diag/visible.h"
#ifdef WITH_MPI
#include "impl/comm/mpi/mpi_communicator.h"
#endif

namespace shardproof::shard_train {
namespace {

constexpr int failed = 1, refused = 2;

/// A run that a signal ended has a shell's exit code for that signal. mpirun takes 20 s to end
/// ranks that exit with a code: what our launcher passed on, it reports itself.
int exit_of(int signal) {
  const bool passed_on = launched() == Launched::by_us && signal != meaning_of(signal);
  return signal && !passed_on ? 128 + meaning_of(signal) : 0;
}

Screen screen_of(const Options& options) {
  const bool terminal = on_terminal();
  const bool colour = options.colour == When::automatic ? terminal && !std::getenv("NO_COLOR")
                                                        : options.colour == When::always;
  return {std::cout, terminal, colour};
}

int on_threads(const Job& job) {
  const int world = static_cast<int>(job.mesh.ranks());
  const int asked = job.options.threads;
  cpu::set_threads(asked > 0 ? asked * world : own_cores(), world);
  int signal = 0;
  const auto rank = [&](Communicator& communicator) {
    const int ended = run_job(job, communicator, screen_of(job.options));
    if (communicator.rank() == 0) signal = ended;
  };
  if (job.trainer.device && !job.trainer.device->notes().empty())
    std::cerr << "shard-train: " << job.trainer.device->notes() << "\n";
  if (job.trainer.device)
    run_on_virtual_ranks(*job.trainer.device, world, rank);
  else
    run_on_threads(world, rank);
  return exit_of(signal);
}

#ifdef WITH_MPI
int on_processes(const Options& options, int argc, char** argv) {
  int signal = 0;
  const int code = run_on_mpi(argc, argv, [&](Communicator& communicator) {
    cpu::limit_isa(lowest_isa(communicator, cpu::isa()));
    const int share = share_among_processes(communicator);
    cpu::set_threads(options.threads > 0 ? options.threads : share);
    const Job job = prepare(options);
    if (communicator.size() != job.mesh.ranks())
      throw BadInput(counted_ranks(job.mesh) + ", and " + std::to_string(communicator.size()) +
                     " processes were started: give --mesh for them");
    if (communicator.rank() == 0 && options.max_restarts > 0 && launched() == Launched::by_others)
      std::cerr << "shard-train: started by another launcher, so --max-restarts is left to it\n";
    signal = run_job(job, communicator, screen_of(options));
  });
  return code ? code : exit_of(signal);
}
#else
int on_processes(const Options&, int, char**) {
  std::cerr << "shard-train was built without MPI: configure with SHARDPROOF_MPI=ON, or use "
               "--transport threads\n";
  return refused;
}
#endif

int train([[maybe_unused]] const std::vector<std::string>& args, const Options& options, int argc,
          char** argv) {
  if (options.transport == Transport::mpi && launched() != Launched::no)
    return on_processes(options, argc, argv);
  if (options.transport == Transport::nccl) {
    int signal = 0;
    run_on_gpus(options, [&](const Job& job, Communicator& communicator) {
      signal = run_job(job, communicator, screen_of(job.options));
    });
    return exit_of(signal);
  }
  if (options.transport == Transport::threads && launched() == Launched::by_others)
    throw BadInput("this is a rank of mpirun or srun: add --transport mpi or nccl");
  const Job job = prepare(options);
  if (!options.print_plan.empty()) {
    print_plan(job, std::cout);
    return 0;
  }
  // Compile for one rank first: errors appear once, before ranks are started.
  compile_plan(*job.program, job.step, job.mesh, job.dims, 0, plan_options(job));
#ifdef WITH_MPI
  if (options.transport == Transport::mpi) return launch(args, options, job.mesh.ranks());
#else
  if (options.transport == Transport::mpi) return on_processes(options, argc, argv);
#endif
  return on_threads(job);
}

int run_main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  std::ostringstream complained;
  const CommandLine line = parse_command_line(args, std::cout, complained);
  std::cerr << visible(complained.str());
  if (line.exit) return *line.exit;
  if (const auto level = cpu::isa_of(line.options.isa)) cpu::limit_isa(*level);
  try {
    return train(args, line.options, argc, argv);
  } catch (const CommError& error) {
    std::cerr << "shard-train: " << visible(error.what()) << "\n";
    return failed;
  } catch (const std::bad_alloc&) {
    std::cerr << "shard-train: there is no memory for these sizes: give smaller sizes with --set, "
                 "or a mesh "
                 "with more ranks\n";
    return refused;
  } catch (const std::exception& error) {
    std::cerr << "shard-train: " << visible(error.what()) << "\n";
    return refused;
  }
}

}  // namespace
}  // namespace shardproof::shard_train

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe does not end a run; reported at the end
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is reported as one on a full disk
  const int code = shardproof::shard_train::run_main(argc, argv);
  if (std::cout.flush()) return code;
  std::cout.clear();
  errno = 0;
  std::cout << '\n' << std::flush;  // sets errno again, for the message
  std::cerr << "shard-train: the output cannot be written: " << std::strerror(errno ? errno : EIO)
            << "\n";
  return code ? code : 1;
}
