// libFuzzer: any bytes are a file. Nothing may crash, and no report may contradict itself.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "spec/check/check.h"
#include "spec/diag/render.h"

namespace {

using namespace shardproof;

void require(bool holds, const char* law) {
  if (holds) return;
  std::cerr << "inconsistent: " << law << "\n";
  std::abort();
}

bool has_error(const std::vector<Diagnostic>& diagnostics) {
  for (const Diagnostic& each : diagnostics)
    if (each.severity == Severity::error) return true;
  return false;
}

void consistent(const CheckedProgram& checked) {
  if (!checked.readable())
    require(checked.verdict() == Verdict::invalid, "an unreadable file is invalid");
  for (const PlanReport& plan : checked.plans()) {
    if (plan.verdict == Verdict::proved)
      require(!has_error(plan.diagnostics), "a proved plan has no error");
    if (plan.verdict == Verdict::refuted || plan.verdict == Verdict::invalid)
      require(!plan.diagnostics.empty() || !checked.diagnostics().empty(),
              "a plan is refused with a reason");
    if (checked.verdict() == Verdict::proved && !plan.imported)
      require(plan.verdict == Verdict::proved || !plan.trusting.empty() ||
                  checked.program().functions.at(plan.function).trusted,
              "a proved file has proved plans");
  }
}

void shown(const std::vector<Diagnostic>& diagnostics, const Sources& sources) {
  for (const Diagnostic& each : diagnostics) {
    info(each.code);  // throws for a code that is not listed
    require(!render(each, sources).empty(), "a diagnostic has a text");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Sources sources;
  const FileReader reader = [&](const std::string& path) -> std::optional<std::string> {
    if (path == "fuzz.shard") return text;
    return std::nullopt;
  };
  CheckOptions options;
  options.fixes = false;  // each would check the file again
  const CheckedProgram checked = check(sources, "fuzz.shard", reader, options);
  consistent(checked);
  shown(checked.diagnostics(), sources);
  for (const PlanReport& plan : checked.plans()) shown(plan.diagnostics, sources);
  return 0;
}
