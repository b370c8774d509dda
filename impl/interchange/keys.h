#pragma once
// Keys of a config.json that may stand in a configuration of every family, and where a key stands.
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace shardproof::interchange {

using Json = nlohmann::ordered_json;

/// A key whose value the model does not have.
struct KeyError : std::runtime_error {
  KeyError(std::string at, const std::string& what)
      : std::runtime_error(what), key(std::move(at)) {}
  std::string key;  ///< "rope_scaling.factor"
};

/// A key that no model knows.
struct UnknownKey : KeyError {
  using KeyError::KeyError;
};

/// What a key that no part of a mapping reads does to the model's function.
enum class Effect {
  none,
  training,  ///< dropout: it changes the function in training alone
  unknown    ///< it may change what the model computes
};
Effect effect_of(const std::string& key, const Json& value);

/// The value as text, cut where it is long.
std::string shown(const Json& value);

/// The line of the last `"factor":` within `"rope_scaling":`, from 1 on; 0 if there is none.
int line_of(const std::string& text, const std::string& key);

}  // namespace shardproof::interchange
