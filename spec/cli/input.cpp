#include "spec/cli/input.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "spec/cli/suggest.h"

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

std::optional<std::string> contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  if (!file || fs::is_directory(path, error)) return std::nullopt;
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) return std::nullopt;
  return text;
}

}  // namespace

Input read_input(const std::string& path, std::istream& in) {
  if (path == "-") return judged(std::string{std::istreambuf_iterator<char>(in), {}});
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return {{}, "does not exist", hint_for(path)};
  if (fs::is_directory(status)) return {{}, "is a directory", "name a file in it"};
  errno = 0;
  if (auto text = contents(path)) return judged(std::move(*text));
  return {{}, std::string("cannot be read: ") + std::strerror(errno ? errno : EIO), ""};
}

FileReader reader_with(const std::string& path, const std::string& text) {
  return [=](const std::string& wanted) -> std::optional<std::string> {
    return wanted == path ? text : contents(wanted);
  };
}

Diagnostic unreadable(const std::string& path, const Input& input) {
  Diagnostic d;
  d.code = "E0001";
  d.message = path + " " + input.why;
  if (!input.hint.empty()) d.details.push_back(input.hint);
  return d;
}

}  // namespace shardproof::cli
