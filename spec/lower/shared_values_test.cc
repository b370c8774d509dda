// Values that plan and model share: those that are equal, with the sign that is known of them.
#include "spec/lower/shared_values.h"

#include <gtest/gtest.h>

#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace shared_values_test {

using algebra::Algebra;
using algebra::Budget;
using algebra::Fault;

/// "name: sign" of the plan's values that are shared.
std::string shared(const std::string& model, const std::string& plan, Fault fault = Fault::none) {
  const std::string head = "mesh d\ndim B M\n", type = "(x y: f32[B";
  const std::string text = head + "fn f" + type + "]) -> f32[B] {\n" + model +
                           "\n}\nplan p implements f" + type + "/d]) -> f32[B/d] {\n" + plan +
                           "\n}\n";
  Sources sources;
  std::vector<Diagnostic> errors;
  const Resolved read = resolve(
      sources, "test.shard", [&](const std::string&) { return std::optional(text); }, errors);
  for (const Diagnostic& each : errors) ADD_FAILURE() << each.message;
  const size_t p = read.plans.back(), f = *read.program.functions.at(p).model;
  Algebra a(Budget{}, fault);
  Variables variables;
  const auto lowered = [&](size_t function) {
    Request request;
    request.function = function, request.variables = &variables, request.keeps_values = true;
    return lower_function(a, read.program, request, {});
  };
  const Lowered right = lowered(f), left = lowered(p);
  std::string found;
  for (const auto& [value, leaf] :
       shared_values(a, read.program, {p, &left}, {f, &right}, Shared::named).plan)
    found += read.program.functions.at(p).values.at(value).name + ": " +
             (leaf.positive      ? ">"
              : leaf.nonnegative ? ">="
                                 : "any") +
             "; ";
  return found;
}

const std::string model = "    u = exp(x) * y\n    v = exp(x) + 1\n    return u / v",
                  same = "    b = 1 + exp(x)\n    c = y * exp(x)\n    return c / b",
                  other = "    b = 2 + exp(x)\n    c = y * exp(x)\n    return c / (b - 1)";

TEST(SharedValues, AreThoseThatAreEqual) {
  EXPECT_EQ(shared(model, same), "b: >; c: any; ");
  EXPECT_EQ(shared(model, other), "c: any; : >; ");  // b - 1 has no name, and is v
  EXPECT_EQ(
      shared("    u = sqrt(x * x) * 3\n    return u", "    b = 3 * sqrt(x * x)\n    return b"),
      "b: >=; ");
}

TEST(SharedValues, FindPlantedFaults) {
  EXPECT_NE(shared(model, other, Fault::shared_unequal), shared(model, other));
  EXPECT_NE(shared(model, same, Fault::shared_sign), shared(model, same));
}

}  // namespace shared_values_test
}  // namespace shardproof::lower
