// grad(P)(...) and value_and_grad(P)(...): their arguments and results.
#include <algorithm>

#include "spec/resolve/calls.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {

bool all_floats(const Types& type) {
  bool result = true;
  for_each_leaf(
      type, [&](const Type& leaf, const std::string&) { result = result && is_float(leaf.dtype); });
  return result;
}

namespace {

class Gradient {
 public:
  Gradient(Body& body, const syntax::Expr& expr)
      : body_(body), expr_(expr), with_value_(expr.kind == syntax::Expr::Kind::value_and_grad) {}

  std::vector<Values> run() {
    body_.function.uses_gradients = true;
    CallSite site = read_site(body_, expr_);
    entity_ = find_function(body_, expr_.text, expr_.range);
    if (entity_) entity_ = &with_i(*entity_);
    if (!entity_ || !differentiable() || !choose()) return failed();
    if (!arguments(site)) return failed();
    return results();
  }

 private:
  /// A plan for R and I is differentiated as that for I: the values of a step are I or read as it.
  const FunctionEntity& with_i(const FunctionEntity& entity) const {
    if (!entity.decl->instance) return entity;
    const auto& functions = body_.world.functions;
    size_t index = 0;
    while (&functions[index] != &entity) ++index;
    return functions[instances(body_.world, index).back()];
  }

  std::vector<Values> failed() {
    return unknown_result(std::max<size_t>(chosen_.size() + (with_value_ ? 1 : 0), 1));
  }

  bool refuse(const char* code, const std::string& message) {
    body_.error(code, expr_.range, message);
    return false;
  }

  bool other_kind() {
    const bool plan = body_.scope->is_plan;
    Diagnostic& error = body_.error("E0109", expr_.range,
                                    plan ? "a plan differentiates plans, and this is a fn"
                                         : "a fn differentiates fns, and this is a plan");
    if (!plan) return false;
    std::vector<Name> plans;
    for (const auto& [name, index] : body_.file().functions) {
      const auto* decl = body_.world.functions[index].decl;
      if (decl && decl->is_plan && decl->implements && decl->implements->model == expr_.text)
        plans.push_back(name);
    }
    if (plans.size() == 1)
      error.fixes.push_back({"`" + plans[0] + "` is the plan of `" + expr_.text + "`",
                             {{body_.world.locate(expr_.text, expr_.range), plans[0]}},
                             false,
                             ""});
    return false;
  }

  bool differentiable() {
    if (entity_->unreadable) return false;
    if (entity_->index && *entity_->index >= body_.index()) return false;  // cycle, was reported
    if (entity_->generic || !entity_->index)
      return refuse("E0109", "a gradient can be taken of a fn or a plan, but `" + expr_.text +
                                 "` is generic");
    if (entity_->decl->is_plan != body_.scope->is_plan) return other_kind();
    const bool scalar = entity_->results.size() == 1 && !entity_->results[0].is_record() &&
                        entity_->results[0].leaf.dims.empty() &&
                        is_float(entity_->results[0].leaf.dtype);
    if (with_value_ && !scalar)
      return refuse("E0109", "`value_and_grad` needs a function whose result is one float scalar");
    return true;
  }

  bool choose() {
    const size_t own = entity_->params.size() - entity_->saved;
    if (expr_.names.empty()) {
      for (size_t i = 0; i < own; ++i)
        if (all_floats(entity_->params[i].type)) chosen_.push_back(i);
      return !chosen_.empty() || refuse("E0109", "`" + expr_.text + "` has no float parameter");
    }
    for (const Name& name : expr_.names) {
      size_t at = 0;
      while (at < own && entity_->params[at].name != name) ++at;
      if (at == own) {
        std::vector<Name> known;
        for (size_t i = 0; i < own; ++i) known.push_back(entity_->params[i].name);
        body_.world.unknown("parameter", name, expr_.range, known);
        return false;
      }
      if (!all_floats(entity_->params[at].type))
        return refuse("E0104", "`" + name + "` is not all floats, so it has no gradient");
      if (std::find(chosen_.begin(), chosen_.end(), at) != chosen_.end())
        return body_.world.twice(name, expr_.range, {}, "`" + name + "` is after `wrt` twice"),
               false;
      chosen_.push_back(at);
    }
    return true;
  }

