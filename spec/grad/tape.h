#pragma once
// A plan as a flat list of ops: calls inlined, renamings removed, loop entries shared.
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

/// Why there is no derived backward, with the location.
struct Refused {
  Diagnostic diagnostic;
};
[[noreturn]] void refuse(const char* code, const ir::Place& place, const std::string& message);

/// The type in the backward: nothing there has a gradient, so I becomes R.
Type plain(Type type);

struct TapeValue {
  Type type;                  ///< as in the plan, I included
  Name name;                  ///< in the derived text; may be empty
  TapeOp* made_by = nullptr;  ///< defines it; null: a parameter, index or carry
  size_t result = 0;
  Tape* home = nullptr;
  TapeOp* inner = nullptr;  ///< for a library call's result: the op in the body that defines it
  size_t inner_result = 0;
  Name saved;                      ///< name under which the plan saves it at its top level
  bool kept = false;               ///< saved inside a loop
  Dtype gradient = Dtype::number;  ///< the dtype of its gradient
  bool active = false;             ///< a wanted gradient flows through it
  bool scale = false;              ///< a ring's running maximum: results do not depend on it
};

/// A call of a library function, kept as a call; `body` has the inlined ops.
struct Library {
  const ir::LibraryCall* call;
  std::shared_ptr<Tape> body;
};
struct Trusted {
  size_t plan;
};
/// A scan, or a ring if its body has one.
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
  std::optional<Blocks> ring;  ///< for a ring's body: the blocks that its index runs over
};

/// Whether `tape` is the body of a loop in `outer`, or in such a body.
bool is_inside(const Tape& tape, const Tape& outer);

struct Recording {
  std::deque<TapeValue> values;
  Tape top;
};

/// Marks the carries of a ring that only rescale its sums: the maximum in a running softmax.
void mark_scales(Recording& recording, Tape& ring);

/// Records plan `f`. Throws Refused for parts without a derivative: a step, a pipeline.
std::unique_ptr<Recording> record(const ir::Program& program,
                                  const std::vector<std::vector<Type>>& types, size_t f);

/// Marks the values that depend on the parameters `wrt` through ops with a gradient.
void mark_active(Recording& recording, const std::vector<size_t>& wrt);

/// Whether a gradient of the result flows to operand `i`.
bool flows(const ir::Op& op, size_t i);

}  // namespace shardproof::grad
