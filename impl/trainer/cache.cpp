#include "impl/trainer/cache.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "impl/trainer/cache_roles.h"
#include "impl/trainer/draw.h"
#include "kernels/number.h"

namespace shardproof {
namespace {

/// Runs the plan, with its cache.
class Decoder {
 public:
  Decoder(Trainer& trainer, const Program& program, uint32_t document)
      : trainer_(trainer),
        program_(program),
        plan_(program.checked().program().functions.at(cache_plan(program, names(trainer)))),
        roles_(*cache_roles(plan_, names(trainer))),
        state_(trainer.state()),
        document_(document) {
    const std::vector<Split>& ids = param(*roles_.ids).dims;
    for (size_t i = 0; i + 1 < ids.size(); ++i) one_for_each_device(ids[i]);
    length_ = placement(1).size(positions_of(plan_, roles_));
  }

  int64_t length() const { return length_; }

  /// Reads the tokens from position `at`; earlier ones have been read. Returns the logits after the
  /// last token.
  std::vector<double> read(const std::vector<uint32_t>& text, size_t at) {
    const auto count = static_cast<int64_t>(text.size() - at);
    Plan& plan = plan_for(count);
    const Placement here = placement(count);
    std::vector<LocalTensor> data(plan.inputs().size());
    std::vector<const LocalTensor*> inputs;
    for (size_t i = 0; i < data.size(); ++i) {
      const LocalTensor* known = kept(plan.inputs()[i].name, i);
      if (!known) fill(i, data[i] = plan.input(i), here, text, at);
      inputs.push_back(known ? known : &data[i]);
    }
    std::vector<LocalTensor> results = trainer_.run(plan, inputs);
    cache_.clear();
    for (size_t i = 1; i < results.size(); ++i) {
      cache_.push_back(std::move(results[i]));
      cache_.back().type = param(roles_.cache[i - 1]);
    }
    return logits_at(trainer_.communicator(), here, results[0], count - 1);
  }

  /// The plan for `count` tokens; compiled once per count. That for one token, which runs again and
  /// again, keeps what it makes of the weights.
  Plan& plan_for(int64_t count) {
    const auto known = plans_.find(count);
    if (known != plans_.end()) return known->second;
    std::vector<size_t> weights;
    for (size_t i = 0; count == 1 && i < plan_.params.size(); ++i)
      if (state_leaf(plan_.values.at(plan_.params[i]).name)) weights.push_back(i);
    return plans_.emplace(count, trainer_.compile(program_, plan_.name, sizes(count), weights))
        .first->second;
  }

 private:
  static std::vector<Name> names(const Trainer& trainer) {
    std::vector<Name> result;
    for (const StateGroup& group : trainer.roles().state) result.push_back(group.name);
    return result;
  }
  const Type& param(size_t leaf) const { return plan_.values.at(plan_.params.at(leaf)).type; }
  DimSizes sizes(int64_t count) const {
    DimSizes result = trainer_.dims();
    for (const auto& [name, size] : batch_) result[name] = size;
    result[to_string(param(*roles_.ids).dims.back().dim)] = count;
    return result;
  }
  Placement placement(int64_t count) const {
    return {program_.checked().program(), trainer_.placement().mesh(), sizes(count),
            trainer_.communicator().rank()};
  }
  void one_for_each_device(const Split& split) {
    int64_t devices = 1;
    for (const Axis& axis : split.axes) devices *= trainer_.placement().mesh().size(axis);
    batch_[to_string(split.dim)] = devices;
  }
  const LocalTensor* kept(const Name& name, size_t leaf) const {
    const auto at = std::find(roles_.cache.begin(), roles_.cache.end(), leaf);
    if (at != roles_.cache.end() && !cache_.empty())
      return &cache_[static_cast<size_t>(at - roles_.cache.begin())];
    return state_leaf(name);
  }
  const LocalTensor* state_leaf(const Name& name) const {
    for (const checkpoint::Leaf& each : state_)
      if (each.name == name) return each.tensor;
    return nullptr;
  }
  /// Fills every sequence with the text. The plan never reads the rest of it.
  void fill(size_t leaf, LocalTensor& to, const Placement& here, const std::vector<uint32_t>& text,
            size_t at) const {
    if (to.buffer.bytes()) std::memset(to.buffer.data(), 0, to.buffer.bytes());
    if (leaf == *roles_.at) set_number(to.element, to.buffer.data(), 0, static_cast<double>(at));
    if (leaf != *roles_.ids && leaf != roles_.segments) return;
    std::vector<uint32_t> row(text.begin() + static_cast<ptrdiff_t>(at), text.end());
    if (leaf == roles_.segments) row = segments(text);
    const auto first = static_cast<size_t>(here.first(to.type.dims.back()));
    const auto count = static_cast<size_t>(to.extents.back());
    for (size_t i = 0; i < static_cast<size_t>(to.count()); ++i)
      if (const size_t position = first + i % count; position < row.size())
        set_number(to.element, to.buffer.data(), static_cast<int64_t>(i), row[position]);
  }
  /// The number of documents started so far, at each position.
  std::vector<uint32_t> segments(const std::vector<uint32_t>& text) const {
    std::vector<uint32_t> result;
    uint32_t begun = 0;
    for (const uint32_t token : text) result.push_back(begun += token == document_);
    return result;
  }

  Trainer& trainer_;
  const Program& program_;
  const ir::Function& plan_;
  const CacheRoles roles_;
  const std::vector<checkpoint::Leaf> state_;
  const uint32_t document_;
  DimSizes batch_;
  int64_t length_ = 0;
  std::map<int64_t, Plan> plans_;  // by number of tokens
  std::vector<LocalTensor> cache_;
};

}  // namespace

size_t cache_plan(const Program& program, const std::vector<Name>& state) {
  const ir::Program& resolved = program.checked().program();
  std::vector<size_t> found;
  for (size_t i = 0; i < resolved.functions.size(); ++i) {
    const ir::Function& each = resolved.functions[i];
    const bool own = each.kind == ir::Function::Kind::plan && !each.imported && !each.made_for_pads;
    if (own && cache_roles(each, state)) found.push_back(i);
  }
  if (found.size() == 1) return found[0];
  throw PlanError(found.empty() ? "no plan extends a cache: parameters of the state, ids, at, a "
                                  "cache, and segments if it separates documents; results logits "
                                  "and the cache"
                                : "two plans extend a cache, " + resolved.functions[found[0]].name +
                                      " and " + resolved.functions[found[1]].name);
}

Sample sample_with_cache(Trainer& trainer, const Program& program, const SampleOptions& options) {
  using clock = std::chrono::steady_clock;
  Decoder decoder(trainer, program, options.document);
  std::vector<uint32_t> text = first_text(options, decoder.length());
  Sample result;
  decoder.plan_for(static_cast<int64_t>(text.size()));
  decoder.plan_for(1);
  const auto begin = clock::now();
  std::vector<double> logits;
  size_t known = 0;
  for (int64_t i = 0; i < options.count; ++i) {
    logits = decoder.read(text, known);
    known = text.size();
    result.tokens.push_back(draw(logits, options, i));
    if (known == static_cast<size_t>(decoder.length())) {
      text.erase(text.begin(), text.begin() + static_cast<ptrdiff_t>((known + 1) / 2));
      known = 0;
    }
    text.push_back(result.tokens.back());
    if (i == 0) result.prompt_seconds = std::chrono::duration<double>(clock::now() - begin).count();
  }
  result.seconds = std::chrono::duration<double>(clock::now() - begin).count();
  return result;
}

}  // namespace shardproof
