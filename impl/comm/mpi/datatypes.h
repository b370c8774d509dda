#pragma once
// Entries and reductions in MPI's terms.
#include <mpi.h>

#include "kernels/element.h"

namespace shardproof {

/// bf16 as its bits, which MPI can move but not add.
MPI_Datatype mpi_type(Element element);

/// MPI's reductions, and those it lacks: its largest and smallest float may lose a NaN.
class MpiReductions {
 public:
  MpiReductions();
  ~MpiReductions();
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;

  MPI_Op of(Element element, Reduction reduction) const;

 private:
  MPI_Op max_ = MPI_OP_NULL, min_ = MPI_OP_NULL;  ///< of f32 and f64
};

}  // namespace shardproof
