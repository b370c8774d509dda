#include "spec/shell/writable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace shardproof::shell {

std::string why_not_writable(const std::string& path) {
  constexpr mode_t by_umask = 0666;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, by_umask);
  if (descriptor < 0) return errno == ENXIO ? "nothing reads this pipe" : std::strerror(errno);
  ::close(descriptor);
  return "";
}

std::string replace_file(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code error;
  const bool is_there = fs::exists(path, error);
  const bool in_place = is_there ? !fs::is_regular_file(path, error) : fs::is_symlink(path, error);
  const fs::path real = is_there ? fs::canonical(path, error) : fs::path(path);
  if (is_there && error) return error.message();
  error.clear();
  if (std::string why = in_place ? why_not_writable(path) : ""; !why.empty()) return why;
  const fs::path fresh = in_place ? real : fs::path(real.string() + ".unfinished");
  std::ofstream file(fresh, std::ios::binary);
  file << text << std::flush;
  file.close();
  std::string why = file ? "" : std::strerror(errno);
  if (in_place) return why;
  if (why.empty() && is_there) fs::permissions(fresh, fs::status(real, error).permissions(), error);
  if (why.empty() && !error) fs::rename(fresh, real, error);
  if (error) why = error.message();
  if (!why.empty()) fs::remove(fresh, error);
  return why;
}

}  // namespace shardproof::shell
