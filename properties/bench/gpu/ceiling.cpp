#include "properties/bench/gpu/ceiling.h"

#include <algorithm>
#include <map>

namespace shardproof::bench {
namespace {

using nlohmann::json;

struct Sum {
  double kernels = 0, bytes = 0, flops = 0, seconds = 0;
};

class Ceiling {
 public:
  explicit Ceiling(const Speed& speed) : speed_(speed) {}

  void add(const std::vector<plan::Step>& steps, double times) {
    for (const plan::Step& step : steps) {
      if (step.is_loop) add(step.body, times * static_cast<double>(step.times));
      if (!step.is_kernel()) continue;
      const double bytes = bytes_of(step), flops = flops_of(step);
      const double seconds = std::max(bytes / speed_.bytes_per_s, flops / speed_.flops_per_s);
      for (Sum* sum : {&all_, &by_place_[step.op + "  " + step.place]}) {
        sum->kernels += times;
        sum->bytes += times * bytes;
        sum->flops += times * flops;
        sum->seconds += times * seconds;
      }
    }
  }

  json result() const {
    json result = row(all_);
    std::vector<std::pair<std::string, Sum>> order(by_place_.begin(), by_place_.end());
    std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
      return a.second.seconds > b.second.seconds;
    });
    for (const auto& [what, sum] : order) {
      if (sum.seconds < 1e-3 * all_.seconds) break;
      json one = row(sum);
      one["what"] = what;
      result["most"].push_back(one);
    }
    return result;
  }

 private:
  static json row(const Sum& sum) {
    return {{"kernels", sum.kernels},
            {"bytes", sum.bytes},
            {"flops", sum.flops},
            {"seconds", sum.seconds}};
  }

  Speed speed_;
  Sum all_;
  std::map<std::string, Sum> by_place_;
};

}  // namespace

json ceiling(const std::vector<plan::Step>& steps, const Speed& speed) {
  Ceiling ceiling(speed);
  ceiling.add(steps, 1);
  return ceiling.result();
}

}  // namespace shardproof::bench
