// The models of spec/models: gradients of every fn against central differences, and every plan's
// erasure against its model, forward and backward.
#include <ctime>
#include <iostream>

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace models_test {

std::filesystem::path models() {
  return std::filesystem::path(SHARDPROOF_SOURCE_DIR) / "spec/models";
}

std::vector<std::filesystem::path> model_files() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(models()))
    if (entry.path().extension() == ".shard") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

// Unequal small sizes; head widths are even, positions suffice, axes divide nothing in particular.
Sizes small(Random& random) {
  auto pick = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random() % static_cast<size_t>(most - least + 1));
  };
  Sizes sizes{{{"A", pick(1, 2)}, {"B", pick(1, 2)}, {"L", pick(1, 3)},
               {"M", pick(2, 4)}, {"F", pick(1, 4)}, {"H", pick(1, 3)},
               {"Q", pick(1, 2)}, {"K", pick(1, 2)}, {"D", 2},
               {"V", pick(2, 4)}, {"N", pick(1, 2)}, {"C", 2},
               {"W", 2},          {"P", 4},          {"X", pick(1, 2)},
               {"E", pick(2, 4)},  // experts: top_k takes two of them
               {"R", pick(1, 3)}, {"I", 2},          {"Y", 2},
               {"Z", 2},          {"G", 2},  // groups of J experts
               {"J", 2},          {"groups", 1},     {"top", 2}},
              {{"d", 2}, {"t", 2}, {"e", 2}, {"c", 2}, {"g", 2}, {"r", 2}, {"p", 2}}};
  return sizes;
}

// Only the dims and axes that the program has: in pairwise_ffn H counts no heads.
Sizes small(const ir::Program& program, Random& random) {
  Sizes sizes = small(random);
  std::erase_if(sizes.dims, [&](const auto& each) {  // L may be (C W), J may be 3
    const auto dim = program.dims.find(each.first);
    return dim == program.dims.end() || dim->second.kind != ir::DimInfo::Kind::plain;
  });
  if (sizes.dims.count("C") && sizes.dims.count("L"))
    sizes.dims["L"] = std::max(sizes.dims["L"], sizes.dims["C"]);  // C tokens of L are new
  for (const auto& [name, dim] : program.dims)
    if (dim.pads) sizes.dims[name] = sizes.dims.at(*dim.pads);  // nothing is padded
  if (sizes.dims.count("X")) sizes.dims["A"] = 2;               // interleaved: p divides A
  for (const auto& [name, dim] : program.dims)
    if (dim.local && dim.size) {  // W of `ring b over L/c as W`
      sizes.dims.erase(name);
      if (sizes.dims.count("L")) sizes.dims["L"] *= 2;
    }
  std::erase_if(sizes.axes, [&](const auto& each) { return !program.axes.count(each.first); });
  return sizes;
}

bool has_float_result(const ir::Function& function) {
  return std::any_of(function.results.begin(), function.results.end(),
                     [](const Type& type) { return is_float(type.dtype); });
}

// A difference quotient across a jump, such as the choice of an expert, says nothing: two points of
// at most four agree. Each function has draws of its own, which another file does not move.
TEST(Models, gradient_of_every_fn) {
  size_t checked = 0;
  for (const auto& file : model_files()) {
    const auto loaded = load_file(file);
    const ir::Program& program = loaded->program();
    for (size_t f = 0; f < program.functions.size(); ++f) {
      const ir::Function& function = program.functions[f];
      if (function.kind != ir::Function::Kind::fn || function.imported) continue;
      if (function.uses_gradients || !has_float_result(function)) continue;
      Random random(std::hash<std::string>{}(file.filename().string() + " " + function.name));
      std::vector<double> errors;
      const auto agreeing = [&] {
        return std::count_if(errors.begin(), errors.end(), [](double e) { return e < 2e-5; });
      };
      while (agreeing() < 2 && errors.size() < 4) {
        const Sizes sizes = small(program, random);
        const auto inputs = random_inputs(program, f, sizes, 2, random);
        errors.push_back(gradient_error(program, f, sizes, inputs, 8, random));
      }
      EXPECT_EQ(agreeing(), 2) << file << " " << function.name << " "
                               << testing::PrintToString(errors);
      checked += errors.size();
    }
  }
  EXPECT_GE(checked, 40u);
}

