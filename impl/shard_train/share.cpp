#include "impl/shard_train/share.h"

#include <unistd.h>

#include <algorithm>
#include <string>
#include <thread>
#ifdef __linux__
#include <sched.h>
#endif

#include "impl/comm/gather_texts.h"

namespace shardproof::shard_train {
namespace {

/// The machine and the cores: equal for processes that share them.
std::string text_of_cores() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  std::string text = host;
#ifdef __linux__
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0)
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (CPU_ISSET(i, &own)) text += " " + std::to_string(i);
#endif
  return text;
}

}  // namespace

int own_cores() {
#ifdef __linux__
  cpu_set_t own;
  if (sched_getaffinity(0, sizeof own, &own) == 0) return std::max(CPU_COUNT(&own), 1);
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

int share_of_cores(int cores, int ranks) { return std::max(cores / std::max(ranks, 1), 1); }

int share_among_processes(Communicator& communicator) {
  const std::string own = text_of_cores();
  const std::vector<std::string> all = gather_texts(communicator, own, "comparing processors");
  return share_of_cores(own_cores(), static_cast<int>(std::count(all.begin(), all.end(), own)));
}

}  // namespace shardproof::shard_train
