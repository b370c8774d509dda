#pragma once
// The erasure of a plan, or a fn, as normal forms of the algebra: axes, marks and collectives are
// gone, every value is a whole tensor. Integers do not overflow and floats are reals; what has no
// arithmetic (argsort, uniform, a scan over a symbolic dim) is an uninterpreted function of its
// arguments.
#include <functional>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/algebra/algebra.h"
#include "spec/ir/program.h"
#include "spec/lower/demand.h"

namespace shardproof::lower {

/// A value: `index` has one variable per factor of each position of its type, in order ((K D): two,
/// and so for `dim H = (K D)`), all different. What an operand's indices are to a result's is said
/// by the op's indices; names give variables only so that few values have to be renamed.
struct Tensor {
  std::vector<algebra::Var> index;
  algebra::Nf body;
};

/// Values that are not looked into. sums: results of einsum, sum, max and concat, conditions, and
/// results of + and - with such a sum or one times other values; additions: of every + and -, which
/// is too much for gradients: what they are made of is written in parts of the forward's.
enum class Seals { none, sums, additions };

struct Options {
  algebra::Budget budget;   ///< of each level; compare_functions sets its limit
  bool use_models = false;  ///< a call to a plan in `proved` is lowered as its model
  const std::vector<bool>* proved = nullptr;  ///< by function
  /// By function: it is its model wherever what it assumes holds, and both are lowered beside it.
  const std::vector<bool>* equal = nullptr;
  /// Gradients of one function at equal arguments are equal, and no more is known of them.
  bool opaque_gradients = false;
  Seals seals = Seals::none;
  /// With seals, of a claim about a gradient: a cotangent that an einsum reads is sealed, so that
  /// the gradient of a stack of layers is not multiplied out.
  bool contracted = false;
  /// A loop whose carries are independent entry by entry along a dim is a loop for each entry.
  bool entries_apart = false;
  /// Asked once the cheap levels have failed: the sides differ in numbers, so the dear ones would
  /// fail too.
  std::function<bool()> differ = {};
};

/// An op of the program has no lowering, or none here, and `words` say why: the verdict is unknown.
struct Unsupported : std::runtime_error {
  Unsupported(const std::string& op, ir::Place where, std::string why = "", std::string how = "")
      : std::runtime_error(op),
        place(std::move(where)),
        words(std::move(why)),
        hint(std::move(how)) {}
  ir::Place place;
  std::string words, hint;
};

/// A named value of the lowered function itself (its loop bodies included), in program order.
struct Named {
  Name name;
  ir::ValueId value = ir::no_value;
  Tensor tensor;
  std::optional<algebra::Var> block = {};  ///< in a ring: the number of the block
};

/// One loop that was lowered, in order, those of callees included; carries are leaves in the
/// bodies.
struct Loop {
  std::string over;  ///< the dim, as printed
  std::vector<Name> carries;
  std::vector<std::string> leaves;  ///< what stands for them in the bodies
  std::vector<Tensor> init, next, emit;
};

/// What an op needs to have a value, and the conditions of the branches that it stands in.
struct Need {
  algebra::Algebra::Obligation what;
  std::optional<size_t> result;    ///< that needs it; none: all do
  std::vector<algebra::Nf> where;  ///< each 0 or 1; it is needed where all are 1
  bool certain = true;             ///< false: where it is needed is not known
};

/// A `require` as terms: a condition of arithmetic, or one made of others.
struct Condition {
  std::string op;  ///< comparisons, "and", "or", "not"; empty: `left` is not 0
  algebra::Nf left = {}, right = {};
  std::vector<Condition> args = {};
  std::string words = {};  ///< as written, of a whole `require`
};

/// A call whose arguments are not seen to satisfy what the callee assumes.
struct Unmet {
  SourceRange range;
  size_t callee = 0;
  ir::ValueId argument = ir::no_value;
  ir::Assumption assumption;
};

/// A term of sizes alone, as it would be written; none for any other.
std::optional<ir::Arith> sizes_alone(algebra::Algebra& algebra, algebra::Nf term);

struct Lowered {
  std::vector<Tensor> results;           ///< those asked for; body 0 for the others
  std::vector<std::string> assumptions;  ///< "0 <= ids < |V|", "eps > 0"
  std::vector<ir::Arith> of_sizes;       ///< those of them that are of sizes alone
  std::vector<std::string> impossible;   ///< assumptions that never hold
  std::vector<Need> needs;
  std::vector<Condition> conditions;  ///< every `require` on the way
  std::vector<Named> named;
  std::vector<Loop> loops;
  std::vector<Unmet> unmet;  ///< of the function's own calls
};

/// What is known of the leaf parameters that index a table: their values are below the size of this
/// dim.
using IdRanges = std::vector<std::optional<Dim>>;
/// `parts`: of those too that are indexed by what is read out of them.
IdRanges id_ranges(const ir::Program& program, size_t function, bool parts = false);

/// The index variables of one Algebra, by name and range: functions lowered with the same ones can
/// be compared.
using Variables = std::map<std::pair<Name, uint32_t>, algebra::Var>;

/// The results of `function` at `arguments` (one per leaf parameter) and `saved` (one per saved
/// parameter), or at leaves named by the parameters' paths. `wanted`: only these results are
/// computed. Throws Unsupported, algebra::BudgetExceeded, algebra::Overflow.
struct Request {
  size_t function = 0;
  const std::vector<Tensor>* arguments = nullptr;
  const std::vector<Tensor>* saved = nullptr;
  const std::vector<bool>* wanted = nullptr;
  const IdRanges* ids = nullptr;  ///< of the leaves; null: the function's own
  Variables* variables = nullptr;
  Reach reach = Reach::at_most;  ///< of the needs
};
Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options);
Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program, size_t function,
                       const Options& options);

