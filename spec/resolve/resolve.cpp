#include "spec/resolve/resolve.h"

#include <algorithm>

#include "spec/resolve/declarations.h"
#include "spec/resolve/files.h"
#include "spec/resolve/functions.h"
#include "spec/resolve/pads.h"
#include "spec/resolve/schedules.h"
#include "spec/resolve/signatures.h"
#include "spec/resolve/types.h"
#include "spec/resolve/unused.h"
#include "spec/resolve/world.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

using resolution::FunctionEntity;
using resolution::World;

Resolved collect(World& world) {
  Resolved result;
  result.readable = true;
  result.broken.assign(world.program.functions.size(), false);
  const size_t root = world.files.size() - 1;
  for (bool imported : {false, true})
    for (const FunctionEntity& entity : world.functions)
      if (entity.index && (entity.decl->is_plan || entity.decl->implements) &&
          (entity.file != root) == imported)
        result.plans.push_back(*entity.index);
  for (const auto& [name, entity] : world.files[root].functions)
    if (world.functions[entity].index) result.named.push_back(*world.functions[entity].index);
  for (const FunctionEntity& entity : world.functions)
    for (const std::optional<size_t>& each : {entity.index, entity.padded_claim})
      if (each && entity.bad) result.broken[*each] = true;
  for (const FunctionEntity& entity : world.functions)
    if (entity.padded_model && resolution::has_bad_model(world, entity))
      result.broken[*entity.padded_model] = true;
  result.notes = resolution::unused(world);
  for (const resolution::FileScope& file : world.files)
    for (const auto& [name, schedule] : file.schedules)
      result.schedules[resolution::schedule_key(world, *schedule)] = {file.ast, schedule};
  result.program = std::move(world.program);
  return result;
}

}  // namespace

Resolved resolve(Sources& sources, syntax::File file, const std::string& path,
                 const FileReader& reader, std::vector<Diagnostic>& diagnostics,
                 const std::map<Name, double>& set) {
  std::vector<Diagnostic> own;
  World world(sources, own, set);
  resolution::load_library(world);
  Resolved result;
  if (resolution::load(world, path, std::move(file), reader)) {
    resolution::declare_files(world);
    resolution::check_pads(world);
    resolution::check_schedules(world);
    resolution::check_layouts(world);
    resolution::read_signatures(world, resolution::Of::files);
    const std::vector<size_t> order = resolution::order_functions(world);
    resolution::note_library_gradients(world);
    resolution::check_claims(world);
    for (size_t entity : order) {
      FunctionEntity& function = world.functions[entity];
      if (!function.index) continue;
      resolution::read_padded_model(world, function);
      resolution::read_function(world, function);
      resolution::read_padded_claim(world, function);
    }
    resolution::check_saved(world);
    result = collect(world);
  }
  // The instances of a plan have one text, and most errors in common.
  for (Diagnostic& each : own)
    if (std::none_of(diagnostics.begin(), diagnostics.end(), [&](const Diagnostic& told) {
          return told.code == each.code && told.range == each.range && told.message == each.message;
        }))
      diagnostics.push_back(std::move(each));
  return result;
}

Resolved resolve(Sources& sources, const std::string& path, const FileReader& reader,
                 std::vector<Diagnostic>& diagnostics, const std::map<Name, double>& set) {
  std::optional<std::string> text = reader(path);
  if (!text) {
    Diagnostic diagnostic;
    diagnostic.code = "E0001";
    diagnostic.message = "the file `" + path + "` cannot be read";
    diagnostics.push_back(std::move(diagnostic));
    return {};
  }
  const int32_t source = sources.add(path, std::move(*text));
  std::vector<Diagnostic> errors;
  syntax::File file = syntax::parse(sources, source, errors);
  if (errors.empty()) return resolve(sources, std::move(file), path, reader, diagnostics, set);
  diagnostics.insert(diagnostics.end(), errors.begin(), errors.end());
  return {};
}

}  // namespace shardproof
