#include "impl/shard_train/lowest_isa.h"

#include <algorithm>

#include "impl/comm/gather_texts.h"

namespace shardproof::shard_train {

cpu::Isa lowest_isa(Communicator& communicator, cpu::Isa own) {
  cpu::Isa lowest = own;
  for (const std::string& level :
       gather_texts(communicator, cpu::name_of(own), "comparing processors"))
    if (const auto isa = cpu::isa_of(level)) lowest = std::min(lowest, *isa);
  return lowest;
}

}  // namespace shardproof::shard_train
