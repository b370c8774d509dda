// Go to definition, references, the outline and folding.
#include <algorithm>
#include <filesystem>

#include "spec/lsp/answers.h"
#include "spec/syntax/parser.h"

namespace shardproof::lsp {
namespace {

/// The declaration of a name in another file that was read; the nearest import comes last.
Json in_other_files(const Analysis& analysis, const Occurrence& name) {
  Json found = nullptr;
  for (size_t i = 0; i < analysis.sources->size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (analysis.sources->file(id).path == analysis.text().path) continue;
    std::vector<Diagnostic> ignored;
    const syntax::File tree = syntax::parse(*analysis.sources, id, ignored);
    for (const Occurrence& each : occurrences_of(*analysis.sources, tree)) {
      if (!each.declares || each.name != name.name || each.function >= 0) continue;
      const bool imported = name.kind == NameKind::function;  // an import names anything
      if (each.kind == name.kind || imported) found = location(analysis, each.range);
    }
  }
  return found;
}

/// Where the records that were read declare a field: of which one it is, its name alone does not
/// tell.
Json fields(const Analysis& analysis, const Name& path) {
  const Name field = path.substr(path.rfind('.') + 1);
  Json found = Json::array();
  for (size_t i = 0; i < analysis.sources->size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    if (id == analysis.typed_file && id != analysis.file) continue;
    std::vector<Diagnostic> ignored;
    for (const auto& each : syntax::parse(*analysis.sources, id, ignored).declarations)
      if (const auto* record = std::get_if<syntax::RecordDecl>(&each))
        for (const syntax::Group& group : record->fields)
          if (std::find(group.names.begin(), group.names.end(), field) != group.names.end())
            found.push_back(location(analysis, group.range));
  }
  if (found.empty()) return nullptr;
  return found.size() == 1 ? found[0] : found;
}

/// The file that an import names, where the offset is in its text.
Json imported_file(const Analysis& analysis, uint32_t offset) {
  for (const syntax::Declaration& each : analysis.tree().declarations) {
    const auto* import = std::get_if<syntax::ImportDecl>(&each);
    if (!import || offset < import->range.begin || offset > import->range.end) continue;
    const std::filesystem::path here(analysis.text().path);
    const std::string path = (here.parent_path() / import->path).lexically_normal().string();
    for (size_t i = 0; i < analysis.sources->size(); ++i)
      if (analysis.sources->file(static_cast<int32_t>(i)).path == path)
        return location(analysis, {static_cast<int32_t>(i), 0, 0});
  }
  return nullptr;
}

struct Symbol {
  Name name;
  int kind;
  SourceRange range;
  std::string detail;
};

Symbol symbol(const syntax::ImportDecl& each) { return {each.path, 2, each.range, "import"}; }
Symbol symbol(const syntax::MeshDecl& each) {
  std::string names;
  for (const auto& axis : each.axes) names += (names.empty() ? "" : " ") + axis.axis;
  return {names, 3, each.range, "mesh"};
}
Symbol symbol(const syntax::DimDecl& each) {
  std::string names;
  for (const Name& name : each.names) names += (names.empty() ? "" : " ") + name;
  return {names, 26, each.range, "dim"};
}
Symbol symbol(const syntax::ConstDecl& each) { return {each.name, 14, each.range, "const"}; }
Symbol symbol(const syntax::Require& each) { return {"require", 17, each.range, ""}; }
Symbol symbol(const syntax::ConfigDecl& each) { return {each.name, 19, each.range, "config"}; }
Symbol symbol(const syntax::RecordDecl& each) { return {each.name, 23, each.range, "record"}; }
Symbol symbol(const syntax::LayoutDecl& each) {
  return {each.name, 23, each.range, "layout of " + each.record};
}
Symbol symbol(const syntax::ScheduleDecl& each) { return {each.name, 6, each.range, "schedule"}; }
Symbol symbol(const syntax::FunctionDecl& each) {
  std::string detail = each.is_plan ? "plan" : "fn";
  if (each.implements)
    detail += each.implements->grad ? " implements grad(" + each.implements->model + ")"
                                    : " implements " + each.implements->model;
  return {each.name, 12, each.range, detail};
}

void fold(const SourceFile& file, const SourceRange& range, Json& folds) {
  const Json at = range_of(file, range);
  if (at["end"]["line"] > at["start"]["line"])
    folds.push_back({{"startLine", at["start"]["line"]}, {"endLine", at["end"]["line"]}});
}

void fold_loops(const SourceFile& file, const syntax::Block& block, Json& folds) {
  for (const syntax::Statement& each : block)
    if (const auto* bind = std::get_if<syntax::Bind>(&each.node))
      for (const syntax::Loop& loop : bind->loop) {
        fold(file, each.range, folds);
        fold_loops(file, loop.body, folds);
      }
}

}  // namespace

Json definition(const Analysis& analysis, uint32_t offset) {
  const Occurrence* name = occurrence_at(analysis.names(), offset);
  if (!name) return imported_file(analysis, offset);
  if (name->kind == NameKind::field) return fields(analysis, name->name);
  const Occurrence* found = nullptr;
  const SameName same(analysis.names(), *name);
  for (const Occurrence& each : analysis.names()) {
    if (!each.declares || !same(each)) continue;
    if (!found || each.range.begin <= name->range.begin) found = &each;
  }
  return found ? location(analysis, found->range) : in_other_files(analysis, *name);
}

Json references(const Analysis& analysis, const std::string& uri, uint32_t offset) {
  Json all = Json::array();
  const Occurrence* name = occurrence_at(analysis.names(), offset);
  if (!name) return all;
  const SameName same(analysis.names(), *name);
  for (const Occurrence& each : analysis.names())
    if (same(each)) all.push_back({{"uri", uri}, {"range", range_of(analysis.text(), each.range)}});
  return all;
}

Json symbols(const Analysis& analysis) {
  Json all = Json::array();
  for (const syntax::Declaration& each : analysis.tree().declarations) {
    const Symbol found =
        std::visit([](const auto& declaration) { return symbol(declaration); }, each);
    const Json range = range_of(analysis.text(), found.range);
    all.push_back({{"name", found.name.empty() ? "?" : found.name},
                   {"kind", found.kind},
                   {"detail", found.detail},
                   {"range", range},
                   {"selectionRange", range}});
  }
  return all;
}

Json folding(const Analysis& analysis) {
  Json folds = Json::array();
  for (const syntax::Declaration& each : analysis.tree().declarations) {
    std::visit([&](const auto& declaration) { fold(analysis.text(), declaration.range, folds); },
               each);
    if (const auto* function = std::get_if<syntax::FunctionDecl>(&each))
      fold_loops(analysis.text(), function->body, folds);
  }
  return folds;
}

}  // namespace shardproof::lsp
