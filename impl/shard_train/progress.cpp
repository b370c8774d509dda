#include "impl/shard_train/progress.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace shardproof::shard_train {
namespace {

template <class... Arguments>
std::string formatted(const char* format, Arguments... arguments) {
  char text[96];
  std::snprintf(text, sizeof text, format, arguments...);
  return text;
}

std::string thousands(double number) {
  std::string digits = formatted("%.0f", number);
  for (auto i = static_cast<ptrdiff_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(static_cast<size_t>(i), ",");
  return digits;
}

/// The length of the UTF-8 character at `at`; 0 if it is invalid.
size_t character_at(const std::string& text, size_t at) {
  const auto first = static_cast<unsigned char>(text[at]);
  if (first < 0x80) return first >= 0x20 || first == '\n' || first == '\t' ? 1 : 0;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > text.size()) return 0;
  for (size_t i = at + 1; i < at + length; ++i)
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  return length;
}

}  // namespace

std::string printable(const std::string& text) {
  std::string result;
  for (size_t at = 0; at < text.size();) {
    const size_t length = character_at(text, at);
    result += length > 0 ? text.substr(at, length) : "\ufffd";
    at += std::max<size_t>(length, 1);
  }
  return result;
}

std::string rate(double per_second) { return formatted("%.3g", per_second); }

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(std::llround(std::max(0.0, seconds)));
  const auto part = [](int64_t number) {
    return formatted("%02lld", static_cast<long long>(number));
  };
  if (whole < 3600) return std::to_string(whole / 60) + ":" + part(whole % 60);
  return std::to_string(whole / 3600) + ":" + part(whole / 60 % 60) + ":" + part(whole % 60);
}

std::string memory(size_t bytes) {
  const auto size = static_cast<double>(bytes);
  if (size < 1e6) return formatted("%.0f kB", size / 1e3);
  return size < 1e9 ? formatted("%.1f MB", size / 1e6) : formatted("%.2f GB", size / 1e9);
}

std::string Progress::tint(const char* code, const std::string& text) const {
  return colour_ ? "\x1b[" + std::string(code) + "m" + text + "\x1b[0m" : text;
}

std::string Progress::line(const Told& told) const {
  std::string text = tint(
      "1", formatted("step %*lld/%lld", static_cast<int>(std::to_string(told.steps).size()),
                     static_cast<long long>(told.report.step), static_cast<long long>(told.steps)));
  for (const Metric& metric : told.report.metrics)
    text += "  " + metric.name + " " + tint("36", formatted("%.4f", metric.value));
  text += "  lr " + formatted("%.2e", told.report.learning_rate);
  text += "  " + tint("32", thousands(told.tokens_per_second) + " tok/s");
  text += "  " + memory(told.bytes) + "/rank";
  return text + "  " + duration(told.seconds_left) + " left";
}

void Progress::step(const Told& told) {
  const int64_t step = told.report.step, every = std::max<int64_t>(1, told.steps / 20);
  if (terminal_) {
    out_ << "\r\x1b[K" << line(told) << std::flush;
    open_ = true;
  } else if (step == 1 || step % every == 0 || step == told.steps) {
    out_ << line(told) << std::endl;
  }
}

void Progress::say(const std::string& text) {
  if (open_) out_ << "\n";
  open_ = false;
  out_ << text << std::endl;
}

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char each : text) {
    const auto code = static_cast<unsigned char>(each);
    if (each == '"' || each == '\\')
      result += std::string("\\") + each;
    else if (code < 0x20 || code >= 0x7f)  // escapes bytes, not characters: the file is ASCII
      result += formatted("\\u%04x", static_cast<unsigned>(code));
    else
      result += each;
  }
  return result + "\"";
}

}  // namespace

Log::Line::Line(const std::string& event) : text_("{\"event\": " + quoted(event)) {}

Log::Line& Log::Line::add(const std::string& name, double number) {
  text_ +=
      ", " + quoted(name) + ": " + (std::isfinite(number) ? formatted("%.17g", number) : "null");
  return *this;
}

Log::Line& Log::Line::add(const std::string& name, int64_t number) {
  text_ += ", " + quoted(name) + ": " + std::to_string(number);
  return *this;
}

Log::Line& Log::Line::add(const std::string& name, const std::string& text) {
  text_ += ", " + quoted(name) + ": " + quoted(text);
  return *this;
}

Log::Log(const std::string& path, bool append)
    : path_(path), file_(path, append ? std::ios::app : std::ios::trunc) {
  if (!file_) throw FileError(path + ": cannot be written: " + std::strerror(errno));
}

void Log::write(const Line& line) {
  if (path_.empty()) return;
  file_ << line.text() << std::endl;
  if (!file_) throw FileError(path_ + ": cannot be written: " + std::strerror(errno));
}

}  // namespace shardproof::shard_train
