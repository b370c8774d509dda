#include "impl/checkpoint/agree.h"

#include <algorithm>
#include <numeric>

#include "impl/file_error.h"

namespace shardproof::checkpoint {

std::vector<std::string> gather(Communicator& communicator, const std::string& text,
                                const std::string& place) {
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

void agree(Communicator& communicator, const std::string& error, const std::string& place) {
  const std::vector<std::string> errors = gather(communicator, error, place);
  for (size_t rank = 0; rank < errors.size(); ++rank)
    if (!errors[rank].empty())
      throw FileError("rank " + std::to_string(rank) + ": " + errors[rank]);
}

}  // namespace shardproof::checkpoint
