#pragma once
// Plots curves over steps.
#include <string>
#include <utility>
#include <vector>

namespace shardproof::shard_train {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< increasing x
};

/// An SVG of the curves with axes. Equal curves give equal text.
std::string svg_of(const std::string& title, const std::vector<Curve>& curves);

}  // namespace shardproof::shard_train
