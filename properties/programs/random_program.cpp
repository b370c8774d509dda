#include "properties/programs/random_program.h"

#include <algorithm>

#include "properties/programs/ops.h"

namespace shardproof::programs {
namespace {

const Letters axis_pool = "dtce";

Layout drawn_layout(Coins& coins, const Letters& mesh) {
  Layout layout;
  const int dims = coins.below(3) + coins.below(3);
  for (int i = 0; i < std::max(dims, 1) || i == 0; ++i) {
    const Word dim = coins.of(dim_pool());
    if (!layout.find(dim) && layout.dims.size() < 4) layout.dims.push_back({dim, {}});
  }
  if (dims == 0 && coins.one_in(3)) layout.dims.clear();
  const bool max = coins.one_in(20);
  for (char axis : mesh) {
    const int way = coins.below(8);
    if (way >= 3 && way < 6 && !layout.dims.empty()) {
      Letters& axes =
          layout.dims[static_cast<size_t>(coins.below(static_cast<int>(layout.dims.size())))].axes;
      axes.insert(axes.begin() + coins.below(static_cast<int>(axes.size()) + 1), axis);
    }
    if (way == 6) layout.marks[axis] = 'I';
    if (way == 7) layout.marks[axis] = max ? 'M' : 'U';
  }
  return layout;
}

/// The op of the choice, or the next one that may be used.
const OpKind& kind_of(const Choice& choice, bool exact) {
  const std::vector<OpKind>& kinds = op_kinds();
  for (size_t i = static_cast<size_t>(choice.op);; ++i) {
    const OpKind& kind = kinds[i % kinds.size()];
    if (kind.when == OpKind::always || (kind.when == OpKind::in_exact) == exact) return kind;
  }
}

std::string parameters(const std::vector<Param>& params, bool whole) {
  std::string text;
  for (const Param& each : params)
    text += (text.empty() ? "" : ", ") + each.name + ": " +
            (whole ? each.dtype + "[" + each.layout.whole() + "]" : each.layout.type(each.dtype));
  return text;
}

std::string function(const std::string& head, const std::vector<Param>& params, bool whole,
                     const Layout& result, const std::vector<Line>& lines, const Word& name) {
  std::string text = head + "(" + parameters(params, whole) + ") -> " +
                     (whole ? "f32[" + result.whole() + "]" : result.type("f32")) + " {\n";
  for (const Line& line : lines)
    text.append("    ")
        .append(line.before)
        .append(line.name)
        .append(line.after)
        .append(" = ")
        .append(line.text) += '\n';
  return text.append("    return ").append(name).append("\n}\n");
}

/// The loss: the result times a weight, U on every axis.
std::string loss(std::vector<Param> params, const Drafted& result, const Letters& mesh) {
  std::string call;
  for (const Param& each : params) call += (call.empty() ? "" : ", ") + each.name;
  Drafted y{"y", "y", result.layout, {}};
  Draft body(mesh);
  for (char axis : mesh)
    if (y.layout.state(axis) == 'I') body.fan_out(y, axis);
  params.push_back({"w", "f32", Layout{y.layout.dims, {}}});
  Layout scalar{{}, y.layout.marks};
  for (const Piece& each : y.layout.dims)
    for (char axis : each.axes) scalar.marks[axis] = 'U';
  const auto text = [&](const Layout& from, const Layout& to, const Word& x) {
    return "einsum(\"" + from.text() + ", " + Layout{from.dims, {}}.text() + " -> " + to.text() +
           "\", " + x + ", w)";
  };
  Layout bare{y.layout.dims, {}};
  for (Piece& each : bare.dims) each.axes.clear();
  Drafted l = body.value(text(bare, {}, "y"), text(y.layout, scalar, y.plan), scalar, {&y});
  const Word model = l.model;
  for (char axis : mesh)
    if (l.layout.state(axis) == 'R') body.keep_one(l, axis);
  auto model_lines = body.model_lines(model), plan_lines = body.plan_lines(l.plan);
  model_lines.insert(model_lines.begin(), {"y", "f(" + call + ")", {}});
  plan_lines.insert(plan_lines.begin(), {"y", "p(" + call + ")", {}});
  return function("fn loss_whole", params, true, {}, model_lines, model) +
         function("plan loss implements loss_whole", params, false, l.layout, plan_lines, l.plan);
}

std::string step(std::vector<Param> params, const Drafted& result, const Letters& mesh) {
  std::string text = loss(params, result, mesh), wrt, names, whole, local, call;
  for (const Param& each : params) {
    call += each.name + ", ";
    if (each.dtype != "f32") continue;
    const std::string comma = names.empty() ? "" : ", ";
    wrt += comma + each.name;
    names += comma + "g_" + each.name;
    whole += comma + "g_" + each.name + ": f32[" + each.layout.whole() + "]";
    local += comma + "g_" + each.name + ": " + dual(each.layout, mesh).type("f32");
  }
  Layout weight = result.layout;
  weight.marks.clear();
  params.push_back({"w", "f32", weight});
  for (const bool is_whole : {true, false}) {
    const std::string loss = is_whole ? "loss_whole" : "loss";
    text += (is_whole ? "fn step_whole(" : "plan step implements step_whole(") +
            parameters(params, is_whole) + ") -> (" + (is_whole ? whole : local) + ") {\n    _l, " +
            names + " = value_and_grad(" + loss + " wrt " + wrt + ")(" + call + "w)\n    return " +
            names + "\n}\n";
  }
  return text;
}

/// The parameters that the lines use; ids are in their text alone.
std::vector<Param> live_params(const std::vector<Param>& params, const std::vector<Line>& lines,
                               const Word& result) {
  std::vector<Param> live;
  for (const Param& param : params) {
    const auto names = [&](const Line& line) {
      return std::count(line.uses.begin(), line.uses.end(), param.name) > 0;
    };
    if (param.name == result || std::any_of(lines.begin(), lines.end(), names))
      live.push_back(param);
  }
  return live;
}

class Drafter {
 public:
  explicit Drafter(const Choices& choices)
      : choices_(choices), draft_(axis_pool.substr(0, static_cast<size_t>(choices.axes))) {}

