#include "impl/comm/mpi/datatypes.h"

namespace shardproof {
namespace {

template <class T, class Better>
void join_into(const T* in, T* inout, int count, Better better) {
  for (int i = 0; i < count; ++i)
    if (better(in[i], inout[i]) || in[i] != in[i]) inout[i] = in[i];
}

template <class Better>
void join_floats(void* in, void* inout, int* count, MPI_Datatype* type) {
  if (*type == MPI_DOUBLE)
    join_into(static_cast<const double*>(in), static_cast<double*>(inout), *count, Better{});
  else
    join_into(static_cast<const float*>(in), static_cast<float*>(inout), *count, Better{});
}

struct IsGreater {
  bool operator()(double a, double b) const { return a > b; }
};
struct IsLess {
  bool operator()(double a, double b) const { return a < b; }
};

}  // namespace

MPI_Datatype mpi_type(Element element) {
  switch (element) {
    case Element::f64:
      return MPI_DOUBLE;
    case Element::f32:
      return MPI_FLOAT;
    case Element::bf16:
      return MPI_UINT16_T;
    case Element::i32:
      return MPI_INT32_T;
    case Element::u32:
      return MPI_UINT32_T;
    case Element::u8:
      return MPI_UINT8_T;
    case Element::u64:
      return MPI_UINT64_T;
  }
  return MPI_DATATYPE_NULL;
}

MpiReductions::MpiReductions() {
  MPI_Op_create(join_floats<IsGreater>, 1, &max_);
  MPI_Op_create(join_floats<IsLess>, 1, &min_);
}

MpiReductions::~MpiReductions() {
  MPI_Op_free(&max_);
  MPI_Op_free(&min_);
}

MPI_Op MpiReductions::of(Element element, Reduction reduction) const {
  const bool floats = element == Element::f64 || element == Element::f32;
  switch (reduction) {
    case Reduction::sum:
      return MPI_SUM;
    case Reduction::max:
      return floats ? max_ : MPI_MAX;
    case Reduction::min:
      return floats ? min_ : MPI_MIN;
  }
  return MPI_OP_NULL;
}

}  // namespace shardproof
