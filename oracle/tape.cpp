#include "oracle/tape.h"

#include <algorithm>

#include "oracle/disturbed.h"

namespace shardproof::oracle {

namespace {
thread_local GradientsSeen::Visit seen;
}  // namespace

GradientsSeen::GradientsSeen(Visit visit) { seen = std::move(visit); }
GradientsSeen::~GradientsSeen() { seen = nullptr; }

Var constant(Tensor value) {
  auto node = std::make_shared<Node>();
  node->value = std::move(value);
  return node;
}

bool one_is_followed(const Vars& vars) {
  return std::any_of(vars.begin(), vars.end(), [](const Var& var) { return var->followed; });
}

void contribute(const Var& x, const Tensor& gradient) {
  if (!x->followed) return;
  if (!x->has_gradient()) {
    x->gradient = gradient;
    return;
  }
  for (size_t i = 0; i < gradient.data.size(); ++i) x->gradient.data[i] += gradient.data[i];
}

Var Tape::record(const Origin& origin, Tensor value, PullBack pull_back) {
  Var result = constant(std::move(value));
  result->followed = true;
  entries_.push_back({origin, result, std::move(pull_back)});
  return result;
}

void Tape::run_back() {
  for (; !entries_.empty(); entries_.pop_back()) {
    const Entry& entry = entries_.back();
    if (!entry.result->has_gradient()) continue;
    if (disturbs()) disturb(entry.result->gradient);
    if (seen) seen(entry.origin, entry.result->gradient);
    try {
      entry.pull_back(*entry.result);
    } catch (const std::logic_error& error) {
      throw error_at(entry.origin, {entry.result->value.shape}, error.what());
    }
    entry.result->gradient = {};
  }
}

}  // namespace shardproof::oracle
