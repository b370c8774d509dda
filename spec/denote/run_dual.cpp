#include "spec/denote/dual.h"
#include "spec/denote/runner.h"

namespace shardproof::denote {

template std::vector<Distributed<Dual>> run(const Geometry&, const ir::Op&,
                                            const std::vector<Held<Dual>>&, const ResultTypes&,
                                            Nests&);
template std::vector<Distributed<Dual>> run(const Geometry&, const ir::Op&,
                                            const std::vector<Held<Dual>>&,
                                            const std::vector<Type>&);

}  // namespace shardproof::denote
