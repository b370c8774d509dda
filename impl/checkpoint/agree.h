#pragma once
// What ranks tell each other about files.
#include <string>
#include <vector>

#include "impl/comm/communicator.h"

namespace shardproof::checkpoint {

/// Collective: what each rank says, by rank.
std::vector<std::string> gather(Communicator& communicator, const std::string& text,
                                const std::string& place);

/// Collective: throws FileError on every rank where one has an error to report, the first of them.
/// An empty text is none.
void agree(Communicator& communicator, const std::string& error, const std::string& place);

/// What `body` throws, as text; empty where it does not. Faults of the communicator pass.
template <class Body>
std::string error_of(const Body& body) {
  try {
    body();
    return "";
  } catch (const CommError&) {
    throw;
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace shardproof::checkpoint
