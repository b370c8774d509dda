#include "impl/shard_train/launch.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "impl/checkpoint/checkpoint.h"
#include "impl/shard_train/processes.h"
#include "impl/shard_train/stop.h"

namespace shardproof::shard_train {
namespace {

/// Marks ranks that we started, with the type of our output: mpirun gives each rank a terminal.
constexpr const char* mark = "SHARD_TRAIN_LAUNCHED";
constexpr const char* with_terminal = "terminal";

std::string own_path() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "shard-train";
}

std::vector<std::string> command(const std::vector<std::string>& args, int64_t ranks) {
  std::vector<std::string> words{
      "mpirun", "-n", std::to_string(ranks), "--oversubscribe", "--bind-to", "none", "-x", mark};
  if (geteuid() == 0) words.insert(words.begin() + 1, "--allow-run-as-root");
  words.push_back(own_path());
  words.insert(words.end(), args.begin(), args.end());
  return words;
}

[[noreturn]] void become(const std::vector<std::string>& words) {
  setenv(mark, on_terminal() ? with_terminal : "plain", 1);
  // With fewer processors than ranks, a waiting rank must yield.
  setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0);
  // When a rank dies, or on a second stop request, mpirun gives the others this many seconds.
  setenv("OMPI_MCA_odls_base_sigkill_timeout", "10", 0);
  std::vector<char*> argv;
  for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::cerr << "cannot run mpirun: " << std::strerror(errno)
            << ": install OpenMPI, or use --transport threads\n";
  _exit(2);
}

volatile std::sig_atomic_t child = 0, stopped = 0;

/// mpirun passes SIGUSR1 and SIGUSR2 on at once. SIGTERM it holds back for some seconds, and then
/// kills what does not end: only a second stop request is sent as that.
void pass_on(int signal) {
  const int as = stopped ? SIGTERM : as_ranks_get_it(signal);
  stopped = signal;
  if (child) kill(static_cast<pid_t>(child), as);
}

/// Ctrl-Z: the ranks are in a process group of their own.
void suspend(int) {
  const auto ranks = static_cast<pid_t>(child);
  if (ranks) kill(ranks, SIGTSTP);
  raise(SIGSTOP);
  if (ranks) kill(ranks, SIGCONT);
}

/// Reports ranks that are stopped while this process is not: all others wait for them.
class StoppedRanks {
 public:
  void look(pid_t launcher) {
    for (const pid_t each : descendants_of(launcher)) {
      int& seen = seen_[each];
      seen = state_of(each) == 'T' ? seen + 1 : 0;
      if (seen == ticks_in_seconds(2))
        std::cerr << "shard-train: process " << each
                  << " is stopped, and the ranks wait for it: `kill -CONT " << each
                  << "` continues it, `kill -KILL " << each << "` ends the run\n";
    }
  }
  static constexpr int tick = 200'000;  // microseconds
  static constexpr int ticks_in_seconds(int seconds) { return seconds * 1'000'000 / tick; }

 private:
  std::map<pid_t, int> seen_;
};

bool has_dead_child(pid_t process) {
  const std::vector<pid_t> all = children_of(process);
  return std::any_of(all.begin(), all.end(), [](pid_t each) { return state_of(each) == 'Z'; });
}

/// mpirun may hang if a rank is killed during startup.
int wait_for(pid_t process) {
  int status = 0, dead_for = 0;
  StoppedRanks stopped_ranks;
  for (pid_t ended = 0; (ended = waitpid(process, &status, WNOHANG)) != process;) {
    if (ended < 0 && errno != EINTR) return 1;
    usleep(StoppedRanks::tick);
    stopped_ranks.look(process);
    dead_for = has_dead_child(process) ? dead_for + 1 : 0;
    if (dead_for != StoppedRanks::ticks_in_seconds(20)) continue;
    std::cerr << "shard-train: a rank exited but mpirun still runs: stopping it\n";
    for (const pid_t each : children_of(process)) kill(each, SIGKILL);
    kill(process, SIGKILL);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Runs mpirun; returns its exit code.
int run(const std::vector<std::string>& words) {
  const pid_t process = fork();
  if (process < 0) {
    std::cerr << "cannot start a process: " << std::strerror(errno) << "\n";
    return 2;
  }
  if (process == 0) {
    // The keyboard's signals go to this program alone, which passes them on.
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    become(words);
  }
  child = process;
  const int code = wait_for(process);
  child = 0;
  return code;
}

std::vector<std::string> resumed(std::vector<std::string> args, const Options& options) {
  if (!options.resume) args.push_back("--resume");
  return args;
}

}  // namespace

Launched launched() {
  if (std::getenv(mark)) return Launched::by_us;
  for (const char* name : {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"})
    if (std::getenv(name)) return Launched::by_others;
  return Launched::no;
}

bool on_terminal() {
  if (launched() == Launched::by_us) return std::strcmp(std::getenv(mark), with_terminal) == 0;
  if (launched() == Launched::by_others) return false;
  const char* terminal = std::getenv("TERM");
  return isatty(STDOUT_FILENO) && terminal && std::strcmp(terminal, "dumb") != 0;
}

int launch(const std::vector<std::string>& args, const Options& options, int64_t ranks) {
  for (int signal : {SIGINT, SIGTERM}) std::signal(signal, pass_on);
  std::signal(SIGTSTP, suspend);
  std::vector<std::string> now = args;
  for (int restart = 0;; ++restart) {
    const int code = run(command(now, ranks));
    if (stopped) return 128 + stopped;
    if (code == 0) return code;
    if (code == 2 || restart == options.max_restarts) {
      if (options.max_restarts > 0 && code != 2)
        std::cerr << "shard-train: the ranks ended with " << code << ", and --max-restarts "
                  << options.max_restarts << " is used up\n";
      return code == 2 ? 2 : 1;
    }
    const auto from = options.save.empty() ? std::nullopt : checkpoint::newest(options.save);
    std::cerr << "shard-train: the ranks ended with " << code << "; restart " << restart + 1
              << " of " << options.max_restarts << " from "
              << (from ? from->string() : "the first step: there is no checkpoint") << "\n";
    now = from ? resumed(args, options) : args;
  }
}

}  // namespace shardproof::shard_train
