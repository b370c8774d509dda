#include "spec/resolve/schedules.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <stdexcept>

#include "spec/resolve/numbers.h"
#include "spec/schedule/schedule.h"

namespace shardproof::resolution {
namespace {

using Kind = syntax::Expr::Kind;

class ScheduleReader {
 public:
  ScheduleReader(World& world, const FileScope& file, const syntax::ScheduleDecl& schedule)
      : world_(world), file_(file), schedule_(schedule) {
    for (const char* name : {"p", "A", "s"}) scopes_.front()[name] = {};
    for (const char* name : {"min", "max"}) scopes_.front()[name] = {{}, 2};
  }

  void run() {
    declare_all(schedule_.params, schedule_.name, schedule_.range);
    steps(schedule_.steps);
  }

 private:
  struct Named {
    SourceRange range = {};
    size_t params = 0;  // 0: a variable; else a function
  };

  void steps(const std::vector<syntax::ScheduleStatement>& steps) {
    for (const syntax::ScheduleStatement& step : steps) {
      if (step.kind == syntax::ScheduleStatement::Kind::let)
        let(step);
      else if (step.kind == syntax::ScheduleStatement::Kind::loop)
        loop(step);
      else if (step.kind == syntax::ScheduleStatement::Kind::require)
        require(step.exprs.at(0));
      else
        work(step);
    }
  }

  // A `let` may use the names above it, but not its own.
  void let(const syntax::ScheduleStatement& step) {
    scopes_.emplace_back();
    declare_all(step.params, step.name, step.range);
    for (const syntax::Expr& expr : step.exprs) number(expr);
    scopes_.pop_back();
    declare(step.name, step.range, step.params.size());
  }

  void loop(const syntax::ScheduleStatement& step) {
    for (const syntax::Expr& expr : step.exprs) number(expr);
    scopes_.emplace_back();
    declare(step.name, step.range);
    steps(step.body);
    scopes_.pop_back();
  }

  // A condition of the verdict on p, A and the parameters.
  void require(const syntax::Expr& expr) {
    static const std::set<std::string> joins = {"and", "or", "not"},
                                       compares = {"==", "!=", "<", ">", "<=", ">="};
    if (joins.count(expr.text) && (expr.kind == Kind::binary || expr.kind == Kind::unary)) {
      for (const syntax::Expr& arg : expr.args) require(arg);
    } else if (expr.kind == Kind::binary && compares.count(expr.text)) {
      for (const syntax::Expr& arg : expr.args) of_sizes(arg), number(arg);
    } else {
      world_.error("E0109", expr.range, "`require` takes a comparison");
    }
  }

  void of_sizes(const syntax::Expr& expr) {
    for (const syntax::Expr& arg : expr.args) of_sizes(arg);
    const bool size = expr.text == "p" || expr.text == "A" ||
                      std::count(schedule_.params.begin(), schedule_.params.end(), expr.text);
    if (expr.kind == Kind::call || (expr.kind == Kind::name && !size))
      world_.error("E0109", expr.range,
                   "`require` may use only p, A and the parameters of the schedule");
  }

  void work(const syntax::ScheduleStatement& step) {
    if (step.exprs.empty() || step.exprs.size() > 2)
      world_.error("E0103", step.range,
                   "`" + step.name + "` takes a microbatch, and a chunk where a stage has several",
                   counted(step.exprs.size(), "argument"));
    for (const syntax::Expr& expr : step.exprs) number(expr);
  }

  // Declares parameters, which follow the name `of` in this order.
  void declare_all(const std::vector<Name>& names, const Name& of, SourceRange range) {
    range.begin = world_.locate(of, range).end;
    for (const Name& name : names) {
      declare(name, range);
      range.begin = world_.locate(name, range).end;
    }
  }

  void declare(const Name& name, SourceRange range, size_t params = 0) {
    range = world_.locate(name, range);
    if (const Named* first = find(name))
      return world_.twice(name, range, first->range,
                          first->range.file >= 0
                              ? "a name is assigned once"
                              : "every schedule has a `" + name + "`: choose another name");
    scopes_.back()[name] = {range, params};
  }

  const Named* find(const Name& name) const {
    for (const auto& scope : scopes_)
      if (auto found = scope.find(name); found != scope.end()) return &found->second;
    return nullptr;
  }

  void number(const syntax::Expr& expr) {
    for (const syntax::Expr& arg : expr.args) number(arg);
    if (expr.kind == Kind::name || expr.kind == Kind::call)
      use(expr);
    else if (expr.kind == Kind::size)
      not_seen("|" + expr.text + "|", expr.range);
    else if (expr.kind == Kind::binary && expr.text == "/")
      whole_quotient(expr);
    else if (!is_arithmetic(expr))
      world_.error("E0109", expr.range,
                   "the numbers of a schedule are whole, made by + - * // %, min and max");
  }

