#include "spec/resolve/dim_twice.h"

#include <algorithm>
#include <set>

#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

using Dims = std::vector<syntax::SplitExpr>;

/// A type of a signature: the parameter or result that has it.
struct Place {
  Name name;          ///< of the parameter; empty: a result
  size_t result = 0;  ///< its number
  const syntax::TypeExpr* type = nullptr;
};

std::vector<Place> places(const syntax::FunctionDecl& decl) {
  std::vector<Place> all;
  for (const syntax::Param& param : decl.params)
    for (const Name& name : param.group.names) all.push_back({name, 0, &param.group.type});
  for (size_t i = 0; i < decl.results.groups.size(); ++i)
    all.push_back({"", i, &decl.results.groups[i].type});
  return all;
}

bool is_alias_of(const TypeContext& context, const Name& name, const Name& dim) {
  const ir::Program& program = context.world.program;
  const auto found = program.dims.find(name);
  return found != program.dims.end() && found->second.kind == ir::DimInfo::Kind::alias &&
         context.file.dims.count(name) && program.same_dim(Dim{{name}}, Dim{{dim}});
}

class Twice {
 public:
  Twice(const TypeContext& context, const Dims& dims) : context_(context), dims_(dims) {
    for (size_t i = 0; i < dims.size() && second_ == 0; ++i)
      for (size_t j = 0; j < i && second_ == 0; ++j)
        if (dims[i].names.size() == 1 && dims[i].names == dims[j].names) first_ = j, second_ = i;
  }

  void add() {
    if (second_ == 0 || dims_[second_].range.file < 0 || is_number(dim())) return;
    as_elsewhere();
    other_names();
    own_name();
  }

 private:
  const World& world() const { return context_.world; }
  std::vector<Fix>& fixes() { return context_.world.diagnostics.back().fixes; }
  const Name& dim() const { return dims_[second_].names[0]; }

  /// `B` of `B/d`.
  static Edit renamed(const syntax::SplitExpr& split, const Name& name) {
    const auto end = split.range.begin + static_cast<uint32_t>(split.names[0].size());
    return {{split.range.file, split.range.begin, end}, name};
  }

  void guess(const std::string& message, std::vector<Edit> edits) {
    fixes().push_back({message, std::move(edits), false, "", true, true});
  }

  void as_elsewhere() {
    const auto is_own = [&](const Place& place) {
      return !place.type->dims.empty() && place.type->dims[0].range == dims_[0].range;
    };
    for (const FunctionEntity& own : world().functions) {
      const std::vector<Place> mine = places(*own.decl);
      const auto at = std::find_if(mine.begin(), mine.end(), is_own);
      if (at == mine.end()) continue;
      for (const FunctionEntity& other : world().functions) {
        const auto implements = [](const FunctionEntity& plan, const FunctionEntity& model) {
          return plan.decl->implements && plan.decl->implements->model == model.decl->name;
        };
        if (!implements(own, other) && !implements(other, own)) continue;
        for (const Place& place : places(*other.decl))
          if (place.name == at->name && place.result == at->result)
            as(place.type->dims, other.decl->name);
      }
    }
  }

  void as(const Dims& other, const Name& function) {
    if (other.size() != dims_.size()) return;
    std::vector<Edit> edits;
    for (size_t i = 0; i < dims_.size(); ++i)
      if (dims_[i].names.size() == 1 && other[i].names.size() == 1 &&
          dims_[i].names != other[i].names)
        edits.push_back(renamed(dims_[i], other[i].names[0]));
    if (edits.size() == 1 || edits.size() == 2)
      fixes().push_back({"name the dims as `" + function + "` does", std::move(edits), false, ""});
  }

  bool is_alias(const Name& name) const {
    return !used(name) && is_alias_of(context_, name, dim());
  }

  /// Aliases first, then the other dims.
  void other_names() {
    constexpr size_t most = 12;
    std::vector<Name> names;
    for (const auto& [name, info] : world().program.dims)
      if (context_.file.dims.count(name) && !used(name)) names.push_back(name);
    std::stable_partition(names.begin(), names.end(),
                          [&](const Name& name) { return is_alias(name); });
    if (names.size() > most) names.resize(most);
    for (const Name& name : names)
      for (const size_t at : {second_, first_})
        guess("did you mean `" + name + "`?", {renamed(dims_[at], name)});
  }

