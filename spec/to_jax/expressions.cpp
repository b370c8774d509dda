#include "spec/to_jax/expressions.h"

#include <algorithm>
#include <sstream>

#include "spec/denote/collective.h"
#include "spec/denote/pointwise.h"
#include "spec/elaborate/elaborate.h"

namespace shardproof::to_jax {

using namespace ir;

std::string dtype_name(Dtype dtype) {
  if (dtype == Dtype::boolean) return "jnp.bool_";
  if (dtype == Dtype::number) return "f32";
  if (dtype == Dtype::key) throw NotPrinted("a random key", {});
  return to_string(dtype);
}

namespace {

using Ids = std::vector<IndexId>;

Ids flat(const std::vector<Position>& positions) {
  Ids ids;
  for (const Position& each : positions) ids.insert(ids.end(), each.begin(), each.end());
  return ids;
}

bool single(const std::vector<Position>& positions) {
  return std::all_of(positions.begin(), positions.end(),
                     [](const Position& each) { return each.size() == 1; });
}

bool contains(const Ids& ids, IndexId id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The axes of moves by dim, in the order of the dims.
std::vector<std::pair<size_t, std::vector<Axis>>> by_dim(const std::vector<denote::Move>& moves) {
  std::map<size_t, std::vector<Axis>> found;
  for (const denote::Move& move : moves) found[move.dim].push_back(move.axis);
  return {found.begin(), found.end()};
}

class Printer {
 public:
  Printer(Sizes& sizes, const std::vector<Type>& types, const Texts& texts, const Instr& instr)
      : sizes_(sizes), types_(types), texts_(texts), instr_(instr) {}

  // --- numbers ---
  Text operator()(const Number& op) const {
    if (op.constant.empty()) return {op.text};
    std::ostringstream text;
    text.precision(17);
    text << op.value;
    return {text.str(), op.value >= 0};
  }
  Text operator()(const SizeOf& op) const {
    return {op.axis ? op.name : sizes_.size(Dim{{op.name}})};
  }

  // --- pointwise ---
  Text operator()(const Unary& op) const {
    if (op.fn == UnaryFn::neg) return pointwise({"-"}, "", "");
    if (op.fn == UnaryFn::logical_not) return pointwise({"~"}, "", "");
    static const std::map<UnaryFn, const char*> others = {{UnaryFn::rsqrt, "1 / jnp.sqrt"},
                                                          {UnaryFn::erf, "jax.scipy.special.erf"}};
    const auto other = others.find(op.fn);
    const std::string name =
        other == others.end() ? std::string("jnp.") + name_of(op.fn) : other->second;
    return {pointwise({name + "("}, "", ")").text, op.fn != UnaryFn::rsqrt};
  }
  Text operator()(const Binary& op) const {
    static const std::map<BinaryFn, const char*> calls = {{BinaryFn::maximum, "jnp.maximum("},
                                                          {BinaryFn::minimum, "jnp.minimum("},
                                                          {BinaryFn::pow, "jnp.power("},
                                                          {BinaryFn::atan2, "jnp.arctan2("}};
    if (const auto call = calls.find(op.fn); call != calls.end())
      return {pointwise({call->second}, ", ", ")").text};
    std::string sign = name_of(op.fn);
    if (op.fn == BinaryFn::logical_and) sign = "&";
    if (op.fn == BinaryFn::logical_or) sign = "|";
    return pointwise({""}, " " + sign + " ", "");
  }
  Text operator()(const Where&) const { return {pointwise({"jnp.where("}, ", ", ")").text}; }
  Text operator()(const Cast& op) const {
    return {"jnp.asarray(" + text(0) + ", " + dtype_name(op.to) + ")"};
  }
  Text operator()(const StopGrad&) const { return {"lax.stop_gradient(" + text(0) + ")"}; }
  Text operator()(const Save&) const { return operand(0); }
  Text operator()(const Ascribe&) const { return operand(0); }

  // --- structure ---
  Text operator()(const Einsum& op) const { return {contracted(op.pattern, ReduceFn::sum, op.to)}; }
  Text operator()(const Reduce& op) const { return {contracted(op.pattern, op.fn, op.to)}; }
  Text operator()(const Expand& op) const { return {contracted(op.pattern, ReduceFn::sum, {})}; }
  Text operator()(const Rearrange& op) const { return {contracted(op.pattern, ReduceFn::sum, {})}; }
  Text operator()(const Read& op) const {
    const size_t dim = op.pattern.left_bracket.value();
    if (op.pattern.indices.right.size() < type(0).dims.size()) return entry(dim);
    return {"lax.dynamic_slice_in_dim(" + text(0) + ", " + text(1) + ", " +
            sizes_.local_size(result().dims.at(dim)) + ", axis=" + std::to_string(dim) + ")"};
  }
  Text operator()(const Write& op) const {
    const size_t dim = op.pattern.left_bracket.value();
    return {"lax.dynamic_update_slice_in_dim(" + text(0) + ", " + raised(1, dim, rank(0)) + ", " +
            text(2) + ", axis=" + std::to_string(dim) + ")"};
  }
  Text operator()(const Concat& op) const {
    const size_t dim = op.pattern.right_bracket.value();
    std::vector<std::string> parts;
    for (size_t i = 0; i < instr_.operands.size(); ++i)
      parts.push_back(raised(i, dim, op.pattern.indices.right.size()));
    return {"jnp.concatenate([" + joined(parts) + "], axis=" + std::to_string(dim) + ")"};
  }
  Text operator()(const Roll& op) const {
    return {"jnp.roll(" + text(0) + ", " + text(1) +
            ", axis=" + std::to_string(op.pattern.left_bracket.value()) + ")"};
  }
  Text operator()(const Rev& op) const {
    return {"jnp.flip(" + text(0) + ", axis=" + std::to_string(op.pattern.left_bracket.value()) +
            ")"};
  }
  Text operator()(const Entry& op) const {
    const std::vector<Split>& dims = type(0).dims;
    const auto found = std::find_if(dims.begin(), dims.end(),
                                    [&](const Split& each) { return each.dim == op.dim; });
    if (found == dims.end() || result().dims.size() == dims.size()) refuse("a block of a ring");
    return entry(static_cast<size_t>(found - dims.begin()));
  }

  // --- indices that are data ---
  Text operator()(const Index& op) const { return indexed(op.pattern, false); }
  Text operator()(const IndexUnreduced& op) const { return indexed(op.pattern, true); }
  Text operator()(const IndexAdd& op) const {
    const Indices& in = op.pattern.indices;
    const size_t bracket = op.pattern.right_bracket.value();
    const Split& dim = result().dims.at(bracket);
    return {closed("_index_add(" + opened(in, 0) + ", \"" + letters(flat(in.left.at(0))) + "\", " +
                       opened(in, 1) + ", \"" + letters(flat(in.left.at(1))) + "\", \"" +
                       letters(flat(in.right)) + "\", \"" + letters(in.right.at(bracket)) + "\", " +
                       sizes_.local_size(dim) + offset(dim) + ")",
                   in, in.right, result())};
  }

  // --- created ---
  Text operator()(const Iota& op) const {
    const Split& dim = result().dims.at(op.dim);
    const std::string text =
        "lax.broadcasted_iota(i32, " + local_shape(result()) + ", " + std::to_string(op.dim) + ")";
    if (dim.axes.empty()) return {text};
    return {text + " + " + first(dim), false};
  }
  Text operator()(const Zeros&) const {
    return {"jnp.zeros(" + local_shape(result()) + ", " + dtype_name(result().dtype) + ")"};
  }

  // --- order ---
  Text operator()(const Ordered& op) const {
    const std::string along = text(0) + ", axis=" + std::to_string(op.dim) + ")";
    return {op.fn == OrderedFn::cumsum ? "jnp.cumsum(" + along
                                       : "jnp.argsort(" + along + ".astype(i32)"};
  }
  Text operator()(const Argmax& op) const {
    return {"jnp.argmax(" + text(0) + ", axis=" + std::to_string(vanished(op.pattern.indices)) +
            ").astype(i32)"};
  }
  Text operator()(const TopK& op) const {
    const size_t dim = vanished(op.pattern.indices);
    const Type& some =
        instr_.results.at(0) == no_value ? types_.at(instr_.results.at(1)) : result();
    return {"_top_k(" + text(0) + ", " + sizes_.local_size(some.dims.at(dim)) + ", " +
            std::to_string(dim) + ")"};
  }

  // --- communication ---
  Text operator()(const Collective& op) const {
    using enum CollectiveFn;
    const bool inferred = op.pattern.inferred;
    const Shape& from =
        inferred || op.pattern.left_inferred ? Shape(type(0)) : op.pattern.left.at(0);
    const Shape& to = inferred ? Shape(result()) : op.pattern.right;
    const auto leave = by_dim(denote::moves(from, to)), come = by_dim(denote::moves(to, from));
    std::string x = text(0);
    if (op.fn == all_to_all) return {exchanged(x, leave, come)};
    if (op.fn == all_gather)
      for (const auto& [dim, axes] : leave) x = gathered(x, dim, axes);
    if (op.fn == all_reduce)
      for (const auto& [mark, name] : {std::pair(Mark::U, "psum"), std::pair(Mark::Max, "pmax")})
        if (const auto axes = denote::marked(from, to, mark); !axes.empty())
          x = std::string("lax.") + name + "(" + x + ", " + quoted(axes) + ")";
    if (op.fn == psum_scatter)
      for (const auto& [dim, axes] : come)
        x = "lax.psum_scatter(" + x + ", " + quoted(axes) +
            ", scatter_dimension=" + std::to_string(dim) + ", tiled=True)";
    if (op.fn == slice)
      for (const auto& [dim, axes] : come) x = sliced(x, dim, axes);
    if (op.fn == zero_nonroot)
      for (const Axis& axis : denote::marked(to, from, Mark::U)) x = on_root(x, axis);
    if (op.fn == zero_pad)
      for (const auto& [dim, axes] : leave)
        x = "_pad(" + x + ", " + quoted(axes) + ", " + std::to_string(dim) + ")";
    return {x};
  }
  Text operator()(const Ppermute& op) const {
    const std::vector<Axis>& axes = type(0).dims.at(op.pattern.left_bracket.value()).axes;
    if (type(1).dtype != Dtype::number) refuse("ppermute by a number that is not constant");
    return {"lax.ppermute(" + text(0) + ", \"" + axes.at(0) + "\", [(i, (i + " + bracketed(1) +
            ") % " + axes[0] + ") for i in range(" + axes[0] + ")])"};
  }
  Text operator()(const Total& op) const {
    std::vector<std::string> terms;
    for (size_t i = 0; i < instr_.operands.size(); ++i) {
      std::string x = bracketed(i);
      for (const auto& [axis, mark] : op.marks) {
        const auto own = type(i).marks.find(axis);
        if (mark == Mark::U && (own == type(i).marks.end() || own->second != Mark::U))
          x = on_root(x, axis);
      }
      terms.push_back(x);
    }
    return {joined(terms, " + "), false};
  }

  Text operator()(const Fold&) const { return refuse("random numbers"); }
  Text operator()(const Random&) const { return refuse("random numbers"); }
  Text operator()(const Grad&) const { return refuse("a gradient"); }
  Text operator()(const Ring&) const { return refuse("a ring"); }
  Text operator()(const Pipeline&) const { return refuse("a pipeline"); }
  Text operator()(const Stages&) const { return refuse("stages"); }
  Text operator()(const Call&) const { return refuse("a call"); }
  Text operator()(const Scan&) const { return refuse("a scan"); }

 private:
  Text refuse(const std::string& what) const { throw NotPrinted(what, instr_.place.range); }

  const Type& type(size_t i) const { return types_.at(instr_.operands.at(i)); }
  const Type& result() const { return types_.at(instr_.results.at(0)); }
  size_t rank(size_t i) const { return type(i).dims.size(); }
  const Text& operand(size_t i) const { return texts_.at(instr_.operands.at(i)); }
  const std::string& text(size_t i) const { return operand(i).text; }
  std::string bracketed(size_t i) const { return operand(i).atom ? text(i) : "(" + text(i) + ")"; }

  std::string local_shape(const Shape& shape) const {
    std::vector<std::string> sizes;
    for (const Split& each : shape.dims) sizes.push_back(sizes_.local_size(each));
    return tuple(sizes);
  }

  /// The global index of a device's first entry.
  std::string first(const Split& dim) const {
    return "lax.axis_index(" + quoted(dim.axes) + ") * (" + sizes_.local_size(dim) + ")";
  }
  std::string offset(const Split& dim) const { return dim.axes.empty() ? "" : ", " + first(dim); }

  Text entry(size_t dim) const {
    return {"lax.dynamic_index_in_dim(" + text(0) + ", " + text(1) + ", " + std::to_string(dim) +
            ", keepdims=False)"};
  }

  std::string raised(size_t i, size_t dim, size_t to) const {
    if (rank(i) == to) return text(i);
    return "jnp.expand_dims(" + text(i) + ", " + std::to_string(dim) + ")";
  }

  static size_t vanished(const Indices& in) {
    size_t i = 0;
    while (i < in.right.size() && in.left.at(0).at(i) == in.right[i]) ++i;
    return i;
  }

  std::string letters(const Ids& ids) const {
    static const std::string all = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    std::string result;
    for (const IndexId id : ids) {
      if (id >= all.size()) refuse("a pattern of more than 52 names");
      result += all[id];
    }
    return result;
  }

  /// How many entries of an index a device has, for the positions of a value of this type.
  void extents(const Indices& in, const std::vector<Position>& positions, const Shape& shape,
               std::map<IndexId, std::string>& found) const {
    for (size_t p = 0; p < positions.size(); ++p) {
      const auto lead = elaborate::leading(sizes_.program(), in, positions[p]);
      for (const IndexId id : positions[p]) {
        const Split split{Dim{{in.all.at(id).dim}},
                          id == lead ? shape.dims.at(p).axes : std::vector<Axis>{}};
        found.emplace(id, sizes_.local_size(split));
      }
    }
  }

  /// An operand with one position for each index.
  std::string opened(const Indices& in, size_t i) const {
    const std::vector<Position>& positions = in.left.at(i);
    if (single(positions)) return text(i);
    std::map<IndexId, std::string> sizes;
    extents(in, positions, type(i), sizes);
    std::vector<std::string> shape;
    for (const IndexId id : flat(positions)) shape.push_back(sizes.at(id));
    return "jnp.reshape(" + text(i) + ", " + tuple(shape) + ")";
  }

  /// The reverse, of a result.
  std::string closed(const std::string& x, const Indices& in,
                     const std::vector<Position>& positions, const Shape& shape) const {
    if (single(positions)) return x;
    (void)in;
    return "jnp.reshape(" + x + ", " + local_shape(shape) + ")";
  }

  std::string contracted(const Pattern& pattern, ReduceFn fn, std::optional<Dtype> to) const {
    const Indices& in = pattern.indices;
    std::map<IndexId, std::string> sizes;
    std::vector<std::string> arrays, sides;
    Ids known;
    for (size_t i = 0; i < in.left.size(); ++i) {
      extents(in, in.left[i], type(i), sizes);
      arrays.push_back(opened(in, i));
      const Ids ids = flat(in.left[i]);
      sides.push_back(letters(ids));
      known.insert(known.end(), ids.begin(), ids.end());
    }
    const Ids right = flat(in.right);
    Ids kept;
    for (const IndexId id : right)
      if (contains(known, id)) kept.push_back(id);
    std::string x = arrays.at(0);
    if (fn != ReduceFn::sum) {
      x = extreme(fn, x, flat(in.left.at(0)), kept);
    } else if (arrays.size() > 1 || sides[0] != letters(kept)) {
      x = "jnp.einsum(\"" + joined(sides, ",") + "->" + letters(kept) + "\", " + joined(arrays) +
          (to ? ", preferred_element_type=" + dtype_name(*to) : "") + ")";
    } else if (type(0).dtype == Dtype::number) {
      x = "jnp.asarray(" + x + ", f32)";
    }
    if (kept.size() < right.size()) {
      extents(in, in.right, result(), sizes);
      std::vector<std::string> at, shape;
      for (size_t i = 0; i < right.size(); ++i) {
        if (!contains(known, right[i])) at.push_back(std::to_string(i));
        shape.push_back(sizes.at(right[i]));
      }
      x = "jnp.broadcast_to(jnp.expand_dims(" + x + ", " + tuple(at) + "), " + tuple(shape) + ")";
    }
    return closed(x, in, in.right, result());
  }

  std::string extreme(ReduceFn fn, std::string x, const Ids& have, const Ids& kept) const {
    Ids left;
    std::vector<std::string> gone;
    for (size_t i = 0; i < have.size(); ++i)
      if (contains(kept, have[i]))
        left.push_back(have[i]);
      else
        gone.push_back(std::to_string(i));
    if (!gone.empty())
      x = std::string(fn == ReduceFn::max ? "jnp.max(" : "jnp.min(") + x + ", axis=" + tuple(gone) +
          ")";
    return left == kept ? x
                        : "jnp.einsum(\"" + letters(left) + "->" + letters(kept) + "\", " + x + ")";
  }

  Text indexed(const Pattern& pattern, bool partial) const {
    const Indices& in = pattern.indices;
    const size_t bracket = pattern.left_bracket.value();
    const Split& dim = type(0).dims.at(bracket);
    return {closed("_index(" + opened(in, 0) + ", \"" + letters(flat(in.left.at(0))) + "\", " +
                       opened(in, 1) + ", \"" + letters(flat(in.left.at(1))) + "\", \"" +
                       letters(flat(in.right)) + "\", \"" + letters(in.left[0].at(bracket)) + "\"" +
                       (partial ? offset(dim) : "") + ")",
                   in, in.right, result())};
  }

  // Pointwise

  /// `begin` operands with `between` `end`; each operand along the positions of the widest.
  Text pointwise(const std::string& begin, const std::string& between,
                 const std::string& end) const {
    std::vector<Shape> shapes;
    for (size_t i = 0; i < instr_.operands.size(); ++i) shapes.push_back(type(i));
    std::vector<const Shape*> each;
    for (const Shape& shape : shapes) each.push_back(&shape);
    const bool call = !end.empty();
    std::vector<std::string> items;
    const bool aligned = denote::aligned(each);
    const Shape all = denote::widest(each);
    const Indices in =
        aligned ? Indices{} : elaborate::whole_positions(sizes_.program(), shapes, all);
    for (size_t i = 0; i < shapes.size(); ++i) {
      if (aligned || shapes[i].dims.empty() || (in.left[i] == in.right && single(in.right)))
        items.push_back(call ? text(i) : bracketed(i));
      else
        items.push_back("_along(" + opened(in, i) + ", \"" + letters(flat(in.left[i])) + "\", \"" +
                        letters(flat(in.right)) + "\")");
    }
    const std::string x = begin + joined(items, between) + end;
    if (aligned || single(in.right)) return {x, call};
    return {closed(x, in, in.right, all)};
  }

  // Collectives

  std::string gathered(const std::string& x, size_t dim, const std::vector<Axis>& axes) const {
    return "lax.all_gather(" + x + ", " + quoted(axes) + ", axis=" + std::to_string(dim) +
           ", tiled=True)";
  }
  std::string sliced(const std::string& x, size_t dim, const std::vector<Axis>& axes) const {
    return "_slice(" + x + ", " + quoted(axes) + ", " + std::to_string(dim) + ")";
  }
  std::string on_root(const std::string& x, const Axis& axis) const {
    return "jnp.where(lax.axis_index(\"" + axis + "\") == 0, " + x + ", 0)";
  }
  using Moved = std::vector<std::pair<size_t, std::vector<Axis>>>;
  std::string exchanged(std::string x, const Moved& leave, const Moved& come) const {
    if (leave.size() == 1 && come.size() == 1 && leave[0].second == come[0].second)
      return "lax.all_to_all(" + x + ", " + quoted(leave[0].second) +
             ", split_axis=" + std::to_string(come[0].first) +
             ", concat_axis=" + std::to_string(leave[0].first) + ", tiled=True)";
    for (const auto& [dim, axes] : leave) x = gathered(x, dim, axes);
    for (const auto& [dim, axes] : come) x = sliced(x, dim, axes);
    return x;
  }

  Sizes& sizes_;
  const std::vector<Type>& types_;
  const Texts& texts_;
  const Instr& instr_;
};

}  // namespace

Text Expressions::of(const Instr& instr) const {
  return std::visit(Printer(sizes_, types_, texts_, instr), static_cast<const AnyOp&>(instr.op));
}

}  // namespace shardproof::to_jax