  static bool is_arithmetic(const syntax::Expr& expr) {
    if (expr.kind == Kind::number)
      return std::all_of(expr.text.begin(), expr.text.end(),
                         [](unsigned char c) { return std::isdigit(c); });
    if (expr.kind == Kind::unary) return expr.text == "-";
    const std::string& op = expr.text;
    return expr.kind == Kind::binary &&
           (op == "+" || op == "-" || op == "*" || op == "//" || op == "%");
  }

  void whole_quotient(const syntax::Expr& expr) {
    Diagnostic& error =
        world_.error("E0109", expr.range, "the numbers of a schedule are whole: `//` divides them");
    SourceRange sign = expr.range;
    sign.begin = expr.args.at(0).range.end;
    sign.end = expr.args.at(1).range.begin;
    const size_t at = world_.sources.text(sign).find('/');
    if (at == std::string_view::npos) return;
    sign.begin += static_cast<uint32_t>(at);
    sign.end = sign.begin + 1;
    error.fixes.push_back({"divide to a whole number", {{sign, "//"}}, false, ""});
  }

  void use(const syntax::Expr& expr) {
    const bool call = expr.kind == Kind::call;
    const Named* named = find(expr.text);
    if (!named) return unknown(expr);
    const size_t given = expr.args.size();
    if (call && named->params == 0)
      world_.error("E0109", expr.range, "`" + expr.text + "` is a number, and takes no arguments");
    else if (named->params != given)
      world_.error("E0103", expr.range,
                   "`" + expr.text + "` takes " + counted(named->params, "argument"),
                   counted(given, "argument"));
    for (const Name& name : expr.arg_names)
      if (!name.empty())
        return (void)world_.error("E0109", expr.range,
                                  "a schedule gives its arguments by position");
  }

  void unknown(const syntax::Expr& expr) {
    if (file_.consts.count(expr.text)) return not_seen(expr.text, expr.range);
    std::vector<Name> known;
    for (const auto& scope : scopes_)
      for (const auto& [name, named] : scope)
        if ((named.params > 0) == (expr.kind == Kind::call)) known.push_back(name);
    world_.unknown(expr.kind == Kind::call ? "schedule function" : "schedule value", expr.text,
                   expr.range, known);
  }

  void not_seen(const std::string& what, SourceRange range) {
    Diagnostic& error = world_.error(
        "E0109", range, "a schedule can use p, A, s and its own names, but not `" + what + "`");
    error.fixes.push_back({"make it a parameter, and pass it in the pipeline: `by " +
                               schedule_.name + "(C = " + what + ")`",
                           {},
                           false,
                           ""});
  }

  World& world_;
  const FileScope& file_;
  const syntax::ScheduleDecl& schedule_;
  std::vector<std::map<Name, Named>> scopes_ = {{}};
};

class ArgumentReader {
 public:
  ArgumentReader(Body& body, const syntax::ScheduleDecl& schedule, const syntax::Loop& pipeline)
      : body_(body), schedule_(schedule), pipeline_(pipeline) {
    given_.resize(schedule.params.size(), nullptr);
  }

  std::vector<ir::Arith> run() {
    const size_t before = body_.world.errors();
    for (size_t i = 0; i < pipeline_.schedule_args.size(); ++i) place(i);
    std::vector<ir::Arith> result;
    for (size_t i = 0; i < given_.size(); ++i) {
      if (given_[i])
        result.push_back(number(*given_[i]));
      else if (body_.world.errors() == before)
        count(body_.world.locate(pipeline_.schedule, pipeline_.range));
    }
    return result;
  }

 private:
  void place(size_t i) {
    const syntax::Expr& expr = pipeline_.schedule_args[i];
    const Name& name = pipeline_.schedule_arg_names[i];
    const std::vector<Name>& params = schedule_.params;
    size_t at = i;
    if (!name.empty())
      at = static_cast<size_t>(std::find(params.begin(), params.end(), name) - params.begin());
    if (at >= params.size() && name.empty()) return count(expr.range);
    if (at >= params.size())
      return body_.world.unknown("parameter of `" + schedule_.name + "` called", name,
                                 name_range(i), params);
    if (given_[at])
      return body_.world.twice(params[at], expr.range, given_[at]->range,
                               "`" + params[at] + "` is given twice");
    given_[at] = &expr;
  }

  // The source range of an argument's name: between the previous argument and this one.
  SourceRange name_range(size_t i) const {
    SourceRange range = pipeline_.range;
    range.begin = i > 0 ? pipeline_.schedule_args[i - 1].range.end
                        : body_.world.locate(pipeline_.schedule, pipeline_.range).end;
    range.end = pipeline_.schedule_args[i].range.begin;
    return range;
  }

  void count(SourceRange range) {
    const std::string names = listed(schedule_.params);
    body_.error("E0103", range,
                "the schedule `" + schedule_.name + "` takes " +
                    counted(schedule_.params.size(), "argument") +
                    (names.empty() ? "" : ": " + names));
  }

