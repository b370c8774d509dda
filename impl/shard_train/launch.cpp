#include "impl/shard_train/launch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>

#include "impl/checkpoint/checkpoint.h"

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
  // On a stop request ranks finish their step and save: mpirun waits this many seconds.
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
void pass_on(int signal) {
  stopped = signal;
  if (child) kill(static_cast<pid_t>(child), signal);
}

std::vector<pid_t> children_of(pid_t process) {
  const std::string self = std::to_string(process);
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

/// Whether a child has ended without being waited for.
bool has_dead_child(pid_t process) {
  for (const pid_t each : children_of(process)) {
    std::string stat;
    std::getline(std::ifstream("/proc/" + std::to_string(each) + "/stat"), stat);
    const size_t name_end = stat.rfind(") ");
    if (name_end != std::string::npos && stat[name_end + 2] == 'Z') return true;
  }
  return false;
}

/// mpirun may hang if a rank is killed during startup.
int wait_for(pid_t process) {
  constexpr int tick = 200'000, most_ticks = 20'000'000 / tick;  // microseconds
  int status = 0, dead_for = 0;
  for (pid_t ended = 0; (ended = waitpid(process, &status, WNOHANG)) != process;) {
    if (ended < 0 && errno != EINTR) return 1;
    usleep(tick);
    dead_for = has_dead_child(process) ? dead_for + 1 : 0;
    if (dead_for != most_ticks) continue;
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
  if (process == 0) become(words);
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
