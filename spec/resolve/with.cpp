// `r with { attn.qn = e, ln = f }`: a copy of a record with some fields replaced.
#include <algorithm>

#include "spec/resolve/calls.h"

namespace shardproof::resolution {
namespace {

/// The text between the previous value and this one: ` attn.qn = `.
SourceRange path_range(Body& body, const syntax::Expr& expr, size_t field) {
  SourceRange range = expr.range;
  range.begin = expr.args[field - 1].range.end;
  range.end = expr.args[field].range.begin;
  return body.world.locate(expr.arg_names[field], range);
}

bool is_part(const Name& inner, const Name& outer) { return inner.rfind(outer + ".", 0) == 0; }

/// E0105 if two paths name the same field, or one contains the other.
bool disjoint(Body& body, const syntax::Expr& expr) {
  for (size_t i = 2; i < expr.args.size(); ++i)
    for (size_t j = 1; j < i; ++j) {
      const Name &late = expr.arg_names[i], &early = expr.arg_names[j];
      const bool same = late == early;
      if (!same && !is_part(late, early) && !is_part(early, late)) continue;
      const Name& inner = is_part(early, late) ? early : late;
      const Name& outer = is_part(early, late) ? late : early;
      Diagnostic& error = body.error(
          "E0105", path_range(body, expr, i),
          same ? "`with` replaces the field `" + late + "` twice"
               : "`with` replaces `" + outer + "` and also `" + inner + "`, which is a part of it");
      error.notes.push_back({path_range(body, expr, j), "also replaced here"});
      return false;
    }
  return true;
}

/// The field at a path. Null after E0101 or E0109.
Values* field_at(Body& body, Values& record, const Name& path, SourceRange range) {
  Values* at = &record;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find('.', begin), path.size());
    const Name part = path.substr(begin, end - begin);
    if (!at->is_record()) {
      body.error("E0109", range, "a tensor has no field `" + part + "`");
      return nullptr;
    }
    size_t i = 0;
    while (i < at->names.size() && at->names[i] != part) ++i;
    if (i == at->names.size()) {
      body.world.unknown("field", part, range, at->names);
      return nullptr;
    }
    at = &at->fields[i];
    begin = end + 1;
  }
  return at;
}

/// If the source states the type of the old leaf, the new leaf gets the same axes and marks.
ir::ValueId ascribed(Body& body, ir::ValueId value, ir::ValueId old, SourceRange range) {
  const bool stated = body.scope->is_plan && !body.inferred() && body.function.values[old].stated;
  if (!stated || value == ir::no_value) return value;
  const Type type = body.type(old);
  return body.emit(ir::Ascribe{type, false}, {value}, type, type.dtype, range, {range});
}

void replace(Body& body, Values& field, const Name& path, const Values& value, SourceRange range) {
  const Values old = field;
  if (is_unknown(old)) return;
  const Types types = transform<Type>(old, [&](ir::ValueId id) { return body.type(id); });
  field = fit(body, value, types, range, {"E0105", "E0105", "the field `" + path + "`"});
  const std::vector<ir::ValueId> before = leaves(old);
  size_t next = 0;
  field = transform<ir::ValueId>(
      field, [&](ir::ValueId id) { return ascribed(body, id, before[next++], range); });
}

}  // namespace

Values replace_fields(Body& body, const syntax::Expr& expr) {
  Values record = body.one(expr.args.at(0));
  if (!record.is_record()) {
    if (record.leaf != ir::no_value)
      body.error("E0109", expr.args[0].range,
                 "`with` replaces fields of a record, and this is a tensor");
    return unknown_value();
  }
  if (!disjoint(body, expr)) return record;
  for (size_t i = 1; i < expr.args.size(); ++i) {
    const Values value = body.one(expr.args[i]);
    Values* field = field_at(body, record, expr.arg_names[i], path_range(body, expr, i));
    if (field) replace(body, *field, expr.arg_names[i], value, expr.args[i].range);
  }
  return record;
}

}  // namespace shardproof::resolution
