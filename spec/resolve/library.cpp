// The library's files, declarations and signatures: read once in a process, as reading them takes
// longer than most programs do.
#include "spec/resolve/library.h"

#include <mutex>

#include "spec/resolve/declarations.h"
#include "spec/resolve/files.h"
#include "spec/resolve/signatures.h"
#include "spec/syntax/parser.h"

namespace shardproof::resolution {
namespace {

struct Library {
  Entries<FileScope> files;
  Entries<FunctionEntity> functions;
};

std::vector<std::shared_ptr<const SourceFile>> source_files() {
  std::vector<std::shared_ptr<const SourceFile>> files;
  for (const auto& [name, text] : embedded_library())
    files.push_back(std::make_shared<const SourceFile>("<library>/" + name, text));
  return files;
}

std::shared_ptr<const syntax::File> parsed(World& world, const std::vector<int32_t>& sources) {
  auto all = std::make_shared<syntax::File>();
  for (int32_t source : sources) {
    syntax::File file = syntax::parse(world.sources, source, world.diagnostics);
    for (syntax::Declaration& declaration : file.declarations)
      all->declarations.push_back(std::move(declaration));
  }
  return all;
}

Library read(World& world, const std::vector<int32_t>& sources) {
  FileScope scope;
  scope.library = true;
  scope.path = "<library>";
  scope.ast = parsed(world, sources);
  world.files.push_back(std::move(scope));
  declare_library(world);
  read_signatures(world, Of::library);
  return {world.files, world.functions};
}

}  // namespace

void load_library(World& world) {
  static const std::vector<std::shared_ptr<const SourceFile>> files = source_files();
  static std::mutex mutex;
  static std::map<size_t, Library> by_first_source;  // its ranges have the numbers of the sources
  const size_t first = world.sources.size();
  std::vector<int32_t> sources;
  for (const auto& file : files) sources.push_back(world.sources.add(file));
  const std::lock_guard lock(mutex);
  auto known = by_first_source.find(first);
  if (known == by_first_source.end())
    known = by_first_source.emplace(first, read(world, sources)).first;
  world.files = known->second.files;
  world.functions = known->second.functions;
}

}  // namespace shardproof::resolution
