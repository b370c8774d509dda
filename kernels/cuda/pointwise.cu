#include <stdexcept>
#include <string>

#include "kernels/cuda/kernels.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/loops.h"
#include "kernels/cuda/step.h"

namespace shardproof::SHARDPROOF_MACHINE {
namespace {

constexpr int most_read = 80, most_steps = 256;

/// Every thread reads the steps and has its own registers.
template <class R>
struct ChainKernel {
  Loops<most_read + 1> loops;  ///< out, the inputs
  const void* inputs[most_read];
  Element elements[most_read];
  WalkedStep steps[most_steps];
  int read, length;
  void* out;
  Element output;
  Report report;

  SHARDPROOF_DEVICE void operator()(Block& block) const {
    each_of(block, loops.count, [&](int64_t i) {
      int64_t at[most_read + 1];
      loops.find(i, at, read + 1);
      Register<R> registers[most_read + most_steps];
      for (int k = 0; k < read; ++k)
        if (is_real(elements[k]))
          registers[k].real = load_real<R>(elements[k], inputs[k], at[k + 1]);
        else
          registers[k].integer = load_integer(elements[k], inputs[k], at[k + 1]);
      bool by_zero = false;
      for (int s = 0; s < length; ++s)
        registers[read + s] = Interpreter<R>::result(steps[s], registers, by_zero);
      const Register<R> last = registers[read + length - 1];
      if (is_real(output))
        store_real(output, out, at[0], last.real);
      else
        store_integer(output, out, at[0], last.integer);
      if (by_zero) report.leave(Fault::division, 0, 0);
    });
  }
};

template <class R>
ChainKernel<R> chain_kernel(const Pointwise& op) {
  if (op.inputs.size() > most_read || op.steps.size() > most_steps)
    throw std::length_error("a chain of " + std::to_string(op.steps.size()) + " steps on " +
                            std::to_string(op.inputs.size()) + " inputs: the kernel has at most " +
                            std::to_string(most_steps) + " on " + std::to_string(most_read));
  ChainKernel<R> kernel;
  kernel.loops = loops_of<most_read + 1>(op.nest);
  kernel.read = static_cast<int>(op.inputs.size());
  kernel.length = static_cast<int>(op.steps.size());
  for (size_t k = 0; k < op.inputs.size(); ++k) kernel.elements[k] = op.inputs[k];
  for (size_t s = 0; s < op.steps.size(); ++s) kernel.steps[s] = step_of(op.steps[s]);
  kernel.output = op.output;
  return kernel;
}

template <class R>
void run_chain(const Stream& stream, const Pointwise& op, void* out, const void* const* inputs) {
  ChainKernel<R> kernel = chain_kernel<R>(op);
  for (size_t k = 0; k < op.inputs.size(); ++k) kernel.inputs[k] = inputs[k];
  kernel.out = out;
  kernel.report = report_to(stream);
  launch_each(stream, kernel.loops.count, kernel);
}

}  // namespace

void run(const Stream& stream, const Pointwise& op, void* out, const void* const* inputs) {
  if (op.f64)
    run_chain<double>(stream, op, out, inputs);
  else
    run_chain<float>(stream, op, out, inputs);
}

}  // namespace shardproof::SHARDPROOF_MACHINE
