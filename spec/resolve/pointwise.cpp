// Pointwise primitives: dims are matched by name, one operand has all of them, and dtypes agree.
#include <algorithm>
#include <cmath>
#include <map>

#include "spec/elaborate/elaborate.h"
#include "spec/resolve/dim_order.h"
#include "spec/resolve/meant.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {
namespace {

using ir::BinaryFn;
using ir::UnaryFn;

void dtype_error(Body& body, SourceRange range, const std::string& message) {
  body.error("E0104", range, message);
}

// Whether every dim of `part` is in `whole`.
bool has_all(const Shape& whole, const Shape& part) {
  return std::all_of(part.dims.begin(), part.dims.end(),
                     [&](const Split& split) { return find(whole, split.dim) != nullptr; });
}

/// The operand with the other's names for the same dims: `x[B S M] * p[L M]` with `dim S = L`.
std::vector<Fix> renamed_operands(const Body& body, const std::vector<ir::ValueId>& operands,
                                  const std::vector<SourceRange>& ranges) {
  std::vector<Fix> fixes;
  if (operands.size() != 2 || ranges.size() != 2 || body.inferred()) return fixes;
  const ir::Program& program = body.world.program;
  for (const size_t i : {size_t{1}, size_t{0}}) {
    const Type &own = body.type(operands[i]), &other = body.type(operands[1 - i]);
    Type wanted = own;
    for (Split& split : wanted.dims) {
      if (find(other, split.dim)) continue;
      for (const Split& each : other.dims)
        if (!find(own, each.dim) && program.same_dim(each.dim, split.dim)) split.dim = each.dim;
    }
    if (!has_all(wanted, other) && !has_all(other, wanted)) continue;
    if (auto fix = with_names_of(program, wanted, own, body.world.sources, ranges[i])) {
      fix->message = "name its dims as the other operand does";
      if (const std::string& text = fix->edits[0].text; text.starts_with("rearrange("))
        fix->message += ", `" + text + "`";
      fixes.push_back(*std::move(fix));
    }
  }
  return fixes;
}

// `(G J)` of an operand is E if another one has E, and `dim E = (G J)`.
void name_groups(Body& body, std::vector<ir::ValueId>& operands, SourceRange range) {
  const ir::Program& program = body.world.program;
  const auto has_group = [](const Shape& shape) {
    return std::any_of(shape.dims.begin(), shape.dims.end(),
                       [](const Split& split) { return split.dim.is_group(); });
  };
  for (ir::ValueId& part : operands)
    for (ir::ValueId whole : operands) {
      if (!has_group(body.type(part))) break;
      Type named = body.type(part);
      for (Split& split : named.dims) {
        if (!split.dim.is_group() || find(body.type(whole), split.dim)) continue;
        for (const Split& other : body.type(whole).dims)
          if (!find(named, other.dim) &&
              elaborate::factors(program, other.dim) == elaborate::factors(program, split.dim))
            split.dim = other.dim;
      }
      if (same_dims(named, body.type(part))) continue;
      const ir::ValueId renamed = regrouped(body, part, named, range);
      if (renamed != ir::no_value) part = renamed;
    }
}

/// `iota("S T; S") >= iota("S T; T")` for `iota("S") >= iota("T")`: the numbers of each over both.
std::optional<Fix> numbers_over_both(const Body& body, const std::vector<SourceRange>& ranges) {
  constexpr std::string_view begins = "iota(\"", ends = "\")";
  std::vector<std::string> dims;
  for (const SourceRange& range : ranges) {
    if (range.file < 0) return std::nullopt;
    const std::string_view text = body.world.sources.text(range);
    if (!text.starts_with(begins) || !text.ends_with(ends)) return std::nullopt;
    dims.emplace_back(text.substr(begins.size(), text.size() - begins.size() - ends.size()));
    if (dims.back().find_first_of(" ;(") != std::string::npos) return std::nullopt;
  }
  if (dims.size() != 2) return std::nullopt;
  Fix fix;
  for (size_t i = 0; i < dims.size(); ++i)
    fix.edits.push_back({ranges[i], std::string(begins) + dims[0] + " " + dims[1] + "; " +
                                        dims[i].substr(0, dims[i].find('/')) + std::string(ends)});
  fix.message = "the numbers of each dim over both: `" + fix.edits[0].text + "`";
  return fix;
}

// The dims of the operand that has all of them. Null after E0305, if there is none.
const Shape* joined(Body& body, std::vector<ir::ValueId>& operands,
                    const std::vector<SourceRange>& ranges, SourceRange range,
                    const std::string& op) {
  name_groups(body, operands, range);
  for (ir::ValueId whole : operands) {
    const bool all = std::all_of(operands.begin(), operands.end(), [&](ir::ValueId part) {
      return has_all(body.type(whole), body.type(part));
    });
    if (all) return &body.type(whole);
  }
  std::string shapes;
  std::vector<std::string> types;
  for (ir::ValueId id : operands) {
    const Type& type = body.type(id);
    if (type.dims.empty()) continue;
    shapes += (shapes.empty() ? "`" : " and `") + dims_text(type) + "`";
    types.push_back(to_string(type));
  }
  Diagnostic& error = body.error("E0305", range, "no operand of " + op + " has all dims: " + shapes,
                                 "one operand must have the dims of the others");
  error.types = types;
  if (auto fix = numbers_over_both(body, ranges))
    error.fixes = {*std::move(fix)};
  else
    error.fixes = renamed_operands(body, operands, ranges);
  if (!error.fixes.empty()) return nullptr;
  for (size_t i = 0; i < operands.size() && i < ranges.size(); ++i) {
    const auto fits = [&](const Type& other) {
      return other.dtype == body.type(operands[i]).dtype &&
             std::any_of(operands.begin(), operands.end(), [&](ir::ValueId each) {
               return each != operands[i] && same_dims(other, body.type(each));
             });
    };
    append(error.fixes, other_values(body, ranges[i], fits));
  }
  error.fixes.push_back(
      {"give one of them the other's dims: `expand(\"... -> ...\", x)`", {}, false, ""});
  return nullptr;
}

// The common dtype; `number` if all are numbers. A fix casts the second to the first.
std::optional<Dtype> common(Body& body, const std::vector<ir::ValueId>& ids,
                            const std::vector<SourceRange>& ranges, SourceRange range,
                            const std::string& op) {
  std::optional<size_t> first;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Dtype dtype = body.type(ids[i]).dtype;
    if (dtype == Dtype::number) continue;
    if (!first) first = i;
    const Dtype wanted = body.type(ids[*first]).dtype;
    if (dtype == wanted) continue;
    Diagnostic& error =
        body.error("E0104", range, op + " of " + to_string(wanted) + " and " + to_string(dtype),
                   "both operands need the same dtype");
    error.types = {to_string(body.type(ids[*first])), to_string(body.type(ids[i]))};
    for (auto [at, to] : {std::pair{i, wanted}, std::pair{*first, dtype}}) {
      const Type& own = body.type(ids[at]);
      const auto fits = [&, to = to](const Type& other) {
        return other.dtype == to && same_dims(other, own);
      };
      append(error.fixes, casts(body, ranges[at], to));
      append(error.fixes, other_values(body, ranges[at], fits));
    }
    return std::nullopt;
  }
  return first ? body.type(ids[*first]).dtype : Dtype::number;
}

