// Checks what a plan claims to implement against its parameters (E0108).
#include <algorithm>
#include <set>

#include "spec/resolve/in_order.h"
#include "spec/resolve/pads.h"
#include "spec/resolve/signatures.h"
#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

/// Writes `own` with its dims in the model's order. None for a record, whose range is `{}`.
std::vector<Edit> in_order_of(const Type& own, const Type& model, SourceRange range) {
  if (range.file < 0) return {};
  Type ordered = own;
  ordered.dims.clear();
  for (const Split& theirs : model.dims)
    for (const Split& mine : own.dims)
      if (mine.dim == theirs.dim) ordered.dims.push_back(mine);
  return {{range, to_string(ordered)}};
}

class Claim {
 public:
  Claim(World& world, FunctionEntity& entity)
      : world_(world), entity_(entity), decl_(*entity.decl), file_(world.files[entity.file]) {}

  void run() {
    const size_t before = world_.errors();
    ir::Function& function = world_.program.functions.own()[*entity_.index];
    const syntax::Implements& claim = *decl_.implements;
    model_ = find(claim.model);
    function.implements_grad = claim.grad;
    if (model_) check(function);
    entity_.bad = entity_.bad || world_.errors() > before;
  }

 private:
  FunctionEntity* find(const Name& name) {
    auto found = file_.functions.find(name);
    if (found != file_.functions.end()) return &world_.functions[found->second];
    SourceRange range = decl_.range;
    if (decl_.name_range.file >= 0) range.begin = decl_.name_range.end;
    std::vector<Name> models;
    for (const auto& [each, entity] : file_.functions)
      if (!world_.functions[entity].decl->is_plan) models.push_back(each);
    world_.unknown("model", name, range, models);
    return nullptr;
  }

  void refuse(SourceRange range, const std::string& message, const std::string& help = "") {
    Diagnostic& error = world_.error("E0108", range, message);
    if (!help.empty()) error.fixes.push_back({help, {}, false, ""});
    if (model_)
      error.notes.push_back({model_->decl->name_range, "`" + model_->decl->name + "` is here"});
  }

  void check(ir::Function& function) {
    // The gradient of a plan without a model is that of its own erasure.
    const bool own_erasure = model_->decl->is_plan && !model_->decl->implements &&
                             decl_.implements->grad && decl_.after == model_->decl->name;
    if (model_ == &entity_) return;  // E0112
    if (model_->generic || (model_->decl->is_plan && !own_erasure) || !model_->index) {
      Diagnostic& error =
          world_.error("E0109", decl_.name_range,
                       model_->decl->is_plan
                           ? "a plan implements a fn, and `" + model_->decl->name + "` is a plan"
                           : "a generic fn cannot be a model");
      if (const auto& its = model_->decl->implements)
        error.fixes.push_back(
            {"it implements `" + its->model + "`: write `implements " + its->model + "` here too",
             {},
             false,
             ""});
      return;
    }
    const size_t own = *entity_.index;
    if (model_->unreadable || entity_.unreadable || *model_->index >= own) {
      entity_.bad = true;
      return;
    }
    // A plan with padded results has another function for its claim.
    if (!entity_.padded_claim) function.model = entity_.padded_model.value_or(*model_->index);
    if (decl_.implements->grad)
      check_gradient(function);
    else
      check_plan();
    check_padded_claim(world_, entity_, *model_);
  }

  void check_plan() {
    if (decl_.after)
      world_.error("E0109", decl_.name_range,
                   "only a gradient has `after`: `implements grad(f) after P`");
    const size_t count = model_->params.size();
    if (entity_.params.size() != count)
      return refuse(
          decl_.name_range,
          "`" + decl_.name + "` has " + counted(entity_.params.size(), "parameter") +
              ", and its model " + std::to_string(count),
          "a plan takes what its model takes, in that order; other values are made in its "
          "body, or are parameters of the model too");
    for (size_t i = 0; i < count; ++i)
      if (!parameter(entity_.params[i], model_->params[i])) return;
    if (entity_.results.size() != model_->results.size())
      return refuse(decl_.name_range,
                    "`" + decl_.name + "` has " + counted(entity_.results.size(), "result") +
                        ", and its model " + std::to_string(model_->results.size()),
                    "a plan returns what its model returns, in that order; for another value, let "
                    "the model return it too");
    if (swaps_results()) return;
    for (size_t i = 0; i < entity_.results.size(); ++i)
      if (!same(entity_.results[i], model_->results[i], entity_.written_results[i]->range,
                "the result"))
        return;
  }

