#pragma once
// The command line of check-sharding.
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

namespace shardproof::cli {

enum class Format { text, json, sarif, markdown };
enum class When { automatic, always, never };

/// `name=text` as the user wrote it; the text may be empty, or not a number.
using Assignment = std::pair<std::string, std::string>;

struct Options {
  std::vector<std::string> files;  ///< "-" is the standard input
  std::optional<std::string> explain;
  bool annotate = false, latex = false, stats = false, strict = false;
  bool lsp = false, format_source = false;
  std::optional<std::string> backward;  ///< derive it, of one plan or (empty) of all
  std::vector<Assignment> mesh, set;
  std::string config;
  Format format = Format::text;
  std::string run, inputs, outputs;       ///< a function and two safetensors files; empty: none
  bool test = false;                      ///< run the plans in random cases
  std::optional<int> cases;               ///< of each plan, however long; by default time ends them
  unsigned seed = 1;                      ///< of the first
  std::string device = "cpu";             ///< where they run
  std::vector<Assignment> kernel;         ///< of trusted plans: shared objects
  std::vector<std::string> allow_import;  ///< folders beside the project
  std::string smtlib;                     ///< a folder; empty: none
  std::string plot_schedule;              ///< an SVG file; empty: none
  std::string html;                       ///< a page; empty: none
  std::string to;                         ///< "jax": the plans as a program; empty: none
  When colour = When::automatic;
};

struct CommandLine {
  Options options;
  std::optional<int> exit;  ///< set if the answer was printed: --help, --version, an error
};
CommandLine parse_command_line(const std::vector<std::string>& args, std::ostream& out,
                               std::ostream& err);

}  // namespace shardproof::cli
