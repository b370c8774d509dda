#include "properties/faults/dear.h"

#include <filesystem>
#include <fstream>
#include <sstream>

namespace shardproof::faults {

bool dear(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  if (name == "pairwise_ffn" || name == "data_parallel") return false;
  for (const char* like : {"deepseek2_236b_decode", "deepseek3_decode", "moonlight_decode"})
    if (name == like) return true;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str().find("grad(") != std::string::npos;
}

}  // namespace shardproof::faults
