#include "properties/fused/emulated_fn.h"

#include <cmath>
#include <stdexcept>
#include <utility>

#include "impl/beside_oracle/close.h"
#include "kernels/number.h"
#include "oracle/disturbed.h"
#include "spec/resolve/resolve.h"

namespace shardproof::properties {
namespace {

Element element_in_memory(Dtype dtype) {
  switch (dtype) {
    case Dtype::bf16:
      return Element::bf16;
    case Dtype::i32:
      return Element::i32;
    case Dtype::boolean:
      return Element::u8;
    default:
      return Element::f32;
  }
}

/// An array of the host.
class Array {
 public:
  Array(Element element, size_t count) : element_(element), bytes_(count * size_of(element)) {}
  Array(Element element, const std::vector<double>& numbers) : Array(element, numbers.size()) {
    for (size_t i = 0; i < numbers.size(); ++i) set(i, numbers[i]);
  }
  void* data() { return bytes_.data(); }
  size_t bytes() const { return bytes_.size(); }
  void set(size_t i, double value) {
    set_number(element_, bytes_.data(), static_cast<int64_t>(i), value);
  }
  std::vector<double> numbers() const {
    std::vector<double> all;
    for (size_t i = 0; i < bytes_.size() / size_of(element_); ++i)
      all.push_back(number_at(element_, bytes_.data(), static_cast<int64_t>(i)));
    return all;
  }

