#pragma once
// The body of one function while it is resolved: its names, the block that instructions go to, and
// the calls of library functions it stands in.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/resolve/types.h"
#include "spec/resolve/world.h"

namespace shardproof::resolution {

struct Binding {
  Values values;
  SourceRange range;
  std::optional<Dim> loop_dim = std::nullopt;    ///< the variable of a loop over this dim
  std::optional<Dim> ring_block = std::nullopt;  ///< of a ring: the dim its blocks have
};

/// A generic function at one call: what its signature's names stand for.
struct Instance {
  const FunctionEntity* entity;
  std::vector<Dim> rest;   ///< `...`
  std::vector<Dim> whole;  ///< the working dims
  std::optional<Dtype> float_dtype;
  std::vector<ir::ValueId> arguments;  ///< the tensors, in order
  SourceRange call;                    ///< in the user's file
  std::vector<std::string> through;
};

/// The text being resolved: a function's own body, or that of a generic function it calls.
struct Frame {
  size_t file = 0;
  bool is_plan = false;
  const Instance* instance = nullptr;
  Frame* caller = nullptr;
  Name function;
  std::map<Name, Dim> dims = {};  ///< working and local dims
  std::vector<std::map<Name, Binding>> scopes = {{}};
  std::vector<Values> returned = {};
  bool has_returned = false;
  SourceRange return_range = {};
};

struct LoopFrame {
  syntax::Loop::Kind kind;
  std::vector<Types> carries;
  std::vector<Values> next = {};
  std::vector<Values> emitted = {};
  bool has_next = false;
};

struct Argument {
  Values values;
  SourceRange range;
  std::optional<Dtype> dtype = std::nullopt;       ///< to=f32
  std::optional<std::string> text = std::nullopt;  ///< a tag
};

/// A call with its arguments resolved.
struct CallSite {
  Name name;
  SourceRange range;
  std::optional<syntax::PatternExpr> pattern;
  bool has_pattern = false;  ///< written, though perhaps not readable
  SourceRange pattern_range;
  std::vector<Argument> args;
  std::map<Name, Argument> named;
};

class Body {
 public:
  Body(World& world, ir::Function& function, Frame& frame)
      : world(world),
        function(function),
        frame(&frame),
        block(&function.body),
        errors_before(world.errors()) {}

  World& world;
  ir::Function& function;
  Frame* frame;
  ir::Block* block;
  LoopFrame* loop = nullptr;
  std::optional<size_t> library_call;      ///< of function.library_calls: being written out
  bool lost = false;                       ///< a value stands for one that had an error
  bool exhausted = false;                  ///< the body became too long
  size_t errors_before;                    ///< of the whole program, when this body began
  std::map<ir::ValueId, double> literals;  ///< the values that are numbers of the text

  // --- values ---
  const Type& type(ir::ValueId id) const { return function.values[id].type; }
  /// `type` without axes and marks: those of a computed value are the checker's.
  ir::ValueId add_value(const Type& type, SourceRange range);
  ir::ValueId emit(ir::Op op, std::vector<ir::ValueId> operands, Shape shape, Dtype dtype,
                   SourceRange range, std::vector<SourceRange> operand_ranges = {});
  void emit_to(ir::Op op, std::vector<ir::ValueId> operands, std::vector<ir::ValueId> results,
               SourceRange range, std::vector<SourceRange> operand_ranges = {});
  ir::Place place(SourceRange range) const;
  /// A value of the right type in the stead of one that had an error.
  Values recover(const Type& type, SourceRange range);
  Values zero(const Type& type, SourceRange range);
  ir::ValueId number(const std::string& text, double value, SourceRange range,
                     const Name& name = "");
  std::optional<double> literal(
      ir::ValueId id) const;  ///< the value, if it is a number's instruction

  // --- names ---
  const FileScope& file() const { return world.files[frame->file]; }
  TypeContext types() const;
  bool inferred() const { return frame->instance != nullptr; }
  Binding* find(const Name& name);
  std::vector<Name> visible() const;
  void bind(const Name& name, Values values, SourceRange range);
  void open_scope() { frame->scopes.emplace_back(); }
  void close_scope() { frame->scopes.pop_back(); }

  // --- text ---
  void statements(const syntax::Block& block);
  std::vector<Values> several(const syntax::Expr& expr);  ///< one per result
  Values one(const syntax::Expr& expr);                   ///< E0103 unless it is one
  std::vector<Values> all(const std::vector<syntax::Expr>& exprs);

  Diagnostic& error(const char* code, SourceRange range, std::string message,
                    std::string label = "") {
    return world.error(code, located(range), std::move(message), std::move(label));
  }
  /// The place of this function in the program; only those before it may be called.
  size_t index() const { return static_cast<size_t>(&function - world.program.functions.data()); }
  /// In a library body: the call in the user's file.
  SourceRange located(SourceRange range) const {
    return frame->instance ? frame->instance->call : range;
  }
};

/// One tensor operand: E0109 for a record. no_value after an error, now or before.
ir::ValueId tensor_of(Body& body, const Argument& argument, const std::string& what);

/// What is wrong when `value` is to have `type`.
struct FitCodes {
  const char* dims;   ///< code for dims
  const char* count;  ///< code for another record
  std::string what;   ///< "the argument `x`"
};
/// The value as one of `type`: a number becomes a scalar, records and dims must agree; axes are
/// the checker's. After an error, a value of that type.
Values fit(Body& body, const Values& value, const Types& type, SourceRange range,
           const FitCodes& codes);

}  // namespace shardproof::resolution
