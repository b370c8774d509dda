#pragma once
#include <optional>
#include <string>
#include <vector>

namespace shardproof::syntax {

/// The known name that `name` may be meant for. Up to a third of the letters may be wrong: `gats`
/// matches `gate`, but `M` does not match `F`.
std::optional<std::string> closest(const std::string& name, const std::vector<std::string>& known);

}  // namespace shardproof::syntax
