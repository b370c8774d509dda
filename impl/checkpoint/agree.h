#pragma once
// Exchanges errors about files between ranks.
#include <string>

#include "impl/comm/communicator.h"

namespace shardproof::checkpoint {

/// Collective: if any rank has an error, throws FileError on every rank with the first of them. An
/// empty text is no error.
void agree(Communicator& communicator, const std::string& error, const std::string& place);

/// The error that `body` throws, as text; empty if it does not throw. CommErrors pass through.
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
