#pragma once
// Aligns what a plan returns with what its model returns, and finds the edits of the plan's text
// after which both are written alike. Nothing is proved here: fixes are tried before they are
// shown.
#include "spec/check/written_values.h"
#include "spec/diag/diagnostic.h"

namespace shardproof {

struct Aligned {
  int cost = 0;
  std::vector<Edit> edits;
};

class Alignment {
 public:
  Alignment(const Sources& sources, WrittenFunctions& functions)
      : sources_(sources), functions_(functions) {}

  /// Of all results. Empty: they have different numbers of results, or are too large. What the plan
  /// lacks is written around its casts and collectives (`outermost`), or inside of them.
  std::vector<Edit> edits_of(const syntax::FunctionDecl& plan, const syntax::FunctionDecl& model,
                             bool outermost);

 private:
  Aligned of(const Written& plan, const Written& model, int depth);
  Aligned found(const Written& plan, const Written& model, int depth);
  Aligned alike(const Written& plan, const Written& model, int depth);
  Aligned loops(const Written& plan, const Written& model, int depth);
  Aligned calls(const Written& plan, const Written& model, int depth);
  Aligned arguments(const Written& plan, const Written& model, int depth);
  Aligned binary(const Written& plan, const Written& model, int depth);
  void without_wrapper(const Written& plan, const Written& model, int depth, Aligned& best);
  void with_wrapper(const Written& plan, const Written& model, int depth, Aligned& best);
  void another_name(const Written& plan, const Written& model, int depth, Aligned& best);

  static std::optional<Written> alias(const Written& plan);
  bool equal(const Written& plan, const Written& model, int depth);
  bool same_leaf(const Written& plan, const Written& model) const;
  bool same_callee(const syntax::Expr& plan, const syntax::Expr& model) const;
  /// The model's value in names of the plan that are known at `at`; none: it has a pattern.
  std::optional<std::string> text_for(const Written& at, const Written& model, int depth);
  std::optional<Name> name_for(const Written& at, const Written& model, int depth);
  std::string text(const syntax::Expr& expr) const;
  std::string written_as(const syntax::Expr& other, std::vector<std::string> operands,
                         const SourceRange& at) const;
  bool stands_alone(const SourceRange& range) const;

  const Sources& sources_;
  WrittenFunctions& functions_;
  std::map<std::pair<Written, Written>, Aligned> known_;
  std::map<std::pair<Written, Written>, bool> equal_;
  size_t spent_ = 0;
  bool outermost_ = false;
};

}  // namespace shardproof