  bool used(const Name& name) const {
    return std::any_of(dims_.begin(), dims_.end(), [&](const syntax::SplitExpr& each) {
      return std::count(each.names.begin(), each.names.end(), name) > 0;
    });
  }

  void own_name() {
    auto other = other_name(context_, dim(), [&](const Name& name) { return used(name); });
    if (!other) return;
    second_name(other->name, other->declared);
    fixes().push_back({"two dims of one size have two names: `" + other->name +
                           "` for the second `" + dim() + "`",
                       std::move(other->declared), false, ""});
  }

  void second_name(const Name& name, std::vector<Edit>& edits) const {
    std::set<const syntax::TypeExpr*> known;
    for (const FunctionEntity& each : world().functions) {
      if (&world().files[each.file] != &context_.file) continue;
      for (const Place& place : places(*each.decl))
        if (known.insert(place.type).second) rename_second(place.type->dims, name, edits);
      block(each.decl->body, name, edits);
    }
  }

  bool rename_second(const Dims& dims, const Name& name, std::vector<Edit>& edits) const {
    bool once = false;
    for (const syntax::SplitExpr& each : dims) {
      if (each.names != std::vector<Name>{dim()}) continue;
      if (once) return edits.push_back(renamed(each, name)), true;
      once = true;
    }
    return false;
  }

  void block(const syntax::Block& body, const Name& name, std::vector<Edit>& edits) const {
    const auto all = [&](const std::vector<syntax::Expr>& list) {
      for (const syntax::Expr& each : list) expr(each, name, edits);
    };
    for (const syntax::Statement& statement : body) {
      if (const auto* bind = std::get_if<syntax::Bind>(&statement.node)) {
        all(bind->value);
        for (const syntax::Loop& loop : bind->loop) block(loop.body, name, edits);
      }
      if (const auto* node = std::get_if<syntax::Return>(&statement.node)) all(node->values);
      if (const auto* node = std::get_if<syntax::Next>(&statement.node)) all(node->values);
      if (const auto* node = std::get_if<syntax::Emit>(&statement.node)) all(node->values);
    }
  }

  void expr(const syntax::Expr& node, const Name& name, std::vector<Edit>& edits) const {
    for (const syntax::Expr& each : node.args) expr(each, name, edits);
    if (node.kind != syntax::Expr::Kind::string || node.text.find(dim()) == node.text.npos) return;
    std::vector<Diagnostic> ignored;
    const auto pattern = syntax::parse_pattern(
        node.text, {node.range.file, node.range.begin + 1, node.range.end - 1}, ignored);
    if (!pattern) return;
    for (const syntax::OperandExpr& each : pattern->left) rename_second(each.dims, name, edits);
    if (!pattern->right || !rename_second(pattern->right->dims, name, edits)) return;
    // The second of the result's is that of the last operand: `B S D, B T D -> B S T`.
    if (pattern->left.size() < 2) return;
    for (const syntax::SplitExpr& each : pattern->left.back().dims)
      if (each.names == std::vector<Name>{dim()}) edits.push_back(renamed(each, name));
  }

  const TypeContext& context_;
  const Dims& dims_;
  size_t first_ = 0, second_ = 0;
};

}  // namespace

std::optional<OtherName> other_name(const TypeContext& context, const Name& dim,
                                    const std::function<bool(const Name&)>& used) {
  const World& world = context.world;
  OtherName other;
  for (const auto& [each, info] : world.program.dims)
    if (!used(each) && is_alias_of(context, each, dim)) other.name = each;
  if (!other.name.empty()) return other;
  const auto info = world.program.dims.find(dim);
  if (info == world.program.dims.end() || info->second.range.file < 0) return std::nullopt;
  other.name = dim + "2";
  while (context.file.dims.count(other.name)) other.name += "_";
  const std::string& text = world.sources.file(info->second.range.file).text;
  const auto end =
      static_cast<uint32_t>(std::min(text.find('\n', info->second.range.begin), text.size()));
  other.declared = {{{info->second.range.file, end, end}, "\ndim " + other.name + " = " + dim}};
  return other;
}

void add_other_dims(const TypeContext& context, const std::vector<syntax::SplitExpr>& dims) {
  constexpr size_t most_searched = 8;  // each looks through the file
  if (context.world.errors() <= most_searched) Twice(context, dims).add();
}

}  // namespace shardproof::resolution
