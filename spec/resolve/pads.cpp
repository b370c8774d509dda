#include "spec/resolve/pads.h"

#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/resolve/body.h"
#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

bool pads(const World& world, const Dim& wide, const Dim& narrow) {
  const std::vector<Name> own = world.program.base(wide), theirs = world.program.base(narrow);
  if (own.size() != 1 || theirs.size() != 1) return false;
  const auto info = world.program.dims.find(own[0]);
  return info != world.program.dims.end() && info->second.pads &&
         world.program.base(Dim{{*info->second.pads}}) == theirs;
}

/// Without axes and marks.
Shape whole(const Shape& shape) {
  Shape result;
  for (const Split& split : shape.dims) result.dims.push_back({split.dim, {}});
  return result;
}

std::vector<Type> leaves_of(const std::vector<Types>& types) {
  std::vector<Type> all;
  for (const Types& each : types)
    for (const Type& leaf : leaves(each)) all.push_back(leaf);
  return all;
}

std::vector<Type> params_of(const FunctionEntity& entity) {
  std::vector<Type> all;
  for (size_t i = 0; i + entity.saved < entity.params.size(); ++i)
    for (const Type& leaf : leaves(entity.params[i].type)) all.push_back(leaf);
  return all;
}

/// The named function that a claim is about; null if there is none that it can be.
const FunctionEntity* model_of(const World& world, const FunctionEntity& entity) {
  if (!entity.decl->implements || entity.unreadable) return nullptr;
  const auto& known = world.files[entity.file].functions;
  const auto found = known.find(entity.decl->implements->model);
  if (found == known.end()) return nullptr;
  const FunctionEntity& model = world.functions[found->second];
  return model.generic || model.unreadable || !model.index ? nullptr : &model;
}

/// The results that a claim is about: a gradient takes what they are differentiated by.
std::vector<Type> results_of(const FunctionEntity& entity, const FunctionEntity& model) {
  if (!entity.decl->implements->grad) return leaves_of(entity.results);
  std::vector<Type> all;
  for (size_t i = model.params.size(); i + entity.saved < entity.params.size(); ++i)
    for (const Type& leaf : leaves(entity.params[i].type)) all.push_back(leaf);
  return all;
}

/// Whether some dim of the files pads another.
bool has_pads(const World& world) {
  return std::any_of(world.program.dims.begin(), world.program.dims.end(),
                     [](const auto& dim) { return dim.second.pads.has_value(); });
}

bool any_padded(const World& world, const std::vector<Type>& own, const std::vector<Type>& model) {
  for (size_t i = 0; i < own.size() && i < model.size(); ++i)
    if (const auto found = padded_positions(world, own[i], model[i]); found && !found->empty())
      return true;
  return false;
}

/// `narrow` with the dims of `wide` in the padded positions.
Type wide_type(Type narrow, const Type& wide, const std::vector<PaddedPosition>& padded) {
  for (const PaddedPosition& each : padded)
    narrow.dims[each.position].dim = wide.dims[each.position].dim;
  return narrow;
}

/// What a model assumes of every entry would be assumed of padding too.
void refuse_assumed(World& world, const ir::Function& model, size_t leaf,
                    const FunctionEntity& entity) {
  for (const ir::Assumption& each : model.assumptions) {
    if (each.leaf != leaf) continue;
    const Name& name = model.values.at(model.params.at(leaf)).name;
    Diagnostic& error =
        world.error("E0108", entity.decl->name_range,
                    "`" + name + "` is padded, and its model assumes " + each.text(name));
    error.notes.push_back({each.range, "assumed here"});
    error.fixes.push_back({"give it the dims of the model", {}, false, ""});
  }
}

/// Loops of a copy have bodies of their own.
void copy_bodies(ir::Block& block) {
  for (ir::Instr& instr : block.instrs)
    std::visit(
        [&](auto& op) {
          if constexpr (requires { op.body; })
            if (op.body) {
              op.body = std::make_shared<ir::Block>(*op.body);
              copy_bodies(*op.body);
            }
        },
        static_cast<ir::AnyOp&>(instr.op));
}

