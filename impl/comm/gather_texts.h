#pragma once
#include <string>
#include <vector>

#include "impl/comm/communicator.h"

namespace shardproof {

/// Collective: the texts of all ranks, by rank.
std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text,
                                      const std::string& place);

}  // namespace shardproof
