#include "impl/run/assumed.h"

#include <algorithm>
#include <sstream>

#include "kernels/number.h"

namespace shardproof::plan {

AssumedInput::AssumedInput(const ir::Function& plan, const ir::Assumption& assumption,
                           const Sources* sources, const Placement& placement)
    : input_(assumption.leaf), place_(plan.name) {
  if (const SourceRange& range = assumption.range; sources && range.file >= 0)
    place_ = sources->file(range.file).path + ":" +
             std::to_string(sources->locate(range.file, range.begin).line);
  const ir::Value& param = plan.values.at(plan.params.at(input_));
  name_ = param.name;
  text_ = assumption.text(name_);
  for (const ir::Assumption::Bound& bound : assumption.bounds)
    bounds_.emplace_back(bound.op, placement.program().bound(bound, placement.numbers()));
  for (const Split& split : param.type.dims) firsts_.push_back(placement.first(split));
}

std::string AssumedInput::broken(const LocalTensor& tensor) const {
  for (int64_t i = 0, count = tensor.count(); i < count; ++i) {
    const double entry = number_at(tensor.element, tensor.buffer.data(), i);
    const bool good = std::all_of(bounds_.begin(), bounds_.end(), [&](const auto& bound) {
      return ir::compare(entry, bound.first, bound.second);
    });
    if (good) continue;
    std::ostringstream text;
    text << place_ << ": the plan assumes " << text_ << ", and " << name_ << "[";
    int64_t left = i, below = count;
    for (size_t d = 0; d < firsts_.size(); ++d) {
      below /= tensor.extents[d];
      text << (d ? ", " : "") << firsts_[d] + left / below;
      left %= below;
    }
    text << "] is " << entry;
    return text.str();
  }
  return "";
}

std::vector<AssumedInput> assumed_inputs(const ir::Function& plan, const Sources* sources,
                                         const Placement& placement) {
  std::vector<AssumedInput> result;
  for (const ir::Assumption& each : placement.program().assumptions(plan))
    result.emplace_back(plan, each, sources, placement);
  return result;
}

}  // namespace shardproof::plan
