// Compiles the text of a schedule to the work of each stage.
#include <algorithm>
#include <map>

#include "spec/schedule/schedule.h"

namespace shardproof::schedule {
namespace code {

using syntax::Expr;
using syntax::ScheduleStatement;

enum class Fn {
  number,
  slot,
  add,
  sub,
  mul,
  div,
  mod,
  neg,
  eq,
  ne,
  lt,
  gt,
  le,
  ge,
  both,
  either,
  no,
  least,
  most,
  call
};

struct Node {
  Fn fn = Fn::number;
  int64_t value = 0;  // a number, a slot, or a function
  std::vector<Node> args;
  SourceRange range;
};

struct Function {
  std::vector<size_t> params;
  Node body;
};

struct Instruction {
  ScheduleStatement::Kind kind = ScheduleStatement::Kind::work;
  char work = 'F';
  size_t slot = 0;
  std::vector<Node> args;
  std::vector<Instruction> body;
  SourceRange range;
};

[[noreturn]] void fail(const Node& node, const std::string& message) {
  throw Problem{"E0502", message, node.range};
}

Fn binary(const std::string& op) {
  static const std::map<std::string, Fn> known = {
      {"+", Fn::add}, {"-", Fn::sub},    {"*", Fn::mul},    {"//", Fn::div}, {"%", Fn::mod},
      {"==", Fn::eq}, {"!=", Fn::ne},    {"<", Fn::lt},     {">", Fn::gt},   {"<=", Fn::le},
      {">=", Fn::ge}, {"and", Fn::both}, {"or", Fn::either}};
  return known.at(op);
}

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

class Machine {
 public:
  /// `share`: iterations and operations of this stage; `all`: steps left for its file.
  Machine(const std::vector<Function>& functions, size_t slots, int64_t share, Budget& all)
      : functions_(functions), slots_(slots, 0), share_(share), all_(all) {}

  void set(size_t slot, int64_t value) { slots_[slot] = value; }

  int64_t value(const Node& node) {
    take(1, node.range);
    switch (node.fn) {
      case Fn::number:
        return node.value;
      case Fn::slot:
        return slots_[static_cast<size_t>(node.value)];
      case Fn::neg:
        return exact(node, 0, value(node.args[0]), Fn::sub);
      case Fn::no:
        return value(node.args[0]) == 0;
      case Fn::call:
        return call(node);
      case Fn::add:
      case Fn::sub:
      case Fn::mul:
      case Fn::div:
      case Fn::mod:
      case Fn::eq:
      case Fn::ne:
      case Fn::lt:
      case Fn::gt:
      case Fn::le:
      case Fn::ge:
      case Fn::both:
      case Fn::either:
      case Fn::least:
      case Fn::most:
        break;
    }
    return two(node, value(node.args[0]), value(node.args[1]));
  }

  void run(const std::vector<Instruction>& steps, const Sizes& sizes, Timeline& out) {
    for (const Instruction& step : steps) {
      if (step.kind == ScheduleStatement::Kind::let)
        set(step.slot, value(step.args[0]));
      else if (step.kind == ScheduleStatement::Kind::loop)
        loop(step, sizes, out);
      else if (step.kind == ScheduleStatement::Kind::work)
        work(step, sizes, out);
    }
  }

 private:
  void take(int64_t steps, SourceRange range) {
    if ((all_.steps -= steps) < 0)
      throw Problem{"E0007",
                    "the schedules of this file exceed their budget of steps: split the file, or "
                    "shorten the schedules",
                    range};
  }

  void loop(const Instruction& step, const Sizes& sizes, Timeline& out) {
    const int64_t to = value(step.args[1]);
    for (int64_t i = value(step.args[0]); i < to; ++i) {
      if (--share_ < 0)
        throw Problem{"E0502", "the schedule exceeds its budget of steps", step.range};
      set(step.slot, i);
      run(step.body, sizes, out);
    }
  }

  void work(const Instruction& step, const Sizes& sizes, Timeline& out) {
    Work work{step.work, value(step.args[0]), step.args.size() > 1 ? value(step.args[1]) : 0,
              step.range};
    if (--share_ < 0)
      throw Problem{"E0502", "the schedule exceeds its budget of steps", step.range};
    take(8, step.range);
    if (work.m < 0 || work.m >= sizes.A || work.c < 0 || work.c >= sizes.C)
      throw Problem{"E0502",
                    to_string(work, sizes.C) + " is beyond the last " +
                        (work.m < 0 || work.m >= sizes.A ? "microbatch" : "chunk"),
                    step.range};
    out.push_back(work);
  }

