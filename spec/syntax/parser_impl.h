#pragma once
// The parser: one function for each production of the grammar, in the files parser_*.cpp.
#include <set>

#include "spec/syntax/parser.h"
#include "spec/syntax/parser_cursor.h"

namespace shardproof::syntax {

class Parser : Cursor {
 public:
  Parser(std::vector<Token> tokens, int32_t file, Report& report)
      : Cursor(std::move(tokens), file, report) {}

  std::vector<Declaration> file();
  PatternExpr pattern();  ///< to the end of the tokens; throws Abandon

 private:
  // parser.cpp: the file, and where to go on after an error
  void declaration(std::vector<Declaration>& out);
  void skip_to_declaration(size_t start);
  void skip_to_statement(size_t start, uint32_t column);
  void skip_to_group();
  bool at_declaration() const;
  void nest();  ///< fails (E0007) when this is nested too deeply

  // parser_declarations.cpp
  ImportDecl import();
  MeshDecl mesh();
  std::vector<DimDecl> dims_declaration();
  DimDecl dim_declaration();
  void shared_size(const DimDecl& dim, size_t column);
  bool at_dim_group() const;
  ConstDecl constant();
  Require require();
  Assume assume();
  ConfigDecl config();
  RecordDecl record();
  LayoutDecl layout();
  std::vector<Group> fields();
  void open_line();
  bool at_next_line() const;
  void close_line(std::string_view word);
  std::string whole_number(std::string_view what);

  // parser_functions.cpp
  FunctionDecl function();
  Implements implements(bool is_plan);
  Name plan_name(std::string_view what);
  std::vector<Name> wrt();
  void parameters(FunctionDecl& decl);
  void parameter_pattern(FunctionDecl& decl);
  Param param();
  Results results();
  bool at_group() const;
  void body(FunctionDecl& decl);

  // parser_types.cpp
  Group group(std::string_view what);
  TypeExpr type(bool before_block = false);
  std::vector<SplitExpr> dims(Spelling close);
  SplitExpr split();
  void split_axes(SplitExpr& split);
  std::optional<Edit> axes_in(size_t open, bool slashed) const;
  bool within_type(size_t at) const;
  [[noreturn]] void fail_axes_in(const std::string& expected, const std::string& slash,
                                 Spelling end);
  bool at_marks() const;
  std::vector<MarkExpr> marks();
  MarkExpr mark();
  [[noreturn]] void leave_marks(Diagnostic diagnostic);

  // parser_patterns.cpp
  OperandExpr operand();
  SplitExpr operand_dim();
  bool at_split() const;
  bool at_type() const;

  // parser_expressions.cpp, parser_atoms.cpp
  using Rule = Expr (Parser::*)();
  /// How tightly an operator binds.
  enum class Level { none, disjunction, conjunction, negation, comparison, sum, term, unary };
  Expr expression();
  Level level() const;
  Expr disjunction();
  Expr comparison();
  Expr sum();
  Expr unary();
  Expr postfix();
  std::string entry();
  bool at_foreign_call() const;
  Expr foreign_call(Expr before);
  [[noreturn]] void not_a_comparison();
  [[noreturn]] void not_named(const Token& word, const Token& name);
  [[noreturn]] void refuse_power(const Expr& base);
  Fix size_of_dim(const Expr& tensor) const;
  std::vector<Name> dims_of_parameter(std::string_view name) const;
  [[noreturn]] void refuse_stacked_record(const Expr& record, const std::vector<Name>& dims);
  Expr with(Expr record);
  Expr atom();
  Expr operation(Level lowest);
  Expr binary(const std::string& text, Expr left, int left_height, Expr right);
  Expr prefixed(Spelling word, Rule operand);
  Expr word_atom();
  Expr reserved_atom();
  Expr named_scan();
  Name fresh_name(const std::string& stem);
  std::optional<Fix> tuple_of(size_t open) const;
  Expr parenthesized();
  Expr size();
  Expr call(Expr::Kind kind, bool each);
  Expr each();
  Expr gradient();
  Expr zeros();
  Expr leaf(Expr::Kind kind);
  void arguments(Expr& call);
  void argument(Expr& call);
  std::vector<Expr> expressions();
  bool at_comparison() const;
  bool at_next_bind() const;
  void grow(int height);

  // parser_statements.cpp
  Block block(std::string_view what);
  void statement(Block& block);
  void statement_node(Block& block);
  Bind bind();
  bool at_loop() const;
  Target target();
  [[noreturn]] void not_a_declaration();
  [[noreturn]] void not_a_statement();
  std::optional<Fix> statement_fix() const;
  size_t after_statement() const;
  Fix own_name() const;

  // other_languages.cpp
  std::optional<Fix> names_alone(std::string_view word) const;
  Fix own_comment(size_t slashes) const;
  Fix dims_alone() const;
  std::optional<Fix> dims_in_brackets() const;
  std::optional<Fix> dim_of_range(size_t first) const;
  std::optional<Fix> no_entry() const;
  std::optional<Fix> other_statement() const;
  std::optional<Fix> other_choice() const;
  std::optional<Fix> other_implements() const;

  // parser_loops.cpp
  Loop loop();
  void scan(Loop& loop);
  Diagnostic reverse_too_early(size_t at) const;
  void ring(Loop& loop);
  void pipeline(Loop& loop);
  void stages(Loop& loop);
  void carries(Loop& loop);

  // parser_schedules.cpp
  ScheduleDecl schedule();
  std::vector<ScheduleStatement> steps();
  ScheduleStatement step();
  void let_step(ScheduleStatement& step);
  void for_step(ScheduleStatement& step);
  void require_step(ScheduleStatement& step);
  void work_step(ScheduleStatement& step);

  int height_ =
      0;           ///< of the expression read last: a tree that is too high cannot be walked either
  int loops_ = 0;  ///< around this statement
  Block* open_block_ = nullptr;  ///< where a scan inside an expression gets a statement of its own
  std::set<std::string, std::less<>> words_;  ///< of the file, once a fresh name was asked for
  size_t unclosed_ = 0;                       ///< where a missing `}` was told last
};

}  // namespace shardproof::syntax
