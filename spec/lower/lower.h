#pragma once
// Lowers a plan's erasure, or a function, to normal forms of the algebra. Mesh axes, marks and
// collectives disappear; every value is a whole tensor. Integers do not overflow and floats are
// reals. Ops without arithmetic (argsort, uniform, a scan over a symbolic dim) become uninterpreted
// functions of their arguments.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "spec/algebra/algebra.h"
#include "spec/ir/program.h"
#include "spec/lower/demand.h"

namespace shardproof::lower {

/// A lowered value. `index` has one variable per factor of each position of its type, in order, all
/// different; (K D) has two, and so has `dim H = (K D)`. The op's indices relate an operand's
/// variables to the result's; names only reduce renaming.
struct TensorExpr {
  std::vector<algebra::Var> index;
  algebra::Nf body;
};

/// Values that become opaque (sealed) because both sides compute them. sums: results of einsum,
/// sum, max and concat, conditions, and sums or differences that contain such a sum, alone or times
/// other values. additions: every + and - too; not for gradients, which contain parts of forward
/// sums.
enum class Seals { none, sums, additions };

/// A value of a plan, and one of its model.
struct Apart {
  ir::ValueId plan = ir::no_value, model = ir::no_value;
};

/// How many points are looked at for a difference: the first few before a level that is seldom
/// expensive.
enum class Look { none, few, all };

struct Options {
  algebra::Budget budget;   ///< per level; compare_functions sets its limit
  bool use_models = false;  ///< a call to a plan in `proved` is lowered as its model
  const std::vector<bool>* proved = nullptr;  ///< by function
  /// By function: it equals its model where its assumptions hold; both are lowered next to each
  /// other.
  const std::vector<bool>* equal = nullptr;
  /// Gradients of one function at equal arguments are equal; nothing else is known about them.
  bool opaque_gradients = false;
  Seals seals = Seals::none;
  /// With seals, for a claim about a gradient: seals a cotangent that an einsum reads, so that the
  /// gradient of a stack of layers is not multiplied out.
  bool contracted = false;
  /// Treats a loop with carries that are independent along a dim as one loop per entry of the dim.
  bool entries_apart = false;
  /// A carry that a loop scales and adds to is a sum with weights: a recurrence that decays, a
  /// running mean.
  bool decays = false;
  /// Called when cheaper levels have failed. True: the sides differ numerically, so the expensive
  /// levels would fail too.
  std::function<bool(Look)> differ = {};
  /// Called to explain a difference: a value of the plan and the one that the model has in its
  /// place.
  std::function<std::optional<Apart>()> apart = {};
  std::optional<Apart> explained = {};  ///< what `apart` returned
};

/// The op has no lowering, or none in this context; `words` has the reason. The verdict is unknown.
struct Unsupported : std::runtime_error {
  Unsupported(const std::string& op, ir::Place where, std::string why = "", std::string how = "")
      : std::runtime_error(op),
        place(std::move(where)),
        words(std::move(why)),
        hint(std::move(how)) {}
  ir::Place place;
  std::string words, hint;
};

/// A value of the lowered function itself, loop bodies included, in program order: those with a
/// name, and those of Options::explained.
struct Named {
  Name name;
  ir::ValueId value = ir::no_value;
  TensorExpr tensor;
  std::optional<algebra::Var> block = {};  ///< in a ring: the block number
};

/// A loop that was lowered, in order, including those of callees. Carries are leaves in its
/// terms.
struct Loop {
  std::string over;  ///< the dim, as printed
  std::vector<Name> carries;
  std::vector<std::string> leaves;  ///< the leaves that stand for the carries in the bodies
  std::vector<TensorExpr> init, next, emit;
  bool reverse = false;
};

/// An operand as a reader of the program finds it: "`n`" or "the divisor", and its op.
struct OperandInText {
  SourceRange range;
  std::string words;
};

/// An assumption whose formula is too long to show: the operand is "!= 0" or "> 0".
struct Shortened {
  OperandInText operand;
  std::string sign;
};

/// The conditions under which an op is defined, and those of the branches around it.
struct Need {
  algebra::Algebra::Obligation what;
  std::optional<size_t> result;    ///< the result that needs it; none: all results
  std::vector<algebra::Nf> where;  ///< each is 0 or 1; the need holds where all are 1
  bool certain = true;             ///< false: it is not known where it is needed
  OperandInText operand = {};
};

/// A `require` as terms: a comparison, or a combination of conditions.
struct Condition {
  std::string op;  ///< comparisons, "and", "or", "not"; empty: `left` is not 0
  algebra::Nf left = {}, right = {};
  std::vector<Condition> args = {};
  std::string words = {};  ///< as written; set for a whole `require`
};

/// A call with arguments that are not proved to satisfy an assumption of the callee.
struct Unmet {
  SourceRange range;
  size_t callee = 0;
  ir::ValueId argument = ir::no_value;
  ir::Assumption assumption;
};

/// A term that depends on sizes only, as source text would write it; none for any other term.
std::optional<ir::Arith> sizes_alone(algebra::Algebra& algebra, algebra::Nf term);
/// `term op 0`, for a term that depends on indices and sizes only.
std::optional<ir::OfIndices> indices_alone(algebra::Algebra& algebra, const std::string& text,
                                           algebra::Nf term, const std::string& op);

/// Assumptions as text, with the names of the dims and axes whose sizes they read.
using TextsOfSizes = std::map<std::string, std::set<Name>>;

struct Lowered {
  std::vector<TensorExpr> results;       ///< the wanted results; body 0 for the others
  std::vector<std::string> assumptions;  ///< "0 <= ids < |V|", "eps > 0"
  std::vector<ir::Arith> of_sizes;       ///< the assumptions that depend on sizes only
  TextsOfSizes texts_of_sizes;           ///< the same among `assumptions`, and requirements
  std::vector<std::string> impossible;   ///< assumptions that never hold
  std::vector<Need> needs;
  std::vector<Condition> conditions;  ///< every `require` of the lowered functions
  std::vector<Condition> bounds;      ///< every `assume` of the function, at all indices
  std::vector<Named> named;
  std::vector<Loop> loops, loops_before;     ///< its own; of the plan whose values it takes
  std::vector<Unmet> unmet;                  ///< of the function's own calls
  std::map<ir::ValueId, TensorExpr> values;  ///< Request::keeps_values
  std::map<std::string, Name> ring_carries;  ///< by the leaf that stands for it
  std::vector<ir::OfIndices> of_indices;     ///< the assumptions that depend on indices and sizes
};

/// For each leaf parameter that indexes a table: its values are below the size of this
/// dim.
using IdRanges = std::vector<std::optional<Dim>>;
/// `parts`: include parameters from which indices are read (`ids[n]` of a loop).
IdRanges id_ranges(const ir::Program& program, size_t function, bool parts = false);

/// The index variables of one Algebra, by name and range. Functions that are lowered with the same
/// Variables can be compared.
using Variables = std::map<std::pair<Name, uint32_t>, algebra::Var>;

/// A leaf that stands for a value, and what is known of all of its entries.
struct SharedLeaf {
  Name name;
  bool positive = false, nonnegative = false;
};

/// What to lower: the results of `function` at `arguments` (one per leaf parameter) and `saved`
/// (one per saved parameter), or at leaves named by the parameters' paths. `wanted`: lower only
/// these results. Lowering throws Unsupported, algebra::BudgetExceeded, algebra::Overflow.
struct Request {
  size_t function = 0;
  const std::vector<TensorExpr>* arguments = nullptr;
  const std::vector<TensorExpr>* saved = nullptr;
  const std::vector<bool>* wanted = nullptr;
  const IdRanges* ids = nullptr;  ///< for the leaves; null: the ranges that `function` itself gives
  Variables* variables = nullptr;
  Reach reach = Reach::at_most;  ///< which needs to report
  bool keeps_values = false;     ///< of the function itself, outside of its loops
  /// Values of the function that are leaves, and are not lowered.
  const std::map<ir::ValueId, SharedLeaf>* shared = nullptr;
  /// Values of the function that are leaves for what is made of them, but are lowered too: what
  /// they need is reported.
  const std::map<ir::ValueId, SharedLeaf>* cuts = nullptr;
  /// With keeps_values: lowers only the first values of the function, as many as this, and no
  /// results. Set to their number when the budget ends.
  size_t* first_values = nullptr;
};
Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options);
Lowered lower_function(algebra::Algebra& algebra, const ir::Program& program, size_t function,
                       const Options& options);