// Why an op rejects a dtype; none if it accepts it.
std::optional<std::string> refuses(BinaryFn fn, Dtype dtype) {
  const bool numeric = is_float(dtype) || is_integer(dtype) || dtype == Dtype::number;
  const auto unless = [](bool good, const char* why) {
    return good ? std::nullopt : std::optional<std::string>(why);
  };
  switch (takes(fn)) {
    case ir::Takes::booleans:
      return unless(dtype == Dtype::boolean, "takes bools");
    case ir::Takes::all_but_keys:
      return unless(numeric || dtype == Dtype::boolean, "does not take keys");
    case ir::Takes::reals:
      if (fn == BinaryFn::div && is_integer(dtype)) return "is of floats; `//` is of integers";
      return unless(numeric && !is_integer(dtype), "is of floats");
    case ir::Takes::integers:
      return unless(is_integer(dtype) || dtype == Dtype::number,
                    fn == BinaryFn::floordiv
                        ? "is of integers; floats have `/`, and a comment begins with `#`"
                        : "is of integers");
    case ir::Takes::numbers:
    case ir::Takes::signed_numbers:
      break;
  }
  return unless(numeric, "is of numbers");
}

bool accepts(UnaryFn fn, Dtype dtype) {
  if (takes(fn) == ir::Takes::booleans) return dtype == Dtype::boolean;
  return is_float(dtype) || dtype == Dtype::number ||
         (takes(fn) == ir::Takes::signed_numbers && dtype == Dtype::i32);
}

// A number next to integers must be an integer.
bool whole_numbers(Body& body, const std::vector<ir::ValueId>& ids, Dtype dtype,
                   SourceRange range) {
  if (!is_integer(dtype)) return true;
  for (ir::ValueId id : ids) {
    auto value = body.literal(id);
    if (!value || *value == std::floor(*value)) continue;
    dtype_error(body, range, std::string("a fraction beside ") + to_string(dtype));
    return false;
  }
  return true;
}

std::vector<Values> named_unary(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result();
  return {unary(body, site.name, site.args[0], site.range)};
}

std::vector<Values> named_binary(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return unknown_result();
  return {binary(body, site.name, site.args[0], site.args[1], site.range)};
}

