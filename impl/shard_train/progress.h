#pragma once
// The output of a run: a line on the terminal, a log, and a plot of the losses.
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "impl/trainer/trainer.h"

namespace shardproof::shard_train {

/// The reported values of one step.
struct Told {
  StepReport report;
  int64_t steps = 0;  ///< in the whole run
  double tokens_per_second = 0, seconds_left = 0;
  size_t bytes = 0;  ///< memory of each rank
};

/// `0:12`, `1:02:03`
std::string duration(double seconds);
/// Three digits: `0.35`, `3.48e+03`.
std::string rate(double per_second);
/// `12.3 MB`
std::string memory(size_t bytes);

/// Makes text safe for a terminal: invalid UTF-8 and control characters become U+FFFD.
std::string printable(const std::string& text);

/// Prints steps as lines: on a terminal each overwrites the previous one, elsewhere about twenty in
/// total.
class Progress {
 public:
  Progress(std::ostream& out, bool terminal, bool colour)
      : out_(out), terminal_(terminal), colour_(colour) {}

  void step(const Told& told);
  /// Prints a separate line.
  void say(const std::string& text);

 private:
  std::string line(const Told& told) const;
  std::string tint(const char* code, const std::string& text) const;

  std::ostream& out_;
  bool terminal_, colour_, open_ = false;
};

/// Writes one JSON object per line.
class Log {
 public:
  Log() = default;  ///< writes nothing
  /// Throws FileError if it cannot be written. `append`: for a resumed run.
  Log(const std::string& path, bool append);

  class Line {
   public:
    explicit Line(const std::string& event);
    Line& add(const std::string& name, double number);
    Line& add(const std::string& name, int64_t number);
    Line& add(const std::string& name, const std::string& text);
    std::string text() const { return text_ + "}"; }

   private:
    std::string text_;
  };
  void write(const Line& line);

 private:
  std::string path_;
  std::ofstream file_;
};

}  // namespace shardproof::shard_train
