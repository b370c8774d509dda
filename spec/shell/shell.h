#pragma once
// Files for shells, made from a program's options: completions and a page of the manual.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace shardproof::shell {

/// An option as the user types it.
struct Word {
  std::string name;                  ///< "--mesh"; of a positional "FILE"
  std::string type;                  ///< "AXIS=N"; empty for a flag
  std::vector<std::string> choices;  ///< all of its values; empty: others
  std::string help;                  ///< one line
  std::string group;                 ///< "Options"
  bool positional = false, repeats = false;
};

/// The options of `app` that its help shows, in its order.
std::vector<Word> words_of(const CLI::App& app);

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);

/// The page of section 1, in roff: what --help says. `version`: "0.1.0".
std::string manual_page(const CLI::App& app, const std::string& version);

/// "check-sharding proves .."; the first sentence of the description.
std::string summary(const CLI::App& app);

/// Completes `validator` with `values`; the help does not repeat them.
CLI::Validator with_choices(CLI::Validator validator, const std::vector<std::string>& values);

/// The keys of `values` alone, each for its value.
template <class T>
CLI::Validator one_of(const std::map<std::string, T>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  const auto known = [values, names](std::string& text) -> std::string {
    const auto found = values.find(text);
    if (found == values.end()) return text + " is none of " + CLI::detail::join(names, ", ");
    text = CLI::detail::value_string(found->second);
    return "";
  };
  return with_choices(CLI::Validator(known, ""), names);
}

/// Throws CLI::ValidationError for an option with an empty value, as of a variable that is not set.
void refuse_empty(const CLI::App& app);

/// Adds an option to `app` that its help does not show: --shell bash|zsh|fish|man. Its text is
/// written to `asked` when the command line is parsed, and CLI::Success ends the parsing.
void add_option(CLI::App& app, const std::string& version, std::optional<std::string>& asked);

}  // namespace shardproof::shell
