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

/// What an unknown verdict means for the user: what is checked, what is not decided, and what to
/// write meanwhile.
inline void tell_what_is_known(Diagnostic& diagnostic, const std::string& checked,
                               const std::string& open, const std::string& meanwhile) {
  diagnostic.details.push_back("checked: " + checked + ". Not decided: " + open);
  diagnostic.fixes.push_back({"meanwhile, " + meanwhile, {}, false, ""});
}

/// U0005: a plan rests on `other`, which is not proved.
inline Diagnostic rests_on(const Name& other, SourceRange range, const std::string& how) {
  Diagnostic diagnostic = unknown("U0005", range, "`" + other + "`, " + how);
  diagnostic.fixes.push_back(
      {"prove `" + other + "` first: this plan is compared when it is proved", {}, false, ""});
  return diagnostic;
}

}  // namespace shardproof
