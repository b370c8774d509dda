// The column `grows` of the table of pointwise functions is true of the values, and a row under
// each function has the order that the column states.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "spec/lower/lower.h"
#include "spec/resolve/resolve.h"

namespace shardproof::lower {
namespace {

using ir::Growth;

/// What the values of the function do between neighbours in increasing order.
Growth seen(ir::UnaryFn fn) {
  const ir::Domain domain = ir::domain(fn);
  const bool truth = ir::takes(fn) == ir::Takes::booleans;
  const bool everywhere = domain.kind == ir::Domain::everywhere;
  std::set<int> signs;
  const double least = everywhere ? -3 : domain.least;
  for (double x = truth ? 0 : least + (everywhere ? 0 : 0.125); x < (truth ? 1 : least + 6);
       x += truth ? 1 : 0.125) {
    const double step = value(fn, x + (truth ? 1 : 0.125)) - value(fn, x);
    signs.insert(step > 0 ? 1 : step < 0 ? -1 : 0);
  }
  if (signs == std::set{1}) return Growth::rises;
  if (signs == std::set{-1}) return Growth::falls;
  return signs.contains(-1) ? Growth::turns : Growth::steps;
}

TEST(Growth, OfEveryFunctionIsThatOfItsValues) {
  for (ir::UnaryFn fn : ir::unary_fns)
    EXPECT_EQ(static_cast<int>(seen(fn)), static_cast<int>(growth(fn))) << name_of(fn);
}

/// Whether the rows of both have one order, for every x.
bool same_order(const std::string& plan, const std::string& model) {
  const auto function = [](const std::string& head, const std::string& rows,
                           const std::string& of) {
    return head + "(x: f32[" + rows + "]) -> i32[" + rows + "] { return argsort(\"" + rows +
           "; V\", " + of + ") }\n";
  };
  const std::string text = "mesh d\ndim B V\n" + function("fn f", "B V", model) +
                           function("plan p implements f", "B/d V", plan);
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const Resolved r = resolve(
      sources, "test.shard", [&](const std::string&) { return std::optional(text); }, diagnostics);
  for (const Diagnostic& d : diagnostics) throw std::runtime_error(d.message + "\n" + text);
  const size_t own = r.plans.back();
  return compare_functions(r.program, own, *r.program.functions.at(own).model, {}).equal;
}

TEST(Growth, DecidesTheOrderOfARow) {
  for (ir::UnaryFn fn : ir::unary_fns) {
    if (takes(fn) == ir::Takes::booleans) continue;
    const std::string name = name_of(fn), of_x = name == "-" ? "-x" : name + "(x)";
    EXPECT_EQ(same_order(of_x, "x"), growth(fn) == Growth::rises) << name;
    EXPECT_EQ(same_order(of_x, "-x"), growth(fn) == Growth::falls) << name;
  }
}

}  // namespace
}  // namespace shardproof::lower
