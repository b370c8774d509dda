#pragma once
// A plan written out: calls to plans inlined, copies of names left out, entries of loops once.
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/ir/program.h"

namespace shardproof::grad {

struct TapeOp;
struct Tape;
using ValueIndex = size_t;

/// Why there is no derived backward; with the place.
struct Refused {
  Diagnostic diagnostic;
};
[[noreturn]] void refuse(const char* code, const ir::Place& place, const std::string& message);

/// The type as the backward reads it: nothing has a gradient there, so I is R.
Type plain(Type type);

struct TapeValue {
  Type type;                  ///< as in the plan, I included
  Name name;                  ///< in the derived text; empty: none of its own
  TapeOp* made_by = nullptr;  ///< who makes it; null: a parameter, index or carry
  size_t result = 0;
  Tape* home = nullptr;
  TapeOp* inner = nullptr;  ///< of a library call's result: who makes it in the body
  size_t inner_result = 0;
  Name saved;                      ///< by the plan itself, at its top level, under this name
  bool kept = false;               ///< saved inside a loop
  Dtype gradient = Dtype::number;  ///< the dtype of its gradient
  bool active = false;             ///< a wanted gradient flows through it
  bool scale = false;              ///< a ring's running maximum: its results do not depend on it
};

/// A call of a library function, kept whole; `body` has its steps only.
struct Library {
  const ir::LibraryCall* call;
  std::shared_ptr<Tape> body;
};
struct Trusted {
  size_t plan;
};
/// A scan, or the ring that its body says.
struct Loop {
  Dim dim;
  bool reverse;
  std::shared_ptr<Tape> body;
};

struct TapeOp {
  std::variant<ir::Op, Library, Trusted, Loop> op;
  std::vector<ValueIndex> operands, results;
  ir::Place place;
};

struct Tape {
  Tape* parent = nullptr;
  std::deque<TapeOp> ops;
  ValueIndex index = 0;  ///< of a loop
  Name index_name;
  std::vector<ValueIndex> params;  ///< of the plan, or the carries
  std::vector<ValueIndex> out;     ///< returned, or the next carries
  std::vector<ValueIndex> emit;
  std::map<std::pair<ValueIndex, ValueIndex>, ValueIndex> entries;
  struct Blocks {
    Split of;   ///< L/c
    Dim block;  ///< W
  };
  std::optional<Blocks> ring;  ///< of a ring's body: what its index goes over
};

struct Recording {
  std::deque<TapeValue> values;
  Tape top;
};

/// Marks the carries of a ring that only scale its sums: the maximum of a running softmax.
void mark_scales(Recording& recording, Tape& ring);

/// Writes plan `f` out. Throws Refused at what has no derivative as a whole: a step, a pipeline.
std::unique_ptr<Recording> record(const ir::Program& program,
                                  const std::vector<std::vector<Type>>& types, size_t f);

/// Marks the values that depend on the parameters `wrt` in a way that has a gradient.
void mark_active(Recording& recording, const std::vector<size_t>& wrt);

/// A gradient of the result goes on to operand `i`.
bool flows(const ir::Op& op, size_t i);

}  // namespace shardproof::grad
