// A stated type, or the type that a library function's pattern gives an argument: compared with the
// value's type, never used to infer one.
#include "spec/rules/fixes.h"
#include "spec/rules/pattern.h"
#include "spec/rules/table.h"
#include "spec/rules/words.h"

namespace shardproof::rules {
namespace {

bool same_names(const Shape& a, const Shape& b) {
  for (size_t i = 0; i < a.dims.size() && i < b.dims.size(); ++i)
    if (a.dims[i].dim != b.dims[i].dim) return false;
  return true;
}

/// A number is R. The number 0 may also be U.
bool number_is(const Application& app, const Type& stated) {
  if (app.type(0).dtype != Dtype::number || !stated.dims.empty()) return false;
  for (const auto& [axis, mark] : stated.marks)
    if (mark == Mark::Max || (mark == Mark::U && !app.is_zero(0))) return false;
  return true;
}

bool equal(const Application& app, const Type& stated, bool pattern) {
  const Type& actual = app.type(0);
  if (!same_shape(app.program, actual, stated, app.has_gradient(0))) return false;
  return pattern || (actual.dtype == stated.dtype && same_names(actual, stated));
}

Refusal not_equal(const Application& app, const Type& stated, bool pattern) {
  const Type& actual = app.type(0);
  const bool marks = pattern && same_dims(app.program, actual, stated);
  const std::string code = marks ? "E0306" : pattern ? "E0301" : "E0302";
  const std::string message =
      "the value is " + show(app.program, actual) +
      (pattern ? ", the pattern says `" + show(app.program, static_cast<const Shape&>(stated)) + "`"
               : ", not " + show(app.program, stated));
  auto refusal = unequal(app.program, code, message, actual, stated, app.has_gradient(0));
  if (!refusal)
    return {.code = code,
            .message = message,
            .label = actual.dtype == stated.dtype ? "a dim changes its name in a pattern only"
                                                  : "there is no promotion: write the cast"};
  for (FixHint& hint : refusal->fixes)
    if (pattern) hint.kind = FixHint::Kind::wrap_operand;
  return *refusal;
}

}  // namespace

Types rule(Application& app, const ir::Ascribe& op) {
  Type stated = op.type;
  const bool pattern = op.library_argument;  // has no dtype
  if (pattern || stated.dtype == Dtype::number) stated.dtype = app.type(0).dtype;
  app.guess = {stated};
  if (auto refusal = check_type(stated)) refuse(std::move(*refusal));
  if (number_is(app, stated) || equal(app, stated, pattern)) return {stated};
  refuse(not_equal(app, stated, pattern));
}

}  // namespace shardproof::rules
