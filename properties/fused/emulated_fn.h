#pragma once
// A fused op, run by a device, beside the function of the library that it stands for, run by the
// oracle in double.
#include <functional>
#include <random>

#include "impl/device/device.h"
#include "oracle/oracle.h"

namespace shardproof::properties {

/// Where the laws run the ops. Each program of laws has its own: emulated_law.cc.
std::shared_ptr<Device> law_device();

/// A fn that calls a library function, at a point: its parameters are the op's inputs, in order,
/// and its results the op's outputs.
class EmulatedFn {
 public:
  /// `text`: a program; its last fn is meant. Throws std::logic_error where it has an error.
  EmulatedFn(const std::string& text, std::map<Name, int64_t> dims);

  const Type& type(size_t param) const;
  oracle::Tensor& input(size_t param) { return inputs_.at(param); }
  size_t params() const { return inputs_.size(); }
  double number(size_t param) const { return inputs_.at(param).data.at(0); }
  /// Entries by `next`, as the parameter's dtype holds them.
  void draw(size_t param, const std::function<double()>& next);
  /// All floats: normal, times `magnitude`.
  void draw_floats(std::mt19937_64& rng, double magnitude);
  /// The parameter is a scalar of the op: known, or left an input.
  Scalar scalar(size_t param, bool is_input);

  /// Where the kernel is off the definition by more than rounding may do, measured at the
  /// roundoff of f32, on the laws' device and on this processor where it has the op; empty where it
  /// is not. A fn `slack` of the program with the same
  /// parameters says for each result what is rounded to bf16 on the way to it.
  std::string difference(const FusedOp& op) const;
  /// What the kernel makes: results in double; scratch as the f32 that it may hold.
  struct Made {
    std::vector<std::vector<double>> results, scratch;
  };
  Made run(const FusedOp& op) const;
  Made run(const FusedOp& op, Device& device) const;
  /// An input of the op that is no parameter, after those that have dims.
  void insert(Element element, std::vector<double> numbers) {
    inserted_.emplace_back(element, std::move(numbers));
  }
  std::vector<oracle::Tensor> wanted() const;

 private:
  const ir::Function& function() const { return program_.functions.at(function_); }
  std::vector<double> bounds(const std::vector<oracle::Tensor>& wanted) const;
  std::vector<oracle::Tensor> slack() const;

  ir::Program program_;
  size_t function_ = 0;
  oracle::Sizes sizes_;
  std::vector<oracle::Tensor> inputs_;
  std::vector<bool> known_;  ///< it is in the op, and no input
  std::vector<std::pair<Element, std::vector<double>>> inserted_;
};

}  // namespace shardproof::properties
