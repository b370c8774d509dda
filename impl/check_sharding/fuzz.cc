// libFuzzer: any bytes are a file, whose first byte chooses the options of check-sharding. Nothing
// may crash; options that only print change no exit code (checked where the byte is 128 or more:
// it takes a second check); what is printed is text.
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "impl/check_sharding/run.h"

namespace {

using namespace shardproof;

void require(bool holds, const std::string& law) {
  if (holds) return;
  std::cerr << "broken: " << law << "\n";
  std::abort();
}

/// UTF-8 without control characters: what a terminal may be shown.
bool is_text(const std::string& said) {
  for (size_t i = 0; i < said.size(); ++i) {
    const auto c = static_cast<unsigned char>(said[i]);
    if (c < 0x20 ? c != '\n' && c != '\t' : c == 0x7f) return false;
    if (c == 0xc2 && i + 1 < said.size() && static_cast<unsigned char>(said[i + 1]) < 0xa0)
      return false;  // C1
  }
  return true;
}

struct Ran {
  int code;
  std::string out, err;
};

Ran check(std::vector<std::string> args, const std::string& text) {
  args.push_back("-");
  std::istringstream in(text);
  std::ostringstream out, err;
  const int code = check_sharding::run(args, in, out, err);
  return {code, out.str(), err.str()};
}

/// Whether an option changes what is checked, or only what is printed.
struct Choice {
  std::vector<std::string> args;
  bool prints_only;
};

const std::vector<Choice> choices = {
    {{"--stats"}, true},
    {{"--latex"}, true},
    {{"--annotate"}, true},
    {{"--format=json"}, true},
    {{"--format=sarif"}, true},
    {{"--format=markdown"}, true},
    {{"--smtlib", "/dev/shm/shardproof_fuzz_smtlib"}, true},
    {{"--mesh", "d=2"}, false},
    {{"--mesh", "d=2,t=3", "--set", "B=6,M=12", "--stats"}, false},
    {{"--format-source"}, false},
    {{"--to", "jax"}, false},
    {{"--backward"}, false},
    {{"--backward", "--latex"}, false},
    {{"--backward", "--stats", "--mesh", "d=2,t=2"}, false},
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Choice& choice = choices[data[0] % choices.size()];
  const std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const Ran ran = check(choice.args, text);
  require(ran.code >= 0 && ran.code <= 3, "an exit code is 0, 1, 2 or 3");
  require(ran.code == 0 || !(ran.out + ran.err).empty(), "a failure has a text");
  if (choice.args[0] != "--format-source")  // which gives the file back
    require(is_text(ran.out) && is_text(ran.err), "what is printed is text");
  if (choice.prints_only && data[0] >= 128)
    require(check({}, text).code == ran.code, choice.args[0] + " changes no exit code");
  return 0;
}