TEST(Models, a_step_has_no_gradient) {
  Random random(22);
  size_t refused = 0;
  for (const auto& file : model_files()) {
    const auto loaded = load_file(file);
    const ir::Program& program = loaded->program();
    for (size_t f = 0; f < program.functions.size(); ++f) {
      const ir::Function& function = program.functions[f];
      if (function.kind != ir::Function::Kind::fn || !function.uses_gradients) continue;
      const Sizes sizes = small(program, random);
      const auto inputs = random_inputs(program, f, sizes, 2, random);
      EXPECT_THROW(gradient_error(program, f, sizes, inputs, 1, random), Error) << function.name;
      ++refused;
    }
  }
  EXPECT_GE(refused, 3u);
}

// Every entry of every weight.
TEST(Models, gradient_of_the_llama_loss) {
  Random random(23);
  const auto loaded = load_file(models() / "llama3.shard");
  const size_t f = loaded->find("llama_loss");
  const Sizes sizes{
      {{"B", 2}, {"L", 3}, {"M", 4}, {"F", 3}, {"Q", 2}, {"K", 2}, {"D", 2}, {"V", 5}, {"N", 2}},
      {}};
  const auto inputs = random_inputs(loaded->program(), f, sizes, 5, random);
  size_t entries = 0;
  for (size_t leaf : float_leaves(loaded->program().functions[f]))
    entries += inputs[leaf].data.size();
  const double error = gradient_error(loaded->program(), f, sizes, inputs, 1000000, random);
  EXPECT_GT(entries, 200u);
  EXPECT_LT(error, 1e-6);
  std::cout << entries << " entries, worst relative error " << error << "\n";
}

// What a plan saves by a name: its named values, as if they were its results.
std::map<Name, Tensor> saved_values(ir::Program program, size_t plan, const Sizes& sizes,
                                    const std::vector<Tensor>& inputs) {
  ir::Function& function = program.functions.own()[plan];
  std::vector<Name> names;
  function.returned.clear();
  for (const ir::Instr& instr : function.body.instrs)
    if (std::holds_alternative<ir::Save>(instr.op)) {
      function.returned.push_back(instr.results[0]);
      names.push_back(function.values[instr.results[0]].name);
    }
  const auto values = evaluate(program, plan, sizes, inputs);
  std::map<Name, Tensor> result;
  for (size_t i = 0; i < names.size(); ++i) result[names[i]] = values[i];
  return result;
}

// The inputs of a plan that implements a gradient: the model's, one gradient for each result, and
// what the plan it stands after has saved.
std::vector<Tensor> backward_inputs(const ir::Program& program, size_t plan, const Sizes& sizes,
                                    Random& random) {
  const ir::Function& function = program.functions[plan];
  auto inputs = random_inputs(program, plan, sizes, 2, random);
  if (!function.after) return inputs;
  const size_t own = program.functions[*function.model].params.size();
  const auto saved = saved_values(program, *function.after, sizes,
                                  {inputs.begin(), inputs.begin() + static_cast<ptrdiff_t>(own)});
  for (size_t i = 0; i < function.saved_params.size(); ++i)
    inputs[function.params.size() + i] = saved.at(function.values[function.saved_params[i]].name);
  return inputs;
}

// What the model says a plan's results are.
std::vector<Tensor> modelled(const ir::Program& program, size_t plan, const Sizes& sizes,
                             const std::vector<Tensor>& inputs) {
  const ir::Function& function = program.functions[plan];
  const size_t model = *function.model;
  if (!function.implements_grad) return evaluate(program, model, sizes, inputs);
  const auto own = static_cast<ptrdiff_t>(program.functions[model].params.size());
  const auto end = static_cast<ptrdiff_t>(function.params.size());
  return gradient(program, model, sizes, {inputs.begin(), inputs.begin() + own},
                  {inputs.begin() + own, inputs.begin() + end}, function.wrt);
}

// Of a plan that implements a fn also every gradient.
double plan_error(const ir::Program& program, size_t plan, const Sizes& sizes, Random& random) {
  const ir::Function& function = program.functions[plan];
  const auto inputs = backward_inputs(program, plan, sizes, random);
  const auto wanted = modelled(program, plan, sizes, inputs);
  const double error = distance(wanted, evaluate(program, plan, sizes, inputs));
  const bool smooth = !function.implements_grad && !function.uses_gradients &&
                      !program.functions[*function.model].uses_gradients &&
                      has_float_result(function);
  if (!smooth) return error;
  const auto upstream = random_upstream(wanted, random);
  const auto wrt = float_leaves(function);
  return std::max(error, distance(gradient(program, *function.model, sizes, inputs, upstream, wrt),
                                  gradient(program, plan, sizes, inputs, upstream, wrt)));
}

