#include "spec/shell/writable.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace shardproof::shell {

std::string why_not_writable(const std::string& path) {
  constexpr mode_t by_umask = 0666;
  const int descriptor =
      ::open(path.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_NONBLOCK | O_CLOEXEC, by_umask);
  if (descriptor < 0) return errno == ENXIO ? "nothing reads this pipe" : std::strerror(errno);
  ::close(descriptor);
  return "";
}

}  // namespace shardproof::shell
