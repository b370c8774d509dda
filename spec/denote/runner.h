#pragma once
// The definition of run(). Include it to run on a scalar of your own.
#include "spec/denote/collective.h"
#include "spec/denote/contract.h"
#include "spec/denote/create.h"
#include "spec/denote/indexing.h"
#include "spec/denote/order.h"
#include "spec/denote/pointwise.h"
#include "spec/denote/run.h"
#include "spec/denote/structure.h"
#include "spec/elaborate/elaborate.h"

namespace shardproof::denote {

template <class S>
class Runner {
 public:
  using Result = std::vector<Distributed<S>>;

  /// `known`: the loop nests of ops, which depend only on the types.
  Runner(const Geometry& geometry, const ir::Op& op, const std::vector<Held<S>>& operands,
         const ResultTypes& results, Nests& known)
      : geometry_(geometry), op_(op), operands_(operands), results_(results), known_(known) {
    for (const Held<S>& held : operands) need_local(held);
  }

  // --- numbers ---
  Result operator()(const ir::Number& op) { return scalar(Scalar<S>::number(op.text, op.value)); }
  Result operator()(const ir::SizeOf& op) {
    return scalar(op.axis ? geometry_.axis(op.name) : geometry_.size(Dim{{op.name}}));
  }

  // --- pointwise ---
  Result operator()(const ir::Unary& op) {
    return entries<1>([&](const S* const* x) { return apply(op.fn, *x[0]); });
  }
  Result operator()(const ir::Binary& op) {
    return entries<2>([&](const S* const* x) { return apply(op.fn, *x[0], *x[1]); });
  }
  Result operator()(const ir::Where&) {
    return entries<3>([](const S* const* x) { return *x[0] == S(0) ? *x[2] : *x[1]; });
  }
  Result operator()(const ir::Cast& op) {
    if (op.to == Dtype::boolean)
      return entries<1>([](const S* const* x) { return *x[0] == S(0) ? S(0) : S(1); });
    if (!truncates(operands_.at(0).type.dtype, op.to)) return one(operand(0));
    return entries<1>([](const S* const* x) { return Scalar<S>::truncated(*x[0]); });
  }
  Result operator()(const ir::Fold& op) {
    if (op.tag)
      return entries<1>([&](const S* const* x) { return Scalar<S>::fold(*x[0], &*op.tag, S(0)); });
    return entries<2>([](const S* const* x) { return Scalar<S>::fold(*x[0], nullptr, *x[1]); });
  }
  Result operator()(const ir::StopGrad&) {
    if constexpr (requires(const S& x) { Scalar<S>::stopped(x); })
      return entries<1>([](const S* const* x) { return Scalar<S>::stopped(*x[0]); });
    return one(operand(0));
  }
  Result operator()(const ir::Save&) { return one(operand(0)); }
  Result operator()(const ir::Ascribe&) { return one(operand(0)); }

  // --- structure ---
  Result operator()(const ir::Einsum& op) { return contracted(op.pattern); }
  Result operator()(const ir::Reduce& op) { return contracted(op.pattern, op.fn); }
  Result operator()(const ir::Expand& op) { return contracted(op.pattern); }
  Result operator()(const ir::Rearrange& op) { return contracted(op.pattern); }
  Result operator()(const ir::Read& op) {
    const size_t dim = left_bracket(op), rank = operands_.at(0).type.dims.size();
    const bool several = op.pattern.indices.right.size() == rank;
    const int64_t entries = several ? geometry_.local_size(result(0).dims.at(dim)) : 1;
    return one(cut(operand(0), dim, entries, !several, numbers(1)));
  }
  Result operator()(const ir::Write& op) {
    return one(write(operand(0), left_bracket(op), operand(1), numbers(2)));
  }
  Result operator()(const ir::Concat& op) {
    return one(concat(operands_, right_bracket(op), op.pattern.indices.right.size()));
  }
  Result operator()(const ir::Roll& op) {
    return one(roll(operand(0), left_bracket(op), numbers(1)));
  }
  Result operator()(const ir::Rev& op) { return one(rev(operand(0), left_bracket(op))); }
  Result operator()(const ir::Entry& op) {
    const std::vector<Split>& dims = operands_.at(0).type.dims;
    size_t dim = 0;
    while (dim < dims.size() && dims[dim].dim != op.dim) ++dim;
    if (dim == dims.size()) throw Mismatch("an entry along a dim that is not there");
    const bool block = result(0).dims.size() == dims.size();  // of a ring: several entries
    const int64_t entries = block ? geometry_.local_size(result(0).dims[dim]) : 1;
    return one(cut(operand(0), dim, entries, !block,
                   [&](size_t device) { return number(1, device) * entries; }));
  }

