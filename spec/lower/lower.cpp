// Lowers a function: only what the wanted results need, with calls inlined.
#include "spec/lower/lower.h"

#include <algorithm>

#include "spec/elaborate/names.h"
#include "spec/lower/context.h"

namespace shardproof::lower {

namespace {

template <class Visit>
void for_each_use(const ir::Instr& instr, const Visit& visit) {
  for (ir::ValueId v : instr.operands) visit(v);
  std::visit(
      [&](const auto& op) {
        if constexpr (requires { op.body; })
          if (op.body) {
            for (const ir::Instr& inner : op.body->instrs) for_each_use(inner, visit);
            for (ir::ValueId v : op.body->next) visit(v);
            for (ir::ValueId v : op.body->emit) visit(v);
          }
      },
      instr.op);
}

/// Whether each instruction of the block contributes to a wanted value; marks the values that it
/// needs.
std::vector<bool> live(const ir::Block& block, const std::vector<ir::ValueId>& wanted,
                       std::vector<bool>& needed) {
  std::vector<bool> result(block.instrs.size(), false);
  for (ir::ValueId v : wanted) needed.at(v) = true;
  for (size_t i = block.instrs.size(); i-- > 0;) {
    const ir::Instr& instr = block.instrs[i];
    for (ir::ValueId v : instr.results)
      result[i] = result[i] || (v != ir::no_value && needed.at(v));
    if (!result[i]) continue;
    for_each_use(instr, [&](ir::ValueId v) { needed.at(v) = true; });
  }
  return result;
}

/// Values in a `require` are needed, though no result depends on them.
void add_values(const ir::Arith& condition, std::vector<ir::ValueId>* out) {
  if (condition.kind == ir::Arith::Kind::value) out->push_back(condition.value);
  for (const ir::Arith& arg : condition.args) add_values(arg, out);
}

/// Declares the requirements whose values are lowered, each once.
void declare_ready(Context& c, const ir::Block& block, const Frame& frame,
                   std::vector<bool>* done) {
  for (size_t i = 0; i < block.requirements.size(); ++i) {
    if ((*done)[i] || !c.ready(block.requirements[i].condition, frame)) continue;
    (*done)[i] = true;
    c.require(block.requirements[i].condition, &frame);
  }
}

void record(Context& c, const Frame& frame, const ir::Instr& instr) {
  if (!frame.top || c.quiet()) return;
  for (ir::ValueId v : instr.results) {
    if (v == ir::no_value || !frame.needed.at(v)) continue;
    if (c.keeps_values && frame.depth == 0 && !c.block_number) c.values[v] = *frame.values.at(v);
    const ir::Value& value = frame.function.values.at(v);
    const auto& explained = c.options.explained;
    if (!value.name.empty() || (explained && (explained->plan == v || explained->model == v)))
      c.named.push_back({value.name, v, *frame.values.at(v), c.block_number});
  }
}

}  // namespace

std::vector<ir::ValueId> uses(const ir::Instr& instr) {
  std::vector<ir::ValueId> result;
  for_each_use(instr, [&](ir::ValueId v) { result.push_back(v); });
  return result;
}

void Context::block(const ir::Block& block, Frame& frame, const std::vector<ir::ValueId>& wanted) {
  frame.needed.resize(frame.values.size(), false);
  std::vector<ir::ValueId> asked = wanted;
  for (const ir::Requirement& each : block.requirements) add_values(each.condition, &asked);
  const std::vector<bool> leads = live(block, asked, frame.needed);
  std::vector<bool> declared(block.requirements.size(), false);
  declare_ready(*this, block, frame, &declared);
  for (size_t i = 0; i < block.instrs.size(); ++i) {
    if (!leads[i]) continue;
    const ir::Instr& instr = block.instrs[i];
    if (instr.results.size() == 1 && frame.given.count(instr.results[0])) continue;
    if (values.size() >= most_values) throw EnoughValues{};
    const Site site{instr, frame};
    note_whole_numbers(site);
    Results results =
        std::visit([&](const auto& op) { return lower_op(*this, op, site); }, instr.op);
    for (size_t k = 0; k < instr.results.size(); ++k)
      if (instr.results[k] != ir::no_value)
        frame.values.at(instr.results[k]) = std::move(results.at(k));
    note_needs(site);
    for (ir::ValueId v : instr.results)
      if (const auto cut = frame.cuts.find(v); cut != frame.cuts.end())
        frame.values.at(v) = cut->second;
    if (options.seals != Seals::none && unsealed == 0) seal(instr, frame);
    record(*this, frame, instr);
    if (!declared.empty()) declare_ready(*this, block, frame, &declared);
  }
  settle(frame);
}

std::vector<TensorExpr> Context::body(Frame& frame, const std::vector<bool>* wanted) {
  const std::vector<ir::ValueId>& returned = frame.function.returned;
  std::vector<ir::ValueId> values;
  for (size_t i = 0; i < returned.size(); ++i)
    if (wanted == nullptr || wanted->at(i)) values.push_back(returned[i]);
  block(frame.function.body, frame, values);
  std::vector<TensorExpr> results;
  for (size_t i = 0; i < returned.size(); ++i) {
    const bool skipped = wanted != nullptr && !wanted->at(i);
    results.push_back(skipped ? TensorExpr{{}, a.number(0)} : *frame.values.at(returned[i]));
  }
  return results;
}

/// A proved or trusted plan is lowered as its model.
size_t Context::callee(size_t function) const {
  const ir::Function& f = program.functions.at(function);
  if (!f.model || f.implements_grad) return function;
  const bool proved =
      options.use_models && options.proved != nullptr && options.proved->at(function);
  return proved || f.trusted ? *f.model : function;
}

size_t Context::differentiated(size_t function) const {
  const ir::Function& f = program.functions.at(function);
  const bool equal = options.use_models && options.equal != nullptr && options.equal->at(function);
  return f.model && !f.implements_grad && equal ? *f.model : callee(function);
}

std::shared_ptr<Frame> Context::call(size_t function, const std::vector<TensorExpr>& arguments,
                                     const Site& site, bool taped,
                                     const std::vector<bool>& upstream) {
  const ir::Function& f = program.functions.at(callee(function));
  if (f.trusted) throw Unsupported("trusted " + f.name, site.instr.place);
  auto frame = std::make_shared<Frame>(Frame{
      f, std::vector<std::optional<TensorExpr>>(f.values.size()), site.frame.depth, false, taped});
  frame->caller = &site;
  if (std::count(upstream.begin(), upstream.end(), true)) frame->upstream = made_of(f, upstream);
  for (size_t i = 0; i < f.params.size(); ++i)
    frame->values.at(f.params[i]) = typed(arguments.at(i), f.values.at(f.params[i]).type);
  block(f.body, *frame, f.returned);
  frame->caller = nullptr;
  return frame;
}

std::vector<TensorExpr> Context::returned(const Frame& frame) const {
  std::vector<TensorExpr> results;
  for (ir::ValueId v : frame.function.returned) results.push_back(*frame.values.at(v));
  return results;
}

/// A backward without saved parameters is lowered as the derivative of its model.
bool Context::stands_for_derivative(const ir::Function& f, size_t function) const {
  if (!f.implements_grad || !f.model || !f.saved_params.empty()) return false;
  return f.trusted ||
         (options.use_models && options.proved != nullptr && options.proved->at(function));
}

Results lower_op(Context& c, const ir::Call& op, const Site& site) {
  c.check_call(op.function, site);
  const ir::Function& f = c.program.functions.at(op.function);
  if (!site.frame.taped && c.stands_for_derivative(f, op.function))
    return lower_backward_call(c, f, site);
  std::vector<TensorExpr> arguments;
  for (size_t i = 0; i < site.instr.operands.size(); ++i) arguments.push_back(site.operand(i));
  const auto frame = c.call(op.function, arguments, site, site.frame.taped,
                            site.upstream(site.instr.operands.size()));
  if (site.frame.taped) site.frame.calls[&site.instr] = frame;
  Results results = c.returned(*frame);
  for (size_t i = 0; i < results.size(); ++i)
    if (site.instr.results.at(i) != ir::no_value)
      results[i] = c.typed(results[i], site.result(i).type);
  return results;
}

/// `B/d/t` states that |B|/|d| and |B|/|d|/|t| are whole, as every verdict on such a plan says.
static void declare_parts(Context& c, const Split& split) {
  const std::vector<Name> base = c.program.base(split.dim);
  if (base.empty() || split.axes.empty()) return;
  Nf part = c.size_of_base(base.at(elaborate::leading(c.program, split.dim)));
  for (const Axis& axis : split.axes) {
    part = c.a.div(part, c.axis(axis));
    if (!c.a.as_number(part)) c.a.declare_range(part);
  }
}

static bool is_remainder(const ir::Arith& condition) {
  return condition.text == "==" && !condition.args.empty() && condition.args[0].text == "%";
}

/// Parameters, then saved parameters: the arguments, or leaves if there are none.
Frame Context::top_frame(const Request& request) {
  // Comparisons first: the signs that they establish are then known everywhere.
  for (bool remainders : {false, true})
    for (const ir::Requirement& r : program.requirements)
      if (is_remainder(r.condition) == remainders) require(r.condition, nullptr);
  const ir::Function& f = program.functions.at(request.function);
  if (f.trusted) throw Unsupported("trusted " + f.name, {f.name_range, {}, {}});
  const IdRanges own = request.ids == nullptr ? id_ranges(program, request.function) : *request.ids;
  Frame frame{f, std::vector<std::optional<TensorExpr>>(f.values.size()), 0, true};
  if (f.implements_grad && options.seals != Seals::none) {
    std::vector<bool> cotangents(f.params.size(), true);
    std::fill_n(cotangents.begin(), program.functions.at(*f.model).params.size(), false);
    frame.upstream = made_of(f, cotangents);
  }
  for (size_t i = 0; i < f.params.size(); ++i) {
    const ir::Value& value = f.values.at(f.params[i]);
    const std::optional<Dim> below = i < own.size() ? own[i] : std::nullopt;
    for (const Split& split : value.type.dims) declare_parts(*this, split);
    const bool given = request.arguments != nullptr;
    frame.values.at(f.params[i]) =
        given ? typed(request.arguments->at(i), value.type) : leaf(value.name, value.type, below);
    if (below && !given) assume("0 <= " + value.name + " < |" + to_string(*below) + "|");
  }
  if (request.arguments == nullptr) declare_assumptions(frame);
  for (size_t i = 0; i < f.saved_params.size(); ++i) {
    const ir::Value& value = f.values.at(f.saved_params[i]);
    frame.values.at(f.saved_params[i]) = request.saved != nullptr
                                             ? typed(request.saved->at(i), value.type)
                                             : leaf(value.name, value.type);
  }
  return frame;
}

TensorExpr Context::leaf_for(const SharedLeaf& shared, const Type& type) {
  const TensorExpr entry = leaf(shared.name, type);
  if (shared.positive || shared.nonnegative) a.declare_bound(entry.body, shared.positive);
  return entry;
}

Lowered Context::finish(std::vector<TensorExpr> results) {
  return {std::move(results),
          std::move(assumptions),
          std::move(of_sizes),
          std::move(texts_of_sizes),
          std::move(impossible),
          needs(),
          std::move(conditions),
          std::move(bounds),
          std::move(named),
          std::move(loops),
          {},
          std::move(unmet),
          std::move(values),
          std::move(ring_carries),
          std::move(of_indices)};
}

Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options) {
  Variables own;
  Context c(algebra, program, options, request.variables == nullptr ? own : *request.variables,
            request.reach);
  c.keeps_values = request.keeps_values;
  Frame frame = c.top_frame(request);
  const auto leaf_for = [&](ir::ValueId value, const SharedLeaf& shared) {
    return c.leaf_for(shared, frame.function.values.at(value).type);
  };
  if (request.shared != nullptr)
    for (const auto& [value, shared] : *request.shared) {
      frame.values.at(value) = leaf_for(value, shared);
      frame.given.insert(value);
    }
  if (request.cuts != nullptr)
    for (const auto& [value, shared] : *request.cuts)
      frame.cuts.emplace(value, leaf_for(value, shared));
  try {
    if (request.first_values != nullptr) c.most_values = *request.first_values;
    return c.finish(c.body(frame, request.wanted));
  } catch (const Context::EnoughValues&) {
    return c.finish({});
  } catch (const std::runtime_error&) {
    if (request.first_values != nullptr) *request.first_values = c.values.size();
    throw;
  }
}

Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program, size_t function,
                       const Options& options) {
  Request request;
  request.function = function;
  return lower_function(algebra, program, request, options);
}

}  // namespace shardproof::lower
