#include "spec/resolve/files.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include "spec/resolve/project.h"
#include "spec/resolve/r_and_i.h"
#include "spec/syntax/parser.h"

namespace shardproof {

FileReader disk_reader() {
  return [](const std::string& path) -> std::optional<std::string> {
    std::error_code unused;
    if (!std::filesystem::is_regular_file(path, unused)) return std::nullopt;
    std::ifstream stream(path, std::ios::binary);
    if (!stream) return std::nullopt;
    std::stringstream text;
    text << stream.rdbuf();
    return text.str();
  };
}

namespace resolution {
namespace {

constexpr size_t deepest_import = 100;

std::string beside(const std::string& importer, const std::string& path) {
  const std::filesystem::path target(path);
  if (target.is_absolute()) return target.lexically_normal().string();
  return (std::filesystem::path(importer).parent_path() / target).lexically_normal().string();
}

class Loader {
 public:
  Loader(World& world, const FileReader& reader) : world_(world), reader_(reader) {}

  size_t load(const std::string& path, syntax::File file) {
    busy_.push_back(path);
    FileScope scope;
    scope.path = path;
    scope.ast = std::make_shared<const syntax::File>(with_instances(std::move(file)));
    std::vector<std::pair<size_t, size_t>> imports;  // declaration index, file index
    for (size_t i = 0; i < scope.ast->declarations.size(); ++i) {
      auto* import = std::get_if<syntax::ImportDecl>(&scope.ast->declarations[i]);
      if (!import) continue;
      if (auto index = follow(path, *import)) imports.emplace_back(i, *index);
    }
    busy_.pop_back();
    world_.files.push_back(std::move(scope));
    FileScope& placed = world_.files.back();
    for (auto [declaration, index] : imports) {
      placed.imports.emplace_back(
          &std::get<syntax::ImportDecl>(placed.ast->declarations[declaration]), index);
      placed.reaches.insert(index);
      const std::set<size_t>& further = world_.files[index].reaches;
      placed.reaches.insert(further.begin(), further.end());
    }
    return known_[path] = world_.files.size() - 1;
  }

 private:
  std::optional<size_t> follow(const std::string& importer, const syntax::ImportDecl& import) {
    const std::string path = beside(importer, import.path);
    if (auto found = known_.find(path); found != known_.end()) return found->second;
    for (const std::string& busy : busy_)
      if (busy == path) return refuse(import, "`" + import.path + "` imports this file in turn");
    if (busy_.size() > deepest_import) return refuse(import, "imports are nested too deeply");
    const std::string beside_this = "an import's path begins at the folder of this file";
    std::optional<std::string> text;
    try {
      text = reader_(path);
    } catch (const Unreadable& why) {
      return refuse(import, "the file `" + path + "` " + why.what(), beside_this);
    }
    if (!text) return refuse(import, "the file `" + path + "` cannot be read", beside_this);
    const int32_t source = world_.sources.add(path, std::move(*text));
    return load(path, syntax::parse(world_.sources, source, world_.diagnostics));
  }

  std::optional<size_t> refuse(const syntax::ImportDecl& import, const std::string& message,
                               const std::string& help = "") {
    Diagnostic& error = world_.error("E0107", import.range, message);
    if (!help.empty()) error.fixes.push_back({help, {}, false, ""});
    return std::nullopt;
  }

  World& world_;
  const FileReader& reader_;
  std::vector<std::string> busy_;
  std::map<std::string, size_t> known_;
};

}  // namespace

bool load(World& world, const std::string& path, syntax::File root, const FileReader& reader) {
  const std::string normal = std::filesystem::path(path).lexically_normal().string();
  Loader(world, reader).load(normal, std::move(root));
  return world.errors() == 0;
}

}  // namespace resolution
}  // namespace shardproof