  // --- indices that are data ---
  Result operator()(const ir::Index& op) { return indexed(op, false); }
  Result operator()(const ir::IndexUnreduced& op) { return indexed(op, true); }
  Result operator()(const ir::IndexAdd& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t bracket = right_bracket(op);
    const Split& dim = result(0).dims.at(bracket);
    AlongIndices along = opened(in);
    const Ids order = along.all_from({});
    along.add_result(in.right, result(0));
    const Loops loops = along.loops(order);
    Distributed<S> sums(operand(0).size(), along.closed(in.right));
    for (size_t device = 0; device < sums.size(); ++device)
      index_add(loops, operand(0).on(device), operand(1).on(device),
                window(sums.shape(), bracket, dim, device, geometry_.shards(dim) > 1),
                sums.on(device));
    return one(std::move(sums));
  }

  // --- created ---
  Result operator()(const ir::Iota& op) { return one(iota<S>(geometry_, result(0), op.dim)); }
  Result operator()(const ir::Random& op) {
    return one(random(geometry_, result(0), op.fn, operand(0)));
  }
  Result operator()(const ir::Zeros&) {
    return one(Distributed<S>(devices(), geometry_.local_shape(result(0))));
  }

  // --- order ---
  Result operator()(const ir::Ordered& op) {
    return one(op.fn == ir::OrderedFn::cumsum ? cumsum(operand(0), op.dim)
                                              : argsort(operand(0), op.dim));
  }
  Result operator()(const ir::Argmax& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t dim = vanished(in.left.at(0), in.right);
    return one(cut(largest(operand(0), dim, 1).positions, dim, 1, true, [](size_t) { return 0; }));
  }
  Result operator()(const ir::TopK& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t dim = vanished(in.left.at(0), in.right);
    const bool unused = result(0).dims.empty();  // `let _, at = top_k(..)`
    const int64_t k = geometry_.local_size(result(unused ? 1 : 0).dims.at(dim));
    Largest<S> found = largest(operand(0), dim, k);
    Result results(2);
    results[0] = std::move(found.values);
    results[1] = std::move(found.positions);
    return results;
  }

  // --- communication ---
  Result operator()(const ir::Collective& op) {
    const bool inferred = op.pattern.inferred;
    const Shape& from =
        inferred || op.pattern.left_inferred ? operands_.at(0).type : op.pattern.left.at(0);
    const Shape& to = inferred ? result(0) : op.pattern.right;
    return one(collective(geometry_, op.fn, from, to, operand(0)));
  }
  Result operator()(const ir::Ppermute& op) {
    const std::vector<Axis>& axes = operands_.at(0).type.dims.at(left_bracket(op)).axes;
    if (axes.empty()) throw Mismatch("ppermute over a dim that is not split");
    return one(ppermute(geometry_, operand(0), axes[0], numbers(1)));
  }

