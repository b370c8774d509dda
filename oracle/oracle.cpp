#include "oracle/oracle.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "oracle/disturbed.h"
#include "oracle/kept_own.h"
#include "oracle/run.h"

namespace shardproof::oracle {
namespace {

// What of the program's own conditions can be decided with these sizes.
void check_requirements(Run& run, const ir::Function& function) {
  for (const ir::Requirement& requirement : run.program.requirements) {
    bool holds = true;
    try {
      holds = run.table.holds(requirement.condition, {});
    } catch (const std::domain_error&) {
      // It needs a size that is not given: it belongs to another function of the program.
    }
    if (!holds)
      throw Error("require", to_string(requirement.condition), function.name, {}, "does not hold");
  }
}

void check_entries(const Tensor& x, Dtype dtype) {
  const auto entries = static_cast<size_t>(count(x.shape));
  const bool keys = dtype == Dtype::key;
  if (x.keys.size() != (keys ? entries : 0) || x.data.size() != (keys ? 0 : entries))
    throw std::domain_error(std::string("as many ") + (keys ? "keys" : "numbers") +
                            " as entries are wanted");
  check_range(x, dtype);
  for (double entry : x.data)
    if (dtype == Dtype::boolean && entry != 0 && entry != 1)
      throw std::domain_error("a bool is 0 or 1, and this is " + std::to_string(entry));
}

void check_inputs(Run& run, const ir::Function& function, const std::vector<Tensor>& inputs) {
  const std::vector<ir::ValueId> params = all_params(function);
  Shapes& shapes = run.table.shapes(function);
  if (inputs.size() != params.size())
    throw Error("input", "", function.name, {},
                std::to_string(params.size()) + " leaves are wanted, and " +
                    std::to_string(inputs.size()) + " given");
  for (size_t i = 0; i < params.size(); ++i) {
    const ir::Value& param = function.values[params[i]];
    try {
      const Extents& wanted = shapes.of(params[i]);
      if (inputs[i].shape != wanted)
        throw std::domain_error("its shape is to be " + to_string(wanted));
      check_entries(inputs[i], param.type.dtype);
    } catch (const std::domain_error& error) {
      throw Error("input", param.name, function.name, {inputs[i].shape}, error.what());
    }
  }
}

// Runs `work` with the evaluation's sizes known; what is wrong with those is an Error as well.
template <class Work>
auto guarded(const ir::Program& program, size_t function, const Work& work) {
  try {
    return work(program.functions.at(function));
  } catch (const std::logic_error& error) {
    throw Error("sizes", "", program.functions.at(function).name, {}, error.what());
  }
}

Vars checked_inputs(Run& run, const ir::Function& function, std::vector<Tensor> inputs) {
  check_requirements(run, function);
  check_inputs(run, function, inputs);
  Vars result;
  result.reserve(inputs.size());
  for (Tensor& input : inputs) result.push_back(constant(std::move(input)));
  return result;
}

void follow(const ir::Function& function, const Vars& inputs, const std::vector<size_t>& wrt) {
  for (size_t leaf : wrt) {
    const ir::Value& param = function.values[all_params(function).at(leaf)];
    if (!is_float(param.type.dtype))
      throw Error("gradient", param.name, function.name, {inputs[leaf]->value.shape},
                  std::string("a value of ") + to_string(param.type.dtype) + " has no gradient");
    inputs[leaf]->followed = true;
  }
}

// Gives each float result its own gradient to begin with.
void seed(const ir::Function& function, const Vars& results, const std::vector<Tensor>* upstream) {
  if (upstream && upstream->size() != results.size())
    throw Error("gradient", "", function.name, {}, "one gradient for each result is wanted");
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_float(function.results[i].dtype)) continue;
    const Extents& shape = results[i]->value.shape;
    if (upstream && ((*upstream)[i].shape != shape ||
                     (*upstream)[i].data.size() != results[i]->value.data.size()))
      throw Error("gradient", function.result_names[i], function.name, {(*upstream)[i].shape},
                  "the gradient of a result has its shape " + to_string(shape));
    contribute(results[i], upstream ? (*upstream)[i] : filled(shape, 1));
  }
}

/// What nothing else holds is moved.
std::vector<Tensor> values_of(const Vars& vars) {
  std::vector<Tensor> result;
  result.reserve(vars.size());
  for (const Var& var : vars)
    result.push_back(var.use_count() == 1 ? std::move(var->value) : var->value);
  return result;
}

/// Bit by bit: -0 is another number than 0.
bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Tensor& x, const Tensor& y) {
    return x.shape == y.shape && x.keys == y.keys && x.data.size() == y.data.size() &&
           (x.data.empty() ||
            std::memcmp(x.data.data(), y.data.data(), x.data.size() * sizeof(double)) == 0);
  });
}

Differentiated differentiated(const ir::Program& program, size_t function, const Sizes& sizes,
                              const std::vector<Tensor>& inputs,
                              const std::vector<Tensor>* upstream, const std::vector<size_t>& wrt) {
  return guarded(program, function, [&](const ir::Function& named) {
    Run run(program, sizes);
    const Vars leaves = checked_inputs(run, named, inputs);
    follow(named, leaves, wrt);
    const Vars results = run_function(run, function, leaves);
    seed(named, results, upstream);
    run.tape.run_back();
    Differentiated done{values_of(results), {}};
    for (size_t leaf : wrt)
      done.gradients.push_back(leaves[leaf]->has_gradient() ? leaves[leaf]->gradient
                                                            : filled(leaves[leaf]->value.shape, 0));
    return done;
  });
}

}  // namespace

Extents shape_of(const ir::Program& program, const Type& type, const Sizes& sizes) {
  try {
    return Table(program, sizes).extents(type.dims);
  } catch (const std::domain_error& error) {
    throw Error("sizes", to_string(type), "", {}, error.what());
  }
}

std::vector<Tensor> evaluate(const ir::Program& program, size_t function, const Sizes& sizes,
                             std::vector<Tensor> inputs) {
  return guarded(program, function, [&](const ir::Function& named) {
    Run run(program, sizes);
    return values_of(run_function(run, function, checked_inputs(run, named, std::move(inputs))));
  });
}

Differentiated differentiate(const ir::Program& program, size_t function, const Sizes& sizes,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>* upstream,
                             const std::vector<size_t>& wrt) {
  if (!kept() || upstream || disturbs())
    return differentiated(program, function, sizes, inputs, upstream, wrt);
  std::optional<KeptGradient>& last = kept()->gradient;
  if (!last || last->program != &program || last->function != function || last->sizes != sizes ||
      last->wrt != wrt || !same_bits(last->inputs, inputs))
    last = {&program, function, sizes,
            inputs,   wrt,      differentiated(program, function, sizes, inputs, nullptr, wrt)};
  return last->result;
}

Differentiated value_and_gradient(const ir::Program& program, size_t function, const Sizes& sizes,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<size_t>& wrt) {
  return differentiate(program, function, sizes, inputs, nullptr, wrt);
}

std::vector<Tensor> gradient(const ir::Program& program, size_t function, const Sizes& sizes,
                             const std::vector<Tensor>& inputs, const std::vector<Tensor>& upstream,
                             const std::vector<size_t>& wrt) {
  return differentiate(program, function, sizes, inputs, &upstream, wrt).gradients;
}

}  // namespace shardproof::oracle