/// A function that resolution makes: a copy of another, with a first and a last part of its own.
class Maker {
 public:
  /// Keeps what the entry says of itself, and takes the rest from `like`.
  Maker(World& world, size_t index, const FunctionEntity& entity, const ir::Function& like)
      : world_(world),
        function_(world.program.functions.own().at(index)),
        body_(world, function_, scope_),
        range_(like.return_range.file >= 0 ? like.return_range : like.name_range) {
    ir::Function copy = like;
    copy_bodies(copy.body);
    copy.imported = function_.imported;
    copy.claims_for = function_.claims_for;
    copy.claim.reset(), copy.model.reset(), copy.trusted.reset();
    copy.implements_grad = false;
    copy.made_for_pads = true;
    copy.instance_of.clear(), copy.instances.clear();
    function_ = std::move(copy);
    scope_.file = entity.file;
    scope_.is_plan = function_.kind == ir::Function::Kind::plan;
    scope_.function = like.name;
  }

  ir::Function& function() { return function_; }

  /// Gives leaf `leaf` the type `wide`: the copied body reads the first entries of it.
  void pad_param(size_t leaf, const Type& wide, const std::vector<PaddedPosition>& padded) {
    const ir::ValueId own = function_.params.at(leaf);
    const ir::Value like = function_.values.at(own);
    const ir::ValueId param = body_.add_value(wide, like.range);
    function_.values[param] = like;
    function_.values[param].type = wide;
    function_.params[leaf] = param;
    ir::Block first;
    body_.block = &first;
    this->first(param, padded);
    body_.block = &function_.body;
    first.instrs.back().results = {own};
    function_.body.instrs.insert(function_.body.instrs.begin(),
                                 std::make_move_iterator(first.instrs.begin()),
                                 std::make_move_iterator(first.instrs.end()));
  }

  /// The first |V| entries along each padded position.
  ir::ValueId first(ir::ValueId x, const std::vector<PaddedPosition>& padded) {
    for (const PaddedPosition& each : padded) {
      ir::Pattern pattern = bracketed(body_.type(x), each.position);
      pattern.right.dims[each.position].dim = each.narrow;
      x = made(ir::Read{pattern}, {x, zero()}, 1, pattern.right, body_.type(x).dtype);
    }
    return x;
  }

  /// `x` with zeros up to |P| along each padded position of `to`.
  ir::ValueId widened(ir::ValueId x, const Type& to, const std::vector<PaddedPosition>& padded) {
    for (const PaddedPosition& each : padded) {
      Type wide = body_.type(x);
      wide.dims[each.position].dim = to.dims[each.position].dim;
      const ir::ValueId zeros = body_.zero(wide, range_).leaf;
      ir::Pattern pattern = bracketed(wide, each.position);
      pattern.left.push_back(whole(body_.type(x)));
      x = made(ir::Write{pattern}, {zeros, x, zero()}, 2, pattern.right, wide.dtype);
    }
    return x;
  }

  /// The first |V| entries of `x`, which has the type of a plan: whole along the padded positions.
  ir::ValueId cut(ir::ValueId x, Type& type, const std::vector<PaddedPosition>& padded) {
    for (const PaddedPosition& each : padded) {
      Split& split = type.dims.at(each.position);
      ir::Pattern pattern;
      pattern.left = {type};
      if (!split.axes.empty()) {
        split.axes.clear();
        pattern.right = type;
        const ir::Collective gather{ir::CollectiveFn::all_gather, pattern};
        x = made(gather, {x}, 1, whole(type), type.dtype);
        pattern.left = {type};
      }
      split.dim = each.narrow;
      pattern.right = type;
      pattern.left_bracket = each.position;
      x = made(ir::Read{pattern}, {x, zero()}, 1, whole(type), type.dtype);
    }
    return x;
  }

 private:
  ir::ValueId zero() { return body_.number("0", 0, range_); }

