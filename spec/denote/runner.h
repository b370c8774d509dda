#pragma once
// The definition of run(): include it to run on a scalar of one's own.
#include "spec/denote/collective.h"
#include "spec/denote/contract.h"
#include "spec/denote/create.h"
#include "spec/denote/indexing.h"
#include "spec/denote/order.h"
#include "spec/denote/pointwise.h"
#include "spec/denote/run.h"
#include "spec/denote/structure.h"

namespace shardproof::denote {

template <class S>
class Runner {
 public:
  using Result = std::vector<Distributed<S>>;

  Runner(const Geometry& geometry, const std::vector<Held<S>>& operands,
         const std::vector<Type>& results)
      : geometry_(geometry), operands_(operands), results_(results) {}

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
    const Dtype from = operands_.at(0).type.dtype;
    return entries([&](const S* const* x) { return cast(from, op.to, *x[0]); });
  }
  Result operator()(const ir::Fold& op) {
    const std::string* tag = op.tag ? &*op.tag : nullptr;
    return entries(
        [&](const S* const* x) { return Scalar<S>::fold(*x[0], tag, tag ? S(0) : *x[1]); });
  }
  Result operator()(const ir::StopGrad&) {
    if constexpr (requires(const S& x) { Scalar<S>::stopped(x); })
      return entries([](const S* const* x) { return Scalar<S>::stopped(*x[0]); });
    return {operand(0)};
  }
  Result operator()(const ir::Save&) { return {operand(0)}; }
  Result operator()(const ir::Ascribe&) { return {operand(0)}; }

  // --- structure ---
  Result operator()(const ir::Einsum& op) {
    std::vector<Labels> labels;
    for (const Shape& shape : op.pattern.left) labels.push_back(labels_of(shape));
    return each([&](int64_t device) { return einsum(labels, local(device), right(op)); });
  }
  Result operator()(const ir::Reduce& op) {
    return each(
        [&](int64_t device) { return reduce(op.fn, left(op), *arg(0, device), right(op)); });
  }
  Result operator()(const ir::Expand& op) {
    const Extents shape = geometry_.local_shape(result(0));
    return each([&](int64_t device) {
      LabelSizes sizes;
      sizes.add(right(op), shape);
      sizes.add(left(op), arg(0, device)->shape);
      return relabelled(*arg(0, device), left(op), right(op), sizes.of(right(op)));
    });
  }
  Result operator()(const ir::Rearrange& op) {
    return each([&](int64_t device) {
      return rearrange(geometry_, op.pattern.left.at(0), op.pattern.right, operands_.at(0).type,
                       result(0), *arg(0, device));
    });
  }
  Result operator()(const ir::Read& op) {
    const Extents shape = geometry_.local_shape(result(0));
    return each([&](int64_t device) {
      return read(left(op), left_bracket(op), right(op), shape, *arg(0, device), number(1, device));
    });
  }
  Result operator()(const ir::Write& op) {
    return each([&](int64_t device) {
      const Array<S> written = write(left(op), left_bracket(op), left(op, 1), *arg(0, device),
                                     *arg(1, device), number(2, device));
      LabelSizes sizes;
      sizes.add(left(op), written.shape);
      return relabelled(written, left(op), right(op), sizes.of(right(op)));
    });
  }
  Result operator()(const ir::Concat& op) {
    std::vector<Labels> labels;
    for (const Shape& shape : op.pattern.left) labels.push_back(labels_of(shape));
    return each([&](int64_t device) {
      return concat(labels, local(device), right(op), right_bracket(op));
    });
  }
  Result operator()(const ir::Roll& op) {
    return each([&](int64_t device) {
      const Array<S> rolled = roll(*arg(0, device), left_bracket(op), number(1, device));
      LabelSizes sizes;
      sizes.add(left(op), rolled.shape);
      return relabelled(rolled, left(op), right(op), sizes.of(right(op)));
    });
  }
  Result operator()(const ir::Entry& op) {
    const size_t dim = position_of(labels_of(operands_.at(0).type), op.dim);
    return each([&](int64_t device) {
      Array<S> entry = cut(*arg(0, device), dim, number(1, device), 1);
      entry.shape.erase(entry.shape.begin() + static_cast<std::ptrdiff_t>(dim));
      return entry;
    });
  }

