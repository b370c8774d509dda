#pragma once
#include <string>

namespace shardproof::faults {

/// Whether the faults of a file take minutes, so that they are planted with SHARDPROOF_FULL only:
/// gradients, for which two small models stand, and decoders with a cache of latents, for which
/// one of the four stands.
bool dear(const std::string& path);

}  // namespace shardproof::faults
