#include "spec/resolve/signatures.h"

#include <set>

#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

bool is_generic(const syntax::TypeExpr& type) {
  if (type.name == "float") return true;
  for (const syntax::SplitExpr& split : type.dims)
    if (split.kind != syntax::SplitExpr::Kind::dim) return true;
  return false;
}

bool is_generic(const syntax::FunctionDecl& decl) {
  if (decl.is_plan) return false;
  if (decl.pattern) return true;
  for (const syntax::Param& param : decl.params)
    if (is_generic(param.group.type)) return true;
  for (const syntax::Group& group : decl.results.groups)
    if (is_generic(group.type)) return true;
  return false;
}

class SignatureReader {
 public:
  SignatureReader(World& world, FunctionEntity& entity)
      : world_(world),
        entity_(entity),
        context_{world, world.files[entity.file], entity.decl->is_plan} {}

  void run() {
    const size_t before = world_.errors();
    entity_.generic = world_.files[entity_.file].library || is_generic(*entity_.decl);
    for (const syntax::Param& param : entity_.decl->params) add(param);
    const size_t unsaved = entity_.params.size();
    for (const syntax::Param& param : entity_.decl->saved) add(param);
    entity_.saved = entity_.params.size() - unsaved;
    for (const syntax::Group& group : entity_.decl->results.groups) add_result(group);
    std::set<Name> names;
    for (const Parameter& param : entity_.params)
      if (!names.insert(param.name).second) repeated(param);
    entity_.bad = entity_.unreadable = unreadable_ || world_.errors() > before;
  }

 private:
  std::optional<Types> type_of(const syntax::TypeExpr& type) {
    if (entity_.generic) return Types{};
    auto result = resolve_type(context_, type);
    unreadable_ = unreadable_ || !result;  // perhaps already reported, at a record
    return result;
  }

  void add(const syntax::Param& param) {
    auto type = type_of(param.group.type);
    for (const Name& name : param.group.names) {
      const syntax::Expr* value = param.value ? &*param.value : nullptr;
      entity_.params.push_back({name, &param.group.type, value, type ? *type : Types{}});
      if (world_.files[entity_.file].consts.count(name))
        world_.twice(name, world_.locate(name, param.group.range),
                     world_.files[entity_.file].consts.at(name).decl->range,
                     "`" + name + "` is a const of this file");
    }
    if (value_misplaced(param))
      world_.error("E0109", param.value->range, "only a scalar parameter has a default value");
  }

  static bool value_misplaced(const syntax::Param& param) {
    return param.value && (!dtype_of(param.group.type.name) || !param.group.type.dims.empty());
  }

  void add_result(const syntax::Group& group) {
    auto type = type_of(group.type);
    std::vector<Name> names = group.names;
    if (names.empty()) names.push_back("");
    for (const Name& name : names) {
      entity_.written_results.push_back(&group.type);
      entity_.results.push_back(type ? *type : Types{});
      entity_.result_names.push_back(name);
    }
  }

  void repeated(const Parameter& param) {
    world_.twice(param.name, world_.locate(param.name, param.written->range), {},
                 "two parameters are called `" + param.name + "`");
  }

  World& world_;
  FunctionEntity& entity_;
  TypeContext context_;
  bool unreadable_ = false;
};

}  // namespace

void read_signatures(World& world, Of of) {
  for (FunctionEntity& entity : world.functions)
    if (world.files[entity.file].library == (of == Of::library))
      SignatureReader(world, entity).run();
}

}  // namespace shardproof::resolution
