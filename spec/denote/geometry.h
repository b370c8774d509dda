#pragma once
// Devices and blocks: which part of a tensor each device of a mesh holds, for a given type.
#include <unordered_map>

#include "spec/denote/denote.h"
#include "spec/types/names_hash.h"

namespace shardproof::denote {

/// A program's dims with sizes on a mesh with sizes. Keeps a reference to the program.
class Geometry {
 public:
  Geometry(const ir::Program& program, const Sizes& sizes);

  const ir::Program& program() const { return program_; }
  const Sizes& sizes() const { return sizes_; }
  int64_t devices() const { return devices_; }

  int64_t size(const Dim& dim) const;  ///< global; throws Mismatch if not whole
  int64_t size(const Name& dim) const;
  /// How the devices of the mesh are numbered along an axis.
  struct Line {
    int64_t size = 1, stride = 1;

    int64_t digit(int64_t device) const { return device / stride % size; }
    /// The device with coordinate `digit` on the axis, and the other coordinates of `device`.
    int64_t with_digit(int64_t device, int64_t digit) const {
      return device + (digit - this->digit(device)) * stride;
    }
  };
  Line line(const Axis& name) const;  ///< an axis that is not in the mesh has one device
  int64_t axis(const Axis& name) const { return line(name).size; }
  int64_t digit(int64_t device, const Axis& name) const { return line(name).digit(device); }

  int64_t shards(const Split& split) const;                  ///< product of its axes' sizes
  int64_t local_size(const Split& split) const;              ///< throws Mismatch if not whole
  int64_t block(const Split& split, int64_t device) const;   ///< index of the block on the device
  int64_t offset(const Split& split, int64_t device) const;  ///< global index of its first entry

  std::vector<int64_t> global_shape(const Shape& shape) const;
  std::vector<int64_t> local_shape(const Shape& shape) const;
  /// The row-major global index of each entry of the local array, in order.
  std::vector<int64_t> global_indices(const Shape& shape, int64_t device) const;
  std::vector<int64_t> global_indices(const Shape& shape, const std::vector<int64_t>& local_shape,
                                      int64_t device) const;

 private:
  struct Known {
    int64_t size = 0;
    int64_t leading = 0;  ///< size of the index that the dim's axes split; 0: not asked for yet
  };
  Known& known(const Dim& dim) const;
  Known computed(const Dim& dim) const;
  int64_t leading_size(const Dim& dim) const;
  const std::map<Name, int64_t>& numbers() const;

  const ir::Program& program_;
  Sizes sizes_;
  std::vector<int64_t> strides_;  ///< of the mesh
  int64_t devices_;
  mutable std::map<Name, int64_t> numbers_;  ///< dims and axes; empty: not asked for yet
  mutable std::unordered_map<Name, Known> of_names_;
  mutable std::unordered_map<std::vector<Name>, Known, NamesHash> of_groups_;
};

}  // namespace shardproof::denote
