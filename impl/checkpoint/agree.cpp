#include "impl/checkpoint/agree.h"

#include "impl/comm/gather_texts.h"
#include "impl/file_error.h"

namespace shardproof::checkpoint {

void agree(Communicator& communicator, const std::string& error, const std::string& place) {
  const std::vector<std::string> errors = gather_texts(communicator, error, place);
  for (size_t rank = 0; rank < errors.size(); ++rank)
    if (!errors[rank].empty())
      throw FileError("rank " + std::to_string(rank) + ": " + errors[rank]);
}

}  // namespace shardproof::checkpoint
