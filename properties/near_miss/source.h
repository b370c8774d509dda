#pragma once
// Random decisions and texts.
#include <string>
#include <vector>

#include "spec/laws/dice.h"

namespace shardproof::near_miss {

class Source {
 public:
  explicit Source(laws::Dice dice) : dice_(std::move(dice)) {}
  size_t below(size_t n) { return static_cast<size_t>(dice_.below(static_cast<int64_t>(n))); }
  bool one_in(size_t n) { return below(n) == n - 1; }  // 0 leaves it out
  const std::string& of(const std::vector<std::string>& some) { return some[below(some.size())]; }
  int number(int least, int most) {
    return least + static_cast<int>(below(static_cast<size_t>(most - least + 1)));
  }

 private:
  laws::Dice dice_;
};

/// A pointwise expression over the names, finite everywhere: roots and quotients are of positive
/// numbers.
std::string expression(Source& source, const std::vector<std::string>& names, int depth);

/// What a family draws: everything before the functions, their parameters in the model and in the
/// plan, the type of their result, and the body of both.
struct Draft {
  std::string declarations;
  std::string params, plan_params;
  std::string result, plan_result;
  std::string body, plan_body;
  std::vector<std::string> dims = {};  ///< names that a change may exchange in patterns
};

Draft pointwise(Source& source);
Draft slices(Source& source);
Draft contractions(Source& source);
Draft aliases(Source& source);
Draft scans(Source& source);
Draft collectives(Source& source);
Draft optimizers(Source& source);

}  // namespace shardproof::near_miss
