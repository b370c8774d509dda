#pragma once
// Which part of a tensor one rank of a mesh has: local sizes and offsets, from types alone.
#include <stdexcept>

#include "impl/tensor/mesh.h"
#include "spec/ir/program.h"

namespace shardproof {

/// A size, mesh or tensor that does not fit the program; it names the dim or tensor.
class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sizes of base dims; those that the program declares may be left out.
using DimSizes = std::map<Name, int64_t>;

/// A program's dims with sizes, seen from one rank of a mesh. Refers to the program.
class Placement {
 public:
  Placement(const ir::Program& program, const Mesh& mesh, const DimSizes& dims, int64_t rank);

  const ir::Program& program() const { return *program_; }
  const Mesh& mesh() const { return mesh_; }
  int64_t rank() const { return rank_; }
  /// Dims and axes, for evaluating conditions.
  const std::map<Name, int64_t>& numbers() const { return numbers_; }
  /// The same place in another program of the same dims.
  Placement in(const ir::Program& program) const;

  int64_t size(const Dim& dim) const;  ///< global; throws PlanError where it has none
  int64_t shards(const Split& split) const;
  int64_t extent(const Split& split) const;  ///< local; throws PlanError where it does not divide
  int64_t first(const Split& split) const;   ///< the global index of the local entry 0
  std::vector<int64_t> extents(const Shape& shape) const;
  std::vector<int64_t> global_extents(const Shape& shape) const;
  /// The digits of the rank `of` along `axes` as one number, the first most significant.
  int64_t block(int64_t of, const std::vector<Axis>& axes) const;

 private:
  const ir::Program* program_;
  Mesh mesh_;
  int64_t rank_;
  std::map<Name, int64_t> numbers_;
};

}  // namespace shardproof
