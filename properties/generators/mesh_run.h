#pragma once
// A plan run on all devices of a few small meshes, against its claim on one device.
#include "spec/check/check.h"
#include "spec/denote/evaluate.h"

namespace shardproof::properties {

/// Gradients of plans by their hand-written backwards: those that come `after` a plan.
denote::Backwards written_backwards(const ir::Program& program);

/// The first difference of a plan from its claim, on three meshes; empty where there is none. The
/// claim is its model's value, of `implements grad` the gradient by dual numbers, or without a
/// model its own value on one device. Meshes whose sizes the plan cannot have (too few entries for
/// a top_k) are drawn again. Throws denote::Error where it cannot be run.
std::string first_difference(const CheckedProgram& checked, size_t plan,
                             const denote::Backwards& backwards);

}  // namespace shardproof::properties