  /// Whether a result has the name of another result of the model.
  bool swaps_results() {
    const std::vector<Name>& theirs = model_->result_names;
    for (size_t i = 0; i < entity_.results.size(); ++i) {
      const Name& own = entity_.result_names[i];
      if (own.empty() || own == theirs[i] ||
          std::find(theirs.begin(), theirs.end(), own) == theirs.end())
        continue;
      refuse(entity_.written_results[i]->range,
             "the result `" + own + "` stands where the model has `" + theirs[i] + "`");
      return true;
    }
    return false;
  }

  bool parameter(const Parameter& own, const Parameter& model) {
    if (own.name == model.name)
      return same(own.type, model.type, own.written->range, "`" + own.name + "`");
    refuse(own.written->range,
           "the parameter `" + own.name + "` stands where the model has `" + model.name + "`");
    if (!decl_.implements->grad) world_.diagnostics.back().fixes.push_back(models_parameters());
    return false;
  }

  Fix models_parameters() const {
    std::vector<const syntax::Group*> groups;
    for (const syntax::Param& param : decl_.params) groups.push_back(&param.group);
    std::vector<Name> names;
    for (const Parameter& each : model_->params) names.push_back(each.name);
    if (auto fix = groups_in_order(world_.sources, groups, names)) return *std::move(fix);
    std::string text;
    for (const Name& name : names) text += (text.empty() ? "" : ", ") + name;
    return {
        "a plan has its model's parameters, with their names and in their order: `" + text + "`",
        {},
        false,
        ""};
  }

  bool same(const Types& own, const Types& model, SourceRange range, const std::string& what) {
    if (own.record != model.record) {
      refuse(range, what + " is " + describe(world_, own) + ", and in the model " +
                        describe(world_, model));
      return false;
    }
    const std::vector<Type> mine = leaves(own), theirs = leaves(model);
    if (mine.size() != theirs.size()) return false;  // of a refused layout
    for (size_t i = 0; i < mine.size(); ++i) {
      const bool positions = same_but_padded(world_, mine[i], theirs[i]);
      if (positions && same_class(mine[i].dtype, theirs[i].dtype)) continue;
      refuse(range,
             what + " is " + to_string(mine[i]) + ", and in the model " + to_string(theirs[i]));
      world_.diagnostics.back().types = {to_string(mine[i]), to_string(theirs[i])};
      if (!positions && sorted_dims(mine[i]) == sorted_dims(theirs[i]))
        world_.diagnostics.back().fixes.push_back(
            {"its dims are those of the model in another order",
             in_order_of(mine[i], theirs[i], own.is_record() ? SourceRange{} : range), false, ""});
      else if (!own.is_record())
        world_.diagnostics.back().fixes.push_back(
            {"the model's type is `" + to_string(theirs[i]) + "`; a plan adds axes to it",
             {{range, to_string(theirs[i])}},
             false,
             ""});
      return false;
    }
    return true;
  }

  static std::vector<std::string> sorted_dims(const Type& type) {
    std::vector<std::string> dims;
    for (const Split& split : type.dims) dims.push_back(to_string(split.dim));
    std::sort(dims.begin(), dims.end());
    return dims;
  }

  // Parameters: those of f, then a cotangent for each result. Results: a gradient for each float
  // parameter.
  void check_gradient(ir::Function& function) {
    const size_t own = entity_.params.size() - entity_.saved, count = model_->params.size();
    if (own != count + model_->results.size())
      return refuse(decl_.name_range, "a gradient of `" + model_->decl->name + "` takes its " +
                                          std::to_string(count) +
                                          " parameters and one gradient for each result");
    for (size_t i = 0; i < own; ++i) {
      const bool good =
          i < count ? parameter(entity_.params[i], model_->params[i])
                    : same(entity_.params[i].type, model_->results[i - count],
                           entity_.params[i].written->range, "`" + entity_.params[i].name + "`");
      if (!good) return;
    }
    const std::vector<size_t> wrt = chosen();
    if (entity_.bad) return;
    if (entity_.results.size() != wrt.size())
      return refuse(decl_.name_range, "`" + decl_.name + "` has " +
                                          std::to_string(entity_.results.size()) + " results for " +
                                          std::to_string(wrt.size()) + " gradients");
    if (in_another_order(wrt)) return;
    for (size_t i = 0; i < wrt.size(); ++i)
      if (!same(entity_.results[i], model_->params[wrt[i]].type, entity_.written_results[i]->range,
                "the gradient") ||
          !padded_like(wrt[i], i))
        return;
    fill_wrt(function, wrt);
    if (decl_.after) check_after(function);
  }

