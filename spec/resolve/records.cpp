// Records and layouts: flattens their fields, and compares layouts with their records.
#include <algorithm>

#include "spec/resolve/in_order.h"
#include "spec/resolve/pads.h"
#include "spec/resolve/types.h"

namespace shardproof::resolution {
namespace {

constexpr size_t most_leaves = 5000, deepest_record = 100;

size_t depth_of(const Types& type) {
  size_t depth = 0;
  for (const Types& field : type.fields) depth = std::max(depth, depth_of(field));
  return type.is_record() ? depth + 1 : 0;
}

std::optional<Types> read_fields(World& world, size_t record) {
  const RecordEntity entity = world.records[record];
  const FileScope& file = world.files[entity.file];
  const TypeContext context{world, file, entity.layout != nullptr};
  Types result;
  result.record = record_of(world, record);
  std::map<Name, SourceRange> seen;
  size_t count = 0;
  bool good = result.record >= 0;
  for (const syntax::Group& group : *entity.groups) {
    auto type = resolve_type(context, group.type);
    good = good && type;
    SourceRange rest = group.range;
    for (const Name& name : group.names) {
      const SourceRange range = world.locate_next(name, rest);
      auto [first, fresh] = seen.try_emplace(name, range);
      if (!fresh) world.twice(name, range, first->second, "a field is declared twice");
      if (!type) continue;
      result.names.push_back(name);
      result.fields.push_back(*type);
      count += leaves(*type).size();
    }
    if (count > most_leaves) {
      world.error("E0110", group.range, "a record with too many fields");
      return std::nullopt;
    }
  }
  if (!good) return std::nullopt;
  if (depth_of(result) <= deepest_record) return result;
  world.error("E0007", entity.range, "records nest at most 100 deep");
  return std::nullopt;
}

std::string names_text(const std::vector<Name>& names) {
  std::string text;
  for (const Name& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

bool has(const std::vector<Name>& names, const Name& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The record's field as a layout writes it: with the axes that the layout gives its dims.
std::string declared_type(const World& world, const Types& field, const Types* layout) {
  if (field.is_record()) return world.records[static_cast<size_t>(field.record)].name;
  Type type = field.leaf;
  if (layout && !layout->is_record()) {
    if (same_class(type.dtype, layout->leaf.dtype)) type.dtype = layout->leaf.dtype;
    for (Split& split : type.dims)
      if (const Split* own = find(layout->leaf, split.dim)) split.axes = own->axes;
  }
  return to_string(type);
}

/// The edits that give a layout the names and dims of its record. None for stacks of records.
std::optional<Fix> fields_as_declared(const World& world, const syntax::LayoutDecl& decl,
                                      const Types& record, const Types& layout) {
  std::vector<Name> missing, extra;
  for (const Name& name : record.names)
    if (!has(layout.names, name)) missing.push_back(name);
  for (const Name& name : layout.names)
    if (!has(record.names, name)) extra.push_back(name);
  Fix fix;
  const auto field = [](const Types& of, const Name& name) {
    return std::find(of.names.begin(), of.names.end(), name) - of.names.begin();
  };
  if (missing.size() == 1 && extra.size() == 1)
    return Fix{"the record calls it `" + missing[0] + "`",
               {{world.locate(extra[0], decl.range), missing[0]}},
               false,
               ""};
  if (missing.size() == 1 && extra.empty()) {
    const size_t i = static_cast<size_t>(field(record, missing[0]));
    if (i + 1 != record.names.size() || record.fields[i].is_record()) return std::nullopt;
    const std::string text = missing[0] + ": " + declared_type(world, record.fields[i], nullptr);
    const SourceRange end{decl.range.file, decl.range.end - 1, decl.range.end - 1};
    return Fix{"`" + text + "` is missing", {{end, text + " "}}, false, ""};
  }
  if (!missing.empty() || !extra.empty()) return std::nullopt;
  for (const syntax::Group& group : decl.fields)
    for (const Name& name : group.names) {
      const Types& own = layout.fields[static_cast<size_t>(field(layout, name))];
      const Types& declared = record.fields[static_cast<size_t>(field(record, name))];
      if (own.is_record() || declared.is_record()) continue;
      const std::string text = declared_type(world, declared, &own);
      if (same_dims(own.leaf, declared.leaf) && same_class(own.leaf.dtype, declared.leaf.dtype))
        continue;
      if (group.names.size() != 1) return std::nullopt;
      fix.edits.push_back({group.type.range, text});
      fix.message += (fix.message.empty() ? "write `" : ", `") + name + ": " + text + "`";
    }
  return fix.edits.empty() ? std::nullopt : std::optional(fix);
}

// Compares field by field; a nested layout stands for its record.
void compare(World& world, const Types& record, const Types& layout, const std::string& path,
             SourceRange range) {
  auto refuse = [&](const std::string& message) { world.error("E0105", range, message); };
  if (record.record != layout.record)
    return refuse("`" + path + "` is " + describe(world, layout) + ", and in the record " +
                  describe(world, record));
  if (record.is_record()) {
    if (record.names != layout.names)
      return refuse("the fields are `" + names_text(layout.names) + "`, and the record's `" +
                    names_text(record.names) + "`");
    for (size_t i = 0; i < record.fields.size(); ++i)
      compare(world, record.fields[i], layout.fields[i],
              path.empty() ? record.names[i] : path + "." + record.names[i], range);
    return;
  }
  const bool same = same_but_padded(world, layout.leaf, record.leaf) &&
                    same_class(record.leaf.dtype, layout.leaf.dtype);
  if (!same)
    refuse("the field `" + path + "` is " + to_string(layout.leaf) + ", and in the record " +
           to_string(record.leaf));
}

}  // namespace

int record_of(const World& world, size_t record) {
  const RecordEntity& entity = world.records[record];
  if (!entity.layout) return static_cast<int>(record);
  const FileScope& file = world.files[entity.file];
  auto found = file.records.find(entity.layout->record);
  if (found == file.records.end() || world.records[found->second].layout) return -1;
  return static_cast<int>(found->second);
}

const Types* record_type(World& world, size_t record, SourceRange use) {
  using State = RecordEntity::State;
  State& state = world.records[record].state;
  if (state == State::busy) {
    world.error("E0112", use, "the record `" + world.records[record].name + "` contains itself");
    state = State::bad;
  }
  if (state == State::fresh) {
    state = State::busy;
    ++world.open_records;
    std::optional<Types> type;
    if (world.open_records <= 2 * deepest_record)
      type = read_fields(world, record);
    else
      world.error("E0007", use, "records nest at most 100 deep");
    --world.open_records;
    RecordEntity& entity = world.records[record];
    if (type && entity.state == State::busy) {
      entity.type = std::move(*type);
      entity.state = State::done;
    } else {
      entity.state = State::bad;
    }
  }
  const RecordEntity& entity = world.records[record];
  return entity.state == State::done ? &entity.type : nullptr;
}

void check_layouts(World& world) {
  for (size_t i = 0; i < world.records.size(); ++i) {
    const RecordEntity& entity = world.records[i];
    if (entity.layout && record_of(world, i) < 0) {
      const FileScope& file = world.files[entity.file];
      if (file.records.count(entity.layout->record))
        world.error("E0105", world.locate(entity.layout->record, entity.range),
                    "`" + entity.layout->record + "` is a layout, not a record");
      else
        world.unknown("record", entity.layout->record, entity.range, keys(file.records));
    }
    const Types* layout = record_type(world, i, entity.range);
    if (!layout || !entity.layout) continue;
    const Types* record = record_type(world, static_cast<size_t>(layout->record), entity.range);
    if (!record) continue;
    const size_t before = world.errors();
    compare(world, *record, *layout, "", entity.range);
    if (world.errors() == before) continue;
    world.records[i].state = RecordEntity::State::bad;
    std::vector<const syntax::Group*> groups;
    for (const syntax::Group& group : entity.layout->fields) groups.push_back(&group);
    for (auto fix : {groups_in_order(world.sources, groups, record->names),
                     fields_as_declared(world, *entity.layout, *record, *layout)})
      if (fix) world.diagnostics.back().fixes.push_back(*std::move(fix));
  }
}

}  // namespace shardproof::resolution
