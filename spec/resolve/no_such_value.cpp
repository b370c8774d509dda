#include "spec/resolve/no_such_value.h"

namespace shardproof::resolution {
namespace {

/// Where a statement of the block, or of a loop in it, binds the name.
const syntax::Target* bound_in(const syntax::Block& block, const Name& name) {
  for (const syntax::Statement& statement : block) {
    const auto* bind = std::get_if<syntax::Bind>(&statement.node);
    if (!bind) continue;
    for (const syntax::Target& target : bind->targets)
      if (target.name == name) return &target;
    for (const syntax::Loop& loop : bind->loop)
      if (const syntax::Target* inner = bound_in(loop.body, name)) return inner;
  }
  return nullptr;
}

}  // namespace

void no_such_value(Body& body, const Name& name, SourceRange range) {
  World& world = body.world;
  const size_t before = world.diagnostics.size();
  const syntax::Block* text = body.scope->text;
  const syntax::Target* elsewhere = text ? bound_in(*text, name) : nullptr;
  const std::vector<Name> visible = body.visible();
  world.unknown("value", name, range, elsewhere ? std::vector<Name>{} : visible);
  if (world.diagnostics.size() == before) return;
  Diagnostic& error = world.diagnostics.back();
  if (elsewhere) {
    const bool later = elsewhere->range.begin >= range.begin;
    error.notes.push_back({elsewhere->range, later ? "named only here" : "named inside of a loop"});
    error.fixes = {{later ? "move this line below the one that names `" + name + "`"
                          : "a loop gives out what it carries or emits",
                    {},
                    false,
                    ""}};
  } else if (error.fixes.empty() && !visible.empty()) {
    error.fixes.push_back({"the values here are " + listed(visible, 8), {}, false, ""});
  }
}

}  // namespace shardproof::resolution
