#include "spec/resolve/project.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

namespace shardproof {
namespace {

namespace fs = std::filesystem;

std::string kind_of(mode_t mode) {
  if (S_ISDIR(mode)) return "is a directory";
  if (S_ISFIFO(mode)) return "is a pipe";
  if (S_ISSOCK(mode)) return "is a socket";
  return S_ISREG(mode) ? "" : "is a device";
}

Unreadable refused_by_system() {
  return Unreadable(errno == ENOENT ? "does not exist"
                                    : std::string("cannot be read: ") + std::strerror(errno));
}

class Descriptor {
 public:
  // Without O_NONBLOCK, opening a pipe without a writer would block.
  explicit Descriptor(const std::string& path)
      : own_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)) {
    if (own_ < 0) throw refused_by_system();
  }
  ~Descriptor() { ::close(own_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return own_; }

 private:
  int own_;
};

fs::path real_path(const fs::path& path) {
  std::error_code failed;
  fs::path result = fs::weakly_canonical(fs::absolute(path), failed);  // also what is not there
  return failed ? fs::absolute(path).lexically_normal() : result;
}

/// The project folder of the file `first`; for "-", that of the working folder.
fs::path project_of(const std::string& first) {
  const fs::path parent = first == "-" ? fs::path(".") : fs::path(first).parent_path();
  const fs::path own = real_path(parent.empty() ? "." : parent);
  std::error_code ignored;
  for (fs::path each = own; each.has_relative_path(); each = each.parent_path())
    if (fs::exists(each / ".git", ignored)) return each;
  return own;
}

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first ==
         folder.end();
}

}  // namespace

std::string read_regular(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) throw refused_by_system();
  if (!S_ISREG(status.st_mode)) throw Unreadable(kind_of(status.st_mode));
  const Descriptor file(path);
  if (::fstat(file, &status) != 0) throw refused_by_system();
  if (!S_ISREG(status.st_mode)) throw Unreadable(kind_of(status.st_mode));
  std::string text;
  constexpr size_t chunk = 1 << 16;
  for (ssize_t got = 1; got > 0;) {
    const size_t before = text.size();
    text.resize(before + chunk);
    got = ::read(file, text.data() + before, chunk);
    if (got < 0 && errno != EINTR) throw refused_by_system();
    text.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (text.size() > largest_file) throw Unreadable("is larger than 16 MB");
    if (got < 0) got = 1;
  }
  text.shrink_to_fit();  // it is kept, and a project may have many small files
  return text;
}

FileReader project_reader(const std::string& first, const std::vector<std::string>& allowed) {
  std::vector<fs::path> folders{project_of(first)};
  for (const std::string& each : allowed) folders.push_back(real_path(each));
  return [=](const std::string& path) -> std::optional<std::string> {
    const fs::path wanted = real_path(path);
    const bool inside = std::any_of(folders.begin(), folders.end(), [&](const fs::path& folder) {
      return is_inside(wanted, folder);
    });
    if (inside || path == first) return read_regular(path);
    throw Unreadable("is outside of the project, " + folders[0].string() +
                     "; --allow-import FOLDER adds a folder");
  };
}

}  // namespace shardproof
