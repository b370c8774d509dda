#include "impl/shard_train/stop.h"

#include <csignal>
#include <initializer_list>

namespace shardproof::shard_train {
namespace {

volatile std::sig_atomic_t stop = 0;

void remember(int signal) {
  stop = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_stops() {
  static const bool once = [] {
    for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, remember);
    return true;
  }();
  static_cast<void>(once);
}

void forget_stops() {
  for (const int signal : {SIGINT, SIGTERM}) std::signal(signal, SIG_DFL);
}

int stop_signal() { return stop; }

}  // namespace shardproof::shard_train
