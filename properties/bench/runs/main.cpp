// What the runs beside a proof cost: for each file a line of JSON with the milliseconds of
// processor time of its verdict, as check-sharding finds it, and of its runs: the fastest of
// several.
#include <algorithm>
#include <cstdio>
#include <ctime>

#include "spec/check/check.h"
#include "spec/check/second_leg.h"
#include "spec/prove/prove.h"
#include "spec/shell/version.h"

namespace shardproof {
namespace {

double seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

void measure(const std::string& path) {
  constexpr int repeats = 3;
  double whole = 1e9, runs = 1e9;
  for (int i = 0; i < repeats; ++i) {
    const double start = seconds(), before = seconds_of_runs();
    Sources sources;
    CheckedProgram checked = check(sources, path, disk_reader());
    prove(checked);
    whole = std::min(whole, seconds() - start);
    runs = std::min(runs, seconds_of_runs() - before);
  }
  std::printf("{\"file\": \"%s\", \"check_ms\": %.1f, \"runs_ms\": %.1f, \"share\": %.3f}\n",
              path.c_str(), 1e3 * whole, 1e3 * runs, runs / whole);
}

}  // namespace
}  // namespace shardproof

int main(int count, char** paths) {
  if (shardproof::shell::answers_version("runs_bench", count, paths)) return 0;
  for (int i = 1; i < count; ++i) shardproof::measure(paths[i]);
}
