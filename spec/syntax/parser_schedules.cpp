// schedule and its steps.
#include <algorithm>

#include "spec/syntax/parser_impl.h"

namespace shardproof::syntax {

ScheduleDecl Parser::schedule() {
  const Form form(form_, "schedule s(C) { for m in 0 .. A { F(m) B(m) } }");
  ScheduleDecl result;
  const uint32_t begin = take().begin;
  result.name = name("the name of a schedule");
  in_schedule_ = true;
  if (accept("(")) {
    result.params = names("a parameter of the schedule");
    expect(")", "after the parameters of a schedule");
  }
  result.steps = steps();
  in_schedule_ = false;
  result.range = since(begin);
  return result;
}

std::vector<ScheduleStatement> Parser::steps() {
  std::vector<ScheduleStatement> result;
  const Deeper deeper(depth_);
  nest();
  const SourceRange open = range(peek());
  expect("{", "before the steps");
  while (!at("}") && !at_end() && !at_declaration()) {
    const size_t start = pos_;
    const uint32_t column = peek().column;
    const int depth = depth_;
    try {
      result.push_back(step());
    } catch (const Abandon& abandon) {
      if (abandon.until != Abandon::Until::statement) throw;
      depth_ = depth;
      skip_to_statement(start, column);
    }
  }
  if (accept("}") || unclosed_ == pos_) return result;
  Diagnostic diagnostic =
      error("E0002", after_last(), "expected `}` after the steps", "expected `}`");
  diagnostic.notes.push_back({open, "to close this"});
  tell(std::move(diagnostic));
  unclosed_ = pos_;
  return result;
}

ScheduleStatement Parser::step() {
  ScheduleStatement result;
  const uint32_t begin = peek().begin;
  if (accept("let"))
    let_step(result);
  else if (accept("for"))
    for_step(result);
  else if (accept("require"))
    require_step(result);
  else
    work_step(result);
  result.range = since(begin);
  return result;
}

void Parser::let_step(ScheduleStatement& step) {
  const Form form(form_, "let w = min(p - 1 - s, A)");
  step.kind = ScheduleStatement::Kind::let;
  step.name = name("the name of a number");
  if (accept("(")) {
    step.params = names("a parameter");
    expect(")", "after the parameters of `let`");
  }
  expect("=", "after the name of `let`");
  step.exprs.push_back(expression());
}

void Parser::require_step(ScheduleStatement& step) {
  step.kind = ScheduleStatement::Kind::require;
  step.exprs.push_back(expression());
}

void Parser::for_step(ScheduleStatement& step) {
  const Form form(form_, "for m in 0 .. A { F(m) B(m) }");
  step.kind = ScheduleStatement::Kind::loop;
  step.name = name("the variable of `for`");
  expect("in", "after the variable of `for`");
  step.exprs.push_back(expression());
  expect("..", "between the ends of a range");
  step.exprs.push_back(expression());
  step.body = steps();
}

void Parser::work_step(ScheduleStatement& step) {
  const Form form(form_, "F(m) B(m)");
  if (!at("F") && !at("B") && !at("W"))
    fail(error("E0002", range(peek()), "expected a step, found " + found(),
               "a step is require, let, for, F(...), B(...) or W(...)"));
  const Token word = take();
  Expr work;
  arguments(work);
  const auto named = [](const Name& name) { return !name.empty(); };
  if (std::any_of(work.arg_names.begin(), work.arg_names.end(), named))
    tell(error("E0002", since(word.begin),
               "a step has its arguments by position: the microbatch, then the chunk"));
  step.kind = ScheduleStatement::Kind::work;
  step.name = std::string(word.text);
  step.exprs = std::move(work.args);
}

}  // namespace shardproof::syntax
