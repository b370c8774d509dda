// scan, ring, pipeline, stages.
#include "spec/syntax/parser_impl.h"

namespace shardproof::syntax {

Loop Parser::loop() {
  Loop result;
  const uint32_t begin = peek().begin;
  if (accept("scan"))
    scan(result);
  else if (accept("ring"))
    ring(result);
  else if (accept("pipeline"))
    pipeline(result);
  else
    stages(result);
  const Deeper inside(loops_);
  const Form form(form_, "scan n in N, h: f32[B M] = x { next h * w[n] }");
  result.body = block("the body of a loop");
  result.range = since(begin);
  return result;
}

void Parser::scan(Loop& loop) {
  const Form form(form_, "y = scan n in N, h: f32[B M] = x { next h * w[n] }");
  loop.kind = Loop::Kind::scan;
  std::optional<size_t> early;  // the token `reverse` before the dim
  const auto take_early = [&] {
    if (accept("reverse") && !early) early = pos_ - 1;
  };
  take_early();
  loop.variables.push_back(value_name("the variable of the scan"));
  expect("in", "after the variable of a scan");
  take_early();
  if (std::optional<Fix> fix = !at_word() || at("(", 1) ? dim_of_range(pos_) : std::nullopt) {
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected the dim of the scan, found " + found());
    diagnostic.fixes.push_back(*std::move(fix));
    fail(std::move(diagnostic));
  }
  loop.dims.push_back(name("the dim of the scan"));
  if (early) tell(reverse_too_early(*early));
  loop.reverse = accept("reverse");
  carries(loop);
}

/// After the dim, where `reverse` should stand.
Diagnostic Parser::reverse_too_early(size_t at) const {
  const Token& word = tokens_[at];
  Diagnostic wrong =
      error("E0002", range(word), "`reverse` stands after the dim of the scan", "not here");
  wrong.fixes.push_back(
      replace({file_, word.begin, tokens_[at + 1].begin}, "", "write it after the dim"));
  if (!this->at("reverse")) wrong.fixes[0].edits.push_back({after_last(), " reverse"});
  return wrong;
}

void Parser::ring(Loop& loop) {
  const Form form(form_, "y = ring b over L/c as W, s: f32[M]{U_c} = z { next s + k[b] }");
  loop.kind = Loop::Kind::ring;
  loop.variables.push_back(value_name("the variable of the ring"));
  expect("over", "after the variable of a ring");
  loop.dims.push_back(name("the dim of the ring"));
  expect("/", "and the axis after the dim of a ring");
  loop.axis = name("the axis of the ring");
  if (at("/"))
    fail(error("E0002", range(peek()), "a ring goes around one axis",
               "gather the blocks over the other axes before the ring"));
  expect("as", "and a dim for one block after the axis of a ring");
  loop.block_dim = name("the dim of one block");
  carries(loop);
}

void Parser::pipeline(Loop& loop) {
  const Form form(form_, "y = pipeline a in A over p by gpipe { emit f(x[a]) }");
  loop.kind = Loop::Kind::pipeline;
  loop.variables.push_back(value_name("the variable of the pipeline"));
  expect("in", "after the variable of a pipeline");
  loop.dims.push_back(name("the dim of the microbatches"));
  expect("over", "after the dim of a pipeline");
  loop.axis = name("the axis of the stages");
  if (at("{")) {
    Diagnostic diagnostic = error(
        "E0002", place(), "expected `by` and a schedule after the axis of a pipeline, found `{`",
        "expected `by`");
    diagnostic.fixes.push_back(
        {"name a schedule: `by gpipe`", {{after_last(), " by gpipe"}}, false, ""});
    fail(std::move(diagnostic));
  }
  expect("by", "and a schedule after the axis of a pipeline");
  Expr schedule;
  schedule.text = name("the name of a schedule");
  if (at("(")) {
    arguments(schedule);
    loop.has_schedule_args = true;
  }
  loop.schedule = std::move(schedule.text);
  loop.schedule_args = std::move(schedule.args);
  loop.schedule_arg_names = std::move(schedule.arg_names);
}

void Parser::stages(Loop& loop) {
  const Form form(form_, "y = stages n in N, h: f32[B M] = x { next h * w[n] }");
  take();
  loop.kind = Loop::Kind::stages;
  do loop.variables.push_back(value_name("the variable of the stages"));
  while (accept(","));
  expect("in", "after the variables of stages");
  loop.dims.push_back(name("the dim of the layers"));
  // A name with a colon is the first carry.
  while (at(",") && !at(":", 2)) {
    take();
    loop.dims.push_back(name("a dim, or a carry with its type"));
  }
  if (at("/") && at_word(1)) {
    Diagnostic diagnostic =
        error("E0002", {file_, peek().begin, peek(1).end}, "stages go over a whole dim",
              "the types of the weights say which axis splits it");
    diagnostic.fixes.push_back(replace(diagnostic.range, "", "leave the axis out"));
    fail(std::move(diagnostic));
  }
  carries(loop);
}

void Parser::carries(Loop& loop) {
  while (accept(",")) {
    Carry carry;
    const uint32_t begin = peek().begin;
    carry.name = value_name("the name of a carry");
    expect(":", "and a type after the name of a carry");
    carry.type = type(true);
    expect("=", "and the first value after the type of a carry");
    carry.init = expression();
    carry.range = since(begin);
    loop.carries.push_back(std::move(carry));
  }
}

}  // namespace shardproof::syntax
