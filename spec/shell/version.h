#pragma once
// The version of all programs; CMakeLists.txt reads it here.
#include <cstdio>
#include <cstring>

namespace shardproof::shell {

inline constexpr char version[] = "0.1.0";

/// For a program without other options: prints its version where `--version` alone is given.
inline bool answers_version(const char* program, int argc, char** argv) {
  if (argc != 2 || std::strcmp(argv[1], "--version") != 0) return false;
  std::printf("%s %s\n", program, version);
  return true;
}

}  // namespace shardproof::shell
