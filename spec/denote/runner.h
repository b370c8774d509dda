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
         const std::vector<const Type*>& results, Meetings& known)
      : geometry_(geometry), op_(op), operands_(operands), results_(results), known_(known) {
    local_.resize(operands.size());
    for (const Held<S>& held : operands) need_local(held);
  }

  // --- numbers ---
  Result operator()(const ir::Number& op) { return scalar(Scalar<S>::number(op.text, op.value)); }
  Result operator()(const ir::SizeOf& op) {
    return scalar(op.axis ? geometry_.axis(op.name) : geometry_.size(Dim{{op.name}}));
  }

  // --- pointwise ---
  Result operator()(const ir::Unary& op) {
    return entries([&](const S* const* x) { return apply(op.fn, *x[0]); });
  }
  Result operator()(const ir::Binary& op) {
    return entries([&](const S* const* x) { return apply(op.fn, *x[0], *x[1]); });
  }
  Result operator()(const ir::Where&) {
    return entries([](const S* const* x) { return *x[0] == S(0) ? *x[2] : *x[1]; });
  }
  Result operator()(const ir::Cast& op) {
    if (op.to == Dtype::boolean)
      return entries([](const S* const* x) { return *x[0] == S(0) ? S(0) : S(1); });
    if (!truncates(operands_.at(0).type.dtype, op.to)) return one(operand(0));
    return entries([](const S* const* x) { return Scalar<S>::truncated(*x[0]); });
  }
  Result operator()(const ir::Fold& op) {
    const std::string* tag = op.tag ? &*op.tag : nullptr;
    return entries(
        [&](const S* const* x) { return Scalar<S>::fold(*x[0], tag, tag ? S(0) : *x[1]); });
  }
  Result operator()(const ir::StopGrad&) {
    if constexpr (requires(const S& x) { Scalar<S>::stopped(x); })
      return entries([](const S* const* x) { return Scalar<S>::stopped(*x[0]); });
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
    return each([&](int64_t device) {
      Array<S> part = cut(*arg(0, device), dim, number(1, device), entries);
      return several ? part : dropped(std::move(part), dim);
    });
  }
  Result operator()(const ir::Write& op) {
    return each([&](int64_t device) {
      return write(*arg(0, device), left_bracket(op), *arg(1, device), number(2, device));
    });
  }
  Result operator()(const ir::Concat& op) {
    return each([&](int64_t device) {
      return concat(local(device), right_bracket(op), op.pattern.indices.right.size());
    });
  }
  Result operator()(const ir::Roll& op) {
    return each(
        [&](int64_t device) { return roll(*arg(0, device), left_bracket(op), number(1, device)); });
  }
  Result operator()(const ir::Rev& op) {
    return each([&](int64_t device) { return rev(*arg(0, device), left_bracket(op)); });
  }
  Result operator()(const ir::Entry& op) {
    const std::vector<Split>& dims = operands_.at(0).type.dims;
    size_t dim = 0;
    while (dim < dims.size() && dims[dim].dim != op.dim) ++dim;
    if (dim == dims.size()) throw Mismatch("an entry along a dim that is not there");
    const bool block = result(0).dims.size() == dims.size();  // of a ring: several entries
    const int64_t entries = block ? geometry_.local_size(result(0).dims[dim]) : 1;
    return each([&](int64_t device) {
      Array<S> part = cut(*arg(0, device), dim, number(1, device) * entries, entries);
      return block ? part : dropped(std::move(part), dim);
    });
  }

  // --- indices that are data ---
  Result operator()(const ir::Index& op) { return indexed(op, false); }
  Result operator()(const ir::IndexUnreduced& op) { return indexed(op, true); }
  Result operator()(const ir::IndexAdd& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const Split& dim = result(0).dims.at(right_bracket(op));
    const std::vector<Along> left = opened(in);
    const IndexExtents extents = extents_of(in, left);
    IndexExtents all = extents;
    all.add_new(open(geometry_, in, in.right, result(0)));
    const Along along_result{flat(in.right), all.of(flat(in.right))};
    return each([&](int64_t device) {
      return index_add(left.at(0), *arg(0, device), left.at(1), *arg(1, device), extents,
                       along_result, all.closed(in.right), right_bracket(op),
                       {geometry_.offset(dim, device), geometry_.shards(dim) > 1});
    });
  }

  // --- created ---
  Result operator()(const ir::Iota& op) {
    return each([&](int64_t device) { return iota<S>(geometry_, result(0), op.dim, device); });
  }
  Result operator()(const ir::Random& op) {
    return each([&](int64_t device) {
      return random(geometry_, result(0), op.fn, arg(0, device)->data.at(0), device);
    });
  }
  Result operator()(const ir::Zeros&) {
    return each([&](int64_t) { return filled(geometry_.local_shape(result(0)), S(0)); });
  }

  // --- order ---
  Result operator()(const ir::Ordered& op) {
    return each([&](int64_t device) {
      const Array<S>& x = *arg(0, device);
      return op.fn == ir::OrderedFn::cumsum ? cumsum(x, op.dim) : argsort(x, op.dim);
    });
  }
  Result operator()(const ir::Argmax& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t dim = vanished(in.left.at(0), in.right);
    return each(
        [&](int64_t device) { return dropped(largest(*arg(0, device), dim, 1, true), dim); });
  }
  Result operator()(const ir::TopK& op) {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t dim = vanished(in.left.at(0), in.right);
    const bool unused = result(0).dims.empty();  // `let _, at = top_k(..)`
    const int64_t k = geometry_.local_size(result(unused ? 1 : 0).dims.at(dim));
    auto part = [&](bool positions) {
      return each([&](int64_t device) { return largest(*arg(0, device), dim, k, positions); })[0];
    };
    return {part(false), part(true)};
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
    std::vector<int64_t> by;
    for (int64_t device = 0; device < geometry_.devices(); ++device)
      by.push_back(number(1, device));
    return one(ppermute(geometry_, operand(0), axes[0], by));
  }

  /// The sum of the operands; an operand that is a copy on a marked axis counts on its device 0
  /// only.
  Result operator()(const ir::Total& op) {
    Distributed<S> sum;
    for (size_t i = 0; i < operands_.size(); ++i) {
      Distributed<S> x = operand(i);
      for (const auto& [axis, mark] : op.marks)
        if (mark == Mark::U && !unreduced(operands_[i].type, axis))
          x = keep_root(geometry_, x, axis);
      for (size_t d = 0; i > 0 && d < x.size(); ++d) {
        if (x[d].shape != sum[d].shape) throw Mismatch("a total of different shapes");
        for (size_t k = 0; k < x[d].data.size(); ++k) x[d].data[k] = sum[d].data[k] + x[d].data[k];
      }
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
    const Extents& shape = held.value[0].shape;
    bool good = shape.size() == dims.size();
    for (size_t i = 0; good && i < dims.size(); ++i)
      good = shape[i] == geometry_.local_size(dims[i]);
    const auto entries = static_cast<size_t>(count(shape));
    for (const Array<S>& own : held.value)
      if (!good || own.shape != shape || own.data.size() != entries)
        throw Mismatch("an array of another shape than its type, " + to_string(held.type));
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
  const Type& result(size_t i) const { return *results_.at(i); }
  const Array<S>* arg(size_t i, int64_t device) const {
    return &operands_.at(i).value.at(static_cast<size_t>(device));
  }
  int64_t number(size_t i, int64_t device) const {
    return Scalar<S>::integer(arg(i, device)->data.at(0));
  }
  /// The operands' arrays on one device, until the next call.
  std::span<const Array<S>* const> local(int64_t device) const {
    for (size_t i = 0; i < operands_.size(); ++i) local_[i] = arg(i, device);
    return local_;
  }

  template <class Op>
  static size_t left_bracket(const Op& op) {
    return op.pattern.left_bracket.value();
  }
  template <class Op>
  static size_t right_bracket(const Op& op) {
    return op.pattern.right_bracket.value();
  }

  template <class Fn>
  Result each(Fn fn) const {
    Result results(1);
    results[0].reserve(static_cast<size_t>(geometry_.devices()));
    for (int64_t device = 0; device < geometry_.devices(); ++device)
      results[0].push_back(fn(device));
    return results;
  }
  Result scalar(const S& value) const {
    return each([&](int64_t) { return Array<S>{{}, {value}}; });
  }
  static const ir::Indices& elaborated(const ir::Pattern& pattern) {
    if (pattern.indices.left.size() != pattern.left.size())
      throw std::logic_error("an op whose pattern was not elaborated");
    return pattern.indices;
  }
  std::vector<Along> opened(const ir::Indices& in) const {
    std::vector<Along> result;
    result.reserve(in.left.size());
    for (size_t i = 0; i < in.left.size(); ++i)
      result.push_back(open(geometry_, in, in.left[i], operands_.at(i).type));
    return result;
  }
  static IndexExtents extents_of(const ir::Indices& in, const std::vector<Along>& left) {
    IndexExtents extents(in);
    for (const Along& each : left) extents.add(each);
    return extents;
  }
  /// The loop nest of the op.
  template <class Make>
  const Meeting& nest(Make make) const {
    const auto found = known_.find(&op_);
    return found != known_.end() ? found->second : known_.emplace(&op_, make()).first->second;
  }
  Result contracted(const ir::Pattern& pattern, ir::ReduceFn fn = ir::ReduceFn::sum) const {
    const Meeting& how = nest([&] { return contraction(elaborated(pattern)); });
    return each([&](int64_t device) { return contract(fn, how, local(device)); });
  }
  /// The loop nest of a contraction. A new index on the right has the extent of the result's type.
  Meeting contraction(const ir::Indices& in) const {
    const std::vector<Along> left = opened(in);
    IndexExtents extents = extents_of(in, left);
    if (!extents.has(flat(in.right))) extents.add_new(open(geometry_, in, in.right, result(0)));
    return meeting(extents, left, in.right);
  }
  template <class Fn>
  Result entries(Fn fn) const {
    std::vector<const Shape*> own;
    own.reserve(operands_.size());
    for (const Held<S>& held : operands_) own.push_back(&held.type);
    if (aligned(own))
      return each([&](int64_t device) { return aligned_pointwise(local(device), fn); });
    const Meeting& how = nest([&] {
      auto whole = by_whole_dims(own);
      return whole ? *std::move(whole) : alignment(own);
    });
    return each([&](int64_t device) { return pointwise(how, local(device), fn); });
  }
  /// The loop nest if each operand's positions occur unopened in the widest operand.
  std::optional<Meeting> by_whole_dims(const std::vector<const Shape*>& own) const {
    const Shape& all = widest(own);
    Meeting found{geometry_.local_shape(all), {}, geometry_.local_shape(all)};
    found.strides.push_back(row_major(found.shape));
    for (const Shape* each : own) {
      const Extents local = geometry_.local_shape(*each), strides = row_major(local);
      Extents along;
      size_t met = 0;
      for (size_t d = 0; d < all.dims.size(); ++d) {
        size_t at = 0;
        while (at < local.size() && each->dims[at].dim != all.dims[d].dim) ++at;
        const bool has = at < local.size() && local[at] == found.shape[d];
        along.push_back(has ? strides[at] : 0);
        met += has ? 1 : 0;
      }
      if (met != each->dims.size()) return {};
      found.strides.push_back(std::move(along));
    }
    return found;
  }
  Meeting alignment(const std::vector<const Shape*>& own) const {
    std::vector<Shape> shapes;
    for (const Shape* shape : own) shapes.push_back(*shape);
    const ir::Indices in = elaborate::whole_positions(geometry_.program(), shapes, widest(own));
    const std::vector<Along> left = opened(in);
    const IndexExtents extents = extents_of(in, left);
    const Ids right = flat(in.right);
    if (extents.all_from(right).size() > right.size()) throw Mismatch("no operand has all dims");
    return meeting(extents, left, in.right);
  }
  template <class Op>
  Result indexed(const Op& op, bool partial) const {
    const ir::Indices& in = elaborated(op.pattern);
    const size_t bracket = left_bracket(op);
    const Split& dim = operands_.at(0).type.dims.at(bracket);
    const std::vector<Along> left = opened(in);
    const IndexExtents extents = extents_of(in, left);
    return each([&](int64_t device) {
      const Window window{partial ? geometry_.offset(dim, device) : 0, partial};
      return index(left.at(0), *arg(0, device), bracket, left.at(1), *arg(1, device), extents,
                   in.right, window);
    });
  }

  const Geometry& geometry_;
  const ir::Op& op_;
  const std::vector<Held<S>>& operands_;
  const std::vector<const Type*>& results_;
  Meetings& known_;
  mutable std::vector<const Array<S>*> local_;
};

template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<const Type*>& results, Meetings& known) {
  return std::visit(Runner<S>(geometry, op, operands, results, known), op);
}

template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<Type>& results) {
  std::vector<const Type*> types;
  for (const Type& type : results) types.push_back(&type);
  Meetings none;
  return run(geometry, op, operands, types, none);
}

}  // namespace shardproof::denote
