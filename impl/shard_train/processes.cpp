#include "impl/shard_train/processes.h"

#include <fstream>
#include <iterator>
#include <string>

namespace shardproof::shard_train {

std::vector<pid_t> children_of(pid_t process) {
  const std::string self = std::to_string(process);
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  return {std::istream_iterator<pid_t>(list), {}};
}

std::vector<pid_t> descendants_of(pid_t process) {
  std::vector<pid_t> all = children_of(process);
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<pid_t> below = children_of(all[i]);
    all.insert(all.end(), below.begin(), below.end());
  }
  return all;
}

char state_of(pid_t process) {
  std::string stat;
  std::getline(std::ifstream("/proc/" + std::to_string(process) + "/stat"), stat);
  const size_t name_end = stat.rfind(") ");
  return name_end == std::string::npos || name_end + 2 >= stat.size() ? '\0' : stat[name_end + 2];
}

}  // namespace shardproof::shard_train
