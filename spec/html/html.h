#pragma once
// Pages that need nothing else: one file with its style, its script and its data.
#include <string>
#include <utility>
#include <vector>

namespace shardproof::html {

using Parts = std::vector<std::pair<std::string, std::string>>;  ///< (file name, text)

/// The part called `name`. Throws std::logic_error where there is none.
const std::string& part(const Parts& parts, const std::string& name);

/// `frame` with its marks `/* STYLE */`, `/* DATA */` and `/* SCRIPT */` replaced by the common
/// style, the data, and the common elements with `script` after them. `json` is a JSON text; no
/// character of it can become markup.
std::string document(std::string frame, const std::string& script, const std::string& json);

/// The JSON text that document() put into a page; empty where there is none.
std::string data_of(const std::string& document);

}  // namespace shardproof::html
