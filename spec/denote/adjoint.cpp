#include "spec/denote/adjoint.h"

#include "spec/denote/array.h"

namespace shardproof::denote {
namespace {

/// The Jacobians of all devices at once, column by column: the change of result 0 per entry k of
/// operand i.
template <class S, class Run>
Distributed<S> transposed(Values<S> operands, size_t i, const Distributed<S>& gradient, Run run) {
  Distributed<S>& x = operands.at(i);
  Distributed<S> result;
  for (const Array<S>& own : x) result.push_back(filled(own.shape, S(0)));
  const Distributed<S> before = run(operands);
  for (size_t k = 0; k < x.at(0).data.size(); ++k) {
    auto moved = [&](int64_t by) {
      for (Array<S>& own : x) own.data[k] = own.data[k] + S(by);
      Distributed<S> after = run(operands);
      for (Array<S>& own : x) own.data[k] = own.data[k] - S(by);
      return after;
    };
    const Distributed<S> once = moved(1), thrice = moved(3);
    for (size_t device = 0; device < x.size(); ++device)
      for (size_t e = 0; e < before[device].data.size(); ++e) {
        const S slope = once[device].data[e] - before[device].data[e];
        if (!(thrice[device].data[e] - before[device].data[e] == slope * S(3)))
          throw Unsupported("an op that is not linear");
        S& sum = result[device].data[k];
        sum = sum + slope * gradient.at(device).data.at(e);
      }
  }
  return result;
}

}  // namespace

template <class S>
Distributed<S> local_adjoint(const Trial& trial, const Values<S>& operands,
                             const std::vector<Type>& results, size_t i,
                             const Distributed<S>& gradient) {
  return transposed(operands, i, gradient,
                    [&](const Values<S>& x) { return trial.outcome(x, results).at(0); });
}

template <class S>
Array<S> whole_adjoint(const Trial& trial, const Values<S>& operands,
                       const std::vector<Type>& results, size_t i, const Array<S>& gradient) {
  Values<S> whole;
  for (size_t k = 0; k < operands.size(); ++k) whole.push_back({trial.value(operands, k)});
  return transposed(
             whole, i, {gradient},
             [&](const Values<S>& x) { return Distributed<S>{trial.wanted_of(x, results).at(0)}; })
      .at(0);
}

#define SHARDPROOF_INSTANTIATE(S)                                                                 \
  template Distributed<S> local_adjoint(const Trial&, const Values<S>&, const std::vector<Type>&, \
                                        size_t, const Distributed<S>&);                           \
  template Array<S> whole_adjoint(const Trial&, const Values<S>&, const std::vector<Type>&,       \
                                  size_t, const Array<S>&);
SHARDPROOF_INSTANTIATE(Rational)
SHARDPROOF_INSTANTIATE(double)
#undef SHARDPROOF_INSTANTIATE

}  // namespace shardproof::denote
