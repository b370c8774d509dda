#include "impl/plan/steps.h"

#include <algorithm>
#include <numeric>

#include "kernels/number.h"

namespace shardproof::plan {

int64_t Ref::count() const {
  return std::accumulate(extents.begin(), extents.end(), int64_t{1}, std::multiplies<>());
}

bool Ref::contiguous() const {
  int64_t expected = 1;
  for (size_t i = extents.size(); i-- > 0; expected *= extents[i])
    if (extents[i] != 1 && strides[i] != expected) return false;
  return true;
}

bool is_collective(const Step& step) {
  static const char* const ops[] = {"all_gather", "all_reduce", "psum_scatter", "all_to_all",
                                    "ppermute",   "send",       "receive"};
  return std::find(std::begin(ops), std::end(ops), step.op) != std::end(ops);
}

namespace {

bool meet(const std::vector<BufferId>& a, const std::vector<BufferId>& b) {
  for (auto i = a.begin(), j = b.begin(); i != a.end() && j != b.end();)
    if (*i == *j)
      return true;
    else
      *i < *j ? ++i : ++j;
  return false;
}

void add(const Step& step, Access& access) {
  access.reads.insert(access.reads.end(), step.reads.begin(), step.reads.end());
  access.writes.insert(access.writes.end(), step.writes.begin(), step.writes.end());
  for (const Step& each : step.body) add(each, access);
}

}  // namespace

bool communicates(const Step& step) {
  return is_collective(step) || any_step(step.body, is_collective);
}

bool has_starts(const std::vector<Step>& steps) {
  return any_step(steps, [](const Step& step) { return step.starts; });
}

Access access_of(const Step& step) {
  Access access;
  add(step, access);
  for (std::vector<BufferId>* each : {&access.reads, &access.writes}) {
    std::sort(each->begin(), each->end());
    each->erase(std::unique(each->begin(), each->end()), each->end());
  }
  return access;
}

bool conflict(const Access& a, const Access& b) {
  return meet(a.writes, b.reads) || meet(a.reads, b.writes) || meet(a.writes, b.writes);
}

bool reads(const Step& step, BufferId id) {
  return has(step.reads, id) || std::any_of(step.body.begin(), step.body.end(),
                                            [&](const Step& each) { return reads(each, id); });
}

bool writes(const Step& step, BufferId id) {
  return has(step.writes, id) || std::any_of(step.body.begin(), step.body.end(),
                                             [&](const Step& each) { return writes(each, id); });
}

/// Counts each of the buffers once.
void BufferUses::count(const std::vector<BufferId>& ids, size_t Uses::*use, int by) {
  for (auto id = ids.begin(); id != ids.end(); ++id) {
    if (std::find(ids.begin(), id, *id) != id) continue;
    if (*id >= uses_.size()) uses_.resize(2 * *id + 16);
    uses_[*id].*use += static_cast<size_t>(by);
  }
}

void BufferUses::change(const Step& step, int by) {
  if (!step.is_loop) {
    count(step.reads, &Uses::reads, by);
    count(step.writes, &Uses::writes, by);
  }
  for (const Step& each : step.body) change(each, by);
}

void BufferUses::change(const Access& access, int by) {
  count(access.reads, &Uses::reads, by);
  count(access.writes, &Uses::writes, by);
}

int64_t Whole::get(const StepContext& context) const {
  if (known) return *known;
  if (!index) return static_cast<int64_t>(number_at(ref.element, context.at(ref), 0));
  int64_t value = index->offset;
  for (const Ref::Term& term : index->terms) value += term.stride * context.loops[term.loop];
  return value;
}

Call Exchange::call(int size, const StepContext& context) const {
  const auto sent = static_cast<size_t>(send.count()), n = static_cast<size_t>(size);
  const size_t bytes = sent * size_of(send.element);
  switch (collective) {
    case Collective::all_gather:
    case Collective::send:
      return Call::move(collective, bytes);
    case Collective::all_to_all:
      return Call::move(collective, bytes / n);
    case Collective::all_reduce:
      return {collective, send.element, reduction, sent};
    case Collective::reduce_scatter:
      return {collective, send.element, reduction, sent / n};
    case Collective::permute: {
      const int64_t by = (shift.get(context) % size + size) % size;
      return Call::permute(bytes, static_cast<int>((position + by) % size),
                           static_cast<int>((position + size - by) % size), size);
    }
  }
  throw std::logic_error("not a collective");
}

namespace {

void exchange(const Step& step, StepContext& context) {
  const Exchange& exchange = *step.exchange;
  Group& group = *context.groups[exchange.group];
  context.communicator->collective(group, exchange.call(group.size(), context),
                                   context.at(exchange.send), context.at(exchange.receive),
                                   step.place);
}

std::vector<const void*> addresses_of(const std::vector<Ref>& inputs, const StepContext& context) {
  std::vector<const void*> from;
  from.reserve(inputs.size());
  for (const Ref& input : inputs) from.push_back(context.at(input));
  return from;
}

void run_kernel(const Step& step, StepContext& context) {
  void* to = context.at(step.kernel->out);
  step.launch(*context.queue, {&to, 1}, addresses_of(step.kernel->inputs, context));
}

void run_on_host(Device& device, const Step& step, StepContext& context) {
  void* to = context.at(step.kernel->out);
  device.run(step.kernel->op, *context.queue, {&to, 1}, addresses_of(step.kernel->inputs, context));
}

void run_fused(const Step& step, StepContext& context) {
  std::vector<void*> to;
  for (const Ref& output : step.fused->outputs) to.push_back(context.at(output));
  step.launch(*context.queue, to, addresses_of(step.fused->inputs, context));
}

}  // namespace

void prepare(std::vector<Step>& steps, Device& device) {
  for (Step& step : steps) {
    if (step.is_loop) prepare(step.body, device);
    if (step.exchange) step.run = exchange;
    if (step.fused) {
      step.launch = device.prepare_fused(step.fused->op);
      step.run = run_fused;
    }
    if (step.kernel && device.is_host()) {
      step.run = [&device](const Step& own, StepContext& context) {
        run_on_host(device, own, context);
      };
    } else if (step.kernel) {
      step.launch = device.prepare(step.kernel->op);
      step.run = run_kernel;
    }
  }
}

}  // namespace shardproof::plan
