#include "impl/shard_train/stop.h"

#include <csignal>
#include <initializer_list>
#include <utility>

namespace shardproof::shard_train {
namespace {

volatile std::sig_atomic_t stop = 0;

constexpr std::pair<int, int> as_ranks_get_them[] = {{SIGINT, SIGUSR1}, {SIGTERM, SIGUSR2}};

void remember(int signal) {
  stop = signal;
  std::signal(signal, SIG_DFL);
}

void handle(void (*handler)(int)) {
  for (const auto& [meant, sent] : as_ranks_get_them)
    for (const int signal : {meant, sent}) std::signal(signal, handler);
}

}  // namespace

void catch_stops() {
  static const bool once = [] {
    handle(remember);
    return true;
  }();
  static_cast<void>(once);
}

void forget_stops() { handle(SIG_DFL); }

int stop_signal() { return stop; }

int as_ranks_get_it(int signal) {
  for (const auto& [meant, sent] : as_ranks_get_them)
    if (signal == meant) return sent;
  return signal;
}

int meaning_of(int signal) {
  for (const auto& [meant, sent] : as_ranks_get_them)
    if (signal == sent) return meant;
  return signal;
}

}  // namespace shardproof::shard_train
