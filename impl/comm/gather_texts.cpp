#include "impl/comm/gather_texts.h"

#include <algorithm>
#include <numeric>

namespace shardproof {

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text,
                                      const std::string& place) {
  if (communicator.size() == 1) return {text};
  std::vector<int> ranks(static_cast<size_t>(communicator.size()));
  std::iota(ranks.begin(), ranks.end(), 0);
  Group& world = communicator.group(ranks);
  std::vector<uint64_t> sizes(ranks.size());
  const uint64_t size = text.size();
  communicator.all_gather(world, &size, sizes.data(), sizeof size, place);
  const size_t most = *std::max_element(sizes.begin(), sizes.end());
  if (most == 0) return std::vector<std::string>(ranks.size());
  std::string padded = text, all(most * ranks.size(), '\0');
  padded.resize(most);
  communicator.all_gather(world, padded.data(), all.data(), most, place);
  std::vector<std::string> texts;
  for (size_t i = 0; i < ranks.size(); ++i) texts.push_back(all.substr(i * most, sizes[i]));
  return texts;
}

}  // namespace shardproof