  RandomProgram run() {
    values_.reserve(choices_.params.size() + choices_.steps.size() + 1);
    add_params();
    for (const Choice& choice : choices_.steps) add_step(choice);
    RandomProgram program;
    Coins coins(choices_.data);
    Drafted result = values_.back();
    for (int i = coins.below(3); i > 0; --i) wander_on(coins, result);
    write(program, result);
    return program;
  }

 private:
  void add_params() {
    for (const Choice& choice : choices_.params) {
      Coins coins(choice.salt);
      values_.push_back(draft_.param(drawn_layout(coins, draft_.mesh())));
    }
    if (values_.empty()) values_.push_back(draft_.param(Layout{{{"A", {}}}, {}}));
  }

  void wander_on(Coins& coins, Drafted& x) {
    Workshop shop{draft_, coins, choices_.exact};
    wander(shop, x);
    if (coins.one_in(6)) draft_.save(x);
  }

  Drafted& operand(int choice) {
    return values_[values_.size() - 1 - static_cast<size_t>(choice) % values_.size()];
  }

  void add_step(const Choice& choice) {
    Coins coins(choice.salt);
    Workshop shop{draft_, coins, choices_.exact};
    for (int i = coins.below(3); i > 0; --i) wander_on(coins, operand(choice.a));
    if (coins.one_in(2)) wander_on(coins, operand(choice.b));
    const OpKind& kind = kind_of(choice, choices_.exact);
    if (auto made = kind.make(shop, operand(choice.a), operand(choice.b)))
      values_.push_back(std::move(*made));
  }

  void write(RandomProgram& program, Drafted result) {
    const auto model = draft_.model_lines(result.model);
    auto plan = draft_.plan_lines(result.plan);
    program.params = live_params(draft_.params(), model, result.model);
    const std::vector<Param>& params = program.params;
    program.mesh = draft_.mesh();
    for (Drafted& value : values_)
      if (value.model != result.model &&
          (std::any_of(model.begin(), model.end(),
                       [&](const Line& line) { return line.name == value.model; }) ||
           std::any_of(params.begin(), params.end(),
                       [&](const Param& param) { return param.name == value.model; })))
        program.values.push_back(std::move(value));
    program.values.push_back(result);
    std::string axes, bodies;
    for (char axis : draft_.mesh()) (axes += ' ') += axis;
    const std::string head = "mesh" + axes + "\ndim A B C D E\ndim P = 2\ndim Q = 2\n";
    bodies = function("fn f", params, true, result.layout, model, result.model);
    bodies += function("plan p implements f", params, false, result.layout, plan, result.plan);
    program.text = head + bodies;
    program.differentiable = !result.free;
    const auto any = [](const std::vector<Line>& lines, const char* what) {
      return std::any_of(lines.begin(), lines.end(), [&](const Line& line) {
        return line.text.find(what) != std::string::npos;
      });
    };
    for (const char* what : {"max(", "relu(", "abs(", "where(", "top_k(", "argsort("})
      program.kinks = program.kinks || any(model, what);
    program.shortened = any(model, "bf16(");
    for (const char* what : {"{Max_", " Max_"})
      program.differentiable = program.differentiable && !any(plan, what);
    for (const Param& param : params)
      if (param.layout.has('M')) program.differentiable = false;
    program.plan.reserve(plan.size());
    for (Line& line : plan) program.plan.push_back(std::move(line.text));
  }

  const Choices& choices_;
  Draft draft_;
  std::vector<Drafted> values_;
};

}  // namespace

RandomProgram draft_program(const Choices& choices) { return Drafter(choices).run(); }

std::string with_step(const RandomProgram& program) {
  if (!program.differentiable) return program.text;
  return program.text + step(program.params, program.values.back(), program.mesh);
}

double exact_bits(const RandomProgram& program, const std::map<Word, int64_t>& dims) {
  double bits = 0;
  for (const Drafted& value : program.values)
    bits = std::max(bits, value.size.at(dims) + value.fraction);
  return bits + 1;
}

}  // namespace shardproof::programs
