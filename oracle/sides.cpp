#include "oracle/sides.h"

#include <algorithm>

namespace shardproof::oracle {
namespace {

thread_local Sides* living = nullptr;

}  // namespace

Sides::Sides() : before_(living) { living = this; }
Sides::~Sides() { living = before_; }

size_t Sides::taken() const {
  size_t count = 0;
  for (const auto& [instr, taken] : taken_)
    count += static_cast<size_t>(taken.holds) + static_cast<size_t>(taken.fails);
  return count;
}

bool Sides::one_is_open() const {
  return std::any_of(taken_.begin(), taken_.end(), [](const auto& each) {
    return each.second.operands_differ && each.second.holds != each.second.fails;
  });
}

Sides* sides() { return living; }

}  // namespace shardproof::oracle
