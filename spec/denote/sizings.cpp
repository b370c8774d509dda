// Sizes of axes and dims, in the order in which a counterexample tries them.
#include <algorithm>
#include <numeric>

#include "spec/denote/array.h"
#include "spec/denote/counterexample.h"
#include "spec/elaborate/names.h"

namespace shardproof::denote {
namespace {

constexpr int64_t small_size = 4;    ///< a declared size up to this is kept
constexpr int64_t most_devices = 9;  ///< largest mesh to try
constexpr size_t most_meshes = 256;  ///< number of meshes to try, fewest devices first

/// The dims with free sizes, each with the least size that its axes divide.
class FreeDims {
 public:
  explicit FreeDims(ir::Program& program) : program_(program) {}

  void add(const Split& split, const Sizes& mesh) {
    const std::vector<Name> base = program_.base(split.dim);
    int64_t shards = 1;
    for (const Axis& axis : split.axes) shards *= mesh.axis(axis);
    const size_t leading = elaborate::leading(program_, base);
    for (size_t i = 0; i < base.size(); ++i) add(base[i], i == leading ? shards : 1);
  }
  const std::map<Name, int64_t>& least() const { return least_; }

 private:
  void add(const Name& name, int64_t shards) {
    if (!name.empty() && name[0] >= '0' && name[0] <= '9') return;
    auto found = program_.dims.find(name);
    if (found != program_.dims.end() && found->second.size) {
      if (add_all(*found->second.size, shards)) return;
      if (program_.size(Dim{{name}}, {}) <= small_size) return;
      found->second.size.reset();
    }
    int64_t& least = least_.emplace(name, 1).first->second;
    least = std::lcm(least, shards);
  }

  /// Adds the dims of a size; false if it has none.
  bool add_all(const ir::Arith& arith, int64_t shards) {
    if (arith.kind == ir::Arith::Kind::axis) return true;
    if (arith.kind == ir::Arith::Kind::size) return add(arith.text, shards), true;
    bool any = false;
    for (const ir::Arith& arg : arith.args) any = add_all(arg, shards) || any;
    return any;
  }

  ir::Program& program_;
  std::map<Name, int64_t> least_;
};

bool fewer_devices(const Sizes& a, const Sizes& b) { return a.devices() < b.devices(); }

std::vector<Sizes> meshes(const ir::Program& program, const std::vector<Axis>& axes) {
  std::vector<Sizes> result{{}};
  for (const Axis& axis : axes) {
    auto found = program.axes.find(axis);
    std::vector<int64_t> options{1, 2, 3};
    if (found != program.axes.end() && found->second.size && *found->second.size <= small_size)
      options = {*found->second.size};
    std::vector<Sizes> longer;
    for (const Sizes& mesh : result)
      for (int64_t size : options) {
        longer.push_back(mesh);
        longer.back().mesh.push_back({axis, size});
      }
    result = std::move(longer);
    std::erase_if(result, [](const Sizes& mesh) { return mesh.devices() > most_devices; });
    if (result.size() <= most_meshes) continue;
    std::stable_sort(result.begin(), result.end(), fewer_devices);
    result.resize(most_meshes);
  }
  std::erase_if(result, [](const Sizes& mesh) { return mesh.devices() == 1; });
  std::stable_sort(result.begin(), result.end(), fewer_devices);
  return result;
}

/// The number of entries of all shapes; none if an axis does not divide a dim.
std::optional<int64_t> entries(const ir::Program& program, const Sizes& sizes,
                               const std::vector<Shape>& shapes) {
  try {
    const Geometry geometry(program, sizes);
    int64_t total = 0;
    for (const Shape& shape : shapes) {
      geometry.local_shape(shape);
      total += count(geometry.global_shape(shape));
    }
    return total;
  } catch (const Mismatch&) {
    return {};
  }
}

void add_dims(const ir::Program& program, const Sizes& mesh, const std::map<Name, int64_t>& least,
              const std::vector<Shape>& shapes, std::vector<Sizes>& all) {
  std::vector<Sizes> options{mesh};
  const int64_t most = least.size() <= 3 ? 4 : least.size() <= 6 ? 2 : 1;
  for (const auto& [name, unit] : least) {
    std::vector<Sizes> longer;
    for (const Sizes& option : options)
      for (int64_t k = 1; k <= most; ++k) {
        longer.push_back(option);
        longer.back().dims[name] = unit * k;
      }
    options = std::move(longer);
  }
  std::vector<std::pair<int64_t, const Sizes*>> ordered;
  for (const Sizes& option : options)
    if (auto total = entries(program, option, shapes)) ordered.push_back({*total, &option});
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [total, sizes] : ordered) all.push_back(*sizes);
}

}  // namespace

Sizings::Sizings(const ir::Program& program, const std::vector<Shape>& shapes, const Axis& about) {
  program_.dims = program.dims;
  program_.axes = program.axes;
  for (const Sizes& mesh : meshes(program, axes_of(shapes))) {
    FreeDims dims(program_);
    for (const Shape& shape : shapes)
      for (const Split& split : shape.dims) dims.add(split, mesh);
    add_dims(program_, mesh, dims.least(), shapes, all_);
  }
  if (!about.empty())
    std::stable_partition(all_.begin(), all_.end(),
                          [&](const Sizes& sizes) { return sizes.axis(about) > 1; });
}

namespace {

using Visit = std::function<bool(const std::vector<int64_t>&)>;

/// Fills x from position i with values whose absolute values sum to `rest`.
bool fill(std::vector<int64_t>& x, size_t i, int64_t rest, size_t& budget, const Visit& visit) {
  if (i == x.size()) {
    if (rest != 0) return false;
    if (budget == 0) return true;
    --budget;
    return visit(x);
  }
  for (int64_t magnitude = i + 1 == x.size() ? rest : 0; magnitude <= rest; ++magnitude)
    for (int64_t sign : {-1, 1}) {
      if (magnitude == 0 && sign == 1) continue;
      x[i] = sign * magnitude;
      if (fill(x, i + 1, rest - magnitude, budget, visit)) return true;
    }
  x[i] = 0;
  return false;
}

}  // namespace

bool integers_by_size(size_t length, size_t budget, const Visit& visit) {
  bool found = false;
  const Visit remember = [&](const std::vector<int64_t>& x) { return found = visit(x); };
  std::vector<int64_t> x(length, 0);
  for (int64_t sum = 0; sum <= (length ? 12 : 0) && budget > 0; ++sum)
    if (fill(x, 0, sum, budget, remember)) break;
  return found;
}

}  // namespace shardproof::denote
