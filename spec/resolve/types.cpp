#include "spec/resolve/types.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "spec/elaborate/names.h"
#include "spec/resolve/dim_twice.h"

namespace shardproof::resolution {
namespace {

bool possible_size(const Name& number) {
  const double value = std::strtod(number.c_str(), nullptr);
  return value >= 1 && value <= 9007199254740992.0;
}

const Dim* local_dim(const TypeContext& context, const Name& name) {
  if (!context.dims) return nullptr;
  const auto found = context.dims->find(name);
  return found == context.dims->end() ? nullptr : &found->second;
}

std::vector<Name> visible_dims(const TypeContext& context) {
  std::vector<Name> names = keys(context.file.dims);
  if (context.dims)
    for (const Name& name : keys(*context.dims)) names.push_back(name);
  return names;
}

/// `M/t` as `M`, `{U_t}` and `U_t` as nothing.
Fix without_axes(const Sources& sources, SourceRange range) {
  const std::string& text = sources.file(range.file).text;
  const size_t slash = sources.text(range).find('/');
  const bool mark = slash == std::string_view::npos;
  if (!mark) range.begin += static_cast<uint32_t>(slash);
  if (mark && range.begin > 0 && text[range.begin - 1] == '{' && text[range.end] == '}')
    --range.begin, ++range.end;
  return {mark ? "leave the mark out" : "leave the axes out", {{range, ""}}, false, ""};
}

bool check_axis(const TypeContext& context, const Axis& axis, SourceRange range) {
  if (!context.axes_allowed) {
    Diagnostic& error = context.world.error("E0109", range, "a fn has no axes",
                                            "a fn is mathematics on whole tensors");
    if (range.file >= 0) error.fixes.push_back(without_axes(context.world.sources, range));
    return false;
  }
  if (context.file.axes.count(axis)) return true;
  context.world.unknown("axis", axis, range, keys(context.file.axes));
  return false;
}

/// `B/d M/d` with one of the two splits.
Fix split_only_once(const Shape& shape, const Axis& axis) {
  std::string either;
  for (size_t kept = 0; kept < shape.dims.size(); ++kept) {
    if (std::count(shape.dims[kept].axes.begin(), shape.dims[kept].axes.end(), axis) == 0) continue;
    Type once;
    once.dims = shape.dims;
    for (size_t i = 0; i < once.dims.size(); ++i)
      if (i != kept) std::erase(once.dims[i].axes, axis);
    const std::string text = to_string(once);
    const size_t open = text.find('[') + 1;
    either += (either.empty() ? "`" : " or `") + text.substr(open, text.find(']') - open) + "`";
  }
  return {"an axis splits one dim: write " + either, {}, false, ""};
}

/// Adds it to those seen so far; false: it is one of them.
template <class T>
bool is_new(std::vector<T>& seen, const T& each) {
  const bool known = std::find(seen.begin(), seen.end(), each) != seen.end();
  if (!known) seen.push_back(each);
  return !known;
}

// Reports types that cannot exist: an axis or dim twice, U with Max, a mark on a split axis.
bool check_shape(World& world, const Shape& shape, SourceRange range) {
  auto refuse = [&](const std::string& message) {
    world.error("E0110", range, message);
    return false;
  };
  if (const std::string dim = dim_twice(world, shape); !dim.empty())
    return refuse("`" + dim + "` twice in one type");
  std::vector<Axis> axes;
  for (const Split& split : shape.dims)
    for (const Axis& axis : split.axes)
      if (!is_new(axes, axis)) {
        refuse("the axis `" + axis + "` twice in one type");
        world.diagnostics.back().fixes.push_back(split_only_once(shape, axis));
        return false;
      }
  bool sum = false, maximum = false;
  for (const auto& [axis, mark] : shape.marks) {
    if (std::count(axes.begin(), axes.end(), axis)) {
      refuse("the axis `" + axis + "` splits a dim and also has a mark");
      world.diagnostics.back().fixes.push_back(
          {"a value that is split over " + axis + " is no sum over it: leave out one of the two",
           {},
           false,
           ""});
      return false;
    }
    sum = sum || mark == Mark::U;
    maximum = maximum || mark == Mark::Max;
  }
  return !(sum && maximum) || refuse("a value is a sum or a maximum over axes, not both");
}

/// The axis of `B/t L M/t`, or of `B/t L {U_t}`, that is twice in a type: at each place another one
/// or none.
void add_other_axes(const TypeContext& context, const std::vector<syntax::SplitExpr>& dims,
                    const std::vector<syntax::MarkExpr>& marks, const Shape& shape) {
  std::set<Axis> once, twice;
  std::vector<Axis> all = split_axes(shape);
  for (const auto& [axis, mark] : shape.marks) all.push_back(axis);
  for (const Axis& axis : all)
    if (!once.insert(axis).second) twice.insert(axis);
  Diagnostic& error = context.world.diagnostics.back();
  const auto add = [&](const SourceRange& range, const std::string& text) {
    const std::string own = "`" + std::string(context.world.sources.text(range)) + "`";
    error.fixes.push_back({text.empty() ? "leave out " + own : "write `" + text + "` for " + own,
                           {{range, text}},
                           false,
                           "",
                           true,
                           true});
  };
  for (const Axis& axis : twice) {
    for (const syntax::SplitExpr& dim : dims) {
      const std::string_view text = context.world.sources.text(dim.range);
      const size_t at = text.find("/" + axis);
      if (dim.range.file < 0 || at == text.npos ||
          std::count(dim.axes.begin(), dim.axes.end(), axis) != 1)
        continue;
      SourceRange place{dim.range.file, dim.range.begin + static_cast<uint32_t>(at), 0};
      place.end = place.begin + 1 + static_cast<uint32_t>(axis.size());
      for (const auto& [other, unused] : context.file.axes)
        if (!once.count(other)) add(place, "/" + other);
      add(place, "");
    }
    for (const syntax::MarkExpr& mark : marks) {
      if (mark.axis != axis || mark.range.file < 0) continue;
      const std::string text(context.world.sources.text(mark.range));
      SourceRange whole = mark.range;  // with its braces, or a blank
      if (marks.size() == 1)
        --whole.begin, ++whole.end;
      else
        --whole.begin;
      if (marks.size() == 1 || &mark != &marks[0]) add(whole, "");
      for (const auto& [other, unused] : context.file.axes)
        if (!once.count(other)) add(mark.range, text.substr(0, text.find('_') + 1) + other);
    }
  }
}

}  // namespace

std::optional<Dim> resolve_dim(const TypeContext& context, const syntax::SplitExpr& split) {
  Dim dim;
  dim.factors.reserve(split.names.size());
  for (const Name& name : split.names) {
    const Dim* local = local_dim(context, name);
    if (local && split.names.size() == 1) return *local;
    if (!local && !is_number(name) && !context.file.dims.count(name)) {
      context.world.unknown("dim", name, split.range, visible_dims(context));
      return std::nullopt;
    }
    if (is_number(name) && !possible_size(name)) {
      context.world.error("E0106", split.range, "a dim cannot have the size " + name,
                          "a size is a positive whole number below 2^53");
      return std::nullopt;
    }
    if (local)
      dim.factors.insert(dim.factors.end(), local->factors.begin(), local->factors.end());
    else
      dim.factors.push_back(name);
  }
  if (dim.factors.empty()) return std::nullopt;
  return dim;
}

bool resolve_split(const TypeContext& context, const syntax::SplitExpr& split, Shape& shape) {
  if (split.kind == syntax::SplitExpr::Kind::star) {
    context.world.error("E0110", split.range, "`*` is only in the signature of a generic function");
    return false;
  }
  if (split.kind == syntax::SplitExpr::Kind::ellipsis) {
    if (!context.rest) {
      context.world.error("E0110", split.range, "`...` is only in a generic function")
          .fixes.push_back({"name each dim, as in `B L M`", {}, false, ""});
      return false;
    }
    for (const Dim& dim : *context.rest) shape.dims.push_back({dim, {}});
    return true;
  }
  auto dim = resolve_dim(context, split);
  bool good = dim.has_value();
  for (const Axis& axis : split.axes)
    if (!check_axis(context, axis, split.range)) {
      good = false;
      break;
    }
  if (good) shape.dims.push_back({std::move(*dim), split.axes});
  return good;
}

std::optional<Shape> resolve_shape(const TypeContext& context,
                                   const std::vector<syntax::SplitExpr>& dims,
                                   const std::vector<syntax::MarkExpr>& marks, bool strict) {
  constexpr size_t most = 500;
  if (dims.size() > most) {
    context.world.error("E0007", dims[most].range, "a type has at most 500 dims");
    return std::nullopt;
  }
  Shape shape;
  bool good = true;
  for (const syntax::SplitExpr& split : dims) good = resolve_split(context, split, shape) && good;
  SourceRange range = dims.empty() ? SourceRange{} : dims.front().range;
  if (!dims.empty()) range.end = dims.back().range.end;
  for (const syntax::MarkExpr& mark : marks) {
    if (range.file < 0) range = mark.range;
    range.end = mark.range.end;
    if (!check_axis(context, mark.axis, mark.range)) {
      good = false;
    } else if (mark.either) {
      context.world.error("E0110", mark.range, "`?_" + mark.axis + "` has no place here",
                          "it is for a plan's parameters with a gradient and what is made from "
                          "them, on at most 4 axes");
      good = false;
    } else if (auto [at, fresh] = shape.marks.emplace(mark.axis, mark.mark); !fresh && strict) {
      context.world.error("E0110", mark.range, "two marks for the axis `" + mark.axis + "`");
      good = false;
    }
  }
  if (good && strict && !check_shape(context.world, shape, range)) {
    add_other_axes(context, dims, marks, shape);
    add_other_dims(context, dims);
    good = false;
  }
  if (!good) return std::nullopt;
  return shape;
}

namespace {

std::optional<Types> tensor_type(const TypeContext& context, const syntax::TypeExpr& type) {
  std::optional<Dtype> dtype = dtype_of(type.name);
  if (type.name == "float") dtype = context.float_dtype;
  if (!dtype) {
    context.world.error("E0110", type.range,
                        "`float` is only in the signature of a generic function");
    return std::nullopt;
  }
  auto shape = resolve_shape(context, type.dims, type.marks, true);
  if (!shape) return std::nullopt;
  Type result;
  static_cast<Shape&>(result) = std::move(*shape);
  result.dtype = *dtype;
  return tensor(std::move(result));
}

}  // namespace

std::optional<Types> resolve_type(const TypeContext& context, const syntax::TypeExpr& type) {
  if (dtype_of(type.name) || type.name == "float") return tensor_type(context, type);
  auto found = context.file.records.find(type.name);
  if (found == context.file.records.end()) {
    context.world.unknown("record or layout", type.name, type.range, keys(context.file.records));
    return std::nullopt;
  }
  const RecordEntity& entity = context.world.records[found->second];
  if (entity.layout && !context.axes_allowed) {
    context.world.error("E0109", type.range,
                        "`" + type.name + "` is a layout, and a fn has no axes",
                        "write the record `" + entity.layout->record + "`");
    return std::nullopt;
  }
  const Types* fields = record_type(context.world, found->second, type.range);
  auto shape = resolve_shape(context, type.dims, type.marks, false);
  if (!fields || !shape) return std::nullopt;
  bool good = true;
  Types result = transform<Type>(*fields, [&](const Type& leaf) {
    Type with = leaf;
    with.dims.insert(with.dims.begin(), shape->dims.begin(), shape->dims.end());
    for (const auto& [axis, mark] : shape->marks) with.marks[axis] = mark;
    good = good && check_shape(context.world, with, type.range);
    return with;
  });
  if (!good) return std::nullopt;
  return result;
}

bool same_positions(const World& world, const Shape& a, const Shape& b) {
  return std::equal(a.dims.begin(), a.dims.end(), b.dims.begin(), b.dims.end(),
                    [&](const Split& x, const Split& y) {
                      return x.dim == y.dim || elaborate::factors(world.program, x.dim) ==
                                                   elaborate::factors(world.program, y.dim);
                    });
}

bool same_class(Dtype a, Dtype b) { return a == b || (is_float(a) && is_float(b)); }

std::string dim_twice(const World& world, const Shape& shape) {
  std::vector<Name> names;
  std::vector<std::vector<Name>> groups;
  for (const Split& split : shape.dims) {
    for (const Name& factor : split.dim.factors)
      if (!is_new(names, factor)) return factor;
    // H and (K D) are the same dims
    const std::vector<Name> group = elaborate::names(world.program, split.dim);
    if (!group.empty() && !is_new(groups, group)) return to_string(split.dim);
  }
  return "";
}

std::string dims_text(const Shape& shape) {
  Shape bare;
  for (const Split& split : shape.dims) bare.dims.push_back({split.dim, {}});
  return to_string(bare);
}

std::string describe(const World& world, const Types& type) {
  if (type.is_record()) return "the record " + world.records[static_cast<size_t>(type.record)].name;
  return to_string(type.leaf);
}

}  // namespace shardproof::resolution
