#pragma once
// The signature of a derived plan: its parameters, and the dual types of its results.
#include "spec/grad/write.h"

namespace shardproof::grad {

/// Prints a written type with its current leaves; declares the layouts that it needs.
class Duals {
 public:
  explicit Duals(Writer& writer) : writer_(writer) {}

  /// `type` as written, with `leaves`.
  std::string text(const ir::WrittenType& type, const std::vector<Type>& leaves);
  /// `type` for other leaves: the same layout, one with marks, or a new one.
  std::string dual_text(const ir::WrittenType& type, const std::vector<Type>& own,
                        const std::vector<Type>& wanted);
  const std::string& layouts() const { return layouts_; }

 private:
  std::string layout(const ir::WrittenType& type, const std::vector<Type>& wanted, size_t& next,
                     const std::vector<Split>& dims);
  Writer& writer_;
  std::string layouts_;
  std::map<std::string, Name> known_;
};

}  // namespace shardproof::grad