TEST(Models, every_plan_is_its_model) {
  Random random(24);
  size_t compared = 0, backward = 0;
  for (const auto& file : model_files()) {
    const auto loaded = load_file(file);
    const ir::Program& program = loaded->program();
    for (size_t p = 0; p < program.functions.size(); ++p) {
      const ir::Function& function = program.functions[p];
      if (!function.model || function.imported) continue;
      for (int round = 0; round < 3; ++round)
        EXPECT_LT(plan_error(program, p, small(program, random), random), 1e-11)
            << file << " " << function.name;
      ++compared;
      backward += function.implements_grad;
    }
  }
  EXPECT_GE(compared, 30u);
  EXPECT_GE(backward, 5u);
  std::cout << compared << " plans, " << backward << " of them backward\n";
}

// The step of data_parallel.shard, written out: mean gradient over the microbatches, then AdamW.
TEST(Models, a_step_is_a_gradient_and_an_update) {
  Random random(25);
  const auto loaded = load_file(models() / "data_parallel.shard");
  const ir::Program& program = loaded->program();
  const size_t step = loaded->find("step"), loss = loaded->find("loss");
  const Sizes sizes{{{"A", 3}, {"B", 2}, {"L", 2}, {"M", 3}, {"F", 2}}, {{"d", 2}}};
  const auto in = random_inputs(program, step, sizes, 2, random);
  const auto got = evaluate(program, step, sizes, in);
  std::vector<Tensor> mean = {filled(in[0].shape, 0), filled(in[1].shape, 0)};
  for (size_t a = 0; a < 3; ++a) {
    auto micro = [&](const Tensor& x) {
      const size_t size = x.data.size() / 3;
      const auto from = x.data.begin() + static_cast<ptrdiff_t>(a * size);
      return tensor({2, 2, 3}, {from, from + static_cast<ptrdiff_t>(size)});
    };
    const auto g = gradient(program, loss, sizes, {in[0], in[1], micro(in[6]), micro(in[7])},
                            {scalar(1)}, {0, 1});
    for (size_t w = 0; w < 2; ++w)
      for (size_t i = 0; i < g[w].data.size(); ++i) mean[w].data[i] += g[w].data[i] / 3;
  }
  const double at = in[8].data[0], lr = in[9].data[0];
  for (size_t w = 0; w < 2; ++w)
    for (size_t i = 0; i < mean[w].data.size(); ++i) {
      const double g = mean[w].data[i], weight = in[w].data[i];
      const double m = 0.9 * in[2 + w].data[i] + 0.1 * g,
                   v = 0.95 * in[4 + w].data[i] + 0.05 * g * g;
      const double mh = m / (1 - std::pow(0.9, at)), vh = v / (1 - std::pow(0.95, at));
      EXPECT_NEAR(got[w].data[i], weight - lr * (mh / (std::sqrt(vh) + 1e-8) + 0.1 * weight),
                  1e-12);
      EXPECT_NEAR(got[2 + w].data[i], m, 1e-13);
      EXPECT_NEAR(got[4 + w].data[i], v, 1e-13);
    }
}

TEST(Models, ten_million_parameters_run_in_seconds) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the time of a sanitized build says nothing";
#endif
  Random random(26);
  const auto loaded = load_file(models() / "llama3.shard");
  const ir::Program& program = loaded->program();
  const size_t f = loaded->find("llama_loss");
  const Sizes sizes{{{"B", 1},
                     {"L", 128},
                     {"M", 384},
                     {"F", 1024},
                     {"Q", 2},
                     {"K", 4},
                     {"D", 48},
                     {"V", 2048},
                     {"N", 5}},
                    {}};
  auto inputs = random_inputs(program, f, sizes, 2048, random);
  size_t parameters = 0;
  for (size_t leaf : float_leaves(program.functions[f])) {
    parameters += inputs[leaf].data.size();
    for (double& entry : inputs[leaf].data) entry *= 0.05;
  }
  EXPECT_GT(parameters, 9000000u);
  auto seconds = [](auto work) {  // of this process: the machine may do much else
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  double loss = 0;
  const double forward = seconds([&] { loss = evaluate(program, f, sizes, inputs)[0].data[0]; });
  const double both = seconds([&] {
    gradient(program, f, sizes, inputs, {scalar(1)}, float_leaves(program.functions[f]));
  });
  EXPECT_NEAR(loss, std::log(2048.0), 1.5);
  EXPECT_LT(forward, 10);
  std::cout << parameters << " parameters: forward " << forward << " s, with backward " << both
            << " s\n";
}

}  // namespace models_test
}  // namespace shardproof::oracle
