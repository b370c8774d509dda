#pragma once
// The states of several operands on one axis, combined: the table for add, mul, div, where, and
// every op that is a product or a sum of its operands.
#include "spec/rules/application.h"

namespace shardproof::rules {

/// How an op uses an operand, on axes that split the same dim in all operands that have the dim.
enum class Role {
  term,     ///< added: U in all terms or in none
  factor,   ///< multiplied: U in one factor, R in the others
  divisor,  ///< neither U nor Max
  argument  ///< the op is not linear in it: never U
};

/// The state of the result on `axis`. One role per operand; operands without a role are ignored.
/// Throws Refused.
State combine(const Application& app, const Axis& axis, const std::vector<Role>& roles);

/// combine() on every axis: the marks of the result (S adds no mark).
Marks combine(const Application& app, const std::vector<Role>& roles);

}  // namespace shardproof::rules
