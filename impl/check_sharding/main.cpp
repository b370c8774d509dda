#include <unistd.h>

#include <csignal>
#include <iostream>

#include "impl/check_sharding/run.h"

int main(int argc, char** argv) {
  // A closed pipe and the limit of a file's size are reported as errors.
  for (const int signal : {SIGPIPE, SIGXFSZ}) std::signal(signal, SIG_IGN);
  std::ios::sync_with_stdio(false);
  shardproof::check_sharding::Environment environment;
  environment.out_is_terminal = isatty(STDOUT_FILENO);
  environment.in_descriptor = STDIN_FILENO;
  environment.err_is_terminal = isatty(STDERR_FILENO);
  return shardproof::check_sharding::run({argv + 1, argv + argc}, std::cin, std::cout, std::cerr,
                                         environment);
}
