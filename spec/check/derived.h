#pragma once
// The derived backward of a plan: written as text, then checked in the plan's file like any plan.
#include <memory>

#include "spec/check/check.h"

namespace shardproof {

struct CheckedBackward {
  Name name;                          ///< of the derived plan
  std::string text;                   ///< its declarations
  std::string needs;                  ///< declarations that these need outside their own file
  std::string gathers_again;          ///< all_gathers of the forward that it repeats
  std::optional<Diagnostic> refused;  ///< why it could not be derived
  std::unique_ptr<Sources> sources;   ///< what it needs of the plan's file, and the text after it
  std::optional<CheckedProgram> checked;  ///< its only plan is the derived one

  /// Proved: the text has the dual types and computes the derivative of the model.
  Verdict verdict() const;
  const PlanReport* report() const;  ///< null if nothing was derived or it is unreadable
};

/// Each derived backward keeps a program with the functions and imports that it needs: together
/// those of thousands of plans do not fit into memory.
class KeptBackwards {
 public:
  void add(const CheckedBackward& backward) {
    if (!backward.checked) return;
    for (const ir::Function& function : backward.checked->program().functions)
      bytes_ += function_bytes + value_bytes * function.values.size();
    for (size_t i = 0; i < backward.sources->size(); ++i)
      bytes_ += backward.sources->file(static_cast<int32_t>(i)).text.size();
  }
  bool full() const { return bytes_ > most_bytes; }

 private:
  // As measured on files of 700 to 12,000 functions with 2 to 5 values.
  static constexpr size_t function_bytes = 2'500, value_bytes = 900, most_bytes = 600'000'000;
  size_t bytes_ = 0;
};

/// A resolved file with the types of every value.
struct TypedProgram {
  const ir::Program& program;
  const std::vector<std::vector<Type>>& types;
};

/// Derives and checks the backward of `plan` with respect to the leaf parameters `wrt` (empty: all
/// floats). `root` is the file of `typed`.
CheckedBackward check_backward(const Sources& sources, const std::string& root,
                               const TypedProgram& typed, size_t plan,
                               const std::vector<size_t>& wrt, const FileReader& reader,
                               const CheckOptions& options = {});

/// The first stop_grad of the function, or of one that it calls, outside of library functions.
std::optional<SourceRange> stopped_gradient(const ir::Program& program, size_t function);

/// Where a gradient is stopped, in the plan or else in its model, if numbers of the derived
/// backward differ. Other differences may be those of gradients at ties, of which each is right.
std::optional<SourceRange> wrongly_stopped(const ir::Program& program, size_t plan,
                                           const CheckedBackward& backward);

}  // namespace shardproof
