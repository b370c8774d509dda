#include "spec/denote/runner.h"

namespace shardproof::denote {

template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                             const std::vector<Held<Field>>&, const ResultTypes&,
                                             Nests&);
template std::vector<Distributed<Field>> run(const Geometry&, const ir::Op&,
                                             const std::vector<Held<Field>>&,
                                             const std::vector<Type>&);

}  // namespace shardproof::denote
