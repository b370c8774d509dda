// While the checker is not there: a file without plans, so that everything around it can be tested.
#include "spec/check/check.h"

#if !__has_include("spec/check/check.cpp")
namespace shardproof {

std::string to_string(const Divisibility& condition) {
  std::string axes;
  for (const Axis& axis : condition.axes) axes += (axes.empty() ? "" : "*") + axis;
  return axes + " | " + to_string(condition.dim);
}

Verdict CheckedProgram::verdict() const { return Verdict::proved; }

CheckedProgram check(Sources& sources, const std::string& path, const FileReader& reader,
                     const CheckOptions&) {
  CheckedProgram checked;
  if (auto text = reader(path)) {
    sources.add(path, *text);
    checked.resolved_.readable = true;
  }
  return checked;
}

}  // namespace shardproof
#endif