  int64_t call(const Node& node) {
    const Function& function = functions_[static_cast<size_t>(node.value)];
    const size_t first = given_.size();  // one stack for all calls: there are millions
    for (const Node& arg : node.args) {
      const int64_t of_arg = value(arg);
      given_.push_back(of_arg);
    }
    for (size_t i = 0; i < node.args.size(); ++i) set(function.params[i], given_[first + i]);
    given_.resize(first);
    if (++depth_ > 200) throw Problem{"E0007", "calls nest at most 200 deep", node.range};
    const int64_t result = value(function.body);
    --depth_;
    return result;
  }

  static int64_t exact(const Node& node, int64_t a, int64_t b, Fn fn) {
    int64_t result = 0;
    const bool beyond = fn == Fn::add   ? __builtin_add_overflow(a, b, &result)
                        : fn == Fn::sub ? __builtin_sub_overflow(a, b, &result)
                                        : __builtin_mul_overflow(a, b, &result);
    if (beyond) fail(node, "a number of the schedule does not fit into 64 bits");
    return result;
  }

  static int64_t two(const Node& node, int64_t a, int64_t b) {
    switch (node.fn) {
      case Fn::div:
      case Fn::mod:
        if (b == 0) fail(node, "the schedule divides by zero");
        if (b == -1) return node.fn == Fn::mod ? 0 : exact(node, 0, a, Fn::sub);
        return node.fn == Fn::div ? floor_div(a, b) : a - floor_div(a, b) * b;
      case Fn::eq:
        return a == b;
      case Fn::ne:
        return a != b;
      case Fn::lt:
        return a < b;
      case Fn::gt:
        return a > b;
      case Fn::le:
        return a <= b;
      case Fn::ge:
        return a >= b;
      case Fn::both:
        return a && b;
      case Fn::either:
        return a || b;
      case Fn::least:
        return std::min(a, b);
      case Fn::most:
        return std::max(a, b);
      case Fn::number:
      case Fn::slot:
      case Fn::add:
      case Fn::sub:
      case Fn::mul:
      case Fn::neg:
      case Fn::no:
      case Fn::call:
        break;
    }
    return exact(node, a, b, node.fn);
  }

  const std::vector<Function>& functions_;
  std::vector<int64_t> slots_, given_;
  int64_t share_, depth_ = 0;
  Budget& all_;
};

}  // namespace code

using namespace code;

struct Program::Code {
  std::vector<Function> functions;
  std::vector<Instruction> steps;
  std::vector<Node> conditions;
  size_t slots = 3;  // p, A, s, then the parameters
  size_t params = 0;
  SourceRange range;
  Budget own;
  Budget* budget = &own;

  Machine machine(const Sizes& sizes, int64_t s) const {
    Machine machine(functions, slots, 10000 + 64 * sizes.A * sizes.C, *budget);
    machine.set(0, sizes.p);
    machine.set(1, sizes.A);
    machine.set(2, s);
    for (size_t i = 0; i < params && i < sizes.arguments.size(); ++i)
      machine.set(3 + i, sizes.arguments[i]);
    return machine;
  }
};

namespace {

/// Looks up names; spec/resolve has already refused unknown ones.
class Reader {
 public:
  Reader(std::vector<Function>& functions, std::vector<Node>& conditions, size_t& slots)
      : functions_(functions), conditions_(conditions), slots_(slots) {}

  void name(const Name& name, size_t slot) { names_[name] = slot; }

  std::vector<Instruction> steps(const std::vector<ScheduleStatement>& steps) {
    std::vector<Instruction> result;
    const size_t outer = declared_.size();
    for (const ScheduleStatement& step : steps) {
      if (step.kind == ScheduleStatement::Kind::require)
        conditions_.push_back(node(step.exprs[0]));
      else if (step.kind == ScheduleStatement::Kind::let && !step.params.empty())
        function(step);
      else
        result.push_back(instruction(step));
    }
    leave(outer);
    return result;
  }

 private:
  size_t declare(const Name& name) {
    declared_.push_back(name);
    return names_[name] = slots_++;
  }
  /// Forgets the names declared since: a name is assigned once, so that none stood for another.
  void leave(size_t outer) {
    for (; declared_.size() > outer; declared_.pop_back()) names_.erase(declared_.back());
  }