  /// The sum of the operands; an operand that is a copy on a marked axis counts on its device 0
  /// only.
  Result operator()(const ir::Total& op) {
    Distributed<S> sum;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Distributed<S> x = operand(i);
      for (const auto& [axis, mark] : op.marks)
        if (mark == Mark::U && !unreduced(operands_[i].type, axis))
          x = keep_root(geometry_, std::move(x), axis);
      if (i > 0 && x.shape() != sum.shape()) throw Mismatch("a total of different shapes");
      for (size_t k = 0; i > 0 && k < x.all().size(); ++k) x.all()[k] = sum.all()[k] + x.all()[k];
      sum = std::move(x);
    }
    return one(std::move(sum));
  }

  Result operator()(const ir::Call&) { return refuse("a call"); }
  Result operator()(const ir::Grad&) { return refuse("a gradient"); }
  Result operator()(const ir::Scan&) { return refuse("a scan"); }
  Result operator()(const ir::Ring&) { return refuse("a ring"); }
  Result operator()(const ir::Pipeline&) { return refuse("a pipeline"); }
  Result operator()(const ir::Stages&) { return refuse("stages"); }

 private:
  /// Requires that each device holds an array of the type's local shape.
  void need_local(const Held<S>& held) const {
    if (held.value.size() != static_cast<size_t>(geometry_.devices()))
      throw Mismatch("an operand on another number of devices");
    const std::vector<Split>& dims = held.type.dims;
    const Extents& shape = held.value.shape();
    bool good = shape.size() == dims.size();
    for (size_t i = 0; good && i < dims.size(); ++i)
      good = shape[i] == geometry_.local_size(dims[i]);
    if (!good) throw Mismatch("an array of another shape than its type, " + to_string(held.type));
  }
  /// A list in braces would copy its entry.
  static Result one(Distributed<S> value) {
    Result results(1);
    results[0] = std::move(value);
    return results;
  }
  static Result refuse(const char* what) {
    throw Unsupported(std::string(what) + " is not one op");
  }

  static bool unreduced(const Type& type, const Axis& axis) {
    auto mark = type.marks.find(axis);
    return mark != type.marks.end() && mark->second == Mark::U;
  }
  const Distributed<S>& operand(size_t i) const { return operands_.at(i).value; }
  const Type& result(size_t i) const {
    if (!results_.at(i)) throw std::out_of_range("no such result");
    return *results_[i];
  }
  size_t devices() const { return static_cast<size_t>(geometry_.devices()); }
  /// The whole number that a device holds.
  int64_t number(size_t i, size_t device) const {
    return Scalar<S>::integer(operand(i).on(device)[0]);
  }
  auto numbers(size_t i) const {
    return [this, i](size_t device) { return number(i, device); };
  }

  template <class Op>
  static size_t left_bracket(const Op& op) {
    return op.pattern.left_bracket.value();
  }
  template <class Op>
  static size_t right_bracket(const Op& op) {
    return op.pattern.right_bracket.value();
  }

