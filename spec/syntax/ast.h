#pragma once
// The text of a file as a tree: NOTATION's grammar, one struct per production, nothing resolved.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "spec/diag/diagnostic.h"
#include "spec/types/type.h"

namespace shardproof::syntax {

/// `M/t/d`, `(K D)/t`, `2`, `...`, `*`; bracketed only inside a pattern.
struct SplitExpr {
  enum class Kind { dim, ellipsis, star } kind = Kind::dim;
  std::vector<Name> names;  ///< one name or number; several: a group
  std::vector<Axis> axes;
  bool bracketed = false;
  SourceRange range;
};

struct MarkExpr {
  Mark mark;
  Axis axis;
  SourceRange range;
  bool either = false;  ///< `?_t`: R in one instance of the plan, and I (`mark`) in another
};

/// `bf16[B/d L]{U_t}`, `FfnShards[N]{U_d}`.
struct TypeExpr {
  Name name;              ///< a dtype's word, `float`, or the name of a record or layout
  bool has_dims = false;  ///< a dtype always has brackets; a record may
  std::vector<SplitExpr> dims;
  std::vector<MarkExpr> marks;
  SourceRange range;
};

/// One operand of a pattern.
struct OperandExpr {
  Name type_name;  ///< `Layer[N/p]`, where the name and `[` touch: dims are those in the brackets
  std::vector<SplitExpr> dims;
  std::vector<MarkExpr> marks;
  SourceRange range;
};

/// The text inside a string: `B L M/t, M/t F -> B L F {U_t}`, `B L M; M`, or `FfnShards{U_d} ->
/// Ffn`. A side that is one capitalised word may be a record's layout or a dim: resolution decides;
/// a side is then in `left`/`right` as a single dim.
struct PatternExpr {
  std::vector<OperandExpr> left;
  std::optional<OperandExpr> right;
  std::vector<SplitExpr> working;  ///< after `;`
  bool has_working = false;
  SourceRange range;
};

struct Expr {
  enum class Kind {
    number,          ///< text: as written
    string,          ///< text: between the quotes
    boolean,         ///< text: true | false
    size,            ///< |text|
    name,            ///< text
    call,            ///< text(args); `each text(args)` when each is set
    cast,            ///< DTYPE(args): text is the dtype's word
    dtype,           ///< a dtype as an argument (to=f32): text
    zeros,           ///< zeros(type)
    grad,            ///< grad(text wrt names)(args)
    value_and_grad,  ///< value_and_grad(text wrt names)(args)
    field,           ///< args[0].text
    entry,           ///< args[0][names]
    unary,           ///< text: - | not
    binary           ///< text: + - * / // % == != < > <= >= and or
  } kind = Kind::number;
  std::string text;
  std::vector<Expr> args;
  std::vector<Name> arg_names;  ///< one per argument of a call, cast or grad; empty: positional
  std::vector<Name> names;      ///< wrt names, entry names; of a call of another language, what is
                                ///< before its point: `jnp`, or "" for the value args[0]
  bool each = false;
  std::vector<TypeExpr>
      type;  ///< zeros: exactly one (a vector only because Expr is incomplete here)
  SourceRange range;
};

struct Loop;
struct Statement;
using Block = std::vector<Statement>;

struct Target {
  Name name;
  std::optional<TypeExpr> type;
  SourceRange range;
};

struct Carry {
  Name name;
  TypeExpr type;
  Expr init;
  SourceRange range;
};

struct Loop {
  enum class Kind { scan, ring, pipeline, stages } kind = Kind::scan;
  std::vector<Name> variables;  ///< n; stages may have several
  std::vector<Name> dims;       ///< N; ring: L; pipeline: A; stages: one per variable
  Axis axis;                    ///< ring: c of L/c; pipeline: over p
  Name block_dim;               ///< ring: W of `as W`
  bool reverse = false;
  Name schedule;  ///< pipeline: by NAME args
  bool has_schedule_args = false;
  std::vector<Expr> schedule_args;
  std::vector<Name> schedule_arg_names;
  std::vector<Carry> carries;
  Block body;
  SourceRange range;
};

struct DimDecl {
  std::vector<Name> names;
  enum class Kind { plain, alias, group, size, pads } kind = Kind::plain;
  std::vector<Name> of;  ///< alias, pads: one name; group: its factors
  std::optional<Expr> size;
  SourceRange range;
};

struct Require {
  Expr condition;
  SourceRange range;
};

/// `assume 0 <= y < |V|`: two terms, or three and two comparisons of one direction.
struct Assume {
  std::vector<Expr> terms;
  std::vector<std::string> comparisons;
  SourceRange range;
};

struct Bind {
  std::vector<Target> targets;
  std::vector<Expr> value;  ///< one expression, or none when there is a loop
  std::vector<Loop> loop;   ///< one or none
};
struct Return {
  std::vector<Expr> values;
};
struct Next {
  std::vector<Expr> values;
};
struct Emit {
  std::vector<Expr> values;
};

struct Statement {
  std::variant<DimDecl, Require, Assume, Bind, Return, Next, Emit> node;
  SourceRange range;
};

struct Group {  ///< `a b: f32[M]`
  std::vector<Name> names;
  TypeExpr type;
  SourceRange range;
};

struct Param {
  Group group;
  std::optional<Expr> value;
};

struct Results {
  std::vector<Group> groups;  ///< names are empty where only types are given
  bool parenthesized = false;
};

struct ImportDecl {
  std::vector<Name> names;
  std::string path;
  SourceRange range;
};
struct MeshDecl {
  struct Entry {
    Axis axis;
    std::optional<std::string> size;
    SourceRange range;
  };
  std::vector<Entry> axes;
  SourceRange range;
};
struct ConstDecl {
  Name name;
  Expr value;
  SourceRange range;
};
struct ConfigDecl {
  struct Entry {
    Name name;
    std::string number;
    SourceRange range;
  };
  Name name;
  std::vector<Entry> entries;
  SourceRange range;
};
struct RecordDecl {
  Name name;
  std::vector<Group> fields;
  SourceRange range;
};
struct LayoutDecl {
  Name name;
  Name record;
  std::vector<Group> fields;
  SourceRange range;
};

struct Implements {
  Name model;
  bool grad = false;
  std::vector<Name> wrt;
};

/// One of the plans that a plan with `{?_t}` stands for.
struct InstanceOf {
  Name plan;          ///< as written; the instance is called `plan{I_t}`
  size_t number = 0;  ///< 0: R on each such axis; count - 1: I on each
  size_t count = 1;
};

struct FunctionDecl {
  bool is_plan = false;
  std::optional<std::string> trusted;  ///< the reason
  Name name;
  std::optional<Implements> implements;
  std::optional<Name> after;
  std::optional<std::string> pattern;  ///< fn only: "; L D"
  SourceRange pattern_range;           ///< without the quotes
  std::vector<Param> params;
  std::vector<Param> saved;  ///< after `;`
  bool has_saved = false;
  Results results;
  bool has_body = false;
  Block body;
  SourceRange name_range;
  SourceRange range;
  std::optional<InstanceOf> instance = {};  ///< never set by the parser
};

struct ScheduleStatement;
struct ScheduleDecl {
  Name name;
  std::vector<Name> params;
  std::vector<ScheduleStatement> steps;
  SourceRange range;
};
using Schedules = std::map<Name, std::shared_ptr<const ScheduleDecl>>;  ///< by name
struct ScheduleStatement {
  enum class Kind { let, loop, work, require } kind = Kind::work;
  Name name;                            ///< let: the name; loop: the variable; work: F, B or W
  std::vector<Name> params;             ///< let with parameters
  std::vector<Expr> exprs;              ///< let, require: one; loop: from, to; work: arguments
  std::vector<ScheduleStatement> body;  ///< loop
  SourceRange range;
};

using Declaration = std::variant<ImportDecl, MeshDecl, DimDecl, ConstDecl, Require, ConfigDecl,
                                 RecordDecl, LayoutDecl, FunctionDecl, ScheduleDecl>;

struct File {
  int32_t source = -1;
  std::vector<Declaration> declarations;  ///< in the order of the text
};

}  // namespace shardproof::syntax
