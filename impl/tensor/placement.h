#pragma once
// The part of a tensor that a rank holds: local sizes and offsets, from types only.
#include <memory>
#include <stdexcept>
#include <unordered_map>

#include "impl/tensor/mesh.h"
#include "spec/ir/program.h"

namespace shardproof {

/// A size, mesh or tensor that does not fit the program. The message names the dim or tensor.
class PlanError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Sizes of base dims; those with a declared size may be omitted.
using DimSizes = std::map<Name, int64_t>;

/// A program's dims with sizes, for one rank of a mesh. Keeps a reference to the program.
class Placement {
 public:
  Placement(const ir::Program& program, const Mesh& mesh, const DimSizes& dims, int64_t rank);

  const ir::Program& program() const { return *program_; }
  const Mesh& mesh() const { return sizes_->mesh; }
  int64_t rank() const { return rank_; }
  /// Sizes of dims and axes, to evaluate conditions.
  const std::map<Name, int64_t>& numbers() const { return sizes_->numbers; }
  /// The same for another program with the same dims.
  Placement in(const ir::Program& program) const;
  /// The same for another rank.
  Placement on(int64_t rank) const;

  int64_t size(const Dim& dim) const;  ///< global; throws PlanError if it is unknown
  int64_t size(const Name& dim) const;
  int64_t shards(const Split& split) const;
  int64_t extent(const Split& split) const;  ///< local; throws PlanError where it does not divide
  int64_t first(const Split& split) const;   ///< global index of local entry 0
  std::vector<int64_t> extents(const Shape& shape) const;
  std::vector<int64_t> global_extents(const Shape& shape) const;
  /// The coordinates of rank `of` along `axes` as one number, the first axis most significant.
  int64_t block(int64_t of, const std::vector<Axis>& axes) const;

 private:
  struct Sizes {
    Mesh mesh;
    std::map<Name, int64_t> numbers;
    std::unordered_map<Name, int64_t> known;  ///< sizes of plain dims that depend on no others
  };
  int64_t worked_out(const Dim& dim) const;
  /// The size of a plain dim, if it is known; else null.
  const int64_t* known(const Dim& dim) const;
  /// The size of the factor that axes split; `whole`: of the dim.
  int64_t outer(const Dim& dim, int64_t whole) const;

  const ir::Program* program_;
  int64_t rank_;
  std::shared_ptr<const Sizes> sizes_;
};

}  // namespace shardproof
