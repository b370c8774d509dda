#include "impl/compile/gathers.h"

namespace shardproof::compile {
namespace {

/// The dim of a row-major view in which steps of `stride` stay, `extent` of them.
std::optional<size_t> dim_of(const Ref& out, int64_t stride, int64_t extent) {
  for (size_t d = 0; d < out.extents.size(); ++d) {
    if (out.extents[d] == 1 || stride < out.strides[d] || stride % out.strides[d] != 0) continue;
    if ((extent - 1) * (stride / out.strides[d]) < out.extents[d]) return d;
    return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void Gathers::forget(BufferId buffer) {
  std::erase_if(all_, [&](const Gathered& each) {
    return each.out.buffer == buffer || each.table.buffer == buffer || each.ids.buffer == buffer;
  });
}

std::optional<Gathers::Sources> Gathers::of(const View& view) const {
  for (const Gathered& each : all_) {
    const Ref& ref = view.ref;
    if (ref.buffer != each.out.buffer || ref.element != each.out.element || ref.offset != 0 ||
        !ref.terms.empty())
      continue;
    Sources found{view, view, each.window, each.table, each.ids};
    found.table.ref.buffer = each.table.buffer;
    found.ids.ref.buffer = each.ids.buffer;
    found.ids.ref.element = each.ids.element;
    for (size_t i = 0; i < view.ids.size(); ++i) {
      int64_t table = 0, ids = 0;
      if (ref.extents[i] != 1) {
        const auto dim = dim_of(each.out, ref.strides[i], ref.extents[i]);
        if (!dim) return std::nullopt;
        const int64_t steps = ref.strides[i] / each.out.strides[*dim];
        table = each.table_strides[*dim] * steps;
        ids = each.ids_strides[*dim] * steps;
      }
      found.table.ref.strides[i] = table;
      found.ids.ref.strides[i] = ids;
    }
    return found;
  }
  return std::nullopt;
}

namespace {

bool is_index(const Step& step) {
  return step.kernel && std::holds_alternative<Index>(step.kernel->op);
}

void drop_unread(std::vector<Step>& steps, const std::vector<BufferId>& given,
                 const plan::BufferUses& uses) {
  std::erase_if(steps, [&](const Step& step) {
    if (!is_index(step)) return false;
    const BufferId made = step.kernel->out.buffer;
    return uses.reads_of(made) == 0 && !has(given, made);
  });
  for (Step& step : steps) drop_unread(step.body, given, uses);
}

}  // namespace

void drop_unread(std::vector<Step>& steps, const std::vector<BufferId>& given) {
  if (plan::any_step(steps, is_index)) drop_unread(steps, given, plan::BufferUses(steps));
}

}  // namespace shardproof::compile
