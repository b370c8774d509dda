#include "impl/plan/passes/list.h"

namespace shardproof::plan {
namespace {

bool always(const Wanted&) { return true; }
bool fuses(const Wanted& wanted) { return wanted.fuse; }
bool elides(const Wanted& wanted) { return wanted.elide; }
bool overlaps(const Wanted& wanted) { return wanted.overlap; }
bool has_constants(const Wanted& wanted) { return wanted.constant; }

}  // namespace

const std::vector<Pass>& passes() {
  static const std::vector<Pass> all{
      {"join_bias", fuses, [](const Draft& d) { join_bias(d.steps, d.given, d.device); }},
      {"join_parts", elides, [](const Draft& d) { join_parts(d.steps, d.pieces, d.given); }},
      {"add_into", elides, [](const Draft& d) { add_into(d.steps, d.pieces, d.given); }},
      {"fold_scale", always, [](const Draft& d) { fold_scale(d.steps, d.given); }},
      {"keep_narrow", elides, [](const Draft& d) { keep_narrow(d.steps, d.pieces, d.given); }},
      {"compute_packed", elides,
       [](const Draft& d) { compute_packed(d.steps, d.pieces, d.given); }},
      {"make_in_stack", always, [](const Draft& d) { make_in_stack(d.steps, d.pieces, d.given); }},
      {"join_rows", fuses, [](const Draft& d) { join_rows(d.steps, d.pieces, d.given, d.device); }},
      {"take_constant", has_constants,
       [](const Draft& d) { d.first = take_constant(d.steps, d.pieces, d.given, d.constant); }},
      {"round_in_product", fuses,
       [](const Draft& d) { round_in_product(d.steps, d.given, d.device); }},
      {"overlap", overlaps, [](const Draft& d) { overlap(d.steps, d.alike); }},
  };
  return all;
}

}  // namespace shardproof::plan
