// plant-faults [--each N] [--seed N] [--json FILE] [--list] [--derived] [file or folder ...]:
// plants faults in every proved plan and prints what became of them. Exits 1 if one survived.
#include <filesystem>
#include <fstream>
#include <iostream>

#include "properties/faults/tally.h"

namespace {

using namespace shardproof;

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