 private:
  Element element_;
  std::vector<std::byte> bytes_;
};

/// Runs the op on the device: fills `outputs`.
void run_on(Device& device, const FusedOp& op, std::vector<Array>& outputs,
            std::vector<Array>& inputs) {
  const std::unique_ptr<Queue> queue = device.queue();
  std::vector<Buffer> memory;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (Array& each : inputs) {
    memory.push_back(device.allocate(each.bytes()));
    device.copy_from_host(*queue, memory.back().data(), each.data(), each.bytes());
    from.push_back(memory.back().data());
  }
  for (const Array& each : outputs) {
    memory.push_back(device.allocate(each.bytes()));
    to.push_back(memory.back().data());
  }
  device.prepare_fused(op)(*queue, to, from);
  for (size_t i = 0; i < outputs.size(); ++i)
    device.copy_to_host(*queue, outputs[i].data(), to[i], outputs[i].bytes());
  queue->finish();
}

size_t size(const oracle::Tensor& tensor) { return tensor.data.size(); }

double largest(const oracle::Tensor& x) {
  double most = 0;
  for (double each : x.data) most = std::max(most, std::abs(each));
  return most;
}

double farthest(const oracle::Tensor& a, const oracle::Tensor& b) {
  double most = 0;
  for (size_t i = 0; i < size(a); ++i) most = std::max(most, std::abs(a.data[i] - b.data[i]));
  return most;
}

constexpr int evaluations = 3;
constexpr double safety = 16;

}  // namespace

EmulatedFn::EmulatedFn(const std::string& text, std::map<Name, int64_t> dims) {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  const FileReader reader = [&](const std::string& path) {
    return path == "fused.shard" ? std::optional(text) : std::nullopt;
  };
  Resolved resolved = resolve(sources, "fused.shard", reader, diagnostics);
  for (const Diagnostic& each : diagnostics) throw std::logic_error(each.message + " in\n" + text);
  program_ = std::move(resolved.program);
  function_ = program_.functions.size() - 1;
  sizes_.dims = std::move(dims);
  for (ir::ValueId id : function().params)
    inputs_.push_back(
        oracle::filled(oracle::shape_of(program_, function().values.at(id).type, sizes_), 0));
  known_.resize(inputs_.size());
}

const Type& EmulatedFn::type(size_t param) const {
  return function().values.at(function().params.at(param)).type;
}

void EmulatedFn::draw(size_t param, const std::function<double()>& next) {
  Array held(element_in_memory(type(param).dtype), size(inputs_.at(param)));
  for (size_t i = 0; i < size(inputs_[param]); ++i) held.set(i, next());
  inputs_[param].data = held.numbers();
}

void EmulatedFn::draw_floats(std::mt19937_64& rng, double magnitude) {
  std::normal_distribution<double> normal(0, magnitude);
  for (size_t i = 0; i < params(); ++i)
    if (is_float(type(i).dtype)) draw(i, [&] { return normal(rng); });
}

Scalar EmulatedFn::scalar(size_t param, bool is_input) {
  known_.at(param) = !is_input;
  return {static_cast<float>(number(param)), is_input};
}

std::vector<oracle::Tensor> EmulatedFn::wanted() const {
  return oracle::evaluate(program_, function_, sizes_, inputs_);
}

EmulatedFn::Made EmulatedFn::run(const FusedOp& op) const { return run(op, *law_device()); }

EmulatedFn::Made EmulatedFn::run(const FusedOp& op, Device& device) const {
  std::vector<Array> inputs, outputs;
  const auto insert = [&] {
    for (const auto& [element, numbers] : inserted_) inputs.emplace_back(element, numbers);
  };
  bool scalars = false;
  for (size_t i = 0; i < inputs_.size(); ++i) {
    if (!std::exchange(scalars, inputs_[i].shape.empty()) && scalars) insert();
    if (!known_[i]) inputs.emplace_back(element_in_memory(type(i).dtype), inputs_[i].data);
  }
  const size_t results = function().results.size();
  for (const Type& result : function().results)
    outputs.emplace_back(
        element_in_memory(result.dtype),
        static_cast<size_t>(oracle::count(oracle::shape_of(program_, result, sizes_))));
  for (size_t bytes : device.fused_scratch(op)) outputs.emplace_back(Element::f32, bytes / 4 + 1);
  run_on(device, op, outputs, inputs);
  Made made;
  for (const Array& each : outputs)
    (made.results.size() < results ? made.results : made.scratch).push_back(each.numbers());
  return made;
}

// A thousandth of what moves a bit is enough to see what is moved, and is linear. The results
// themselves are rounded, and less than the least f32 is nothing.
std::vector<double> EmulatedFn::bounds(const std::vector<oracle::Tensor>& wanted) const {
  constexpr double unit = 0x1p-24, bf16_unit = 0x1p-9, small = 0x1p-30, least = 0x1p-120;
  std::vector<double> bounds;
  for (size_t r = 0; r < wanted.size(); ++r) {
    const double rounding = function().results.at(r).dtype == Dtype::bf16 ? bf16_unit : unit;
    bounds.push_back(4 * rounding * largest(wanted[r]) + least);
  }
  for (unsigned seed = 1; seed <= evaluations; ++seed) {
    const oracle::Disturbed disturbed(small, seed);
    const std::vector<oracle::Tensor> moved = this->wanted();
    for (size_t r = 0; r < wanted.size(); ++r)
      bounds[r] = std::max(bounds[r], safety * unit / small * farthest(moved.at(r), wanted[r]));
  }
  const std::vector<oracle::Tensor> slack = this->slack();
  for (size_t r = 0; r < slack.size(); ++r) bounds[r] += 2 * bf16_unit * largest(slack[r]);
  return bounds;
}

std::vector<oracle::Tensor> EmulatedFn::slack() const {
  for (size_t f = 0; f < function_; ++f)
    if (program_.functions[f].name == "slack")
      return oracle::evaluate(program_, f, sizes_, inputs_);
  return {};
}

std::string EmulatedFn::difference(const FusedOp& op) const {
  const std::vector<oracle::Tensor> wanted = this->wanted();
  const std::vector<double> allowed = bounds(wanted);
  std::vector<std::shared_ptr<Device>> devices{law_device()};
  if (cpu_device()->has_fused(op)) devices.push_back(cpu_device());
  for (const std::shared_ptr<Device>& device : devices) {
    const std::vector<std::vector<double>> got = run(op, *device).results;
    for (size_t r = 0; r < wanted.size(); ++r) {
      const std::string found = beside::difference(got.at(r), wanted[r].data, allowed.at(r));
      if (!found.empty()) return device->name() + ", result " + std::to_string(r) + ": " + found;
    }
  }
  return "";
}

}  // namespace shardproof::properties
