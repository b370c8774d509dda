#pragma once
// A report to the user: a code, a place, one sentence in terms of what the devices hold, numbers,
// and fixes.
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shardproof {

/// Bytes [begin, end) of file `file` in Sources. file == -1: no place (a value built in C++).
struct SourceRange {
  int32_t file = -1;
  uint32_t begin = 0, end = 0;
  bool operator==(const SourceRange&) const = default;
};

class SourceFile {
 public:
  SourceFile(std::string path, std::string text) : path(std::move(path)), text(std::move(text)) {}
  /// The offset of each line. Found when first asked for: most files have nothing to report.
  const std::vector<uint32_t>& line_starts() const;

  const std::string path;  ///< as given; "<library>/norm.shard" for the standard library
  const std::string text;

 private:
  mutable std::once_flag once_;
  mutable std::vector<uint32_t> line_starts_;
};

struct LineColumn {
  int line = 0, column = 0;  ///< both from 1; columns count bytes
};

/// Every text that was read, so that a range can be shown.
class Sources {
 public:
  int32_t add(std::shared_ptr<const SourceFile> file);
  int32_t add(std::string path, std::string text);
  const SourceFile& file(int32_t id) const { return *files_.at(static_cast<size_t>(id)); }
  size_t size() const { return files_.size(); }
  LineColumn locate(int32_t file, uint32_t offset) const;
  std::string_view line(int32_t file, int line) const;  ///< without its end of line
  std::string_view text(const SourceRange& range) const;

 private:
  std::vector<std::shared_ptr<const SourceFile>> files_;
};

enum class Severity { error, warning, note };
const char* to_string(Severity severity);
/// invalid: the text cannot be read as a program. refuted: it can, and is wrong. unknown: not
/// decided.
enum class Verdict { proved, refuted, unknown, invalid };
const char* to_string(Verdict verdict);

struct Label {
  SourceRange range;
  std::string text;
};

/// Replace the text of each range; an empty list is advice without an edit.
struct Edit {
  SourceRange range;
  std::string text;
};
struct Fix {
  std::string message;
  std::vector<Edit> edits;
  bool checked = false;  ///< the program with the edits applied was checked, and this error is gone
  std::string cost;      ///< what it communicates, symbolic; fixes are listed cheapest first
  bool guess = false;    ///< dropped unless it proves the plan
  bool of_head = false;  ///< changes the plan's signature, which its callers read too
};

/// Numbers of one device, or of all of them together, row-major.
struct Held {
  std::string where;           ///< "d=0 t=1", "sum", "value", "model"
  std::vector<int64_t> shape;  ///< empty for a scalar
  std::vector<double> numbers;
  std::vector<double> expected = {};  ///< entry by entry; empty where there is nothing to compare
};

/// One value of a counterexample: an operand, or the result that is wrong.
struct HeldValue {
  std::string name;  ///< "h", "all_reduce"
  bool result = false;
  std::vector<Held> held;
};

/// The smallest failing input, numbers per device.
struct Counterexample {
  std::string mesh;                ///< "t=2"
  std::string sizes;               ///< "B=1 F=1"
  std::vector<std::string> lines;  ///< what each device holds, what comes out, what was to come out
  std::vector<HeldValue> values = {};  ///< the same as numbers
};

struct Diagnostic {
  std::string code;  ///< of diagnostics.def
  Severity severity = Severity::error;
  SourceRange range;
  std::string message;               ///< the headline
  std::string label;                 ///< beside the carets
  std::vector<Label> notes;          ///< other places
  std::vector<std::string> details;  ///< lines that begin with `=`
  std::vector<std::string> types;    ///< the types involved, as printed
  std::optional<Counterexample> counterexample;
  std::vector<Fix> fixes;
};

/// One row of diagnostics.def.
struct DiagnosticInfo {
  const char* code;
  Verdict verdict;    ///< what the plan that has it is: invalid, refuted or unknown
  const char* title;  ///< one line
  const char* help;   ///< what to write, for an error without a fix of its own; may be ""
};
const std::vector<DiagnosticInfo>& all_diagnostics();
const DiagnosticInfo& info(
    const std::string& code);  ///< throws std::out_of_range for a code that is not listed
/// The help of the code, for an error that has no fix and no help of its own.
void add_help(Diagnostic& diagnostic);
void append(std::vector<Fix>& fixes, std::vector<Fix> more);
/// Drops an error that says the same at the same place: of several ops of one library function.
void drop_repeated(std::vector<Diagnostic>& diagnostics);

}  // namespace shardproof