  Instruction instruction(const ScheduleStatement& step) {
    Instruction result;
    result.kind = step.kind;
    result.range = step.range;
    if (step.kind == ScheduleStatement::Kind::work) result.work = step.name.at(0);
    for (const Expr& expr : step.exprs) result.args.push_back(node(expr));
    if (step.kind == ScheduleStatement::Kind::work) return result;
    const size_t outer = declared_.size();
    result.slot = declare(step.name);
    if (step.kind == ScheduleStatement::Kind::loop) {
      result.body = steps(step.body);
      leave(outer);
    }
    return result;
  }

  void function(const ScheduleStatement& step) {
    Function function;
    const size_t outer = declared_.size();
    for (const Name& param : step.params) function.params.push_back(declare(param));
    function.body = node(step.exprs[0]);
    leave(outer);
    calls_[step.name] = functions_.size();
    functions_.push_back(std::move(function));
  }

  Node node(const Expr& expr) {
    Node result;
    result.range = expr.range;
    for (const Expr& arg : expr.args) result.args.push_back(node(arg));
    switch (expr.kind) {
      case Expr::Kind::number:
        number(expr, result);
        break;
      case Expr::Kind::name:
        result.fn = Fn::slot;
        result.value = static_cast<int64_t>(names_.at(expr.text));
        break;
      case Expr::Kind::unary:
        result.fn = expr.text == "not" ? Fn::no : Fn::neg;
        break;
      case Expr::Kind::call:
        call(expr, result);
        break;
      case Expr::Kind::string:
      case Expr::Kind::boolean:
      case Expr::Kind::size:
      case Expr::Kind::cast:
      case Expr::Kind::dtype:
      case Expr::Kind::zeros:
      case Expr::Kind::grad:
      case Expr::Kind::value_and_grad:
      case Expr::Kind::field:
      case Expr::Kind::entry:
      case Expr::Kind::binary:
        result.fn = binary(expr.text);
    }
    return result;
  }

  static void number(const Expr& expr, Node& node) {
    try {
      node.value = std::stoll(expr.text);
    } catch (const std::exception&) {
      fail(node, "a number of the schedule does not fit into 64 bits");
    }
  }

  void call(const Expr& expr, Node& node) {
    node.fn = expr.text == "min" ? Fn::least : expr.text == "max" ? Fn::most : Fn::call;
    if (node.fn == Fn::call) node.value = static_cast<int64_t>(calls_.at(expr.text));
  }

  std::vector<Function>& functions_;
  std::vector<Node>& conditions_;
  size_t& slots_;
  std::map<Name, size_t> names_, calls_;
  std::vector<Name> declared_;  ///< in the steps around
};

}  // namespace

Program::Program(const syntax::ScheduleDecl& declaration, Budget* budget)
    : code_(std::make_unique<Code>()) {
  Code& code = *code_;
  if (budget) code.budget = budget;
  code.range = declaration.range;
  code.params = declaration.params.size();
  Reader reader(code.functions, code.conditions, code.slots);
  reader.name("p", 0);
  reader.name("A", 1);
  reader.name("s", 2);
  for (const Name& param : declaration.params) reader.name(param, code.slots++);
  code.steps = reader.steps(declaration.steps);
}
Program::~Program() = default;
Program::Program(Program&&) noexcept = default;

SourceRange Program::range() const { return code_->range; }

bool Program::allows(const Sizes& sizes) const {
  Machine machine = code_->machine(sizes, 0);
  return std::all_of(code_->conditions.begin(), code_->conditions.end(),
                     [&](const Node& condition) { return machine.value(condition) != 0; });
}

std::vector<Timeline> Program::timelines(const Sizes& sizes) const {
  constexpr double most = 1e6;  // forwards and backwards of all stages
  if (2.0 * static_cast<double>(sizes.p) * static_cast<double>(sizes.A) *
          static_cast<double>(sizes.C) >
      most)
    throw Problem{"E0502", "the schedule has more than 1000000 operations",
                  code_->steps.empty() ? SourceRange{} : code_->steps[0].range};
  std::vector<Timeline> result;
  for (int64_t s = 0; s < sizes.p; ++s) {
    Timeline& stage = result.emplace_back();
    stage.reserve(2 * static_cast<size_t>(sizes.A * sizes.C));
    code_->machine(sizes, s).run(code_->steps, sizes, stage);
  }
  return result;
}

std::string to_string(const Work& work, int64_t chunks) {
  return std::string(1, work.kind) + "(" + std::to_string(work.m) +
         (chunks > 1 ? ", " + std::to_string(work.c) : "") + ")";
}

}  // namespace shardproof::schedule
