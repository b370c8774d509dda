#include "spec/denote/runner.h"

namespace shardproof::denote {

template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                const std::vector<Held<Rational>>&,
                                                const ResultTypes&, Nests&);
template std::vector<Distributed<Rational>> run(const Geometry&, const ir::Op&,
                                                const std::vector<Held<Rational>>&,
                                                const std::vector<Type>&);

}  // namespace shardproof::denote
