#include "spec/resolve/dims.h"

#include <algorithm>
#include <charconv>
#include <functional>
#include <set>
#include <utility>

#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

bool same_declaration(const ir::DimInfo& a, const ir::DimInfo& b) {
  auto size = [](const ir::DimInfo& info) { return info.size ? ir::to_string(*info.size) : ""; };
  return a.kind == b.kind && a.of == b.of && size(a) == size(b) && a.pads == b.pads;
}

bool contains(const std::vector<Name>& names, const Name& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// More axes of size 2 would give more devices than 64 bits can count.
constexpr size_t most_axes = 64;

class DimDeclarer {
 public:
  DimDeclarer(World& world, size_t index)
      : world_(world), index_(index), file_(world.files[index]) {}

  void run() {
    for (const syntax::Declaration& declaration : file_.ast->declarations) {
      if (auto* mesh = std::get_if<syntax::MeshDecl>(&declaration))
        for (const auto& entry : mesh->axes)
          see(file_.axes, entry.axis, world_.locate(entry.axis, entry.range));
      if (auto* dim = std::get_if<syntax::DimDecl>(&declaration)) see(*dim);
    }
    known_ = keys(file_.dims);
    for (const syntax::Declaration& declaration : file_.ast->declarations) {
      if (auto* mesh = std::get_if<syntax::MeshDecl>(&declaration))
        for (const auto& entry : mesh->axes) merge_axis(entry);
      if (auto* dim = std::get_if<syntax::DimDecl>(&declaration)) declare(*dim);
    }
  }

 private:
  void see(const syntax::DimDecl& decl) {
    constexpr size_t most = 500;
    SourceRange rest = decl.range;
    for (const Name& name : decl.names) {
      if (file_.dims.size() == most && !file_.dims.count(name)) {
        if (!std::exchange(too_many_dims_, true))
          world_.error("E0007", decl.range, "a file has at most 500 dims");
        return;
      }
      see(file_.dims, name, world_.locate_next(name, rest));
    }
  }

  void see(std::map<Name, SourceRange, ByName>& map, const Name& name, SourceRange range) {
    for (const auto* known : {&file_.dims, &file_.axes})
      if (auto first = known->find(name); first != known->end())
        return world_.twice(name, range, first->second,
                            "`" + name + "` is declared twice; dims and axes share their names");
    map.emplace(name, range);
  }

  void merge_axis(const syntax::MeshDecl::Entry& entry) {
    ir::AxisInfo info;
    info.range = entry.range;
    if (entry.size) {
      int64_t size = 0;
      const char* end = entry.size->data() + entry.size->size();
      auto [stop, error] = std::from_chars(entry.size->data(), end, size);
      if (error != std::errc() || stop != end || size < 1)
        world_.error("E0106", entry.range, "an axis cannot have the size " + *entry.size);
      else
        info.size = size;
    }
    auto [known, fresh] = world_.program.axes.try_emplace(entry.axis, info);
    if (fresh && world_.program.axes.size() > most_axes) {
      if (!std::exchange(too_many_, true))
        world_.error("E0106", entry.range,
                     "a mesh has at most " + std::to_string(most_axes) + " axes");
      world_.program.axes.erase(known);
      file_.axes.erase(entry.axis);
      return;
    }
    if (!fresh && known->second.size != info.size) {
      if (!known->second.size && reaches_all(world_.axis_files[entry.axis]))
        known->second = info;
      else
        differs(entry.axis, entry.range, known->second.range);
    }
    world_.axis_files[entry.axis].push_back(index_);
  }

  void declare(const syntax::DimDecl& decl) {
    auto names = names_of(world_, file_);
    auto size = [&](const syntax::Expr& expr) { return arith(world_, expr, names); };
    for (size_t i = 0; i < decl.names.size(); ++i) {
      if (!file_.dims.count(decl.names[i])) continue;  // one too many
      auto info = dim_info(world_, decl, i, known_, size);
      if (info) merge_dim(decl.names[i], std::move(*info));
    }
  }

  void merge_dim(const Name& name, ir::DimInfo info) {
    auto [known, fresh] = world_.program.dims.try_emplace(name, info);
    std::vector<size_t>& files = world_.dim_files[name];
    if (!fresh && !same_declaration(known->second, info) && !contains_index(files)) {
      const bool gives =
          info.kind == ir::DimInfo::Kind::group || (info.size && is_closed(*info.size));
      if (gives && known->second.kind == ir::DimInfo::Kind::plain && reaches_all(files)) {
        info.pads = known->second.pads;
        known->second = info;
      } else
        differs(name, info.range, known->second.range);
    }
    files.push_back(index_);
  }

  bool contains_index(const std::vector<size_t>& files) const {
    return std::find(files.begin(), files.end(), index_) != files.end();
  }
  bool reaches_all(const std::vector<size_t>& files) const {
    for (size_t file : files)
      if (!file_.reaches.count(file)) return false;
    return true;
  }

  void differs(const Name& name, SourceRange range, SourceRange other) {
    Diagnostic& error =
        world_.error("E0107", range, "`" + name + "` is declared differently in an imported file",
                     "not the same declaration");
    error.notes.push_back({other, "the other declaration"});
    error.details.push_back(
        "only the importing file may add a size, or factors, to an open declaration");
  }

  World& world_;
  size_t index_;
  FileScope& file_;
  std::vector<Name> known_;  ///< dims of the file
  bool too_many_dims_ = false;
  bool too_many_ = false;  ///< axes
};

}  // namespace

std::optional<ir::DimInfo> dim_info(
    World& world, const syntax::DimDecl& decl, size_t position, const std::vector<Name>& known_dims,
    const std::function<std::optional<ir::Arith>(const syntax::Expr&)>& size) {
  using Kind = syntax::DimDecl::Kind;
  ir::DimInfo info;
  info.shown = decl.names[position];
  info.range = world.locate(info.shown, decl.range);
  if (decl.kind == Kind::size && decl.size) {
    info.kind = ir::DimInfo::Kind::sized;
    info.size = size(*decl.size);
    if (!info.size) info.kind = ir::DimInfo::Kind::plain;
    return info;
  }
  if (decl.kind == Kind::plain) return info;
  if (decl.kind == Kind::pads) {
    const Name& padded = decl.of.at(0);
    if (contains(known_dims, padded))
      info.pads = padded;
    else
      world.unknown("dim", padded, decl.range, known_dims);
    return info;
  }
  info.kind = decl.kind == Kind::alias ? ir::DimInfo::Kind::alias : ir::DimInfo::Kind::group;
  info.of = decl.of;
  std::set<Name> named;
  for (const Name& factor : info.of) {
    if (!is_number(factor) && !contains(known_dims, factor)) {
      world.unknown("dim", factor, decl.range, known_dims);
      info.kind = ir::DimInfo::Kind::plain;
      info.of.clear();
      return info;
    }
    if (!named.insert(factor).second) {
      world.error("E0110", decl.range, "`" + factor + "` twice in one group");
      break;
    }
  }
  return info;
}

void declare_dims(World& world, size_t index) { DimDeclarer(world, index).run(); }

}  // namespace shardproof::resolution
