#include "spec/cli/input.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

#include "spec/cli/suggest.h"
#include "spec/resolve/project.h"

namespace shardproof::cli {
namespace {

namespace fs = std::filesystem;

std::string hint_for(const fs::path& path) {
  std::vector<std::string> names;
  std::error_code error;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    names.push_back(it->path().filename().string());
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), path.filename().string() + ".shard") != names.end())
    return "did you mean " + path.string() + ".shard?";
  if (auto name = nearest(path.filename().string(), names))
    return "did you mean " + (path.parent_path() / *name).string() + "?";
  return "";
}

std::string no_text(const std::string& text) {
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return text.empty() ? "is empty" : "is blank";
  const std::string head = text.substr(0, 4096);
  const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte >= 0x80 || byte == 0x7f || (byte < 32 && !std::strchr("\t\r\n", c)) || byte == 0;
  });
  const size_t zero = text.find('\0');
  if (zero != std::string::npos) return "is not text: byte " + std::to_string(zero) + " is zero";
  if (static_cast<size_t>(odd) * 10 > head.size() * 3) return "is not text";
  return "";
}

Input judged(std::string text) {
  Input input;
  input.why = no_text(text);
  if (input.why.empty()) input.text = std::move(text);
  return input;
}

using Clock = std::chrono::steady_clock;
constexpr auto longest = std::chrono::seconds(10);

/// All that a pipe gives until `end`, in its size.
Input piped(int descriptor, Clock::time_point end = Clock::now() + longest) {
  const bool typed = isatty(descriptor);
  std::string text;
  for (std::vector<char> some(1 << 16);;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd ready{descriptor, POLLIN, 0};
    const int got_any =
        poll(&ready, 1, typed ? -1 : static_cast<int>(std::max<int64_t>(left.count(), 0)));
    if (got_any == 0) return {{}, "did not end within 10 s", "write it to a file"};
    const ssize_t got = read(descriptor, some.data(), some.size());
    if (got == 0) return judged(std::move(text));
    if (got < 0 && errno != EINTR && errno != EAGAIN)
      return {{}, std::string("cannot be read: ") + std::strerror(errno), ""};
    if (got > 0) text.append(some.data(), static_cast<size_t>(got));
    if (text.size() > largest_file) return {{}, "is larger than 16 MB", ""};
  }
}

Input of_stream(std::istream& in) {
  std::string text;
  char part[1 << 12];
  while (text.size() <= largest_file && (in.read(part, sizeof part), in.gcount() > 0))
    text.append(part, static_cast<size_t>(in.gcount()));
  if (text.size() > largest_file) return {{}, "is larger than 16 MB", ""};
  return judged(std::move(text));
}

Input standard(std::istream& in, int descriptor) {
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0) return of_stream(in);
  if (S_ISDIR(status.st_mode)) return {{}, "is a directory", "name a file in it"};
  if ((S_ISCHR(status.st_mode) && !isatty(descriptor)) || S_ISBLK(status.st_mode))
    return {{}, "is a device", ""};
  return piped(descriptor);
}

Input pipe_at(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return {{}, std::string("cannot be read: ") + std::strerror(errno), ""};
  // A writer that comes later is waited for: without one a pipe ends at once.
  const auto end = Clock::now() + longest;
  pollfd ready{descriptor, POLLIN, 0};
  poll(&ready, 1, std::chrono::milliseconds(longest).count());
  Input input = piped(descriptor, end);
  close(descriptor);
  return input;
}

Input regular(const std::string& path) {
  try {
    return judged(read_regular(path));
  } catch (const Unreadable& error) {
    return {{}, error.what(), ""};
  }
}

}  // namespace

Input read_input(const std::string& path, std::istream& in, int descriptor) {
  if (path == "-") return standard(in, descriptor);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {{}, "does not exist", hint_for(path)};
  if (fs::is_directory(status)) return {{}, "is a directory", "name a file in it"};
  const bool named = fs::path(path).filename() == "config.json";  // in a folder: --hf
  return fs::is_fifo(status) && !named ? pipe_at(path) : regular(path);
}

FileReader reader_with(const std::string& path, const std::string& text,
                       const std::vector<std::string>& allowed) {
  return [=, disk = project_reader(path, allowed)](
             const std::string& wanted) -> std::optional<std::string> {
    return wanted == path ? text : disk(wanted);
  };
}

Diagnostic unreadable(const std::string& path, const Input& input) {
  Diagnostic d;
  d.code = "E0001";
  d.message = (path == "-" ? "the standard input" : path) + " " + input.why;
  if (!input.hint.empty()) d.details.push_back(input.hint);
  return d;
}

}  // namespace shardproof::cli
