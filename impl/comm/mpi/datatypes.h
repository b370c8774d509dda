#pragma once
// Elements and reductions as MPI types.
#include <mpi.h>

#include "kernels/element.h"

namespace shardproof {

/// bf16 is a 16-bit type, which MPI can move but not add.
MPI_Datatype mpi_type(Element element);

/// MPI's reductions, and our own where MPI's max and min may lose a NaN.
class MpiReductions {
 public:
  MpiReductions();
  ~MpiReductions();
  MpiReductions(const MpiReductions&) = delete;
  MpiReductions& operator=(const MpiReductions&) = delete;

  MPI_Op of(Element element, Reduction reduction) const;

 private:
  MPI_Op max_ = MPI_OP_NULL, min_ = MPI_OP_NULL;  ///< for f32 and f64
};

}  // namespace shardproof
