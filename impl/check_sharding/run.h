#pragma once
// check-sharding as a function, for main, tests and benchmarks.
#include <functional>
#include <istream>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "spec/check/check.h"

namespace shardproof {
class Device;
}

namespace shardproof::check_sharding {

/// The program's environment. Tests replace parts of it.
struct Environment {
  bool out_is_terminal = false, err_is_terminal = false;
  int in_descriptor = -1;           ///< file descriptor of standard input; -1: use the stream
  std::function<double()> seconds;  ///< a clock; default: the steady clock
  std::function<double()> processor_seconds;  ///< of all threads; limits --test
  std::shared_ptr<Device> device;             ///< for --test; default: the device in the options
};

/// Runs check-sharding with the arguments after the program's name; returns the exit code:
/// 0 proved, 1 refuted, 2 unknown, 3 invalid.
int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
        std::ostream& err, const Environment& environment = {});

}  // namespace shardproof::check_sharding
