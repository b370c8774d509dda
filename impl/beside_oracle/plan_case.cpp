#include "impl/beside_oracle/plan_case.h"

#include <bit>
#include <cmath>

#include "impl/comm/threads.h"
#include "impl/comm/virtual/virtual_ranks.h"
#include "impl/run/plan_state.h"
#include "kernels/number.h"
#include "spec/check/points.h"
#include "spec/check/requirements.h"
#include "spec/denote/represent.h"
#include "spec/ir/claim.h"

namespace shardproof::beside {
namespace {

const ir::Program& program_of(const PlanCase& one) { return *one.unit.program; }
const ir::Function& plan_of(const PlanCase& one) { return one.unit.plan(); }

}  // namespace

double get(const LocalTensor& tensor, size_t i) {
  if (tensor.element == Element::u64) return std::bit_cast<double>(tensor.data<uint64_t>()[i]);
  return number_at(tensor.element, tensor.buffer.data(), static_cast<int64_t>(i));
}

namespace {

void set(LocalTensor& tensor, size_t i, double value) {
  if (tensor.element == Element::u64)
    tensor.data<uint64_t>()[i] = std::bit_cast<uint64_t>(value);
  else
    set_number(tensor.element, tensor.buffer.data(), static_cast<int64_t>(i), value);
}

}  // namespace

namespace {

void spread(PlanCase& one, const denote::Geometry& geometry, denote::RandomBits& rng) {
  one.local.clear();
  for (size_t i = 0; i < one.whole.size(); ++i)
    one.local.push_back(
        same_on_devices(geometry, one.unit.type(plan_of(one).params.at(i)), one.whole[i], rng));
}

void add_saved(PlanCase& one, const denote::Geometry& geometry) {
  if (plan_of(one).saved_params.empty()) return;
  const size_t own = point_of(one).own_params();
  const std::vector<denote::Distributed<double>> primal(
      one.local.begin(), one.local.begin() + static_cast<std::ptrdiff_t>(own));
  for (auto& each :
       denote::saved_on_mesh<double>(geometry, *one.unit.types, one.unit.function, primal))
    one.local.push_back(std::move(each));
}

}  // namespace

denote::Distributed<double> same_on_devices(const denote::Geometry& geometry, const Type& type,
                                            denote::Array<double>& x, denote::RandomBits& rng) {
  auto held = lay_out(geometry, type, x, rng);
  const auto whole = denote::represented(geometry, type, held);
  const auto same = [](double a, double b) {
    return std::bit_cast<uint64_t>(a + 0.0) == std::bit_cast<uint64_t>(b + 0.0);
  };
  if (!whole || whole->shape != x.shape ||
      !std::equal(whole->data.begin(), whole->data.end(), x.data.begin(), x.data.end(), same))
    throw std::logic_error("the devices and the model get different inputs, of " + to_string(type));
  return held;
}

PlanCase case_of(const Program& program, const PlanReport& report) {
  const CheckedProgram& checked = program.checked();
  return {
      {&checked.program(), &checked.types(), &program.sources(),
       ir::claim_of(checked.program(), report.function), &checked.written(), &checked.schedules()},
      any_backwards(program),
      {},
      {},
      {}};
}

std::optional<std::vector<oracle::Tensor>> draw(PlanCase& one,
                                                const std::vector<Divisibility>& conditions,
                                                unsigned seed, bool ties, const MeshWish& wish) {
  denote::RandomBits rng(seed);
  MeshWish claimed = wish;
  claimed.requirements = requirements_of_claim(program_of(one), one.unit.function);
  const auto sizes = mesh_sizes(program_of(one), conditions, rng, claimed);
  if (!sizes) throw PlanError("no small mesh meets its conditions");
  one.sizes = *sizes;
  return draw_inputs(one, seed, ties);
}

std::optional<std::vector<oracle::Tensor>> draw_inputs(PlanCase& one, unsigned seed, bool ties) {
  denote::RandomBits rng(seed + 1'000'000);
  const denote::Geometry geometry(program_of(one), one.sizes);
  const Draw first = ties ? Draw::ties : Draw::mixed;
  for (Draw draw : {first, Draw::positive}) {  // variances of a step are under roots
    one.ties = draw == Draw::ties;
    one.whole = random_inputs(program_of(one), plan_of(one), one.sizes, seed, draw);
    if (requires_of_values(plan_of(one))) {
      scale_floats(plan_of(one), scales_of_required[seed % scales_of_required.size()], one.whole);
      satisfy_assumptions(program_of(one), plan_of(one), one.sizes, one.whole);
    }
    for (denote::Array<double>& array : one.whole)  // what an f32 can hold
      for (double& x : array.data)
        if (std::abs(x) > 1e-30 && std::abs(x) < 1e30) x = static_cast<float>(x);
    spread(one, geometry, rng);
    try {
      std::vector<oracle::Tensor> wanted = claimed(one);
      if (!all_finite(wanted)) continue;
      add_saved(one, geometry);
      return wanted;
    } catch (const oracle::Error&) {
      return std::nullopt;  // an index is out of range at these sizes
    }
  }
  return std::nullopt;
}

Mesh mesh_of(const denote::Sizes& sizes) { return Mesh(sizes.mesh); }

std::string text(const PlanCase& one) {
  std::string text = plan_of(one).name + " at " + mesh_of(one.sizes).text();
  for (const auto& [dim, size] : one.sizes.dims) text += " " + dim + "=" + std::to_string(size);
  return text;
}

PointOfPlan point_of(const PlanCase& one) {
  return {one.unit.program, one.unit.types, one.unit.function, one.sizes, one.whole, one.local};
}

std::vector<denote::Array<double>> saved_of(const PlanCase& one) {
  const denote::Geometry geometry(*one.unit.program, one.sizes);
  const ir::Function& plan = one.unit.plan();
  const size_t own = one.local.size() - plan.saved_params.size();
  std::vector<denote::Array<double>> saved;
  for (size_t i = 0; i < plan.saved_params.size(); ++i)
    saved.push_back(
        denote::represented(geometry, one.unit.type(plan.saved_params[i]), one.local.at(own + i))
            .value());
  return saved;
}

Evaluate erasure_of(const PlanCase& one) {
  return [saved = saved_of(one)](const PointOfPlan& point) { return erasure(point, saved); };
}

std::vector<oracle::Tensor> claimed(const PlanCase& one) {
  return claimed(
      PointOfPlan{one.unit.program, one.unit.types, one.unit.function, one.sizes, one.whole, {}});
}

void fill(LocalTensor& tensor, const std::vector<double>& data, bool exactly) {
  for (size_t k = 0; k < data.size(); ++k) {
    set(tensor, k, data[k]);
    if (exactly && get(tensor, k) != data[k])
      throw std::logic_error("a rank gets another input than the model");
  }
}

namespace {

/// The tensors that all ranks' results represent at their types.
std::vector<std::optional<oracle::Tensor>> put_together(
    const PlanCase& one, const std::vector<std::vector<LocalTensor>>& results) {
  const denote::Geometry geometry(program_of(one), one.sizes);
  std::vector<std::optional<oracle::Tensor>> whole;
  for (size_t r = 0; r < results.at(0).size(); ++r) {
    denote::Distributed<double> held;
    for (const std::vector<LocalTensor>& own : results) {
      denote::Array<double> array{own[r].extents, {}};
      array.data.reserve(static_cast<size_t>(own[r].count()));
      for (int64_t k = 0; k < own[r].count(); ++k)
        array.data.push_back(get(own[r], static_cast<size_t>(k)));
      held.push_back(array);
    }
    const auto found = denote::represented(geometry, plan_of(one).results.at(r), held);
    if (found)
      whole.push_back(whole_tensor(*found, plan_of(one).results[r].dtype));
    else
      whole.push_back(std::nullopt);
  }
  return whole;
}

}  // namespace

namespace {

compile::OnMesh on_mesh(const PlanCase& one) {
  return {one.unit, mesh_of(one.sizes), one.sizes.dims};
}

std::vector<LocalTensor> run_on(Communicator& communicator, const PlanCase& one,
                                const compile::OnMesh& on_mesh, const PlanOptions& options) {
  Plan plan = compile_unchecked(on_mesh, communicator.rank(), options, one.find_backward);
  const bool looked_at = options.overlap && communicator.rank() == 0;
  if (const std::string race = looked_at ? plan.state().find_race() : ""; !race.empty())
    throw std::logic_error(race);
  std::vector<LocalTensor> inputs;
  inputs.reserve(one.local.size());
  for (size_t i = 0; i < one.local.size(); ++i) {
    inputs.push_back(plan.input(i));
    fill(inputs.back(), one.local[i][static_cast<size_t>(communicator.rank())].data,
         options.precision == Precision::f64);
  }
  return plan.run(communicator, inputs);
}

}  // namespace

std::vector<LocalTensor> run_on(Communicator& communicator, const PlanCase& one,
                                const PlanOptions& options) {
  return run_on(communicator, one, on_mesh(one), options);
}

std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one,
                                                        const PlanOptions& options) {
  const compile::OnMesh on_mesh = beside::on_mesh(one);
  const int world = static_cast<int>(on_mesh.placement.mesh().ranks());
  std::vector<std::vector<LocalTensor>> results(static_cast<size_t>(world));
  const auto rank = [&](Communicator& communicator) {
    results[static_cast<size_t>(communicator.rank())] = run_on(communicator, one, on_mesh, options);
  };
  if (options.device)
    run_on_virtual_ranks(*options.device, world, rank);
  else
    run_on_threads(world, rank);
  return put_together(one, results);
}

