// Statements of a body: dims, conditions, bindings, and the results of a block.
#include <utility>

#include "spec/resolve/assumptions.h"
#include "spec/resolve/body.h"
#include "spec/resolve/calls.h"
#include "spec/resolve/dims.h"
#include "spec/resolve/loops.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/numbers.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

constexpr size_t most_values = 150000;  // in all functions of a program
constexpr size_t most_errors = 100;     // in a file: later bodies are not read

class StatementReader {
 public:
  explicit StatementReader(Body& body) : body_(body) {}

  void operator()(const syntax::DimDecl& node) {
    const ArithNames names = names_in(body_);
    auto size = [&](const syntax::Expr& expr) { return arith(body_.world, expr, names); };
    std::vector<Name> known = keys(body_.file().dims);
    for (const Name& name : keys(body_.scope->dims)) known.push_back(name);
    for (size_t i = 0; i < node.names.size(); ++i) declare(node, i, known, size);
  }

  /// Conditions are compared with each other.
  bool is_full(size_t conditions, const std::string& what, SourceRange range) {
    constexpr size_t most = 1000;
    if (conditions < most) return false;
    if (!std::exchange(full_, true))
      body_.error("E0007", range, "a body has at most 1,000 " + what);
    return true;
  }

  void operator()(const syntax::Require& node) {
    if (is_full(body_.block->requirements.size(), "requires", node.condition.range)) return;
    auto condition = arith(body_.world, node.condition, names_in(body_));
    if (condition)
      body_.block->requirements.push_back(
          {std::move(*condition), body_.located(node.condition.range)});
  }

  void operator()(const syntax::Assume& node) {
    if (body_.scope->is_plan || body_.inferred() || body_.loop)
      return (void)body_.error(
          "E0109", node.range,
          body_.scope->is_plan
              ? "write the `assume` in the model: a plan assumes what its model does"
              : (body_.loop ? "`assume` is about a fn's parameters, and cannot be inside a loop"
                            : "a generic fn assumes nothing: it has no types of its own"));
    if (is_full(body_.function.assumptions.size(), "assumes", node.range)) return;
    const auto assumption = assumption_of(body_, node);
    if (!assumption) return;
    constexpr std::ptrdiff_t most = 16;  // each two and a third are compared
    std::vector<ir::Assumption>& all = body_.function.assumptions;
    const auto of_it = std::count_if(all.begin(), all.end(), [&](const ir::Assumption& each) {
      return each.leaf == assumption->leaf;
    });
    if (of_it < most)
      all.push_back(*assumption);
    else if (!std::exchange(full_, true))
      body_.error("E0007", node.range, "a parameter has at most 16 assumes");
  }

  /// `g, h = grad(f wrt a)(..)`: the parameters after the last one that is named.
  Fix missing_wrt(const syntax::Bind& node, size_t count) const {
    const syntax::Expr& call = node.value[0];
    const std::string_view text = body_.world.sources.text(call.range);
    Fix fix{"name a parameter after `wrt` for each gradient", {}, false, ""};
    const auto* function = find_function(body_, call.text, call.range);
    const size_t close = text.find(')');
    if (!function || close == text.npos) return fix;
    std::string more;
    bool after = false;
    for (const auto& param : function->params) {
      if (after && count > 0) more += ", " + param.name, --count;
      after = after || param.name == call.names.back();
    }
    const auto at = call.range.begin + static_cast<uint32_t>(close);
    if (!more.empty() && count == 0) fix.edits = {{{call.range.file, at, at}, more}};
    return fix;
  }

  /// `l, g = value_and_grad(loss)(..)`: without `wrt` there is a gradient of each parameter.
  /// The first ones that `count` names ask for are those before data.
  void without_wrt(const syntax::Expr& call, size_t count, Diagnostic& error) const {
    const auto* function = find_function(body_, call.text, call.range);
    std::string all, first;
    for (size_t i = 0; i < function->params.size() - function->saved; ++i) {
      const auto& param = function->params[i];
      if (!all_floats(param.type)) continue;
      all += (all.empty() ? "`" : ", `") + param.name + "`";
      if (count > 0) first += (first.empty() ? " wrt " : ", ") + param.name, --count;
    }
    error.label = "without `wrt` it has the gradients of all float parameters, " + all;
    const std::string_view text = body_.world.sources.text(call.range);
    const auto at = call.range.begin + static_cast<uint32_t>(text.find(')'));
    error.fixes.push_back({"name the parameters whose gradients you want",
                           {{{call.range.file, at, at}, first}},
                           false,
                           ""});
  }