  static ir::Pattern bracketed(const Shape& shape, size_t position) {
    ir::Pattern pattern;
    pattern.left = {whole(shape)};
    pattern.right = whole(shape);
    pattern.left_bracket = position;
    return pattern;
  }

  /// The first `tensors` operands are those of the pattern.
  ir::ValueId made(ir::Op op, std::vector<ir::ValueId> operands, size_t tensors, const Shape& shape,
                   Dtype dtype) {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < tensors; ++i) shapes.push_back(whole(body_.type(operands[i])));
    if (elaborate::elaborate(world_.program, op, shapes))
      body_.error("E0108", range_, "a padded value has dims that cannot be told apart");
    const std::vector<SourceRange> ranges(operands.size(), range_);
    return body_.emit(std::move(op), std::move(operands), shape, dtype, range_, ranges);
  }

  World& world_;
  FunctionScope scope_;
  ir::Function& function_;
  Body body_;
  SourceRange range_;
};

}  // namespace

std::optional<std::vector<PaddedPosition>> padded_positions(const World& world, const Shape& own,
                                                            const Shape& model) {
  if (own.dims.size() != model.dims.size()) return std::nullopt;
  std::vector<PaddedPosition> padded;
  for (size_t i = 0; i < own.dims.size(); ++i) {
    const Dim &wide = own.dims[i].dim, &narrow = model.dims[i].dim;
    if (wide == narrow ||
        elaborate::factors(world.program, wide) == elaborate::factors(world.program, narrow))
      continue;
    if (!pads(world, wide, narrow)) return std::nullopt;
    padded.push_back({i, narrow});
  }
  return padded;
}

bool same_but_padded(const World& world, const Shape& own, const Shape& model) {
  return padded_positions(world, own, model).has_value();
}

bool has_bad_model(const World& world, const FunctionEntity& entity) {
  const FunctionEntity* model = model_of(world, entity);
  return model && model->bad;
}

void check_pads(World& world) {
  ir::Dims& dims = world.program.dims;
  const auto refuse = [&](ir::DimInfo& info, const std::string& message, const std::string& fix) {
    world.error("E0106", info.range, message).fixes.push_back({fix, {}, false, ""});
    info.pads.reset();
  };
  for (auto& [name, info] : dims) {
    if (!info.pads) continue;
    const Name padded = *info.pads;
    const std::vector<Name> base = world.program.base(Dim{{padded}});
    if (base == world.program.base(Dim{{name}}))
      refuse(info, "`" + name + "` cannot pad itself", "name the dim of the model: `dim P pads V`");
    else if (base.size() != 1)
      refuse(info, "`" + name + "` pads `" + padded + "`, which is a group",
             "pad a dim of its own, and write the group of it");
    else if (dims.count(base[0]) && dims.at(base[0]).pads)
      refuse(info, "`" + name + "` pads `" + padded + "`, which is itself padding",
             "pad the dim of the model: `dim " + name + " pads " + *dims.at(base[0]).pads + "`");
    else
      world.program.requirements.push_back(
          {ir::Arith{ir::Arith::Kind::op,
                     "<=",
                     ir::no_value,
                     {{ir::Arith::Kind::size, padded, ir::no_value, {}},
                      {ir::Arith::Kind::size, name, ir::no_value, {}}}},
           info.range});
  }
}

void check_padded_claim(World& world, const FunctionEntity& entity, const FunctionEntity& model) {
  if (!entity.padded_model || world.program.functions.empty()) return;
  const auto refuse = [&](SourceRange range, const std::string& message, const std::string& fix) {
    world.error("E0108", range, message).fixes.push_back({fix, {}, false, ""});
  };
  if (entity.padded_claim && entity.decl->trusted)
    refuse(entity.decl->name_range, "a result of a trusted plan cannot be padded",
           "give it the dims of the model");
  const std::vector<Type> own = leaves_of(entity.results), theirs = leaves_of(model.results);
  for (size_t i = 0; entity.padded_claim && i < own.size() && i < theirs.size(); ++i) {
    const auto padded = padded_positions(world, own[i], theirs[i]);
    if (!padded || padded->empty()) continue;
    if (!own[i].marks.empty())
      refuse(entity.decl->name_range, "the padded result " + to_string(own[i]) + " has marks",
             "reduce it: of a padded result the first entries are compared");
    if (own[i].dtype == Dtype::key)
      refuse(entity.decl->name_range, "keys cannot be padded", "give them the dims of the model");
  }
}

