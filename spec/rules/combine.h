#pragma once
// The states of several operands on one axis, combined: RULES' table for add, mul, div, where and
// every op that is a product or a sum of its operands there.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// What an op does with an operand, on axes that split the same dim in all operands that have it.
enum class Role {
  term,     ///< added: all terms U or none
  factor,   ///< multiplied: one U, the others R
  divisor,  ///< never U, nor Max
  argument  ///< not linear in it: never U
};

/// The state of the result on `axis`; one role per operand, operands after the roles do not
/// take part. Throws Refused.
State combine(const Application& app, const Axis& axis, const std::vector<Role>& roles);

/// combine on every axis: marks of the result (S adds none).
Marks combine(const Application& app, const std::vector<Role>& roles);

}  // namespace shardproof::rules
