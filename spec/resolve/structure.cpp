// expand, rearrange, roll, rev, ppermute, cumsum, argsort: ops that mostly move entries.
#include <algorithm>

#include "spec/resolve/patterns.h"
#include "spec/resolve/primitives.h"
#include "spec/resolve/regrouping.h"

namespace shardproof::resolution {
namespace {

template <class Op>
std::vector<Values> rearranged(Body& body, const CallSite& site, bool aligns) {
  if (!expect(body, site, 1, 1)) return recovered(body, site);
  auto read = read_pattern(body, site, 1, Right::required);
  if (!read) return recovered(body, site);
  if (aligns) align(body, *read, read->pattern.left[0]);
  const Dtype dtype = body.type(read->operands[0]).dtype;
  auto op = elaborated(body, site, *read, Op{std::move(read->pattern)});
  if (!op) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, dtype, site.range, read->ranges))};
}

std::vector<Values> expand(Body& body, const CallSite& site) {
  return rearranged<ir::Expand>(body, site, true);
}

// A rearrange renames on the right: its operand keeps its names.
std::vector<Values> rearrange(Body& body, const CallSite& site) {
  return rearranged<ir::Rearrange>(body, site, false);
}

// roll and ppermute: (x, by=), one dim in brackets.
std::vector<Values> moved(Body& body, const CallSite& site) {
  const bool permute = site.name == "ppermute";
  if (!expect(body, site, 1, 1, {"by"})) return unknown_result();
  if (permute && !body.scope->is_plan) {
    body.error("E0109", site.range, "a fn has no collectives; `roll` moves entries");
    return recovered(body, site);
  }
  const bool right = site.pattern && site.pattern->right;
  auto read = read_pattern(body, site, 1, permute ? Right::required : Right::optional,
                           right ? "both" : "left");
  const ir::ValueId by = offset_argument(body, site, "by");
  if (!read || by == ir::no_value) return recovered(body, site);
  const Dtype dtype = body.type(read->operands[0]).dtype;
  ir::Pattern& pattern = read->pattern;
  if (!right) {
    pattern.right = pattern.left[0];
    pattern.right_bracket = pattern.left_bracket;
  }
  align(body, *read, pattern.left[0]);
  auto op = elaborated(
      body, site, *read,
      permute ? ir::Op(ir::Ppermute{std::move(pattern)}) : ir::Op(ir::Roll{std::move(pattern)}));
  if (!op) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), {read->operands[0], by}, dtype, site.range,
                           {read->ranges[0], site.named.at("by").range}))};
}

// rev: (x), one dim in brackets.
std::vector<Values> reversed(Body& body, const CallSite& site) {
  if (!expect(body, site, 1, 1)) return unknown_result();
  const bool right = site.pattern && site.pattern->right;
  auto read = read_pattern(body, site, 1, Right::optional, right ? "both" : "left");
  if (!read) return recovered(body, site);
  const Dtype dtype = body.type(read->operands[0]).dtype;
  ir::Pattern& pattern = read->pattern;
  if (!right) {
    pattern.right = pattern.left[0];
    pattern.right_bracket = pattern.left_bracket;
  }
  align(body, *read, pattern.left[0]);
  auto op = elaborated(body, site, *read, ir::Rev{std::move(pattern)});
  if (!op) return recovered(body, site, dtype);
  return {tensor(body.emit(std::move(*op), read->operands, dtype, site.range, read->ranges))};
}

/// A fix of the last error, if it has none of its own: `N; N` for `N` and `[N]`, `B N; N` for
/// `B [N]`, where the dim to work on is in brackets, or alone.
void advise_semicolon(Body& body, const CallSite& site) {
  Diagnostic& error = body.world.diagnostics.back();
  std::string text(body.world.sources.text(site.pattern_range));
  const size_t open = text.find('['), close = text.find(']');
  std::string dim = text;
  if (open != text.npos && close != text.npos && open < close) {
    dim = text.substr(open + 1, close - open - 1);
    text = text.substr(0, open) + dim + text.substr(close + 1);
  }
  if (error.code != "E0305" || !error.fixes.empty() || dim.empty() ||
      dim.find_first_of(" ;[]>") != dim.npos || text.find(';') != text.npos)
    return;
  text += "; " + dim.substr(0, dim.find('/'));
  error.fixes = {{"the dim it works on stands after `;`: `" + text + "`",
                  {{site.pattern_range, text}},
                  false,
                  ""}};
}

std::vector<Values> ordered(Body& body, const CallSite& site) {
  const bool sorts = site.name == "argsort";
  if (!expect(body, site, 1, 1)) return unknown_result();
  const size_t errors = body.world.errors();
  auto read = read_pattern(body, site, 1, Right::none);
  if (!read) {
    const bool bracketed =
        site.has_pattern && body.world.sources.text(site.pattern_range).find('[') != Name::npos;
    if (bracketed && body.world.errors() > errors) advise_semicolon(body, site);
    return unknown_result();
  }
  read->pattern.right = read->pattern.left[0];
  const auto written = open_groups(body, site, *read, Works::elementwise);
  std::optional<size_t> dim;
  if (read->working.size() == 1) dim = position(read->pattern.left[0], read->working[0]);
  const Type& type = body.type(read->operands[0]);
  if (!dim) {
    dims_error(body, site, *read, "after `;` stands the one dim it works on");
    advise_semicolon(body, site);
    return unknown_result();
  }
  if (!is_float(type.dtype) && !is_integer(type.dtype)) {
    body.error("E0104", site.range, "`" + site.name + "` of " + to_string(type.dtype));
    return unknown_result();
  }
  const ir::OrderedFn fn = sorts ? ir::OrderedFn::argsort : ir::OrderedFn::cumsum;
  auto op = elaborated(body, site, *read, ir::Ordered{fn, std::move(read->pattern), *dim});
  if (!op) return unknown_result();
  const ir::ValueId id = body.emit(std::move(*op), read->operands, sorts ? Dtype::i32 : type.dtype,
                                   site.range, read->ranges);
  return {regrouped_as(body, site, id, written)};
}

}  // namespace

void add_structure(Handlers& table) {
  table["expand"] = expand;
  table["rearrange"] = rearrange;
  table["roll"] = table["ppermute"] = moved;
  table["rev"] = reversed;
}

void add_ordered(Handlers& table) { table["cumsum"] = table["argsort"] = ordered; }

}  // namespace shardproof::resolution
