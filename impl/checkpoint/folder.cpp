#include "impl/checkpoint/folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "impl/checkpoint/file.h"
#include "impl/checkpoint/manifest.h"

namespace shardproof::checkpoint {
namespace {

namespace fs = std::filesystem;

const std::string step_prefix = "step-", unfinished_suffix = ".partial",
                  removed_suffix = ".removed";

/// The step in a name; none if anything but `suffix` follows the number.
std::optional<int64_t> step_of(const std::string& name, const std::string& suffix) {
  if (!name.starts_with(step_prefix) || !name.ends_with(suffix)) return std::nullopt;
  const std::string number =
      name.substr(step_prefix.size(), name.size() - step_prefix.size() - suffix.size());
  const bool digits = std::all_of(number.begin(), number.end(),
                                  [](char each) { return '0' <= each && each <= '9'; });
  if (number.empty() || number.size() > 18 || !digits) return std::nullopt;
  return std::stoll(number);
}

/// The folders of steps with this suffix, latest step first.
std::vector<std::pair<int64_t, fs::path>> steps_in(const fs::path& folder,
                                                   const std::string& suffix) {
  std::vector<std::pair<int64_t, fs::path>> steps;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(folder, none))
    if (const auto step = step_of(entry.path().filename().string(), suffix))
      steps.emplace_back(*step, entry.path());
  std::sort(steps.rbegin(), steps.rend());
  return steps;
}

fs::path with_suffix(fs::path path, const std::string& suffix) { return path += suffix; }

void rename_folder(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw FileError(from.string() + ": cannot be renamed: " + error.message());
}

/// Renames the folder first, so that a half-removed one never looks like a checkpoint.
void remove_checkpoint(const fs::path& path) {
  const fs::path removed = with_suffix(path, removed_suffix);
  rename_folder(path, removed);
  std::error_code ignored;
  fs::remove_all(removed, ignored);
}

/// Swaps the names; if the system supports it, `to` exists at all times.
void exchange(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) return;
  remove_checkpoint(to);
  rename_folder(from, to);
}

/// Why it is not a valid checkpoint; empty if it is.
std::string damage_of(const fs::path& checkpoint, int64_t step) {
  try {
    const Manifest manifest = read_manifest(checkpoint);
    for (const StoredFile& file : manifest.files) {
      const File data = File::open(checkpoint / file.name);
      if (data.size() != file.sums.bytes)
        data.fail("has " + std::to_string(data.size()) + " bytes, its manifest says " +
                  std::to_string(file.sums.bytes));
    }
    if (manifest.position.step == step) return "";
    return manifest_path(checkpoint).string() + ": is of step " +
           std::to_string(manifest.position.step);
  } catch (const std::exception& error) {
    return error.what();
  }
}

}  // namespace

fs::path path_of_step(const fs::path& folder, int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "%s%08lld", step_prefix.c_str(), static_cast<long long>(step));
  return folder / name;
}

fs::path unfinished(const fs::path& checkpoint) {
  return with_suffix(checkpoint, unfinished_suffix);
}

void begin(const fs::path& checkpoint) {
  const fs::path folder = checkpoint.parent_path();
  std::error_code error;
  for (const std::string& suffix : {unfinished_suffix, removed_suffix})
    for (const auto& [step, path] : steps_in(folder, suffix)) fs::remove_all(path, error);
  fs::create_directories(unfinished(checkpoint), error);
  if (error)
    throw FileError(unfinished(checkpoint).string() + ": cannot be made: " + error.message());
}

void commit(const fs::path& checkpoint) {
  File::folder(unfinished(checkpoint)).sync();
  if (fs::exists(checkpoint))
    exchange(unfinished(checkpoint), checkpoint);
  else
    rename_folder(unfinished(checkpoint), checkpoint);
  File::folder(checkpoint.parent_path()).sync();
  discard(checkpoint);
}

void discard(const fs::path& checkpoint) noexcept {
  std::error_code ignored;
  fs::remove_all(unfinished(checkpoint), ignored);
}

void prune(const fs::path& checkpoint, int keep) {
  if (keep == 0) return;
  int kept = 1;
  for (const auto& [step, path] : steps_in(checkpoint.parent_path(), ""))
    if (path != checkpoint && ++kept > keep) remove_checkpoint(path);
}

std::vector<Found> found(const fs::path& folder) {
  std::vector<std::pair<int64_t, Found>> each;
  for (const auto& [step, path] : steps_in(folder, ""))
    each.push_back({step, {path, damage_of(path, step)}});
  for (const auto& [step, path] : steps_in(folder, unfinished_suffix))
    each.push_back({step, {path, path.string() + ": was not finished"}});
  std::stable_sort(each.begin(), each.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<Found> all;
  for (auto& [step, one] : each) all.push_back(std::move(one));
  return all;
}

std::vector<fs::path> all(const fs::path& folder) {
  std::vector<fs::path> paths;
  for (const Found& each : found(folder))
    if (each.damage.empty()) paths.push_back(each.path);
  return paths;
}

std::optional<fs::path> newest(const fs::path& folder) {
  for (const auto& [step, path] : steps_in(folder, ""))
    if (damage_of(path, step).empty()) return path;
  return std::nullopt;
}

Position position_of(const fs::path& checkpoint) { return read_manifest(checkpoint).position; }

}  // namespace shardproof::checkpoint
