#include "spec/resolve/declarations.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "spec/resolve/constants.h"
#include "spec/resolve/dims.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/sizes.h"

namespace shardproof::resolution {
namespace {

// The declarations of one file: its imports, then its own.
class Declarer {
 public:
  Declarer(World& world, size_t index) : world_(world), index_(index), file_(world.files[index]) {}

  void run() {
    for (auto [import, from] : file_.imports)
      for (const Name& name : import->names) bring(name, world_.files[from], *import);
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      std::visit([&](const auto& node) { declare(node); }, declaration);
    declare_consts(false);
    declare_dims(world_, index_);
    declare_consts(true);
    for (const syntax::Declaration& declaration : file_.ast->declarations) {
      if (auto* node = std::get_if<syntax::Require>(&declaration)) assume(*node);
    }
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      if (auto* node = std::get_if<syntax::ConfigDecl>(&declaration)) fill_config(*node);
  }

 private:
  template <class Map>
  void put(Map& map, const char* space, const Name& name, typename Map::mapped_type value,
           SourceRange range) {
    range = world_.locate(name, range);
    const Name key = std::string(space) + name;
    if (auto first = file_.declared.find(key); first != file_.declared.end())
      return world_.twice(name, range, first->second, "`" + name + "` is declared twice");
    file_.declared[key] = range;
    map[name] = std::move(value);
  }

  bool is_the_librarys(const Name& name, SourceRange range) {
    if (file_.library) return false;
    const FileScope& library = world_.files[0];
    const bool taken =
        library.functions.count(name) || library.schedules.count(name) || primitives().count(name);
    if (taken)
      world_
          .error("E0102", world_.locate(name, range),
                 "`" + name + "` is a name of the standard library, and cannot be declared again")
          .fixes.push_back({"give it a name of its own", {}, false, ""});
    return taken;
  }

  void bring(const Name& name, const FileScope& from, const syntax::ImportDecl& import) {
    if (auto it = from.records.find(name); it != from.records.end())
      put(file_.records, "record ", name, it->second, import.range);
    else if (auto it = from.functions.find(name); it != from.functions.end())
      bring_function(name, it->second, import);
    else if (auto it = from.consts.find(name); it != from.consts.end())
      put(file_.consts, "value ", name, it->second, import.range);
    else if (auto it = from.schedules.find(name); it != from.schedules.end())
      put(file_.schedules, "schedule ", name, it->second, import.range);
    else if (auto it = from.configs.find(name); it != from.configs.end())
      put(file_.configs, "config ", name, it->second, import.range);
    else
      not_there(name, from, import);
  }

  void bring_function(const Name& name, size_t entity, const syntax::ImportDecl& import) {
    put(file_.functions, "function ", name, entity, import.range);
    for (size_t each : instances(world_, entity))
      file_.functions.emplace(world_.functions[each].decl->name, each);
  }

  void not_there(const Name& name, const FileScope& from, const syntax::ImportDecl& import) {
    if (from.dims.count(name) || from.axes.count(name)) {
      world_.error("E0107", world_.locate(name, import.range),
                   "dims and axes are not imported: declare `" + name + "` here as well",
                   "they are the same where name and declaration are");
      return;
    }
    std::vector<Name> known;
    for (const auto& names : {keys(from.records), keys(from.functions), keys(from.consts),
                              keys(from.schedules), keys(from.configs)})
      known.insert(known.end(), names.begin(), names.end());
    world_.unknown("declaration in `" + import.path + "` called", name, import.range, known);
  }