void add_padded_model(World& world, FunctionEntity& entity) {
  const FunctionEntity* model = has_pads(world) ? model_of(world, entity) : nullptr;
  if (!model) return;
  const bool of_results = any_padded(world, results_of(entity, *model), leaves_of(model->results));
  if (!of_results && !any_padded(world, params_of(entity), params_of(*model))) return;
  entity.padded_model = world.program.functions.size();
  ir::Function& made = world.program.functions.own().emplace_back();
  made.name = model->decl->name;
  made.name_range = model->decl->name_range;
  made.range = model->decl->range;
  made.source = model->decl->range.file;
  made.imported = model->file + 1 != world.files.size();
  made.made_for_pads = true;
  entity.padded_results = of_results && !entity.decl->implements->grad;
}

void add_padded_claim(World& world, FunctionEntity& entity) {
  if (!entity.padded_results) return;
  entity.padded_claim = world.program.functions.size();
  ir::Function made = world.program.functions.at(*entity.index);
  made.made_for_pads = true;
  made.trusted.reset();
  made.claims_for = *entity.index;
  world.program.functions.own().at(*entity.index).claim = *entity.padded_claim;
  world.program.functions.own().push_back(std::move(made));
}

void read_padded_model(World& world, FunctionEntity& entity) {
  const FunctionEntity* named = model_of(world, entity);
  if (!entity.padded_model || !named) return;
  const ir::Function& original = world.program.functions.at(*named->index);
  const size_t before = world.errors();
  Maker maker(world, *entity.padded_model, entity, original);
  ir::Function& made = maker.function();
  made.pads_of = *named->index;
  if (entity.padded_claim)
    world.program.functions.own().at(*entity.index).assumptions = made.assumptions;
  const std::vector<Type> own = params_of(entity), theirs = params_of(*named);
  for (size_t i = 0; i < theirs.size() && i < own.size() && i < made.params.size(); ++i) {
    const auto padded = padded_positions(world, own[i], theirs[i]);
    if (!padded || padded->empty()) continue;  // the former is refused as a claim
    maker.pad_param(i, wide_type(theirs[i], own[i], *padded), *padded);
    refuse_assumed(world, original, i, entity);
  }
  entity.bad = entity.bad || world.errors() > before;
  if (entity.padded_claim) return;  // it has the dims of the model
  const std::vector<Type> results = results_of(entity, *named);
  for (size_t i = 0; i < made.returned.size() && i < results.size(); ++i) {
    const auto padded = padded_positions(world, results[i], made.results.at(i));
    if (!padded || padded->empty()) continue;
    made.results[i] = wide_type(made.results[i], results[i], *padded);
    made.returned[i] = maker.widened(made.returned[i], made.results[i], *padded);
  }
}

void read_padded_claim(World& world, const FunctionEntity& entity) {
  const FunctionEntity* named = model_of(world, entity);
  if (!entity.padded_claim || !named) return;
  const ir::Function& plan = world.program.functions.at(*entity.index);
  Maker maker(world, *entity.padded_claim, entity, plan);
  ir::Function& made = maker.function();
  made.model = entity.padded_model;
  const std::vector<Type> of_model = leaves_of(named->results);
  for (size_t i = 0; i < made.returned.size() && i < of_model.size(); ++i)
    if (const auto padded = padded_positions(world, made.results.at(i), of_model[i]))
      made.returned[i] = maker.cut(made.returned[i], made.results[i], *padded);
}

}  // namespace shardproof::resolution
