// Sequences of collectives on the queues of devices.
#include "properties/collectives/sequence.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/device/emulated/emulated.h"

namespace shardproof::properties {
namespace {

RC_GTEST_PROP(Sequences, AreWhatTheirStepsSayOnTheCpu, ()) { hold_sequence(*cpu_device()); }

RC_GTEST_PROP(Sequences, AreWhatTheirStepsSayInAnyOrderThatEventsAllow, ()) {
  hold_sequence(*emulated_device(*rc::gen::arbitrary<uint64_t>()));
}

}  // namespace
}  // namespace shardproof::properties
