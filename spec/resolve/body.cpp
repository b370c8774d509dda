#include "spec/resolve/body.h"

#include <algorithm>

#include "spec/elaborate/elaborate.h"
#include "spec/resolve/dim_order.h"
#include "spec/resolve/meant.h"
#include "spec/syntax/words.h"

namespace shardproof::resolution {

ir::ValueId Body::add_value(const Shape& shape, Dtype dtype, SourceRange range) {
  ir::Value value;
  value.type.dtype = dtype;
  value.type.dims.reserve(shape.dims.size());
  for (const Split& split : shape.dims) value.type.dims.push_back({split.dim, {}});
  value.range = located(range);
  function.values.push_back(std::move(value));
  return static_cast<ir::ValueId>(function.values.size() - 1);
}

ir::Place Body::place(SourceRange range) const {
  ir::Place result;
  result.range = range;
  if (scope->instance) {
    result.range = scope->instance->call;
    result.inner = range;
    result.through = scope->instance->through;
  }
  return result;
}

ir::ValueId Body::emit(ir::Op&& op, std::vector<ir::ValueId> operands, const Shape& shape,
                       Dtype dtype, SourceRange range, std::vector<SourceRange> operand_ranges) {
  const ir::ValueId result = add_value(shape, dtype, range);
  emit_to(std::move(op), std::move(operands), {result}, range, std::move(operand_ranges));
  return result;
}

ir::ValueId Body::emit(ir::Op&& op, std::vector<ir::ValueId> operands, Dtype dtype,
                       SourceRange range, std::vector<SourceRange> operand_ranges) {
  const ir::ValueId result = add_value(ir::pattern_of(op)->right, dtype, range);
  emit_to(std::move(op), std::move(operands), {result}, range, std::move(operand_ranges));
  return result;
}

void Body::emit_to(ir::Op&& op, std::vector<ir::ValueId> operands, std::vector<ir::ValueId> results,
                   SourceRange range, std::vector<SourceRange> operand_ranges) {
  ir::Instr& instr = block->instrs.emplace_back();
  instr.op = std::move(op);
  instr.operands = std::move(operands);
  instr.results = std::move(results);
  instr.place = place(range);
  // Source ranges in the library are of no use to a fix.
  if (!scope->instance) instr.operand_ranges = std::move(operand_ranges);
  instr.library_call = library_call;
}

Values Body::recover(const Type& type, SourceRange range) {
  lost = true;
  return zero(type, range);
}

Values Body::zero(const Type& type, SourceRange range) {
  ir::Zeros zeros;
  zeros.created.shape = type;
  zeros.dtype = type.dtype;
  return tensor(emit(std::move(zeros), {}, type, type.dtype, range));
}

ir::ValueId Body::number(const std::string& text, double value, SourceRange range,
                         const Name& name) {
  const ir::Number number{text, value, name};
  const ir::ValueId id = emit(number, {}, {}, Dtype::number, range);
  literals[id] = number;
  return id;
}

std::optional<double> Body::literal(ir::ValueId id) const {
  auto found = literals.find(id);
  return found == literals.end() ? std::nullopt : std::optional(found->second.value);
}

std::optional<std::string> Body::literal_text(ir::ValueId id) const {
  auto found = literals.find(id);
  return found == literals.end() ? std::nullopt : std::optional(found->second.text);
}

TypeContext Body::types() const {
  TypeContext context{world, file(), scope->is_plan, &scope->dims};
  if (scope->instance) {
    context.rest = &scope->instance->rest;
    context.float_dtype = scope->instance->float_dtype;
  }
  return context;
}

Binding* Body::find(const Name& name) {
  for (auto block = scope->scopes.rbegin(); block != scope->scopes.rend(); ++block)
    if (auto found = block->find(name); found != block->end()) return &found->second;
  return nullptr;
}

const Binding* Body::find(const Name& name) const { return const_cast<Body*>(this)->find(name); }

std::vector<Name> Body::visible() const {
  std::vector<Name> names = keys(file().consts);
  for (const auto& block : scope->scopes)
    for (const auto& [name, unused] : block) names.push_back(name);
  return names;
}

void Body::bind(const Name& name, Values values, SourceRange range) {
  if (const Binding* first = find(name)) {
    world.twice(name, world.locate(name, range), world.locate(name, first->range),
                "a name is assigned once");
    world.diagnostics.back().fixes.push_back({"give this value a name of its own", {}, false, ""});
    // Later lines refer to the newest value of that name.
    scope->scopes.back().insert_or_assign(name, Binding{std::move(values), range});
    return;
  }
  if (auto constant = file().consts.find(name); constant != file().consts.end())
    return world.twice(name, world.locate(name, range), constant->second.decl->range,
                       "a name is assigned once");
  if (syntax::is_mark(name))
    error("E0109", world.locate(name, range),
          "`" + name + "` reads as a mark: choose another name");
  if (!scope->instance)
    for_each_leaf(
        values,
        [&](ir::ValueId leaf, const std::string& path) {
          if (leaf != ir::no_value && function.values[leaf].name.empty())
            function.values[leaf].name = path;
        },
        name);
  scope->scopes.back().emplace(name, Binding{std::move(values), range});
}

ir::ValueId tensor_of(Body& body, const Argument& argument, const std::string& what) {
  if (argument.dtype || argument.text) {
    body.error("E0103", argument.range, what + " takes a value here");
    return ir::no_value;
  }
  if (!argument.values.is_record()) return argument.values.leaf;
  Diagnostic& error =
      body.error("E0109", argument.range, what + " is of tensors, and this is a record");
  error.fixes.push_back({"`each f(...)` applies a function field by field", {}, false, ""});
  return ir::no_value;
}

ir::ValueId regrouped(Body& body, ir::ValueId value, const Type& type, SourceRange range) {
  const ir::Program& program = body.world.program;
  const Type actual = body.type(value);
  const bool same =
      std::equal(actual.dims.begin(), actual.dims.end(), type.dims.begin(), type.dims.end(),
                 [&](const Split& a, const Split& b) {
                   return elaborate::factors(program, a.dim) == elaborate::factors(program, b.dim);
                 });
  if (!same) return ir::no_value;
  ir::Rearrange written;
  written.pattern.inferred = true;
  for (const Split& split : actual.dims) written.pattern.right.dims.push_back({split.dim, {}});
  written.pattern.left = {written.pattern.right};
  for (size_t i = 0; i < type.dims.size(); ++i)
    written.pattern.right.dims[i].dim = type.dims[i].dim;
  const Shape result = written.pattern.right;
  ir::Op op = std::move(written);
  if (elaborate::elaborate(program, op, {actual})) return ir::no_value;
  return body.emit(std::move(op), {value}, result, actual.dtype, range, {range});
}

namespace {

/// `ws[n]` for a stack `ws`, in the loop over its first dim.
std::optional<Fix> entry_in_loop(const Body& body, const Type& type, const Type& actual,
                                 SourceRange range) {
  Type entry = actual;
  if (!entry.dims.empty()) entry.dims.erase(entry.dims.begin());
  if (actual.dims.empty() || !same_dims(entry, type)) return std::nullopt;
  for (const auto& scope : body.scope->scopes)
    for (const auto& [name, binding] : scope)
      if (binding.loop_dim && *binding.loop_dim == actual.dims[0].dim) {
        const std::string text = std::string(body.world.sources.text(range)) + "[" + name + "]";
        return Fix{"the entry of this step is `" + text + "`", {{range, text}}, false, ""};
      }
  return std::nullopt;
}

std::optional<Values> fit_leaf(Body& body, ir::ValueId value, const Type& type, SourceRange range,
                               const FitCodes& codes) {
  const Type& actual = body.type(value);
  if (actual.dtype == Dtype::number && type.dims.empty() && type.dtype != Dtype::key &&
      type.dtype != Dtype::boolean) {
    if (body.literal(value) == 0.0) return body.zero(type, range);
    return tensor(
        body.emit(ir::Cast{type.dtype, std::nullopt}, {value}, {}, type.dtype, range, {range}));
  }
  if (!same_dims(actual, type))
    if (const ir::ValueId same = regrouped(body, value, type, range); same != ir::no_value)
      return fit_leaf(body, same, type, range, codes);
  const auto fits = [&](const Type& other) {
    return other.dtype == type.dtype && same_dims(other, type);
  };
  if (!same_dims(actual, type)) {
    Diagnostic& error =
        body.error(codes.dims, range,
                   codes.what + " has " +
                       (actual.dims.empty() ? "no dims" : "the dims `" + dims_text(actual) + "`") +
                       ", not " + (type.dims.empty() ? "none" : "`" + dims_text(type) + "`"));
    error.types = {to_string(actual), to_string(type)};
    if (actual.dtype == Dtype::number && range.file >= 0 && !body.scope->instance) {
      const std::string zeros = "zeros(" + to_string(Type{{type.dims, {}}, type.dtype}) + ")";
      const std::string number(body.world.sources.text(range));
      const std::string all = body.literal(value) == 0.0 ? zeros : zeros + " + " + number;
      error.fixes.push_back({"a tensor of one number: `" + all + "`", {{range, all}}, false, ""});
      return std::nullopt;
    }
    if (!body.scope->instance)
      for (auto fix : {in_order_of(type, actual, body.world.sources, range),
                       with_names_of(body.world.program, type, actual, body.world.sources, range),
                       entry_in_loop(body, type, actual, range),
                       result_as_type(type, body.world.sources, range)})
        if (fix) error.fixes.push_back(*std::move(fix));
    append(error.fixes, other_values(body, range, fits));
    return std::nullopt;
  }
  if (actual.dtype != type.dtype) {
    Diagnostic& error = body.error(
        "E0104", range,
        codes.what + " is " + to_string(actual.dtype) + ", not " + to_string(type.dtype));
    error.types = {to_string(actual), to_string(type)};
    if (actual.dtype == Dtype::number) return std::nullopt;
    error.fixes = casts(body, range, type.dtype);
    append(error.fixes, other_values(body, range, fits));
    return std::nullopt;
  }
  return tensor(value);
}

/// Both types; records of one name are told apart by their files.
std::pair<std::string, std::string> described_apart(const World& world, const Types& a,
                                                    const Types& b) {
  std::pair<std::string, std::string> result = {describe(world, a), describe(world, b)};
  if (result.first != result.second || !a.is_record() || !b.is_record()) return result;
  const auto file = [&](const Types& type) {
    return " of " + world.files[world.records[static_cast<size_t>(type.record)].file].path;
  };
  return {result.first + file(a), result.second + file(b)};
}

Values fit_tree(Body& body, const Values& value, const Types& type, SourceRange range,
                const FitCodes& codes, bool& told) {
  auto instead = [&](const Type& leaf) { return body.recover(leaf, range).leaf; };
  if (!value.is_record() && value.leaf == ir::no_value)
    return transform<ir::ValueId>(type, instead);
  if (value.record != type.record) {
    if (!told) {
      const Types actual = transform<Type>(
          value, [&](ir::ValueId id) { return id == ir::no_value ? Type{} : body.type(id); });
      const auto [have, want] = described_apart(body.world, actual, type);
      const auto fits = [&](const Type& other) {
        return !type.is_record() && other.dtype == type.leaf.dtype && same_dims(other, type.leaf);
      };
      body.error(codes.count, range, codes.what + " is " + have + ", not " + want).fixes =
          other_values(body, range, fits);
    }
    told = true;
    return transform<ir::ValueId>(type, instead);
  }
  if (!type.is_record()) {
    if (told) return body.recover(type.leaf, range);
    auto result = fit_leaf(body, value.leaf, type.leaf, range, codes);
    told = !result;
    return result ? *result : body.recover(type.leaf, range);
  }
  Values result = value;
  for (size_t i = 0; i < type.fields.size(); ++i)
    result.fields[i] = fit_tree(body, value.fields[i], type.fields[i], range, codes, told);
  return result;
}

}  // namespace

Values fit(Body& body, const Values& value, const Types& type, SourceRange range,
           const FitCodes& codes) {
  bool told = false;
  return fit_tree(body, value, type, range, codes, told);
}

}  // namespace shardproof::resolution