  void wrong_number(const syntax::Bind& node, size_t results) {
    const size_t names = node.targets.size();
    Diagnostic& error = body_.error("E0103", node.targets.front().range,
                                    counted(names, "name") + " for " + counted(results, "result"));
    SourceRange front = node.targets.front().range;
    front.end = front.begin;
    const syntax::Expr* call = node.value.empty() ? nullptr : &node.value[0];
    const bool value = call && call->kind == syntax::Expr::Kind::value_and_grad;
    if (call && (value || call->kind == syntax::Expr::Kind::grad) && call->names.empty() &&
        names > value && names < results)
      return without_wrt(*call, names - value, error);
    if (value && names + 1 == results)
      error.fixes.push_back(
          {"the value comes before the gradients", {{front, "_value, "}}, false, ""});
    else if (names < results)
      error.fixes.push_back(
          {"give each result a name; `_x` is for one that is not needed", {}, false, ""});
    else if (!node.value.empty() && !node.value[0].names.empty())
      error.fixes.push_back(missing_wrt(node, names - results));
  }

  void operator()(const syntax::Bind& node) {
    std::vector<Values> values;
    SourceRange range;
    if (!node.loop.empty()) {
      range = node.loop[0].range;
      values = run_loop(body_, node.loop[0]);
    } else if (!node.value.empty()) {
      const syntax::Expr& expr = node.value[0];
      range = expr.range;
      values = body_.several(expr);
    }
    const bool broken = values.size() == 1 && is_unknown(values[0]);
    if (values.size() != node.targets.size()) {
      if (!broken) wrong_number(node, values.size());
      values.assign(node.targets.size(), unknown_value());
    }
    for (size_t i = 0; i < values.size(); ++i) bind(node.targets[i], std::move(values[i]), range);
  }

  void operator()(const syntax::Return& node) {
    FunctionScope& scope = *body_.scope;
    if (body_.loop) return returned_in_loop(node);
    scope.returned = body_.all(node.values);
    scope.has_returned = true;
    scope.return_range = statement_;
  }

