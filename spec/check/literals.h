#pragma once
// The numbers in a program, and points at and around them: a function may change its behaviour
// there and nowhere else.
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// The nonzero numbers in a function, its model and their callees, without signs. Order: its own,
/// its model's, those of callees, those of the file's requirements.
std::vector<double> numbers_of(const ir::Program& program, const ir::Function& function);

/// The numbers in the requirements of the file and in `also` only.
std::vector<double> numbers_required(const ir::Program& program,
                                     const std::vector<ir::Requirement>& also = {});

/// `sizes` with one dim, or axis if `of_axes`, set to such a number, to its neighbours and to its
/// double, for each in turn, if all requirements still hold; and with all dims whose indices are
/// values of the function beyond a small number: a window in one layer of six.
std::vector<denote::Sizes> sizes_at_literals(const ir::Program& program, size_t function,
                                             const std::vector<double>& numbers,
                                             const denote::Sizes& sizes, bool of_axes);

/// For each parameter, the `numbers` that are combined with it: in x < 100, and in 7 * x.
std::vector<std::vector<double>> numbers_of_params(const ir::Program& program,
                                                   const ir::Function& function);

/// The facts about a function that draws at literals need.
struct Literals {
  Literals(const ir::Program& program, const ir::Function& function)
      : all(numbers_of(program, function)), of_params(numbers_of_params(program, function)) {
    for (const auto& own : of_params)  // 1e30: above those that are combined with everything
      if (all.empty()) all = own;
  }
  std::vector<double> all;
  std::vector<std::vector<double>> of_params;
};

/// Inputs of a function that satisfy its assumptions. Entries are such numbers, their neighbours,
/// or combinations of two. Even rounds choose one number per parameter. Odd rounds go through all
/// numbers with every parameter at the same one, and then draw any of them. The values are short
/// decimals if the numbers are.
std::vector<denote::Array<double>> inputs_at_literals(const ir::Program& program,
                                                      const ir::Function& function,
                                                      const Literals& literals,
                                                      const denote::Sizes& sizes, unsigned round);

}  // namespace shardproof
