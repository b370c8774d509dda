#pragma once
// Runs one op on all devices. A device computes on its own arrays; only collectives read others'.
#include <optional>

#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// The types of an op's results, of which there are at most two.
using ResultTypes = std::array<const Type*, 2>;

/// The devices' arrays after `op`, one Distributed per result. `results` are the result
/// types: they give the blocks of created tensors and the sizes of new dims. Collectives
/// follow their pattern. `known` keeps the loop nests of ops for their next runs with
/// the same operand types. Throws Unsupported for loops and calls, Mismatch if local arrays do not
/// fit.
template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<Type>& results);
template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands, const ResultTypes& results,
                                Nests& known);

extern template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                       const std::vector<Held<Rational>>&,
                                                       const ResultTypes&, Nests&);
extern template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                       const std::vector<Held<Rational>>&,
                                                       const std::vector<Type>&);
extern template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                                    const std::vector<Held<Field>>&,
                                                    const ResultTypes&, Nests&);
extern template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                                    const std::vector<Held<Field>>&,
                                                    const std::vector<Type>&);
extern template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                                     const std::vector<Held<double>>&,
                                                     const ResultTypes&, Nests&);
extern template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                                     const std::vector<Held<double>>&,
                                                     const std::vector<Type>&);

}  // namespace shardproof::denote
