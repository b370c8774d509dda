#include <pthread.h>
#include <unistd.h>

#include <csignal>
#include <functional>
#include <iostream>

#include "impl/check_sharding/run.h"

namespace {

/// Runs it on a thread whose stack has room for the terms of a file of 16 MB: they are nested as
/// deep as a plan is long. Only what is used of the stack takes memory.
int on_a_large_stack(const std::function<int()>& run) {
  constexpr size_t bytes = size_t{1} << 30;
  struct Call {
    const std::function<int()>& run;
    int code = 0;
  } call{run};
  const auto start = [](void* given) -> void* {
    auto* call = static_cast<Call*>(given);
    call->code = call->run();
    return nullptr;
  };
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, bytes);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, start, &call) == 0;
  pthread_attr_destroy(&attributes);
  if (!started) return run();  // no room for the addresses
  pthread_join(thread, nullptr);
  return call.code;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed pipe and the limit of a file's size are reported as errors.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::ios::sync_with_stdio(false);
  shardproof::check_sharding::Environment environment;
  environment.out_is_terminal = isatty(STDOUT_FILENO);
  environment.in_descriptor = STDIN_FILENO;
  environment.err_is_terminal = isatty(STDERR_FILENO);
  return on_a_large_stack([&] {
    return shardproof::check_sharding::run({argv + 1, argv + argc}, std::cin, std::cout, std::cerr,
                                           environment);
  });
}
