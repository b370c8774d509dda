#pragma once
// What a run tells: a line on the terminal, a log, and a picture of the losses.
#include <fstream>
#include <ostream>
#include <string>
#include <vector>

#include "impl/trainer/trainer.h"

namespace shardproof::shard_train {

/// One step as it is reported.
struct Told {
  StepReport report;
  int64_t steps = 0;  ///< of the whole run
  double tokens_per_second = 0, seconds_left = 0;
  size_t bytes = 0;  ///< of memory, on each rank
};

/// `0:12`, `1:02:03`
std::string duration(double seconds);
/// Three digits: `0.35`, `3.48e+03`.
std::string rate(double per_second);
/// `12.3 MB`
std::string memory(size_t bytes);

/// Text that a terminal shows: bytes that are no UTF-8, and control characters, as U+FFFD.
std::string printable(const std::string& text);

/// Steps as lines: on a terminal each overwrites the one before, elsewhere about twenty in all.
class Progress {
 public:
  Progress(std::ostream& out, bool terminal, bool colour)
      : out_(out), terminal_(terminal), colour_(colour) {}

  void step(const Told& told);
  /// A line of its own.
  void say(const std::string& text);

 private:
  std::string line(const Told& told) const;
  std::string tint(const char* code, const std::string& text) const;

  std::ostream& out_;
  bool terminal_, colour_, open_ = false;
};

/// One JSON object a line.
class Log {
 public:
  Log() = default;  ///< writes nothing
  /// Throws FileError where it cannot be written. `append`: a run that goes on.
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
