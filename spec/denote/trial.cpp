#include "spec/denote/trial.h"

#include "spec/denote/array.h"

namespace shardproof::denote {

std::vector<Type> types_of(const std::vector<Input>& inputs) {
  std::vector<Type> types;
  for (const Input& input : inputs) types.push_back(input.type);
  return types;
}

namespace {

template <class S>
void count_along(const Geometry& geometry, const Type& type, size_t dim, Distributed<S>& x) {
  const Extents whole = geometry.global_shape(type);
  int64_t stride = 1;
  for (size_t i = dim + 1; i < whole.size(); ++i) stride *= whole[i];
  for (int64_t device = 0; device < geometry.devices(); ++device) {
    size_t k = 0;
    for (const int64_t entry : geometry.global_indices(type, device))
      x.on(static_cast<size_t>(device))[k++] = S(entry / stride % whole.at(dim));
  }
}

}  // namespace

Trial::Trial(const Geometry& geometry, const ir::Op& op, const std::vector<Input>& inputs)
    : geometry_(geometry),
      single_(geometry.program(), {{}, geometry.sizes().dims}),
      op_(op),
      inputs_(inputs) {
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].number || inputs_[i].index_of || inputs_[i].same_as) continue;
    const auto entries = static_cast<size_t>(count(geometry.local_shape(inputs_[i].type)));
    const std::vector<int64_t> copied = leaders(geometry, inputs_[i].type, false, true);
    for (int64_t device = 0; device < geometry.devices(); ++device)
      for (size_t k = 0; k < entries && copied[static_cast<size_t>(device)] == device; ++k)
        free_entries_.push_back({i, device, k});
  }
}

template <class S>
Values<S> Trial::operands(const std::vector<S>& numbers) const {
  Values<S> result;
  for (const Input& input : inputs_) {
    const S value = input.number ? Scalar<S>::number("", *input.number) : S(0);
    result.emplace_back(static_cast<size_t>(geometry_.devices()), geometry_.local_shape(input.type),
                        value);
  }
  for (size_t i = 0; i < inputs_.size(); ++i)
    if (inputs_[i].index_of)
      count_along(geometry_, inputs_[i].type, *inputs_[i].index_of, result[i]);
  for (size_t i = 0; i < free_entries_.size(); ++i)
    result[free_entries_[i].operand].on(
        static_cast<size_t>(free_entries_[i].device))[free_entries_[i].entry] = numbers.at(i);
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (inputs_[i].same_as) {
      result[i] = result[*inputs_[i].same_as];
      continue;
    }
    const std::vector<int64_t> copied = leaders(geometry_, inputs_[i].type, false, true);
    for (size_t device = 0; device < copied.size(); ++device)
      std::ranges::copy(result[i].on(static_cast<size_t>(copied[device])),
                        result[i].on(device).begin());
  }
  return result;
}

template <class S>
Values<S> Trial::outcome(const Values<S>& operands, const std::vector<Type>& results) const {
  std::vector<Held<S>> held;
  for (size_t i = 0; i < inputs_.size(); ++i) held.push_back({inputs_[i].type, operands[i]});
  return run(geometry_, op_, held, results);
}

template <class S>
Array<S> Trial::value(const Values<S>& operands, size_t i) const {
  return represented(geometry_, inputs_.at(i).type, operands.at(i)).value();
}

template <class S>
std::vector<Array<S>> Trial::wanted(const Values<S>& operands,
                                    const std::vector<Type>& results) const {
  Values<S> whole;
  for (size_t i = 0; i < inputs_.size(); ++i) whole.push_back({value(operands, i)});
  return wanted_of(std::move(whole), results);
}

template <class S>
std::vector<Array<S>> Trial::wanted_of(Values<S> whole, const std::vector<Type>& results) const {
  if (auto* permute = std::get_if<ir::Ppermute>(&op_)) {
    // Blocks of size |D| / n move by k: entries move by k * |D| / n.
    const Split& dim = inputs_[0].type.dims.at(permute->pattern.left_bracket.value());
    if (dim.axes.empty()) throw Mismatch("ppermute over a dim that is not split");
    S& by = whole.at(1).on(0)[0];
    by = by * S(geometry_.size(dim.dim) / geometry_.axis(dim.axes[0]));
  }
  std::vector<Held<S>> held;
  for (size_t i = 0; i < inputs_.size(); ++i) held.push_back({inputs_[i].type, whole[i]});
  std::vector<Array<S>> arrays;
  for (const Distributed<S>& each : run(single_, whole_op(op_), held, results))
    arrays.push_back(each[0]);
  return arrays;
}

#define SHARDPROOF_INSTANTIATE(S)                                                             \
  template Values<S> Trial::operands(const std::vector<S>&) const;                            \
  template Values<S> Trial::outcome(const Values<S>&, const std::vector<Type>&) const;        \
  template Array<S> Trial::value(const Values<S>&, size_t) const;                             \
  template std::vector<Array<S>> Trial::wanted_of(Values<S>, const std::vector<Type>&) const; \
  template std::vector<Array<S>> Trial::wanted(const Values<S>&, const std::vector<Type>&) const;
SHARDPROOF_INSTANTIATE(Rational)
SHARDPROOF_INSTANTIATE(double)
#undef SHARDPROOF_INSTANTIATE

}  // namespace shardproof::denote