std::vector<std::optional<oracle::Tensor>> run_on_ranks(const PlanCase& one, const Kernel& kernel) {
  const Mesh mesh = mesh_of(one.sizes);
  std::vector<std::vector<LocalTensor>> results;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    const Placement placement(program_of(one), mesh, one.sizes.dims, rank);
    const auto tensor_of = [&](const Type& type) {
      return LocalTensor(type, element_of(type.dtype, Precision::as_written),
                         placement.extents(type));
    };
    std::vector<LocalTensor> inputs;
    for (const auto* params : {&plan_of(one).params, &plan_of(one).saved_params})
      for (const ir::ValueId id : *params) inputs.push_back(tensor_of(one.unit.type(id)));
    for (size_t i = 0; i < inputs.size(); ++i)
      fill(inputs[i], one.local.at(i)[static_cast<size_t>(rank)].data, false);
    results.emplace_back();
    for (const Type& type : plan_of(one).results) results.back().push_back(tensor_of(type));
    kernel(mesh, rank, inputs, results.back());
  }
  return put_together(one, results);
}

namespace {

std::string difference_of_one(const std::optional<oracle::Tensor>& got,
                              const oracle::Tensor& wanted, double allowed) {
  if (!got) return "the ranks hold no value of its type";
  if (got->shape != wanted.shape) return "another shape";
  if (got->keys != wanted.keys) return "other keys";
  return difference(got->data, wanted.data, allowed);
}

}  // namespace

std::optional<WrongResult> wrong_result(const std::vector<std::optional<oracle::Tensor>>& got,
                                        const std::vector<oracle::Tensor>& wanted,
                                        const Bounds& bounds) {
  for (size_t r = 0; r < wanted.size(); ++r)
    if (const std::string found = difference_of_one(got.at(r), wanted[r], bounds.at(r));
        !found.empty())
      return WrongResult{r, "result " + std::to_string(r) + ": " + found};
  return std::nullopt;
}

std::string difference(const std::vector<std::optional<oracle::Tensor>>& got,
                       const std::vector<oracle::Tensor>& wanted, const Bounds& bounds) {
  const auto found = wrong_result(got, wanted, bounds);
  return found ? found->what : "";
}

// Most are equal bit for bit; then no bounds are needed.
std::string difference_in_double(const PlanCase& one,
                                 const std::vector<std::optional<oracle::Tensor>>& got,
                                 const std::vector<oracle::Tensor>& wanted) {
  if (difference(got, wanted, Bounds(wanted.size())).empty()) return "";
  return difference(got, wanted, rounding_bounds(one, wanted).f64);
}

}  // namespace shardproof::beside
