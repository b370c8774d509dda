#include "spec/denote/runner.h"

namespace shardproof::denote {

template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                              const std::vector<Held<double>>&, const ResultTypes&,
                                              Nests&);
template std::vector<Distributed<double>> run(const Geometry&, const ir::Op&,
                                              const std::vector<Held<double>>&,
                                              const std::vector<Type>&);

}  // namespace shardproof::denote