  Fix as_called() const {
    std::string names;
    for (size_t i = 0; i < entity_->params.size() - entity_->saved; ++i)
      names += (names.empty() ? "" : ", ") + entity_->params[i].name;
    return {"it is called as `" + std::string(with_value_ ? "value_and_grad" : "grad") + "(" +
                expr_.text + " wrt ...)(" + names + (with_value_ ? ")`" : ", g)`"),
            {},
            false,
            ""};
  }

  bool arguments(const CallSite& site) {
    const size_t own = entity_->params.size() - entity_->saved;
    const size_t count = own + (with_value_ ? 0 : entity_->results.size());
    if (site.has_pattern || !site.named.empty() || site.args.size() != count) {
      Diagnostic& error =
          body_.error("E0103", expr_.range,
                      "`" + std::string(with_value_ ? "value_and_grad" : "grad") + "(" +
                          expr_.text + ")` takes " + std::to_string(count) + " arguments" +
                          (with_value_ ? "" : ", the last one for each result"));
      if (with_value_ || site.args.size() != own)
        error.fixes.push_back(as_called());
      else
        error.fixes.push_back(
            {"the last one is the gradient of the result; a loss needs none: "
             "`_l, g = value_and_grad(...)(...)`",
             {},
             false,
             ""});
      const bool loss = entity_->results.size() == 1 && !entity_->results[0].is_record() &&
                        entity_->results[0].leaf.dims.empty();
      if (!with_value_ && site.args.size() == own && loss) {
        const SourceRange end{expr_.range.file, expr_.range.end - 1, expr_.range.end - 1};
        error.fixes.push_back({"the gradient of a loss is 1", {{end, ", 1"}}, false, ""});
      }
      return false;
    }
    for (size_t i = 0; i < count; ++i) {
      const Types& type = i < own ? entity_->params[i].type : entity_->results[i - own];
      const std::string what =
          i < own ? "the argument `" + entity_->params[i].name + "`" : "the gradient of the result";
      const Values value =
          fit(body_, site.args[i].values, type, site.args[i].range, {"E0303", "E0303", what});
      for (ir::ValueId leaf : leaves(value)) {
        operands_.push_back(leaf);
        ranges_.push_back(site.args[i].range);
      }
    }
    return true;
  }

  // The dual type over the axes of the function's own file. On other axes the values are I.
  Values dual_values(const Types& type) {
    const std::vector<Axis> axes = keys(body_.world.files[entity_->file].axes);
    return transform<ir::ValueId>(type, [&](const Type& leaf) {
      const ir::ValueId id = body_.add_value(leaf, expr_.range);
      body_.function.values[id].type = body_.scope->is_plan ? dual(leaf, axes) : leaf;
      body_.function.values[id].stated = true;
      ids_.push_back(id);
      return id;
    });
  }

  std::vector<Values> results() {
    ir::Grad op{*entity_->index, with_value_, {}};
    std::vector<Values> values;
    if (with_value_) {
      const ir::ValueId id = body_.add_value(entity_->results[0].leaf, expr_.range);
      ids_.push_back(id);
      values.push_back(tensor(id));
    }
    std::vector<size_t> first_leaf(1, 0);
    for (const Parameter& param : entity_->params)
      first_leaf.push_back(first_leaf.back() + leaves(param.type).size());
    for (size_t param : chosen_) {
      for (size_t leaf = first_leaf[param]; leaf < first_leaf[param + 1]; ++leaf)
        op.wrt.push_back(leaf);
      values.push_back(dual_values(entity_->params[param].type));
    }
    body_.emit_to(std::move(op), std::move(operands_), std::move(ids_), expr_.range,
                  std::move(ranges_));
    return values;
  }

  Body& body_;
  const syntax::Expr& expr_;
  bool with_value_;
  const FunctionEntity* entity_ = nullptr;
  std::vector<size_t> chosen_;
  std::vector<ir::ValueId> operands_, ids_;
  std::vector<SourceRange> ranges_;
};

}  // namespace

std::vector<Values> gradient(Body& body, const syntax::Expr& expr) {
  return Gradient(body, expr).run();
}

}  // namespace shardproof::resolution
