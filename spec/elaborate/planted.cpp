#include "spec/elaborate/planted.h"

namespace shardproof::elaborate {
namespace {

thread_local PlantedFault::Fault planted;

}  // namespace

PlantedFault::PlantedFault(Fault fault) { planted = std::move(fault); }
PlantedFault::~PlantedFault() { planted = nullptr; }

void apply_planted(ir::Op& op) {
  if (planted) planted(op);
}

}  // namespace shardproof::elaborate
