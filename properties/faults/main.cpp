// The mutation table: faults planted in every proved plan, and what became of them.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "properties/faults/tally.h"
#include "spec/shell/version.h"

namespace {

using namespace shardproof;

constexpr const char* usage =
    R"(plant-faults [options] [file or folder ...]    spec/models and spec/tests where none is named
Makes every single edit of every proved plan, completes the types around it, and prints a table: made, refused by a rule
at the edit, downstream, at the signature, by the algebra; equal, and how many of these were run on meshes; equal at
small sizes, unknown, survived. What is neither refused nor equal is listed. Exits 1 if an edit survived.
  --each N      N edits of each family per plan instead of all of them
  --seed N      which ones
  --derived     also of the derived backward of each plan; those of the gradients that a step takes are there anyway
  --list        list every edit with its outcome
  --json FILE   the same numbers
All models, a sample of two edits per family and plan:
  for m in spec/models/*.shard; do plant-faults --each 2 $m; done
)";

std::vector<std::string> files_under(const std::string& path) {
  if (!std::filesystem::is_directory(path)) return {path};
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path))
    if (entry.path().extension() == ".shard") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (shell::answers_version("plant-faults", argc, argv)) return 0;
  faults::Sample sample;
  faults::Tally tally;
  std::string json;
  std::vector<std::string> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    const bool more = i + 1 < argc;
    if (arg == "--each" && more)
      sample.each = std::stoul(argv[++i]);
    else if (arg == "--seed" && more)
      sample.seed = static_cast<unsigned>(std::stoul(argv[++i]));
    else if (arg == "--json" && more)
      json = argv[++i];
    else if (arg == "--derived")
      sample.derived = true;
    else if (arg == "--list")
      sample.list_all = true;
    else if (arg == "--help")
      return std::cout << usage, 0;
    else
      paths.push_back(arg);
  }
  if (paths.empty()) paths = {"spec/models", "spec/tests"};
  for (const std::string& path : paths)
    for (const std::string& file : files_under(path)) {
      const std::filesystem::path parts(file);
      const bool model = file.find("tests/") == std::string::npos;
      faults::plant(
          model ? parts.filename().string() : "tests/" + parts.parent_path().filename().string(),
          file, sample, {}, tally);
      std::cerr << file << ": " << tally.total().made << " so far\n";
    }
  std::cout << faults::table(tally);
  if (!json.empty()) std::ofstream(json) << faults::json(tally);
  return tally.total().survived ? 1 : 0;
}
