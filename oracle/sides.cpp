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
  for (const auto& [instr, bits] : taken_) count += bits == 3 ? 2 : 1;
  return count;
}

bool Sides::one_is_open() const {
  return std::any_of(taken_.begin(), taken_.end(),
                     [](const auto& each) { return each.second != 3; });
}

Sides* sides() { return living; }

}  // namespace shardproof::oracle