  /// Results `g_w, g_x` of parameters `x, w`: `wrt w, x` says so.
  bool in_another_order(const std::vector<size_t>& wrt) {
    std::string order;
    bool other = false;
    std::set<size_t> named;
    for (size_t i = 0; i < wrt.size(); ++i) {
      const auto of = std::find_if(wrt.begin(), wrt.end(), [&](size_t param) {
        return entity_.result_names[i] == "g_" + model_->params[param].name;
      });
      if (of == wrt.end() || !named.insert(*of).second) return false;
      other = other || *of != wrt[i];
      order += (order.empty() ? " wrt " : ", ") + model_->params[*of].name;
    }
    const std::string claim = "grad(" + decl_.implements->model + ")";
    const size_t at = world_.sources.text(decl_.range).find(claim);
    if (!other || at == std::string_view::npos) return false;
    refuse(decl_.name_range, "the gradients are named in another order than the parameters of `" +
                                 model_->decl->name + "`");
    const auto end = decl_.range.begin + static_cast<uint32_t>(at + claim.size() - 1);
    world_.diagnostics.back().fixes.push_back(
        {"say which is first: `grad(" + decl_.implements->model + order + ")`",
         {{{decl_.range.file, end, end}, order}},
         false,
         ""});
    return true;
  }

  /// A gradient is padded as its parameter is.
  bool padded_like(size_t param, size_t result) {
    const std::vector<Type> mine = leaves(entity_.results[result]),
                            own = leaves(entity_.params[param].type);
    for (size_t i = 0; i < mine.size() && i < own.size(); ++i) {
      if (same_positions(world_, mine[i], own[i])) continue;
      refuse(entity_.written_results[result]->range,
             "the gradient is " + to_string(mine[i]) + ", and its parameter " + to_string(own[i]));
      return false;
    }
    return true;
  }

  std::vector<size_t> chosen() {
    std::vector<size_t> result;
    for (size_t i = 0; i < model_->params.size() && decl_.implements->wrt.empty(); ++i) {
      bool floats = true;
      for (const Type& leaf : leaves(model_->params[i].type))
        floats = floats && is_float(leaf.dtype);
      if (floats) result.push_back(i);
    }
    for (const Name& name : decl_.implements->wrt) {
      size_t at = 0;
      while (at < model_->params.size() && model_->params[at].name != name) ++at;
      if (std::find(result.begin(), result.end(), at) != result.end()) {
        world_.twice(name, decl_.name_range, {}, "`" + name + "` is after `wrt` twice");
        entity_.bad = true;
      } else if (at < model_->params.size()) {
        result.push_back(at);
      }
      if (at < model_->params.size()) continue;
      std::vector<Name> known;
      for (const Parameter& param : model_->params) known.push_back(param.name);
      world_.unknown("parameter", name, decl_.name_range, known);
      entity_.bad = true;
    }
    return result;
  }

  void fill_wrt(ir::Function& function, const std::vector<size_t>& wrt) {
    std::vector<size_t> first(1, 0);
    for (const Parameter& param : model_->params)
      first.push_back(first.back() + leaves(param.type).size());
    for (size_t param : wrt)
      for (size_t leaf = first[param]; leaf < first[param + 1]; ++leaf)
        function.wrt.push_back(leaf);
  }

  void check_after(ir::Function& function) {
    const FunctionEntity* after = find(*decl_.after);
    if (!after) return;
    if (after->decl->instance && *decl_.after == after->decl->instance->plan)
      return (void)world_.error(
          "E0109", decl_.name_range,
          "`" + *decl_.after + "` stands for plans with R and with I: their backwards are derived");
    if (!after->decl->is_plan || !after->index || *after->index >= *entity_.index)
      return (void)world_.error("E0109", decl_.name_range, "`after` names a plan");
    function.after = *after->index;
    const bool same_model = after == model_ || implements_model(*after);
    if (!same_model)
      refuse(decl_.name_range,
             "`" + after->decl->name + "` does not implement `" + model_->decl->name + "`");
  }

