#pragma once
// Where the lexer and the parser put what they find wrong.
#include <string>
#include <vector>

#include "spec/diag/diagnostic.h"

namespace shardproof::syntax {

inline constexpr int max_errors = 20;  ///< a file; a person reads the first few

class Report {
 public:
  /// `only_code`: every error gets this code (a pattern has E0006 whatever is wrong with it).
  Report(std::vector<Diagnostic>& out, int limit = max_errors, const char* only_code = nullptr)
      : out_(out), first_(out.size()), limit_(limit), only_code_(only_code) {}

  /// False when the limit is reached: nothing more will be shown, so there is no use in going on.
  bool add(Diagnostic diagnostic);
  bool any() const { return count_ > 0; }
  bool dropped() const { return dropped_; }

  /// Brings the errors of both passes in the order of the text; says if there were more of them.
  void finish(int32_t file);

 private:
  std::vector<Diagnostic>& out_;
  size_t first_;
  int limit_, count_ = 0;
  bool dropped_ = false;
  const char* only_code_;
};

/// The usual diagnostic: a code, a place, a sentence, and the words beside the carets.
Diagnostic error(const char* code, SourceRange range, std::string message, std::string label = "");

Fix replace(SourceRange range, std::string text, std::string message);
Fix advice(std::string message);

}  // namespace shardproof::syntax