  void declare(const syntax::ImportDecl&) {}
  void declare(const syntax::MeshDecl&) {}
  void declare(const syntax::DimDecl&) {}
  void declare(const syntax::ConstDecl&) {}
  void declare(const syntax::Require&) {}
  void declare(const syntax::ConfigDecl& node) {
    put(file_.configs, "config ", node.name, &node, node.range);
  }
  void declare(const syntax::RecordDecl& node) {
    put(file_.records, "record ", node.name, world_.records.size(), node.range);
    world_.records.push_back({node.name, index_, &node.fields, node.range});
  }
  void declare(const syntax::LayoutDecl& node) {
    put(file_.records, "record ", node.name, world_.records.size(), node.range);
    world_.records.push_back({node.name, index_, &node.fields, node.range, &node});
  }
  void declare(const syntax::FunctionDecl& node) {
    if (is_the_librarys(node.instance ? node.instance->plan : node.name, node.name_range)) return;
    const size_t entity = world_.functions.size();
    world_.functions.push_back({&node, index_});
    if (!node.instance)
      return put(file_.functions, "function ", node.name, entity, node.name_range);
    if (node.instance->number == 0)
      put(file_.functions, "function ", node.instance->plan, entity, node.name_range);
    file_.functions.emplace(node.name, entity);
  }
  void declare(const syntax::ScheduleDecl& node) {
    if (is_the_librarys(node.name, node.range)) return;
    put(file_.schedules, "schedule ", node.name, &node, node.range);
  }

  /// Sizes may be made of consts. A const that names a size is refused, once the sizes are known.
  void declare_consts(bool of_sizes) {
    for (const syntax::Declaration& declaration : file_.ast->declarations)
      if (auto* node = std::get_if<syntax::ConstDecl>(&declaration))
        if (names_a_size(node->value) == of_sizes) declare_const(*node);
  }
  static bool names_a_size(const syntax::Expr& expr) {
    return expr.kind == syntax::Expr::Kind::size ||
           std::any_of(expr.args.begin(), expr.args.end(), names_a_size);
  }

  void declare_const(const syntax::ConstDecl& node) {
    const Constant value = constant(world_, file_, node).value_or(Constant{&node, 1.0, "1"});
    put(file_.consts, "value ", node.name, value, node.range);
    auto [known, fresh] = world_.program.consts.try_emplace(node.name, value.value);
    if (!fresh && known->second != value.value)
      world_.error("E0107", node.range,
                   "another file gives the const `" + node.name + "` another value");
  }

  void assume(const syntax::Require& node) {
    constexpr size_t most = 1000;
    if (world_.program.requirements.size() == most) {
      if (std::exchange(many_requirements_, true)) return;
      world_.error("E0007", node.condition.range, "a program has at most 1,000 requires");
      return;
    }
    if (auto condition = arith(world_, node.condition, names_of(world_, file_)))
      world_.program.requirements.push_back({std::move(*condition), node.condition.range});
  }

  void fill_config(const syntax::ConfigDecl& node) {
    ir::Config config;
    config.name = node.name;
    config.range = node.range;
    for (const auto& entry : node.entries) config_entry(config, entry);
    world_.program.configs[node.name] = std::move(config);
  }

  void config_entry(ir::Config& config, const syntax::ConfigDecl::Entry& entry) {
    const bool size = file_.dims.count(entry.name) || file_.axes.count(entry.name);
    if (!size && !file_.consts.count(entry.name)) {
      std::vector<Name> known = keys(file_.dims);
      for (const auto& more : {keys(file_.axes), keys(file_.consts)})
        known.insert(known.end(), more.begin(), more.end());
      return world_.unknown("dim, axis or const", entry.name, entry.range, known);
    }
    if (!config.numbers.emplace(entry.name, entry.number).second) {
      world_.error("E0102", entry.range, "`" + entry.name + "` twice in one config");
      return;
    }
    const double value = std::strtod(entry.number.c_str(), nullptr);
    if (size && !(value >= 1 && value <= 9007199254740992.0 && value == std::floor(value)))
      world_.error("E0106", entry.range,
                   "the size of `" + entry.name + "` cannot be " + entry.number,
                   "a size is a positive whole number below 2^53");
  }

  World& world_;
  size_t index_;
  FileScope& file_;
  bool many_requirements_ = false;  ///< too many requirements: reported once
};

}  // namespace

void declare_files(World& world) {
  for (size_t i = 1; i < world.files.size(); ++i) Declarer(world, i).run();
  check_sizes(world);
}

void declare_library(World& world) { Declarer(world, 0).run(); }

}  // namespace shardproof::resolution
