#pragma once
// Random files over the whole grammar.
#include "spec/syntax/test_trees.h"

namespace shardproof::syntax {

class FileMaker : TreeMaker {
 public:
  File file() {
    File result;
    for (int n = below(6); n > 0; --n) result.declarations.push_back(declaration());
    return result;
  }

 private:
  Declaration declaration() {
    switch (below(11)) {
      case 0:
        return ImportDecl{some(values_, 12), "other.shard", {}};
      case 1:
        return mesh();
      case 2:
        return dim();
      case 3:
        return ConstDecl{one_of(values_), expr(3), {}};
      case 4:
        return Require{expr(3), {}};
      case 5:
        return config();
      case 6:
        return RecordDecl{one_of(records_), groups(), {}};
      case 7:
        return LayoutDecl{one_of(records_), one_of(records_), groups(), {}};
      case 8:
        return schedule();
      default:
        return function();
    }
  }
  MeshDecl mesh() {
    MeshDecl result;
    for (const Name& axis : maybe(axes_)) {
      result.axes.push_back({axis, std::nullopt, {}});
      if (coin()) result.axes.back().size = std::to_string(1 + below(9));
    }
    return result;
  }
  ConfigDecl config() {
    ConfigDecl result;
    result.name = one_of(values_);
    for (int n = below(20); n > 0; --n)
      result.entries.push_back({one_of(dims_), one_of(numbers_), {}});
    return result;
  }
  FunctionDecl function() {
    FunctionDecl result;
    result.is_plan = coin();
    result.name = one_of(values_);
    if (result.is_plan && below(4) == 0) result.trusted = "measured, not proved";
    if (coin()) result.implements = implements(result.is_plan);
    if (result.is_plan && below(3) == 0) result.after = one_of(values_);
    if (!result.is_plan && below(3) == 0) result.pattern = one_of(strings_);
    for (int n = below(5); n > 0; --n) result.params.push_back(param());
    result.has_saved = result.is_plan && coin();
    if (result.has_saved)
      for (int n = below(3); n > 0; --n) result.saved.push_back(param());
    result.results = results();
    result.has_body = !result.trusted;
    if (result.has_body) result.body = block(2);
    return result;
  }
  Implements implements(bool is_plan) {
    Implements result;
    result.model = one_of(values_);
    result.grad = !is_plan || coin();
    if (result.grad) result.wrt = maybe(values_);
    return result;
  }
  Param param() {
    Param result{group(), std::nullopt};
    if (below(4) == 0) result.value = expr(2);
    return result;
  }
  Results results() {
    Results result;
    result.parenthesized = coin();
    const bool named = result.parenthesized && coin();
    for (int n = result.parenthesized ? 1 + below(3) : 1; n > 0; --n) {
      result.groups.push_back(group());
      if (!named) result.groups.back().names.clear();
    }
    return result;
  }
  ScheduleDecl schedule() { return {one_of(values_), maybe(values_), steps(2), {}}; }
  std::vector<ScheduleStatement> steps(int depth) {
    std::vector<ScheduleStatement> result;
    for (int n = below(4); n > 0; --n) result.push_back(step(depth));
    return result;
  }
  ScheduleStatement step(int depth) {
    ScheduleStatement result;
    result.kind =
        depth > 0 ? static_cast<ScheduleStatement::Kind>(below(3)) : ScheduleStatement::Kind::work;
    result.name = result.kind == ScheduleStatement::Kind::work ? one_of(steps_) : one_of(values_);
    if (result.kind == ScheduleStatement::Kind::let) result.params = maybe(values_);
    const int most = result.kind == ScheduleStatement::Kind::work   ? below(3)
                     : result.kind == ScheduleStatement::Kind::loop ? 2
                                                                    : 1;
    for (int n = most; n > 0; --n) result.exprs.push_back(expr(2));
    if (result.kind == ScheduleStatement::Kind::loop) result.body = steps(depth - 1);
    return result;
  }
};

}  // namespace shardproof::syntax
