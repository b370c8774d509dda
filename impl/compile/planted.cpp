#include "impl/compile/planted.h"

#include <atomic>

namespace shardproof::compile {
namespace {

std::atomic<RunFault> planted = RunFault::none;  // ranks are threads

}  // namespace

PlantedRunFault::PlantedRunFault(RunFault fault) { planted = fault; }
PlantedRunFault::~PlantedRunFault() { planted = RunFault::none; }

bool is_planted(RunFault fault) { return planted == fault; }

}  // namespace shardproof::compile