/// The right side of `implements grad(f) wrt ..`: the gradients of f at leaves named by f's
/// parameters. The cotangents of f's results are leaves named by the parameters of `function`,
/// which makes the claim. `arguments` and `saved` are not used.
Lowered lower_gradient(algebra::Algebra& algebra, const ir::Program& program,
                       const Request& request, const Options& options);

/// The values that `function` takes after its `;`: those that its `after P` saves, by name, at
/// leaves named by P's parameters.
Lowered lower_saved(algebra::Algebra& algebra, const ir::Program& program, const Request& request,
                    const Options& options);

/// The facts about values that a proof assumed. The terms belong to the algebra.
struct Assumed {
  std::shared_ptr<algebra::Algebra> algebra;
  std::vector<Condition> conditions;
  std::map<Name, int64_t> sizes = {};  ///< those at which they must hold together
};

struct Comparison {
  bool equal = false;     ///< false: not proved; the two may still be equal
  int limit = 0;          ///< the level that proved it, or the last one tried
  std::string closed_by;  ///< "algebra, limit 1"
  size_t result = 0;      ///< the first result that differs
  std::optional<algebra::Difference>
      difference;                     ///< at limit 1; text is valid, factor_value is not
  std::string residue;                ///< plan - model at limit 1, as text
  std::optional<ir::ValueId> origin;  ///< the plan's first differing value: see first_difference
  std::vector<std::string> assumptions;
  std::map<std::string, Shortened> shortened;  ///< by text of `assumptions`
  std::vector<ir::Arith> of_sizes;             ///< assumptions on sizes only, for evaluation
  std::vector<ir::OfIndices> of_indices;       ///< and on indices and sizes
  TextsOfSizes texts_of_sizes;                 ///< the same among `assumptions`, and requirements
  std::vector<Assumed> of_values;              ///< at each level that proved a result
  std::vector<std::string> impossible;  ///< assumptions that never hold: the claim would be vacuous
  bool budget_ended = false;
  std::optional<std::string> unsupported;  ///< the op without a lowering
  std::optional<ir::Place> unsupported_at;
  std::string unsupported_words, unsupported_hint;  ///< as in Unsupported
};

/// Is plan == model, or == the gradient of model, result by result? Tries limits 1, 24 and 200,
/// each in a fresh Algebra that both sides share; parameters of the same path are the same leaf.
/// Never throws for a resolved program.
Comparison compare_functions(const ir::Program& program, size_t plan, size_t model,
                             const Options& options);

/// The carries of loops whose bodies are being analyzed that the term contains, as leaves.
std::set<Name> carries_in(algebra::Algebra& algebra, algebra::Nf term);
bool speaks_of_a_step(algebra::Algebra& algebra, algebra::Nf term);  ///< whether there are any

/// The pair `apart`, or the first named value of the plan that differs from the model's value of
/// the same name. In a ring, the plan's value is compared with one block of the model's.
struct Parting {
  ir::ValueId value;
  TensorExpr plan, model;
};
std::optional<Parting> first_difference(algebra::Algebra& algebra, const Lowered& plan,
                                        const Lowered& model, const std::optional<Apart>& apart);

}  // namespace shardproof::lower