  // --- indices that are data ---
  Result operator()(const ir::Index& op) { return indexed(op, false); }
  Result operator()(const ir::IndexUnreduced& op) { return indexed(op, true); }
  Result operator()(const ir::IndexAdd& op) {
    const Split& dim = result(0).dims.at(right_bracket(op));
    return each([&](int64_t device) {
      return index_add(left(op), *arg(0, device), left(op, 1), *arg(1, device), right(op),
                       right_bracket(op), geometry_.local_size(dim),
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
    const Labels from = left(op);
    const size_t dim = position_of(from, extra_label(from, right(op), from.at(0)));
    return each([&](int64_t device) {
      const Array<S> places = largest(*arg(0, device), dim, 1, true);
      LabelSizes sizes;
      sizes.add(from, places.shape);
      return relabelled(places, from, right(op), sizes.of(right(op)));
    });
  }
  Result operator()(const ir::TopK& op) {
    const Labels from = left(op), to = right(op);
    const size_t dim = position_of(from, extra_label(from, to, from.at(0)));
    Labels named = from;
    named[dim] = extra_label(to, from, from[dim]);
    const int64_t k = geometry_.local_shape(result(0)).at(position_of(to, named[dim]));
    auto part = [&](bool positions) {
      return each([&](int64_t device) {
        const Array<S> found = largest(*arg(0, device), dim, k, positions);
        LabelSizes sizes;
        sizes.add(named, found.shape);
        return relabelled(found, named, to, sizes.of(to));
      })[0];
    };
    return {part(false), part(true)};
  }

  // --- communication ---
  Result operator()(const ir::Collective& op) {
    const bool inferred = op.pattern.inferred;
    const Shape& from = inferred ? operands_.at(0).type : op.pattern.left.at(0);
    const Shape& to = inferred ? result(0) : op.pattern.right;
    return {collective(geometry_, op.fn, from, to, operand(0))};
  }
  Result operator()(const ir::Ppermute& op) {
    const std::vector<Axis>& axes = operands_.at(0).type.dims.at(left_bracket(op)).axes;
    if (axes.empty()) throw Mismatch("ppermute over a dim that is not split");
    std::vector<int64_t> by;
    for (int64_t device = 0; device < geometry_.devices(); ++device)
      by.push_back(number(1, device));
    return {ppermute(geometry_, operand(0), axes[0], by)};
  }

  /// The sum of the operands; one that is a copy on a marked axis counts on its device 0 alone.
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
    return {sum};
  }

  Result operator()(const ir::Call&) { return refuse("a call"); }
  Result operator()(const ir::Grad&) { return refuse("a gradient"); }
  Result operator()(const ir::Scan&) { return refuse("a scan"); }
  Result operator()(const ir::Ring&) { return refuse("a ring"); }
  Result operator()(const ir::Pipeline&) { return refuse("a pipeline"); }
  Result operator()(const ir::Stages&) { return refuse("stages"); }

 private:
  static Result refuse(const char* what) {
    throw Unsupported(std::string(what) + " is not one op");
  }

  static bool unreduced(const Type& type, const Axis& axis) {
    auto mark = type.marks.find(axis);
    return mark != type.marks.end() && mark->second == Mark::U;
  }
  const Distributed<S>& operand(size_t i) const { return operands_.at(i).value; }
  const Type& result(size_t i) const { return results_.at(i); }
  const Array<S>* arg(size_t i, int64_t device) const {
    return &operands_.at(i).value.at(static_cast<size_t>(device));
  }
  int64_t number(size_t i, int64_t device) const {
    return Scalar<S>::integer(arg(i, device)->data.at(0));
  }
  std::vector<const Array<S>*> local(int64_t device) const {
    std::vector<const Array<S>*> arrays;
    for (size_t i = 0; i < operands_.size(); ++i) arrays.push_back(arg(i, device));
    return arrays;
  }

  template <class Op>
  static Labels left(const Op& op, size_t i = 0) {
    return labels_of(op.pattern.left.at(i));
  }
  template <class Op>
  static Labels right(const Op& op) {
    return labels_of(op.pattern.right);
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
  template <class Fn>
  Result entries(Fn fn) const {
    std::vector<Labels> labels;
    for (const Held<S>& held : operands_) labels.push_back(labels_of(held.type));
    if (aligned(labels))
      return each([&](int64_t device) { return aligned_pointwise(local(device), fn); });
    return each([&](int64_t device) { return pointwise(labels, local(device), fn); });
  }
  template <class Op>
  Result indexed(const Op& op, bool partial) const {
    const Split& dim = operands_.at(0).type.dims.at(left_bracket(op));
    return each([&](int64_t device) {
      const Window window{partial ? geometry_.offset(dim, device) : 0, partial};
      return index(left(op), left_bracket(op), *arg(0, device), left(op, 1), *arg(1, device),
                   right(op), window);
    });
  }

  const Geometry& geometry_;
  const std::vector<Held<S>>& operands_;
  const std::vector<Type>& results_;
};

template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<Type>& results) {
  return std::visit(Runner<S>(geometry, operands, results), op);
}

}  // namespace shardproof::denote
