#include "spec/denote/adjoint.h"

#include "spec/denote/array.h"

namespace shardproof::denote {
namespace {

/// The Jacobians of all devices at once, column by column: the change of result 0 per entry k of
/// operand i.
template <class S, class Run>
Distributed<S> transposed(Values<S> operands, size_t i, const Distributed<S>& gradient, Run run) {
  Distributed<S>& x = operands.at(i);
  Distributed<S> result(x.size(), x.shape());
  const Distributed<S> before = run(operands);
  for (size_t k = 0; k < x.on(0).size(); ++k) {
    auto moved = [&](int64_t by) {
      for (size_t d = 0; d < x.size(); ++d) x.on(d)[k] = x.on(d)[k] + S(by);
      Distributed<S> after = run(operands);
      for (size_t d = 0; d < x.size(); ++d) x.on(d)[k] = x.on(d)[k] - S(by);
      return after;
    };
    const Distributed<S> once = moved(1), thrice = moved(3);
    for (size_t device = 0; device < x.size(); ++device)
      for (size_t e = 0; e < before.on(device).size(); ++e) {
        const S slope = once.on(device)[e] - before.on(device)[e];
        if (!(thrice.on(device)[e] - before.on(device)[e] == slope * S(3)))
          throw Unsupported("an op that is not linear");
        S& sum = result.on(device)[k];
        sum = sum + slope * at(gradient.on(device), static_cast<int64_t>(e));
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
  return transposed(whole, i, {gradient}, [&](const Values<S>& x) {
    return Distributed<S>{trial.wanted_of(x, results).at(0)};
  })[0];
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
