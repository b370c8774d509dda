#include "spec/to_jax/to_jax.h"

#include <algorithm>

#include "spec/ir/walk.h"
#include "spec/to_jax/body.h"

namespace shardproof::to_jax {
namespace {

using namespace ir;

const char preamble[] = R"py(import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import PartitionSpec

f64, f32, bf16, f16, f8 = jnp.float64, jnp.float32, jnp.bfloat16, jnp.float16, jnp.float8_e4m3fn
i32, u32 = jnp.int32, jnp.uint32


def _along(x, have, want):
    """x, whose positions are called `have`, as it is broadcast along the positions `want`."""
    x = jnp.transpose(x, [have.index(c) for c in want if c in have])
    return jnp.expand_dims(x, [i for i, c in enumerate(want) if c not in have])


def _slice(x, axes, dim):
    """The block of a device."""
    n = x.shape[dim] // lax.psum(1, axes)
    return lax.dynamic_slice_in_dim(x, lax.axis_index(axes) * n, n, dim)


def _pad(x, axes, dim):
    """The block of a device in its place, zeros elsewhere."""
    shape = list(x.shape)
    shape[dim] *= lax.psum(1, axes)
    start = lax.axis_index(axes) * x.shape[dim]
    return lax.dynamic_update_slice_in_dim(jnp.zeros(shape, x.dtype), x, start, dim)


def _index(table, have, ids, at, want, row, first=None):
    """The rows of a table; of one that is split the rows of other devices are zeros."""
    rest = "".join(c for c in have if c not in row)
    table = jnp.transpose(table, [have.index(c) for c in row + rest])
    table = jnp.reshape(table, (-1, *table.shape[len(row):]))  # a row may be several dims together
    n, own = table.shape[0], ids if first is None else ids - first
    if set(rest) & set(at):
        return jnp.einsum(f"Z{rest},{at}Z->{want}", table, jax.nn.one_hot(own, n, dtype=table.dtype))
    x, got = jnp.take(table, jnp.clip(own, 0, n - 1), axis=0), at + rest
    if first is not None:
        x = jnp.where(_along((own >= 0) & (own < n), at, got), x, 0)
    return jnp.transpose(x, [got.index(c) for c in want])


def _index_add(ids, at, x, have, want, row, n, first=None):
    """x added up by row."""
    own = ids if first is None else ids - first
    return jnp.einsum(f"{at}{row},{have}->{want}", jax.nn.one_hot(own, n, dtype=x.dtype), x)


def _top_k(x, k, dim):
    values, at = lax.top_k(jnp.moveaxis(x, dim, -1), k)
    return jnp.moveaxis(values, -1, dim), jnp.moveaxis(at, -1, dim)


def _varying(x):
    """The axes of whose devices each has its own x, as JAX's types say."""
    kind = jax.typeof(x)
    return kind.mat.varying if hasattr(kind, "mat") else kind.vma


def _vary(x):
    """x as a value that each device has for itself."""
    axes = tuple(a for a in jax.sharding.get_abstract_mesh().axis_names if a not in _varying(x))
    return lax.pcast(x, axes, to="varying") if axes else x


def _copy(x, split):
    """x, which is the same on the devices of all axes that do not split it, as JAX's types say so."""
    axes = tuple(a for a in _varying(x) if a not in split)
    if not axes:
        return x
    return lax.pmean(x, axes) if jnp.issubdtype(x.dtype, jnp.floating) else \
        lax.pmax(x.astype(i32), axes).astype(x.dtype)


def _value_and_grad(loss, args, wrt, terms, sums):
    """A device's term of a loss, which is a sum over the axes `terms`, and the gradients of the whole loss: each is
    the sum over its axes of the devices' parts."""
    def whole(*own):
        given = dict(zip(wrt, own))
        term = loss(*[given.get(i, x) for i, x in enumerate(args)])
        return _copy(lax.psum(term, terms) if terms else term, ()), term

    own = [_vary(args[i]) for i in wrt]
    (_, term), parts = jax.value_and_grad(whole, tuple(range(len(own))), has_aux=True)(*own)
    return term, *[lax.psum(x, axes) if axes else x for x, axes in zip(parts, sums)]
)py";

std::string spec_of(const Type& type) {
  std::vector<std::string> entries;
  for (const Split& split : type.dims)
    entries.push_back(split.axes.empty() ? "None" : quoted(split.axes));
  return "PartitionSpec(" + joined(entries) + ")";
}

/// The functions that one calls, callees first.
void callees(const Program& program, size_t function, std::vector<size_t>& found) {
  for_each_instr(program.functions.at(function).body, [&](const Instr& instr) {
    if (const auto* call = std::get_if<Call>(&instr.op)) callees(program, call->function, found);
    if (const auto* grad = std::get_if<Grad>(&instr.op)) callees(program, grad->function, found);
  });
  if (std::find(found.begin(), found.end(), function) == found.end()) found.push_back(function);
}

class Module {
 public:
  explicit Module(const CheckedProgram& checked) : checked_(checked), program_(checked.program()) {}