std::vector<Values> where(Body& body, const CallSite& site) {
  if (!expect(body, site, 3, 3)) return unknown_result();
  std::vector<ir::ValueId> ids;
  std::vector<SourceRange> ranges;
  for (const Argument& arg : site.args) {
    ids.push_back(tensor_of(body, arg, "`where`"));
    ranges.push_back(arg.range);
  }
  if (std::count(ids.begin(), ids.end(), ir::no_value)) return unknown_result();
  if (body.type(ids[0]).dtype != Dtype::boolean) {
    dtype_error(body, ranges[0], "`where` chooses by a bool");
    return unknown_result();
  }
  auto dtype = common(body, {ids[1], ids[2]}, {ranges[1], ranges[2]}, site.range, "`where`");
  if (!dtype) return unknown_result();
  if (*dtype == Dtype::number) {
    dtype_error(body, site.range, "`where` of two numbers has no dtype: cast one, `f32(1)`");
    return unknown_result();
  }
  const Shape* shape = joined(body, ids, ranges, site.range, "`where`");
  if (!shape || !whole_numbers(body, ids, *dtype, site.range)) return unknown_result();
  return {tensor(body.emit(ir::Where{}, ids, *shape, *dtype, site.range, ranges))};
}

std::vector<Values> like(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return unknown_result();
  const ir::ValueId y = tensor_of(body, site.args[1], "`like`");
  if (y == ir::no_value) return unknown_result();
  if (body.type(y).dtype == Dtype::number) {
    dtype_error(body, site.args[1].range, "a number has no dtype to cast to");
    return unknown_result();
  }
  CallSite one = site;
  one.args.resize(1);
  return {cast(body, one, body.type(y).dtype)};
}

// stop_grad and save also accept records, field by field.
template <class Op>
std::vector<Values> keep(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result();
  const Argument& x = site.args[0];
  return {transform<ir::ValueId>(x.values, [&](ir::ValueId id) {
    if (id == ir::no_value) return id;
    const Type& type = body.type(id);
    return body.emit(Op{}, {id}, type, type.dtype, site.range, {x.range});
  })};
}

}  // namespace

Values unary(Body& body, const std::string& op, const Argument& x, SourceRange range) {
  const UnaryFn fn = ir::unary_named(op).value();
  const ir::ValueId id = tensor_of(body, x, "`" + op + "`");
  if (id == ir::no_value) return unknown_value();
  const Type& type = body.type(id);
  if (!accepts(fn, type.dtype)) {
    dtype_error(body, range, "`" + op + "` of " + to_string(type.dtype));
    return unknown_value();
  }
  return tensor(body.emit(ir::Unary{fn}, {id}, type, type.dtype, range, {x.range}));
}

Values binary(Body& body, const std::string& op, const Argument& a, const Argument& b,
              SourceRange range) {
  const BinaryFn fn = ir::binary_named(op).value();
  const std::string what = "`" + op + "`";
  std::vector<ir::ValueId> ids = {tensor_of(body, a, what), tensor_of(body, b, what)};
  if (ids[0] == ir::no_value || ids[1] == ir::no_value) return unknown_value();
  auto dtype = common(body, ids, {a.range, b.range}, range, what);
  if (!dtype) return unknown_value();
  if (auto why = refuses(fn, *dtype)) {
    dtype_error(body, range, what + " " + *why + ", and these are " + to_string(*dtype));
    return unknown_value();
  }
  const Shape* shape = joined(body, ids, {a.range, b.range}, range, what);
  if (!shape || !whole_numbers(body, ids, *dtype, range)) return unknown_value();
  const Dtype result = gives_truth(fn) ? Dtype::boolean : *dtype;
  return tensor(body.emit(ir::Binary{fn}, ids, *shape, result, range, {a.range, b.range}));
}

Values cast(Body& body, const CallSite& site, Dtype to) {
  if (!expect(body, site, 1, 1, {"grad"})) return unknown_value();
  const ir::ValueId id = tensor_of(body, site.args[0], "a cast");
  if (id == ir::no_value) return unknown_value();
  const Type& type = body.type(id);
  if (type.dtype == Dtype::key || to == Dtype::key) {
    dtype_error(body, site.range, "keys are not cast");
    return unknown_value();
  }
  const std::optional<Dtype> grad = dtype_argument(site, "grad");
  if (site.named.count("grad") && (!grad || !is_float(*grad)))
    dtype_error(body, site.named.at("grad").range, "the dtype of a gradient is a float");
  return tensor(body.emit(ir::Cast{to, grad}, {id}, type, to, site.range, {site.args[0].range}));
}

void add_pointwise(Handlers& table) {
  for (UnaryFn fn : ir::unary_fns)
    if (binds(fn) == ir::Binds::call) table[name_of(fn)] = named_unary;
  for (BinaryFn fn : ir::binary_fns)
    if (binds(fn) == ir::Binds::call) table[name_of(fn)] = named_binary;
  table["where"] = where;
  table["like"] = like;
  table["stop_grad"] = keep<ir::StopGrad>;
  table["save"] = keep<ir::Save>;
}

}  // namespace shardproof::resolution
