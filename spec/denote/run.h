#pragma once
// One op on all devices. Every device computes on its own arrays; only collectives see others'.
#include <optional>

#include "spec/denote/along.h"
#include "spec/denote/scalar.h"

namespace shardproof::denote {

/// What the devices hold after `op`, one Distributed per result. `results` are the results' types
/// (from them come the blocks of created tensors and the sizes of new dims); collectives act as
/// their pattern says. `known` keeps how entries meet for the next time that this op runs on
/// operands of the same types. Loops and calls throw Unsupported; local arrays that do not fit
/// throw Mismatch.
template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<Type>& results);
template <class S>
std::vector<Distributed<S>> run(const Geometry& geometry, const ir::Op& op,
                                const std::vector<Held<S>>& operands,
                                const std::vector<const Type*>& results,
                                std::optional<Meeting>& known);

extern template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                       const std::vector<Held<Rational>>&,
                                                       const std::vector<const Type*>&,
                                                       std::optional<Meeting>&);
extern template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                       const std::vector<Held<Rational>>&,
                                                       const std::vector<Type>&);
extern template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                                    const std::vector<Held<Field>>&,
                                                    const std::vector<const Type*>&,
                                                    std::optional<Meeting>&);
extern template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                                    const std::vector<Held<Field>>&,
                                                    const std::vector<Type>&);
extern template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                                     const std::vector<Held<double>>&,
                                                     const std::vector<const Type*>&,
                                                     std::optional<Meeting>&);
extern template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                                     const std::vector<Held<double>>&,
                                                     const std::vector<Type>&);

}  // namespace shardproof::denote
