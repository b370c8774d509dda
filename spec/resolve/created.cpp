// iota, uniform, normal, zeros, fold: tensors made from dims and a key.
#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"

namespace shardproof::resolution {
namespace {

// In a library body, a dim is split as in the first argument that has it.
ir::Created created(Body& body, const Shape& shape) {
  ir::Created result;
  result.shape = shape;
  if (!body.inferred()) return result;
  result.inferred = true;
  for (const Split& split : shape.dims) {
    ir::ValueId from = ir::no_value;
    for (ir::ValueId id : body.scope->instance->arguments)
      if (from == ir::no_value && find(body.type(id), split.dim)) from = id;
    result.axes_from.push_back(from);
  }
  return result;
}

std::optional<Shape> stated_shape(Body& body, const CallSite& site) {
  const bool one = site.pattern && !site.pattern->right && site.pattern->left.size() <= 1;
  if (!one) {
    if (site.pattern || !site.has_pattern)
      body.error("E0103", site.range, "`" + site.name + "` needs the dims of its result, a string");
    return std::nullopt;
  }
  if (site.pattern->left.empty()) return Shape{};
  std::optional<size_t> bracket;
  auto shape = read_operand(body, site.pattern->left[0], &bracket);
  if (bracket) {
    body.error("E0305", site.pattern_range, "`" + site.name + "` has no dim in brackets");
    return std::nullopt;
  }
  return shape;
}

std::vector<Values> iota(Body& body, const CallSite& site) {
  if (!expect(body, site, 0, 0)) return unknown_result();
  auto shape = stated_shape(body, site);
  if (!shape) return unknown_result();
  std::optional<size_t> dim;
  if (!site.pattern->has_working && shape->dims.size() == 1) dim = 0;
  if (site.pattern->working.size() == 1)
    if (auto working = resolve_dim(body.types(), site.pattern->working[0]))
      dim = position(*shape, *working);
  if (!dim) {
    body.error("E0305", site.pattern_range,
               "`iota` of which dim? `iota(\"S T; T\")` counts along T");
    return unknown_result();
  }
  return {
      tensor(body.emit(ir::Iota{created(body, *shape), *dim}, {}, *shape, Dtype::i32, site.range))};
}

// The key argument of a random op or of fold. no_value after an error.
ir::ValueId key_argument(Body& body, const CallSite& site) {
  const ir::ValueId key = tensor_of(body, site.args[0], "`" + site.name + "`");
  if (key == ir::no_value) return key;
  const Type& type = body.type(key);
  if (type.dtype != Dtype::key) {
    body.error("E0104", site.args[0].range,
               std::string("expected a key, found ") + to_string(type.dtype));
    return ir::no_value;
  }
  if (type.dims.empty()) return key;
  body.error("E0305", site.args[0].range,
             "expected one key, but this has the dims `" + dims_text(type) + "`");
  return ir::no_value;
}

std::vector<Values> random(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result();
  auto shape = stated_shape(body, site);
  const ir::ValueId key = key_argument(body, site);
  if (!shape || key == ir::no_value) return unknown_result();
  const auto fn = site.name == "uniform" ? ir::RandomFn::uniform : ir::RandomFn::normal;
  return {tensor(body.emit(ir::Random{fn, created(body, *shape)}, {key}, *shape, Dtype::f32,
                           site.range, {site.args[0].range}))};
}

std::vector<Values> fold(Body& body, const CallSite& site) {
  if (!expect(body, site, 2, 2)) return unknown_result();
  const ir::ValueId key = key_argument(body, site);
  if (key == ir::no_value) return unknown_result();
  const Argument& salt = site.args[1];
  if (salt.text)
    return {tensor(
        body.emit(ir::Fold{salt.text}, {key}, {}, Dtype::key, site.range, {site.args[0].range}))};
  CallSite offset = site;
  offset.named.emplace("n", salt);
  const ir::ValueId n = offset_argument(body, offset, "n");
  if (n == ir::no_value) return unknown_result();
  return {tensor(body.emit(ir::Fold{std::nullopt}, {key, n}, {}, Dtype::key, site.range,
                           {site.args[0].range, salt.range}))};
}

}  // namespace

Values zeros(Body& body, const Types& type, SourceRange range) {
  return transform<ir::ValueId>(type, [&](const Type& leaf) {
    if (leaf.dtype == Dtype::key) {
      body.error("E0104", range, "a key has no zero");
      return ir::no_value;
    }
    return body.emit(ir::Zeros{created(body, leaf), leaf.dtype}, {}, leaf, leaf.dtype, range);
  });
}

void add_created(Handlers& table) {
  table["iota"] = iota;
  table["uniform"] = table["normal"] = random;
  table["fold"] = fold;
}

}  // namespace shardproof::resolution
