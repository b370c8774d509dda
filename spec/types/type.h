#pragma once
// The type of a value: a dtype, named dims with the mesh axes that split them, and the state on
// every other axis.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace shardproof {

using Name = std::string;
using Axis = std::string;

/// Orders names as std::less does, but sees most differences at the first letter.
struct ByName {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const {
    if (a.empty() || b.empty() || a[0] == b[0]) return a < b;
    return static_cast<unsigned char>(a[0]) < static_cast<unsigned char>(b[0]);
  }
};

/// `number` is a literal or a size: it has no own dtype and takes the other operand's.
enum class Dtype { f64, f32, bf16, f16, f8, i32, u32, boolean, key, number };

const char* to_string(Dtype dtype);
bool is_float(Dtype dtype);    ///< f64 f32 bf16 f16 f8
bool is_integer(Dtype dtype);  ///< i32 u32

/// State of a value on an axis that splits no dim. No entry is R: a copy on each device.
///   U    the value is the sum over the axis of what the devices hold
///   I    a copy on each device, and so is the gradient
///   Max  the value is the maximum over the axis
enum class Mark { U, I, Max };
const char* to_string(Mark mark);
using Marks = std::map<Axis, Mark, ByName>;

/// A dim as written: one name, or a row-major group `(K D)` whose axes split its first factor. A
/// literal dim has its number as its name: "2".
struct Dim {
  std::vector<Name> factors;
  bool operator==(const Dim&) const = default;
  bool is_group() const { return factors.size() > 1; }
};

/// `M/t/d`: a dim and its axes, most significant first.
struct Split {
  Dim dim;
  std::vector<Axis> axes;
  bool operator==(const Split&) const = default;
};

/// The dims in order and marks of one operand, as in a pattern.
struct Shape {
  std::vector<Split> dims;
  Marks marks;
  bool operator==(const Shape&) const = default;
};

struct Type : Shape {
  Dtype dtype = Dtype::f32;
  bool operator==(const Type&) const = default;
};

std::string to_string(const Dim& dim);      ///< `M`, `(K D)`
std::string to_string(const Split& split);  ///< `M/t/d`
std::string to_string(const Marks& marks);  ///< `{U_t I_d}`, empty for none
std::string to_string(const Shape& shape);  ///< `B/d L M {U_t}`
std::string to_string(const Type& type);    ///< `bf16[B/d L M]{U_t}`

/// The axes that split a dim of the shape, in order of occurrence.
std::vector<Axis> split_axes(const Shape& shape);

/// Whether both have dims of the same names in the same order, whatever splits them.
bool same_dims(const Shape& a, const Shape& b);

/// The split of the dim named `name` (as written), or null.
const Split* find(const Shape& shape, const Dim& dim);

/// The type of the gradient of a value: S, R, I, U become S, U, I, R (`axes`: every axis of the
/// mesh).
Type dual(const Type& type, const std::vector<Axis>& axes);

}  // namespace shardproof
