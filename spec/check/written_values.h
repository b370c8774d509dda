#pragma once
// The expressions that a function returns, as written, with its names and calls looked through.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "spec/syntax/ast.h"

namespace shardproof {

struct Written;

/// The value of each name in a function or a loop.
struct WrittenName {
  enum class Kind { value, parameter, passed, carry, index } kind = Kind::parameter;
  const syntax::Expr* expr = nullptr;          ///< value; passed: the argument
  const syntax::Loop* loop = nullptr;          ///< value: a result of this loop
  const struct WrittenScope* scope = nullptr;  ///< of the argument that is passed, or of the loop
  size_t number = 0;                           ///< which result, parameter or carry
  uint32_t begin = 0;                          ///< of the declaration, in its file
};

struct WrittenScope {
  const WrittenScope* outer = nullptr;  ///< of a loop's body
  size_t depth = 0;                     ///< of loops
  std::map<Name, WrittenName> names;
  std::vector<const syntax::Expr*> returned;  ///< of a loop: next, then emit
};

/// An expression, a result of a call, or a result of a loop.
struct Written {
  const syntax::Expr* expr = nullptr;
  const syntax::Loop* loop = nullptr;  ///< if there is no expression
  const WrittenScope* scope = nullptr;
  size_t result = 0;
  auto operator<=>(const Written&) const = default;
};

/// The functions of files, by name; plans by the model that they implement.
class WrittenFunctions {
 public:
  void add(syntax::File file);
  const syntax::FunctionDecl* find(const Name& name) const;

  /// The scope of a function, with its parameters free.
  const WrittenScope* scope_of(const syntax::FunctionDecl& function);
  /// The scope of a call, with its arguments for the parameters; null: they do not fit.
  const WrittenScope* scope_of_call(const syntax::FunctionDecl& function, const Written& call);
  const WrittenScope* scope_of_loop(const syntax::Loop& loop, const WrittenScope& outer);

  /// Looks through names, casts, collectives and what has no value of its own.
  Written seen_through(Written at);
  /// The body's value, of a call of a function with a body.
  std::optional<Written> inside(const Written& call);

 private:
  void read(const syntax::Block& block, WrittenScope& scope);
  WrittenScope& made();

  std::vector<std::unique_ptr<syntax::File>> files_;
  std::map<Name, const syntax::FunctionDecl*> functions_;
  std::vector<std::unique_ptr<WrittenScope>> scopes_;
  std::map<const syntax::FunctionDecl*, const WrittenScope*> of_functions_;
  std::map<std::pair<const syntax::FunctionDecl*, Written>, const WrittenScope*> of_calls_;
  std::map<std::pair<const syntax::Loop*, const WrittenScope*>, const WrittenScope*> of_loops_;
};

const WrittenName* find_name(const WrittenScope* scope, const Name& name);

}  // namespace shardproof
