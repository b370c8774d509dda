#pragma once
// A program as text, drafted from choices: `fn f` and `plan p implements f` on a mesh.
#include "properties/programs/draft.h"

namespace shardproof::programs {

struct RandomProgram {
  std::string text;             ///< f and p
  std::vector<Word> plan;       ///< the lines of p that bind a value, to be broken one by one
  std::vector<Drafted> values;  ///< those that the result needs, and the result last
  bool kinks = false;           ///< a gradient depends on which of two numbers is larger
  bool shortened = false;       ///< some of it is in bf16
  bool differentiable = false;
  Letters mesh;
  std::vector<Param> params;
};

RandomProgram draft_program(const Choices& choices);

/// If it is differentiable, its text with `plan step implements step_whole`, which takes all
/// gradients of p for a random weight; else its text.
std::string with_step(const RandomProgram& program);

/// The bits that every value and partial sum of a run needs, for whole inputs of at most 2.
double exact_bits(const RandomProgram& program, const std::map<Word, int64_t>& dims);

}  // namespace shardproof::programs