  ir::Arith number(const syntax::Expr& expr) {
    auto value = arith(body_.world, expr, names_in(body_));
    if (!value) return arith_number("1");
    if (ir::uses_values(*value))
      body_.error("E0109", expr.range, "a schedule is made of sizes and numbers, not of values");
    else if (is_closed(*value) && !is_whole(*value))
      body_.error("E0106", expr.range, "a schedule's argument is a whole number");
    else if (!is_closed(*value) && divides(*value))
      body_.error("E0106", expr.range,
                  "a schedule's argument is a whole number at all sizes: divide with `//`");
    return *value;
  }

  static bool divides(const ir::Arith& arith) {
    return (arith.kind == ir::Arith::Kind::op && arith.text == "/") ||
           std::any_of(arith.args.begin(), arith.args.end(), divides);
  }

  static bool is_whole(const ir::Arith& arith) {
    try {
      const double value = ir::evaluate(arith, {});
      return value == std::floor(value) && std::abs(value) < 9007199254740992.0;
    } catch (const std::exception&) {
      return false;
    }
  }

  Body& body_;
  const syntax::ScheduleDecl& schedule_;
  const syntax::Loop& pipeline_;
  std::vector<const syntax::Expr*> given_;
};

void read_and_check(World& world, const FileScope& file, const syntax::ScheduleDecl& schedule) {
  const size_t before = world.errors();
  ScheduleReader(world, file, schedule).run();
  if (world.errors() != before) return;
  const auto problem = schedule::check_all(schedule, &world.schedule_steps);
  if (!problem) return (void)world.right_when_small.insert(&schedule);
  Diagnostic& error = world.error(problem->code.c_str(), problem->range, problem->message);
  error.details = problem->details;
}

/// A schedule's condition with the pipeline's sizes in place of its names.
ir::Arith with_sizes(const syntax::Expr& expr, const std::map<Name, ir::Arith>& names) {
  if (expr.kind == Kind::name) return names.count(expr.text) ? names.at(expr.text) : ir::Arith{};
  ir::Arith result;
  result.kind = expr.kind == Kind::number ? ir::Arith::Kind::number : ir::Arith::Kind::op;
  result.text = expr.kind == Kind::unary && expr.text == "-" ? "neg" : expr.text;
  for (const syntax::Expr& arg : expr.args) result.args.push_back(with_sizes(arg, names));
  return result;
}

}  // namespace

void check_schedules(World& world) {
  for (const FileScope& file : world.files) {
    if (file.library) continue;  // tested in spec/schedule instead
    for (const syntax::Declaration& declaration : file.ast->declarations)
      if (auto* schedule = std::get_if<syntax::ScheduleDecl>(&declaration))
        read_and_check(world, file, *schedule);
  }
}

std::vector<ir::Requirement> schedule_conditions(const syntax::ScheduleDecl& schedule,
                                                 const ScheduleSizes& sizes, SourceRange range) {
  std::map<Name, ir::Arith> names = {{"p", sizes.p}, {"A", sizes.A}};
  for (size_t i = 0; i < schedule.params.size() && i < sizes.arguments.size(); ++i)
    names[schedule.params[i]] = sizes.arguments[i];
  std::vector<ir::Requirement> result;
  for (const syntax::ScheduleStatement& step : schedule.steps)
    if (step.kind == syntax::ScheduleStatement::Kind::require)
      result.push_back({with_sizes(step.exprs.at(0), names), range});
  return result;
}

Name schedule_key(const World& world, const syntax::ScheduleDecl& schedule) {
  const FileScope* home = nullptr;
  bool alone = true;
  for (const FileScope& file : world.files)
    if (auto found = file.schedules.find(schedule.name); found != file.schedules.end()) {
      if (found->second != &schedule)
        alone = false;
      else if (!home)  // imported files come first
        home = &file;
    }
  return alone || !home ? schedule.name : schedule.name + " of " + home->path;
}

bool is_of_library(const World& world, const syntax::ScheduleDecl& schedule) {
  const auto& own = world.files[0].schedules;
  const auto found = own.find(schedule.name);
  return found != own.end() && found->second == &schedule;
}

bool has_its_chunks(const ScheduleSizes& sizes) {
  if (sizes.chunks.size() > 1) return false;
  if (sizes.arguments.empty()) return sizes.chunks.empty();
  const std::string chunks = sizes.chunks.empty() ? "1" : ir::to_string(sizes.chunks[0]);
  return sizes.arguments.size() == 1 && ir::to_string(sizes.arguments[0]) == chunks;
}

const syntax::ScheduleDecl* find_schedule(Body& body, const syntax::Loop& pipeline) {
  const FileScope& library = body.world.files[0];
  for (const FileScope* file : {&body.file(), &library})
    if (auto found = file->schedules.find(pipeline.schedule); found != file->schedules.end())
      return found->second;
  std::vector<Name> known = keys(body.file().schedules);
  for (const Name& name : keys(library.schedules)) known.push_back(name);
  body.world.unknown("schedule", pipeline.schedule, pipeline.range, known);
  return nullptr;
}

std::vector<ir::Arith> schedule_arguments(Body& body, const syntax::ScheduleDecl& schedule,
                                          const syntax::Loop& pipeline) {
  return ArgumentReader(body, schedule, pipeline).run();
}

}  // namespace shardproof::resolution
