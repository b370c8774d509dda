#pragma once
// The numbers that a program speaks of, and points at and around them: where it changes its mind,
// nothing else may come.
#include <vector>

#include "spec/denote/denote.h"

namespace shardproof {

/// The numbers other than 0 that a function, its model and what they call speak of, without signs:
/// its own first, then its model's, then those of calls and of the file's requirements.
std::vector<double> numbers_of(const ir::Program& program, const ir::Function& function);

/// Those of the file's requirements alone.
std::vector<double> numbers_required(const ir::Program& program);

/// `sizes` with one dim at such a number, beside it and at its double, for each dim in turn, where
/// all still holds.
std::vector<denote::Sizes> sizes_at_literals(const ir::Program& program,
                                             const std::vector<double>& numbers,
                                             const denote::Sizes& sizes);

/// For each parameter those of `numbers` that meet what is made of it: in x < 100, and 7 * x.
std::vector<std::vector<double>> numbers_of_params(const ir::Program& program,
                                                   const ir::Function& function);

/// What drawing at numbers needs to know of a function.
struct Literals {
  Literals(const ir::Program& program, const ir::Function& function)
      : all(numbers_of(program, function)), of_params(numbers_of_params(program, function)) {}
  std::vector<double> all;
  std::vector<std::vector<double>> of_params;
};

/// Inputs of a function, as it assumes them to be, whose entries are such numbers, their
/// neighbours, and what two of them make. Even rounds give each parameter one of its own; odd ones
/// go through all numbers, with all parameters at the same one, and then draw any of them. All are
/// decimals of few digits, where the numbers are.
std::vector<denote::Array<double>> inputs_at_literals(const ir::Program& program,
                                                      const ir::Function& function,
                                                      const Literals& literals,
                                                      const denote::Sizes& sizes, unsigned round);

}  // namespace shardproof
