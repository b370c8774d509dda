// fn and plan.
#include "spec/syntax/parser_impl.h"
#include "spec/syntax/words.h"

namespace shardproof::syntax {

FunctionDecl Parser::function() {
  const Form form(form_, at("fn") ? "fn f(x: f32[B M]) -> f32[B M] { return x * 2 }"
                         : at("plan")
                             ? "plan p implements f(x: f32[B/d M]) -> f32[B/d M] { return x * 2 }"
                             : "trusted \"reason\" plan p implements f(x: f32[M]) -> f32[M]");
  FunctionDecl result;
  const uint32_t begin = peek().begin;
  if (accept("trusted")) {
    if (!at_string()) fail("the reason to trust this plan, in quotes");
    result.trusted = std::string(take().text);
    if (!at("plan")) fail("`plan`", "only a plan can be trusted");
  }
  result.is_plan = take().text == "plan";
  result.name_range = range(peek());
  result.name = name(result.is_plan ? "the name of a plan" : "the name of a function");
  if (accept("implements")) result.implements = implements(result.is_plan);
  if (at("after")) {
    if (!result.is_plan) fail("the parameters", "only a plan comes after another");
    take();
    result.after = plan_name("the name of the plan whose backward this is");
  }
  parameters(result);
  if (at("{")) {
    Diagnostic diagnostic = error("E0002", range(peek()), "expected the result, found " + found());
    diagnostic.fixes.push_back(
        advice("before the body stands the type of the result: `-> f32[B M]`"));
    fail(std::move(diagnostic));
  }
  expect("->", "before the results");
  result.results = results();
  body(result);
  result.range = since(begin);
  return result;
}

Implements Parser::implements(bool is_plan) {
  Implements result;
  if (!accept("grad")) {
    if (!is_plan) fail("`grad(...)`", "a fn can implement a gradient only");
    result.model = name("the name of the function that is implemented");
    return result;
  }
  result.grad = true;
  const Form form(form_, "implements grad(f wrt w)");
  expect("(", "after `grad`");
  result.model = plan_name("the name of a function");
  result.wrt = wrt();
  expect(")", "after the function of `grad`");
  return result;
}

// `f`, or an instance of a plan with `{?_t ?_d}`: `f{I_t R_d}`.
Name Parser::plan_name(std::string_view what) {
  Name result = name(what);
  if (!accept("{")) return result;
  std::string states;
  while (at_word() && (peek().text.starts_with("R_") || peek().text.starts_with("I_")))
    states += (states.empty() ? "" : " ") + std::string(take().text);
  if (states.empty()) fail("R_ or I_ and the name of an axis");
  expect("}", "after the states of an instance");
  return result + "{" + states + "}";
}

std::vector<Name> Parser::wrt() {
  if (!accept("wrt")) return {};
  std::vector<Name> result = names("a parameter to differentiate by");
  if (at_word()) {
    Diagnostic diagnostic =
        error("E0002", place(), "expected `,` or `)` after a parameter, found " + found(),
              "commas separate the parameters after `wrt`");
    diagnostic.fixes.push_back({"insert the comma", {{after_last(), ","}}, false, ""});
    fail(std::move(diagnostic));
  }
  return result;
}

void Parser::parameters(FunctionDecl& decl) {
  if (std::optional<Fix> fix = decl.is_plan && !at("(") ? other_implements() : std::nullopt) {
    Diagnostic diagnostic =
        error("E0002", range(peek()), "expected `implements` or the parameters, found " + found());
    diagnostic.fixes.push_back(*std::move(fix));
    fail(std::move(diagnostic));
  }
  const Form form(form_, "(x: f32[B M], w: f32[M])");
  expect("(", "before the parameters");
  if (at_string()) parameter_pattern(decl);
  if (!at(")") && !at(";")) {
    do decl.params.push_back(param());
    while (accept(","));
  }
  if (at(";")) {
    if (!decl.is_plan) fail("`,` or `)`", "only a plan has saved values");
    take();
    decl.has_saved = true;
    if (!at(")")) {
      do decl.saved.push_back(param());
      while (accept(","));
    }
  }
  expect(")", "after the parameters");
}

void Parser::parameter_pattern(FunctionDecl& decl) {
  if (decl.is_plan) fail("a parameter", "only a fn has a pattern");
  const Token token = take();
  decl.pattern = std::string(token.text);
  decl.pattern_range = {file_, token.begin + 1, token.end - 1};
  expect(",", "after the pattern of a function");
}

Param Parser::param() {
  Param result;
  if (!at_word()) fail("a parameter");
  result.group = group("a parameter");
  if (accept("=")) result.value = expression();
  return result;
}

// Named results, `x y: f32[M]`; otherwise types.
bool Parser::at_group() const {
  if (!at_word() || (at_keyword(Keyword::dtype) && at("[", 1))) return false;
  return at(":", 1) || at_word(1);
}

Results Parser::results() {
  const Form form(form_, "-> (loss: f32[], w1: f32[M])");
  Results result;
  if (!accept("(")) {
    Group only;
    only.type = type(true);
    only.range = only.type.range;
    result.groups.push_back(std::move(only));
    if (at(",")) fail("the body", "several results stand in parentheses");
    if (at(":") && peek(1).first_on_line) {
      Diagnostic diagnostic = error("E0002", range(peek()), "expected the body, found `:`");
      diagnostic.fixes.push_back(advice("the body stands in braces, `{ ... }`"));
      fail(std::move(diagnostic));
    }
    if (at(":")) fail("the body", "results with names stand in parentheses");
    return result;
  }
  result.parenthesized = true;
  const bool named = at_group();
  do {
    Group next;
    if (named) {
      if (!at_group()) fail("a name", "either all results have names or none has");
      next = group("a result");
    } else {
      if (at_group()) fail("a type", "either all results have names or none has");
      next.type = type();
      next.range = next.type.range;
    }
    result.groups.push_back(std::move(next));
  } while (accept(","));
  expect(")", "after the results");
  return result;
}

void Parser::body(FunctionDecl& decl) {
  if (decl.trusted && !at("{")) return;
  if (decl.trusted) {
    tell(error("E0002", range(peek()), "a trusted plan has no body: what it does is written in C++",
               "a body is not allowed here"));
  }
  decl.body = block("the body");
  decl.has_body = true;
}

}  // namespace shardproof::syntax