  void operator()(const syntax::Next& node) {
    LoopScope* loop = body_.loop;
    if (!loop || loop->kind == syntax::Loop::Kind::pipeline)
      return (void)body_.error("E0109", statement_, "`next` where there are no carries");
    if (loop->has_next) return (void)body_.error("E0109", statement_, "a second `next`");
    loop->has_next = true;
    std::vector<Values> values = body_.all(node.values);
    if (values.size() != loop->carries.size()) {
      body_
          .error("E0103", statement_,
                 counted(values.size(), "value") + " for " + std::to_string(loop->carries.size()) +
                     (loop->carries.size() == 1 ? " carry" : " carries"))
          .fixes.push_back({"`next` has one value for each carry, in their order", {}, false, ""});
      values.assign(loop->carries.size(), unknown_value());
    }
    std::vector<SourceRange> ranges(values.size(), statement_);
    for (size_t i = 0; i < values.size() && i < node.values.size(); ++i)
      ranges[i] = node.values[i].range;
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t errors = body_.world.errors();
      loop->next.push_back(
          fit(body_, values[i], loop->carries[i], ranges[i], {"E0304", "E0304", "the next carry"}));
      add_to_new_error(body_, errors,
                       exchanged(body_, ranges, i, "`next` has the carries in their order"));
    }
    body_.block->next_range = statement_;
  }

  void operator()(const syntax::Emit& node) {
    LoopScope* loop = body_.loop;
    if (!loop) return (void)body_.error("E0109", statement_, "`emit` is only allowed in a loop");
    for (Values& values : body_.all(node.values)) {
      const size_t at = std::min(loop->emitted.size(), node.values.size() - 1);
      loop->emitted.push_back(std::move(values));
      loop->emitted_at.push_back(node.values[at].range);
    }
    if (loop->carries.empty()) body_.block->next_range = statement_;  // there is no `next`
  }

  void at(SourceRange range) { statement_ = range; }

 private:
  // It is read as the `next` that it stands for.
  void returned_in_loop(const syntax::Return& node) {
    const LoopScope& loop = *body_.loop;
    const bool carries = !loop.carries.empty() && !loop.has_next;
    const std::string word = carries ? "next" : "emit";
    Diagnostic& error = body_.error("E0109", statement_, "`return` inside a loop",
                                    carries ? "the next value of the carry is given by `next`"
                                            : "the values of a step are stacked by `emit`");
    SourceRange range = statement_;
    range.end = range.begin + static_cast<uint32_t>(std::string_view("return").size());
    error.fixes.push_back({"write `" + word + "`", {{range, word}}, false, ""});
    if (carries && loop.kind != syntax::Loop::Kind::pipeline) (*this)(syntax::Next{node.values});
  }

  void declare(const syntax::DimDecl& node, size_t i, const std::vector<Name>& known,
               const std::function<std::optional<ir::Arith>(const syntax::Expr&)>& size) {
    const Name& name = node.names[i];
    const FileScope& file = body_.file();
    const bool taken =
        body_.scope->dims.count(name) || file.dims.count(name) || file.axes.count(name);
    if (taken) {
      SourceRange first;
      if (auto dim = file.dims.find(name); dim != file.dims.end()) first = dim->second;
      return body_.world.twice(name, body_.world.locate(name, node.range), first,
                               "`" + name + "` is declared twice; dims and axes share their names");
    }
    auto info = dim_info(body_.world, node, i, known, size);
    if (!info) return;
    if (info->pads) {
      body_.error("E0109", info->range, "`pads` is for the dims of a file",
                  "types of parameters and results have them");
      return;
    }
    std::vector<Name> of;  // a dim after `;` may stand for a group
    for (const Name& factor : info->of) {
      auto local = body_.scope->dims.find(factor);
      if (local == body_.scope->dims.end())
        of.push_back(factor);
      else
        of.insert(of.end(), local->second.factors.begin(), local->second.factors.end());
    }
    info->of = of;
    if (info->kind == ir::DimInfo::Kind::alias && of.size() > 1)
      info->kind = ir::DimInfo::Kind::group;
    info->range = body_.located(info->range);
    if (!within_bounds(body_.world, name, *info)) return;
    const Dim dim = body_.world.local_dim(body_.scope->function, name, std::move(*info));
    body_.world.dim_weights[dim.factors[0]] = body_.world.dim_weights[name];
    body_.scope->dims[name] = dim;
  }

  void bind(const syntax::Target& target, Values values, SourceRange range) {
    if (target.type) {
      auto type = resolve_type(body_.types(), *target.type);
      if (type) values = ascribe(values, *type, target, range);
    }
    body_.bind(target.name, std::move(values), target.range);
  }

  Values ascribe(const Values& values, const Types& type, const syntax::Target& target,
                 SourceRange range) {
    if (is_unknown(values)) return fit(body_, values, type, range, {"E0302", "E0302", ""});
    const Values fitted =
        fit(body_, values, type, range, {"E0302", "E0302", "`" + target.name + "`"});
    std::vector<Type> types = leaves(type);
    size_t next = 0;
    return transform<ir::ValueId>(fitted, [&](ir::ValueId id) {
      const Type& stated = types[next++];
      return body_.emit(ir::Ascribe{stated, false}, {id}, stated, stated.dtype, target.type->range,
                        {range});
    });
  }

  Body& body_;
  bool full_ = false;
  SourceRange statement_;
};

}  // namespace

void Body::statements(const syntax::Block& text) {
  StatementReader reader(*this);
  for (const syntax::Statement& statement : text) {
    if (exhausted) return;
    if (world.values_written + function.values.size() > most_values) {
      exhausted = lost = true;
      error("E0007", statement.range,
            "the bodies of a program have at most 150,000 values with their calls written out");
      return;
    }
    if (world.errors() >= most_errors) {
      exhausted = lost = true;
      error("E0007", statement.range, "not read: the file has too many errors before it");
      return;
    }
    if (scope->has_returned && !loop) {
      error("E0109", statement.range, "statements after `return` never run");
      return;
    }
    reader.at(statement.range);
    std::visit(reader, statement.node);
  }
}

}  // namespace shardproof::resolution
