#pragma once
// The body of one function during resolution: its names, the block that receives instructions, and
// the enclosing calls of library functions.
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
  SourceRange range;                             ///< has the name
  std::optional<Dim> loop_dim = std::nullopt;    ///< the index of a loop over this dim
  std::optional<Dim> ring_block = std::nullopt;  ///< the index of a ring: the dim of its blocks
};

/// A generic function at one call: the meaning of the names in its signature.
struct Instance {
  const FunctionEntity* entity;
  std::vector<Dim> rest;   ///< `...`
  std::vector<Dim> whole;  ///< dims after `;`
  std::optional<Dtype> float_dtype;
  std::vector<ir::ValueId> arguments;  ///< tensors, in order
  SourceRange call;                    ///< in the user's file
  std::vector<std::string> through;
};

/// The code being resolved: a function's own body, or that of a generic function that it calls.
struct FunctionScope {
  size_t file = 0;
  bool is_plan = false;
  const Instance* instance = nullptr;
  FunctionScope* caller = nullptr;
  Name function;
  const syntax::Block* text = nullptr;    ///< of a function's own body
  std::map<Name, Dim, ByName> dims = {};  ///< dims after `;`, and local dims
  std::vector<std::map<Name, Binding, ByName>> scopes = {{}};
  std::vector<Values> returned = {};
  bool has_returned = false;
  SourceRange return_range = {};
};

struct LoopScope {
  syntax::Loop::Kind kind;
  std::vector<Types> carries;
  std::vector<Values> next = {};
  std::vector<Values> emitted = {};
  std::vector<SourceRange> emitted_at = {};
  bool has_next = false;
};

struct Argument {
  Values values;
  SourceRange range;
  std::optional<Dtype> dtype = std::nullopt;       ///< to=f32
  std::optional<std::string> text = std::nullopt;  ///< a string
};

/// A call with its arguments resolved.
struct CallSite {
  Name name;
  SourceRange range;
  std::optional<syntax::PatternExpr> pattern;
  bool has_pattern = false;  ///< has a pattern, which may be unreadable
  SourceRange pattern_range;
  std::vector<Argument> args;
  std::map<Name, Argument, ByName> named;
};

class Body {
 public:
  Body(World& world, ir::Function& function, FunctionScope& scope)
      : world(world),
        function(function),
        scope(&scope),
        block(&function.body),
        errors_before(world.errors()) {}

  World& world;
  ir::Function& function;
  FunctionScope* scope;
  ir::Block* block;
  LoopScope* loop = nullptr;
  std::optional<size_t> library_call;  ///< in function.library_calls: the call being inlined
  bool lost = false;                   ///< a placeholder replaces a value with an error
  bool exhausted = false;              ///< the body became too long
  size_t errors_before;                ///< in the whole program, when this body began
  std::map<ir::ValueId, ir::Number> literals;  ///< values that are literals

  // --- values ---
  const Type& type(ir::ValueId id) const { return function.values[id].type; }
  /// Without axes and marks: spec/check infers those.
  ir::ValueId add_value(const Shape& shape, Dtype dtype, SourceRange range);
  ir::ValueId add_value(const Type& type, SourceRange range) {
    return add_value(type, type.dtype, range);
  }
  ir::ValueId emit(ir::Op&& op, std::vector<ir::ValueId> operands, const Shape& shape, Dtype dtype,
                   SourceRange range, std::vector<SourceRange> operand_ranges = {});
  /// An op with a pattern, whose right side has the result's dims.
  ir::ValueId emit(ir::Op&& op, std::vector<ir::ValueId> operands, Dtype dtype, SourceRange range,
                   std::vector<SourceRange> operand_ranges);
  void emit_to(ir::Op&& op, std::vector<ir::ValueId> operands, std::vector<ir::ValueId> results,
               SourceRange range, std::vector<SourceRange> operand_ranges = {});
  ir::Place place(SourceRange range) const;
  /// A placeholder of the right type for a value with an error.
  Values recover(const Type& type, SourceRange range);
  Values zero(const Type& type, SourceRange range);
  ir::ValueId number(const std::string& text, double value, SourceRange range,
                     const Name& name = "");
  std::optional<double> literal(ir::ValueId id) const;  ///< the value of a literal
  std::optional<std::string> literal_text(ir::ValueId id) const;

  // --- names ---
  const FileScope& file() const { return world.files[scope->file]; }
  TypeContext types() const;
  bool inferred() const { return scope->instance != nullptr; }
  Binding* find(const Name& name);
  const Binding* find(const Name& name) const;
  std::vector<Name> visible() const;
  void bind(const Name& name, Values values, SourceRange range);
  void open_scope() { scope->scopes.emplace_back(); }
  void close_scope() { scope->scopes.pop_back(); }

  // --- text ---
  void statements(const syntax::Block& block);
  std::vector<Values> several(const syntax::Expr& expr);  ///< one per result
  Values one(const syntax::Expr& expr);                   ///< E0103 unless there is one
  Values value(const syntax::Expr& expr);                 ///< of an expression that is no call
  std::vector<Values> all(const std::vector<syntax::Expr>& exprs);

  Diagnostic& error(const char* code, SourceRange range, std::string message,
                    std::string label = "") {
    return world.error(code, located(range), std::move(message), std::move(label));
  }
  /// The index of this function in the program. It may only call functions before it.
  size_t index() const { return static_cast<size_t>(&function - world.program.functions.data()); }
  /// In a library body: the location of the call in the user's file.
  SourceRange located(SourceRange range) const {
    return scope->instance ? scope->instance->call : range;
  }
};

/// One tensor operand. E0109 for a record. Returns no_value after an error here or earlier.
ir::ValueId tensor_of(Body& body, const Argument& argument, const std::string& what);
/// The value with its groups as `type` writes them: H and (K D) are the same position. no_value if
/// the dims differ.
ir::ValueId regrouped(Body& body, ir::ValueId value, const Type& type, SourceRange range);

/// The codes to report if `value` does not fit `type`.
struct FitCodes {
  const char* dims;   ///< for wrong dims
  const char* count;  ///< for a wrong record
  std::string what;   ///< "the argument `x`"
};
/// Converts the value to `type`: a number becomes a scalar; records and dims must agree. Axes are
/// left to spec/check. After an error, returns a placeholder of that type.
Values fit(Body& body, const Values& value, const Types& type, SourceRange range,
           const FitCodes& codes);

}  // namespace shardproof::resolution
