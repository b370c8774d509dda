#include "spec/check/unchecked.h"

namespace shardproof {
namespace {

thread_local bool believes = false;

}  // namespace

BelievesEverything::BelievesEverything() { believes = true; }
BelievesEverything::~BelievesEverything() { believes = false; }

bool believes_everything() { return believes; }

}  // namespace shardproof