  Result scalar(const S& value) const { return one(Distributed<S>(devices(), {}, value)); }
  static const ir::Indices& elaborated(const ir::Pattern& pattern) {
    if (pattern.indices.left.size() != pattern.left.size())
      throw std::logic_error("an op whose pattern was not elaborated");
    return pattern.indices;
  }
  /// The operands along the op's indices.
  AlongIndices opened(const ir::Indices& in) const {
    AlongIndices along(geometry_, in);
    for (size_t i = 0; i < in.left.size(); ++i) along.add(in.left[i], operands_.at(i).type);
    return along;
  }
  /// The loop nest of the op.
  template <class Make>
  const Nest& nest(Make make) const {
    const auto found = known_.find(&op_);
    return found != known_.end() ? found->second : known_.emplace(&op_, make()).first->second;
  }
  Result contracted(const ir::Pattern& pattern, ir::ReduceFn fn = ir::ReduceFn::sum) const {
    return one(contract(fn, nest([&] { return contraction(elaborated(pattern)); }), operands_));
  }
  /// The loop nest of a contraction. A new index on the right has the extent of the result's type.
  Nest contraction(const ir::Indices& in) const {
    AlongIndices along = opened(in);
    along.add_result(in.right, result(0));
    return {along.loops(along.all_from(flat(in.right)), geometry_.devices()),
            along.closed(in.right)};
  }
  /// A pointwise op of `n` operands.
  template <size_t n, class Fn>
  Result entries(Fn fn) const {
    std::array<const Shape*, n> own;
    for (size_t i = 0; i < n; ++i) own[i] = &operands_.at(i).type;
    if (aligned(own)) return one(aligned_pointwise<n>(operands_, fn));
    const Nest& how = nest([&] {
      auto whole = by_whole_dims(widest(own));
      return whole ? *std::move(whole) : alignment(own);
    });
    return one(pointwise<n>(how, operands_, fn));
  }
  /// The loop nest if each operand's positions occur unopened in the widest operand.
  std::optional<Nest> by_whole_dims(const Shape& all) const {
    Nest found{{operands_.size(), {}, {}}, geometry_.local_shape(all)};
    const size_t dims = all.dims.size();
    found.loops.extents = found.shape;
    found.loops.extents.insert(found.loops.extents.begin(), geometry_.devices());
    found.loops.strides.resize((dims + 1) * operands_.size());
    for (size_t i = 0; i < operands_.size(); ++i) {
      const auto& [type, value] = operands_[i];
      const Extents strides = row_major(value.shape());
      found.loops.strides[i] = count(value.shape());
      size_t met = 0;
      for (size_t d = 0; d < dims; ++d) {
        size_t at = 0;
        while (at < strides.size() && type.dims[at].dim != all.dims[d].dim) ++at;
        if (at == strides.size() || value.shape()[at] != found.shape[d]) continue;
        found.loops.strides[(d + 1) * operands_.size() + i] = strides[at];
        ++met;
      }
      if (met != type.dims.size()) return {};
    }
    return found;
  }
  Nest alignment(std::span<const Shape* const> own) const {
    std::vector<Shape> shapes;
    for (const Shape* shape : own) shapes.push_back(*shape);
    const ir::Indices in = elaborate::whole_positions(geometry_.program(), shapes, widest(own));
    const AlongIndices along = opened(in);
    const Ids right = flat(in.right);
    if (along.all_from(right).size() > right.size()) throw Mismatch("no operand has all dims");
    return {along.loops(right, geometry_.devices()), along.closed(in.right)};
  }
  Window window(const Extents& shape, size_t bracket, const Split& dim, size_t device,
                bool partial) const {
    return {shape.at(bracket), row_major(shape)[bracket],
            partial ? geometry_.offset(dim, static_cast<int64_t>(device)) : 0, partial};
  }
  template <class Op>
  Result indexed(const Op& op, bool partial) const {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t bracket = left_bracket(op);
    const Split& dim = operands_.at(0).type.dims.at(bracket);
    const AlongIndices along = opened(in);
    const Loops loops = along.loops(flat(in.right));
    Distributed<S> found(operand(0).size(), along.closed(in.right));
    for (size_t device = 0; device < found.size(); ++device)
      index(loops, operand(0).on(device), operand(1).on(device),
            window(operand(0).shape(), bracket, dim, device, partial), found.on(device));
    return one(std::move(found));
  }

  const Geometry& geometry_;
  const ir::Op& op_;
  const std::vector<Held<S>>& operands_;
  const ResultTypes& results_;
  Nests& known_;
};

template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands, const ResultTypes& results,
                                Nests& known) {
  return std::visit(Runner<S>(geometry, op, operands, results, known), op);
}

template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<Type>& results) {
  ResultTypes types{};
  for (size_t i = 0; i < std::min(results.size(), types.size()); ++i) types[i] = &results[i];
  Nests none;
  return run(geometry, op, operands, types, none);
}

}  // namespace shardproof::denote
