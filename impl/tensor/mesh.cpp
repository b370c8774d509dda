#include "impl/tensor/mesh.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>

#include "spec/types/layout.h"

namespace shardproof {

Mesh::Mesh(std::vector<std::pair<Axis, int64_t>> axes) : axes_(std::move(axes)) {
  int64_t ranks = 1;
  for (size_t i = 0; i < axes_.size(); ++i) {
    const auto& [axis, size] = axes_[i];
    const auto first = std::find_if(axes_.begin(), axes_.end(), [&axis = axis](const auto& each) {
      return each.first == axis;
    });
    if (size < 1)
      throw std::invalid_argument("mesh axis " + axis + " has size " + std::to_string(size) +
                                  "; it is at least 1");
    if (first != axes_.begin() + static_cast<std::ptrdiff_t>(i))
      throw std::invalid_argument("mesh axis " + axis + " is given twice");
    if (size > 1'000'000'000 / ranks)
      throw std::invalid_argument("mesh: more than 1000000000 ranks");
    ranks *= size;
  }
}

Mesh Mesh::parse(const std::string& text) {
  std::vector<std::pair<Axis, int64_t>> axes;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string part = text.substr(begin, end - begin);
    const size_t equals = part.find('=');
    int64_t size = 0;
    const char* last = part.data() + part.size();
    const char* digits = equals == std::string::npos ? last : part.data() + equals + 1;
    const auto read = std::from_chars(digits, last, size);
    if (read.ec == std::errc::result_out_of_range)
      throw std::invalid_argument("mesh: \"" + part + "\": no mesh is as large as that");
    if (equals == 0 || read.ec != std::errc() || read.ptr != last)
      throw std::invalid_argument("mesh: \"" + part + "\" is not AXIS=SIZE, as in d=2,t=4");
    axes.emplace_back(part.substr(0, equals), size);
    begin = end + 1;
  }
  return Mesh(std::move(axes));
}

int64_t Mesh::ranks() const {
  int64_t count = 1;
  for (const auto& [axis, size] : axes_) count *= size;
  return count;
}

int64_t Mesh::size(const Axis& axis) const {
  for (const auto& [name, size] : axes_)
    if (name == axis) return size;
  return 1;
}

int64_t Mesh::stride(const Axis& axis) const {
  int64_t stride = 1;
  for (size_t i = axes_.size(); i-- > 0; stride *= axes_[i].second)
    if (axes_[i].first == axis) return stride;
  return 0;
}

int64_t Mesh::digit(int64_t rank, const Axis& axis) const {
  const int64_t step = stride(axis);
  return step == 0 ? 0 : rank / step % size(axis);
}

int64_t Mesh::blocks(const std::vector<Axis>& axes) const {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= size(axis);
  return count;
}

int64_t Mesh::block(int64_t rank, const std::vector<Axis>& axes) const {
  if (axes.size() == 1) return digit(rank, axes[0]);
  std::vector<int64_t> digits, radices;
  for (const Axis& axis : axes) {
    digits.push_back(digit(rank, axis));
    radices.push_back(size(axis));
  }
  return layout::mixed_radix<int64_t>(digits.data(), radices.data(),
                                      static_cast<int>(digits.size()), 0);
}

std::vector<int> Mesh::along(int64_t rank, const std::vector<Axis>& axes) const {
  constexpr int64_t most = 1 << 20;  // the list of ranks is stored and sent to each rank
  int64_t count = 1;
  for (const Axis& axis : axes)
    if (size(axis) > most / count)
      throw std::invalid_argument("mesh: a group of more than 1048576 ranks is not planned");
    else
      count *= size(axis);
  std::vector<int> ranks{static_cast<int>(rank)};
  ranks.reserve(static_cast<size_t>(count));
  // Replaces each by those along one more axis, the last ones first, in place.
  for (const Axis& axis : axes) {
    const int64_t length = size(axis), step = stride(axis), own = digit(rank, axis);
    const size_t before = ranks.size();
    ranks.resize(before * static_cast<size_t>(length));
    for (size_t at = before; at-- > 0;) {
      const int64_t first = ranks[at] - own * step;
      for (int64_t i = length; i-- > 0;)
        ranks[at * static_cast<size_t>(length) + static_cast<size_t>(i)] =
            static_cast<int>(first + i * step);
    }
  }
  return ranks;
}

std::vector<std::vector<int>> Mesh::groups(const std::vector<Axis>& axes) const {
  std::vector<std::vector<int>> groups;
  for (int64_t rank = 0; rank < ranks(); ++rank)
    if (block(rank, axes) == 0) groups.push_back(along(rank, axes));
  return groups;
}

std::string Mesh::text() const {
  std::string text;
  for (const auto& [axis, size] : axes_)
    text += (text.empty() ? "" : " ") + axis + "=" + std::to_string(size);
  return text.empty() ? "one rank" : text;
}

}  // namespace shardproof
