#pragma once
// check-sharding as a function: what main, the tests and the benchmarks call.
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

/// What the program finds around it. Tests replace parts of it.
struct Environment {
  bool out_is_terminal = false, err_is_terminal = false;
  int in_descriptor = -1;           ///< of the standard input; -1: the stream alone
  std::function<double()> seconds;  ///< a clock; none: the steady clock
  std::shared_ptr<Device> device;   ///< of --test; none: the one that the options name
};

/// Runs check-sharding with the arguments after the program's name; returns the exit code:
/// 0 proved, 1 refuted, 2 unknown, 3 invalid.
int run(const std::vector<std::string>& args, std::istream& in, std::ostream& out,
        std::ostream& err, const Environment& environment = {});

}  // namespace shardproof::check_sharding