  /// Compares functions, not names: in the file of `plan`, the name may be another function.
  bool implements_model(const FunctionEntity& plan) const {
    const auto& claim = plan.decl->implements;
    if (!claim || claim->grad) return false;
    const auto& known = world_.files[plan.file].functions;
    const auto found = known.find(claim->model);
    return found != known.end() && &world_.functions[found->second] == model_;
  }

  World& world_;
  FunctionEntity& entity_;
  const syntax::FunctionDecl& decl_;
  const FileScope& file_;
  FunctionEntity* model_ = nullptr;
};

// The named values that a plan saves, in all of its blocks.
void saved_values(const ir::Function& function, const ir::Block& block,
                  std::map<Name, ir::ValueId>& out) {
  for (const ir::Instr& instr : block.instrs) {
    if (std::holds_alternative<ir::Save>(instr.op) && !instr.results.empty()) {
      const ir::ValueId id = instr.results[0];
      if (!function.values[id].name.empty()) out[function.values[id].name] = id;
    }
    std::visit(
        [&](const auto& op) {
          if constexpr (requires { op.body; })
            if (op.body) saved_values(function, *op.body, out);
        },
        instr.op);
  }
}

void check_saved_of(World& world, FunctionEntity& entity) {
  const ir::Function& function = world.program.functions[*entity.index];
  const ir::Function& plan = world.program.functions[*function.after];
  if (plan.trusted) return;
  std::map<Name, ir::ValueId> saved;
  saved_values(plan, plan.body, saved);
  for (ir::ValueId id : function.saved_params) {
    const ir::Value& value = function.values[id];
    auto found = saved.find(value.name);
    if (found == saved.end()) {
      world.unknown("value saved by `" + plan.name + "` called", value.name, value.range,
                    keys(saved));
      continue;
    }
    const Type& type = plan.values[found->second].type;
    if (same_positions(world, type, value.type) && type.dtype == value.type.dtype) continue;
    Diagnostic& error = world.error("E0108", value.range,
                                    "`" + value.name + "` is " + to_string(value.type) + ", and `" +
                                        plan.name + "` saves " + to_string(type));
    error.notes.push_back({plan.values[found->second].range, "saved here"});
  }
}

}  // namespace

void check_claims(World& world) {
  for (FunctionEntity& entity : world.functions) {
    if (!entity.decl->implements || world.files[entity.file].library) continue;
    if (entity.index) Claim(world, entity).run();
    if (!entity.generic) continue;
    world.error("E0109", entity.decl->name_range, "a generic fn makes no claim: it has no types");
    entity.bad = true;
  }
}

namespace {

std::map<Name, ir::LibraryGradient> library_gradients(const World& world) {
  std::map<Name, ir::LibraryGradient> gradients;
  for (const FunctionEntity& entity : world.functions) {
    const syntax::FunctionDecl& decl = *entity.decl;
    if (!world.files[entity.file].library || !decl.implements) continue;
    ir::LibraryGradient gradient{decl.implements->model, decl.name, decl.implements->wrt, {}, {}};
    for (const Parameter& param : entity.params) {
      gradient.params.push_back(param.name);
      if (param.value) gradient.defaults.push_back(param.name);
    }
    for (const syntax::TypeExpr* result : entity.written_results)
      gradient.results.push_back(result->name);
    gradient.pattern = decl.pattern.value_or("");
    const Name of = gradient.of;
    gradients[of] = std::move(gradient);
  }
  return gradients;
}

}  // namespace

void note_library_gradients(World& world) {
  static const auto of_every_program =
      std::make_shared<const std::map<Name, ir::LibraryGradient>>(library_gradients(world));
  world.program.library_gradients = of_every_program;
}

void check_saved(World& world) {
  for (FunctionEntity& entity : world.functions) {
    if (!entity.index || entity.bad) continue;
    const ir::Function& function = world.program.functions[*entity.index];
    const size_t before = world.errors();
    if (!function.saved_params.empty() && !function.after)
      world.error(
          "E0108", entity.decl->name_range,
          "the parameters after `;` are values that a plan saves: `implements grad(f) after P`");
    if (function.after && !world.functions.empty()) check_saved_of(world, entity);
    entity.bad = world.errors() > before;
  }
}

}  // namespace shardproof::resolution