  /// The factory of one plan. Throws NotPrinted.
  std::string print(const PlanReport& plan) const {
    const Function& function = program_.functions.at(plan.function);
    refuse(plan.function);
    Sizes sizes(program_);
    Names names(program_);
    std::vector<size_t> order;
    callees(program_, plan.function, order);
    std::map<size_t, std::string> called;
    bool differentiated = false;
    for (const size_t each : order) {
      refuse_pipeline(each);
      for_each_instr(program_.functions[each].body, [&](const Instr& instr) {
        differentiated |= std::holds_alternative<Grad>(instr.op);
      });
    }
    for (const size_t each : order)
      called[each] = each == plan.function ? "body" : names.fresh(program_.functions[each].name);
    std::string bodies;
    for (const size_t each : order) {
      if (program_.functions[each].trusted)
        throw NotPrinted("the trusted plan " + program_.functions[each].name, function.name_range);
      bodies +=
          print_function(sizes, each, checked_.types(each), called, names, "    ", differentiated) +
          "\n";
    }
    std::vector<std::string> dims, ins, outs;
    const std::string documented = documentation(plan, function, sizes, differentiated);
    for (const Name& dim : sizes.dims()) dims.push_back(identifier(dim));
    for (const ValueId id : function.params) ins.push_back(spec_of(function.values.at(id).type));
    for (const Type& type : function.results) outs.push_back(spec_of(type));
    std::string text = "\n\ndef " + identifier(plan.name) + "(mesh" +
                       (dims.empty() ? "" : ", *, " + joined(dims)) + "):\n";
    text += "    \"\"\"" + documented + "\"\"\"\n";
    text += "    mesh = jax.sharding.Mesh(mesh.devices, mesh.axis_names)  # all axes Auto\n";
    for (const Axis& axis : program_.axis_names())
      text += "    " + axis + " = mesh.shape[\"" + axis + "\"]\n";
    text += "\n" + bodies + "    return jax.jit(jax.shard_map(" + whole(function, differentiated) +
            ", mesh=mesh,\n        in_specs=" + tuple(ins) +
            ",\n        out_specs=" + (outs.size() == 1 ? outs[0] : tuple(outs)) +
            ", check_vma=" + (differentiated ? "True" : "False") + "))\n";
    return text;
  }

 private:
  void refuse_pipeline(size_t plan) const {
    if (const auto written = checked_.written().find(plan); written != checked_.written().end())
      for_each_instr(written->second.body, [](const Instr& instr) {
        if (std::holds_alternative<Pipeline>(instr.op) || std::holds_alternative<Stages>(instr.op))
          throw NotPrinted("a pipeline", instr.place.range);
      });
  }

  void refuse(size_t plan) const {
    const Function& function = program_.functions.at(plan);
    refuse_pipeline(plan);
    if (!function.saved_params.empty())
      throw NotPrinted("what a plan before it saves", function.name_range);
    for (const ValueId id : function.params)
      for (const auto& [axis, mark] : function.values.at(id).type.marks)
        if (mark != Mark::I)
          throw NotPrinted(
              "a parameter that is no array of blocks: in_specs knows no sums over " + axis,
              function.values[id].range);
  }

  static std::string documentation(const PlanReport& plan, const Function& function, Sizes& sizes,
                                   bool differentiated) {
    std::vector<std::string> conditions, names;
    for (const Divisibility& each : plan.conditions) conditions.push_back(to_string(each));
    for (const ValueId id : function.params) {
      const Value& value = function.values.at(id);
      std::vector<std::string> shape;
      for (const Split& split : value.type.dims) shape.push_back(sizes.size(split.dim));
      names.push_back(value.name + ": " + to_string(value.type.dtype) + "[" + joined(shape) + "]");
    }
    return plan.name + " " + plan.claim + ": proved" +
           (conditions.empty() ? "" : ", where " + joined(conditions)) + "." +
           (differentiated ? " Its gradients are JAX's own." : "") +
           "\n\n    Takes whole arrays: " + joined(names) + "\n    ";
  }

  /// The body; what is left as a sum or a maximum is reduced, because out_specs knows neither.
  static std::string whole(const Function& function, bool differentiated) {
    std::vector<std::string> results;
    bool reduced = differentiated;
    for (size_t i = 0; i < function.results.size(); ++i) {
      std::string x = function.results.size() == 1 ? "y" : "y[" + std::to_string(i) + "]";
      for (const auto& [mark, name] : {std::pair(Mark::U, "psum"), std::pair(Mark::Max, "pmax")}) {
        std::vector<Axis> axes;
        for (const auto& [axis, each] : function.results[i].marks)
          if (each == mark) axes.push_back(axis);
        if (axes.empty()) continue;
        reduced = true;
        x = std::string("lax.") + name + "(" + x + ", " + quoted(axes) + ")";
      }
      if (differentiated) {
        std::vector<std::string> axes;
        for (const Split& split : function.results[i].dims)
          for (const Axis& axis : split.axes) axes.push_back("\"" + axis + "\"");
        x = "_copy(" + x + ", " + tuple(axes) + ")";
      }
      results.push_back(x);
    }
    if (!reduced) return "body";
    return "lambda *x: (lambda y: " + (results.size() == 1 ? results[0] : tuple(results)) +
           ")(body(*x))";
  }

  const CheckedProgram& checked_;
  const Program& program_;
};

}  // namespace

std::vector<Diagnostic> print_jax(const cli::FileReport& report, std::ostream& out) {
  std::vector<Diagnostic> missing;
  out << "# Printed from " << report.path << " by check-sharding --to jax.\n" << preamble;
  if (!report.checked) return missing;
  for (const PlanReport& plan : report.checked->plans()) {
    if (plan.imported || plan.verdict != Verdict::proved) continue;
    try {
      out << Module(*report.checked).print(plan);
    } catch (const NotPrinted& problem) {
      Diagnostic d;
      d.code = "E0001";
      d.severity = Severity::note;
      d.range = problem.range;
      d.message =
          plan.name + " is not printed: " + problem.what() + " cannot be written with shard_map";
      out << "\n\n# " << d.message << "\n";
      missing.push_back(std::move(d));
    }
  }
  return missing;
}

}  // namespace shardproof::to_jax