/// The right side of `implements grad(f) wrt ..`: f's gradients at leaves named by f's parameters
/// and, for the cotangents of its results, by those of `function`, which makes the claim.
/// `arguments` and `saved` have no part in it.
Lowered lower_gradient(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options);

/// What `function` takes after its `;`: the values that its `after P` saves, by name, at leaves
/// named by P's parameters.
Lowered lower_saved(algebra::Algebra& algebra, const ir::Program& program, const Request& request,
                    const Options& options);

struct Comparison {
  bool equal = false;     ///< false: the difference was not shown to vanish; it may still
  int limit = 0;          ///< the level that closed, or the last one tried
  std::string closed_by;  ///< "algebra, limit 1"
  size_t result = 0;      ///< the first result that differs
  std::optional<algebra::Difference>
      difference;                     ///< at limit 1; its text is valid, factor_value is not
  std::string residue;                ///< plan - model at limit 1, shown
  std::optional<ir::ValueId> origin;  ///< the plan's value where they part: see first_difference
  std::vector<std::string> assumptions;
  std::vector<ir::Arith> of_sizes;      ///< assumptions on sizes alone, to be evaluated
  std::vector<std::string> impossible;  ///< of the plan or its model: the claim would be empty
  bool budget_ended = false;
  std::optional<std::string> unsupported;  ///< the op without a lowering
  std::optional<ir::Place> unsupported_at;
  std::string unsupported_words, unsupported_hint;  ///< as in Unsupported
};

/// Is plan == model, or the gradient of model, result by result? Levels limit 1, 24, 200, a fresh
/// Algebra each; both sides in the same one, with the same leaves for parameters of the same path.
/// Never throws for a resolved program.
Comparison compare_functions(const ir::Program& program, size_t plan, size_t model,
                             const Options& options);

/// The term has the carry of a loop in it, as it is while the loop's body is looked at.
bool speaks_of_a_step(algebra::Algebra& algebra, algebra::Nf term);

/// The earliest named value of the plan that has the name of a model's value but another normal
/// form. Best effort: it rests on the custom of giving the same thing the same name in a plan and
/// its model. In a ring, the plan's value is that of one block of the model's.
struct Parting {
  ir::ValueId value;
  Tensor plan, model;
};
std::optional<Parting> first_difference(algebra::Algebra& algebra, const Lowered& plan,
                                        const Lowered& model);

}  // namespace shardproof::lower
