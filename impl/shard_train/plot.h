#pragma once
// Curves over steps as a picture.
#include <string>
#include <utility>
#include <vector>

namespace shardproof::shard_train {

struct Curve {
  std::string name;
  std::vector<std::pair<double, double>> points;  ///< x rises
};

/// An SVG file of the curves, with axes; the same curves give the same text.
std::string svg_of(const std::string& title, const std::vector<Curve>& curves);

}  // namespace shardproof::shard_train
