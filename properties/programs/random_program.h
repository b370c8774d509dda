#pragma once
// A program as text, drafted from choices: `fn f`, `plan p implements f` on a mesh, and where it
// has gradients `plan step implements step_whole`, which takes all of them for a random weight.
#include "properties/programs/draft.h"

namespace shardproof::programs {

struct RandomProgram {
  std::string text;             ///< f and p
  std::string with_step;        ///< and the loss and its gradients; empty where there are none
  std::vector<Word> plan;       ///< the lines of p that bind a value, to be broken one by one
  std::vector<Drafted> values;  ///< those that the result needs, and the result last
  bool kinks = false;           ///< a gradient depends on which of two numbers is larger
  bool shortened = false;       ///< some of it is in bf16
  size_t params = 0;
};

RandomProgram draft_program(const Choices& choices);

/// The bits that every value and partial sum of a run needs, for whole inputs of at most 2.
double exact_bits(const RandomProgram& program, const std::map<Word, int64_t>& dims);

}  // namespace shardproof::programs
