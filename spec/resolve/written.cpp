// The written form of types: which records, with which fields, so that they can be printed again.
#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

bool sees(const FileScope& file, const Name& name, size_t entity) {
  const auto found = file.records.find(name);
  return found != file.records.end() && found->second == entity;
}

}  // namespace

ir::WrittenType written_type(World& world, size_t file, const syntax::TypeExpr& type,
                             size_t reader) {
  ir::WrittenType result;
  const FileScope& scope = world.files[file];
  const auto found = scope.records.find(type.name);
  if (found == scope.records.end()) return result;
  const int record = record_of(world, found->second);
  if (record < 0) return result;
  const RecordEntity& entity = world.records[found->second];
  result.name = entity.name;
  result.record = world.records[static_cast<size_t>(record)].name;
  result.visible = sees(world.files[reader], result.name, found->second) &&
                   sees(world.files[reader], result.record, static_cast<size_t>(record));
  const TypeContext context{world, scope};
  if (auto shape = resolve_shape(context, type.dims, type.marks, false)) {
    result.dims = shape->dims;
    result.marks = shape->marks;
  }
  for (const syntax::Group& group : *entity.groups)
    for (const Name& name : group.names) {
      result.field_names.push_back(name);
      result.fields.push_back(written_type(world, entity.file, group.type, reader));
    }
  return result;
}

}  // namespace shardproof::resolution
