#pragma once
// Diagnostics of what is not decided.
#include <string>
#include <utility>

#include "spec/diag/diagnostic.h"

namespace shardproof {

inline Diagnostic unknown(const char* code, SourceRange range, std::string message) {
  Diagnostic diagnostic;
  diagnostic.code = code;
  diagnostic.range = range;
  diagnostic.message = std::move(message);
  return diagnostic;
}

/// U0005: a plan rests on `other`, which is not proved.
inline Diagnostic rests_on(const Name& other, SourceRange range, const std::string& how) {
  Diagnostic diagnostic = unknown("U0005", range, "`" + other + "`, " + how);
  diagnostic.fixes.push_back(
      {"prove `" + other + "` first: this plan is compared when it is proved", {}, false, ""});
  return diagnostic;
}

}  // namespace shardproof
