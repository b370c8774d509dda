// Names that users know from other frameworks.
#include "spec/syntax/other_names.h"

#include <map>

namespace shardproof::syntax {

std::optional<Fix> other_name(const Name& name) {
  static const char* const product = "a product is `einsum(\"B M, M F -> B F\", x, w)`";
  static const char* const places = "other places of the same entries are `rearrange`";
  static const char* const parts = "parts put together are `concat`";
  static const char* const looked_up = "entries looked up are `index(\"[V] M, B -> B M\", x, ids)`";
  static const char* const infinite =
      "infinity does not exist here: mask after exp, `where(mask, exp(x - m), 0)`";
  static const char* const bounded = "a value between a and b is `minimum(maximum(x, a), b)`";
  static const char* const casts = "a cast is the dtype's name, `f32(x)`";
  static const char* const sizes = "the size of the dim B is `|B|`";
  static const char* const by_name = "dims are matched by name: no dim of size 1 is needed";
  static const char* const tensors =
      "the type of a tensor is its dtype and its dims, as in `f32[B M]`";
  static const char* const dtypes =
      "the dtypes are f64, f32, bf16, f16, f8, i32, u32, bool and key";
  static const char* const layouts =
      "a value has the layout that its type says: split dims as in `f32[B/d M]`, and a collective "
      "or `slice` where it changes";
  static const char* const copies =
      "what is not split and not marked is a copy on each device: `f32[B M]`";
  static const char* const each_field =
      "`each f(a, b)` applies a function to records field by field";
  static const char* const numbers_of_devices =
      "no line speaks of one device: `iota(\"B/d; B\")` has the global indices of its part";
  static const char* const masks =
      "a mask is a comparison: `where(iota(\"S T; T\") <= iota(\"S T; S\"), x, 0)`";
  static const char* const repeated = "equal entries along a new dim are `expand(\"B -> B V\", x)`";
  static const char* const picked = "one entry of each row is `index(\"B [V], B -> B\", x, ids)`";
  static const char* const no_output =
      "a program computes values only: `--run` and `--outputs` write them to a file";
  static const char* const no_barrier =
      "there are no barriers: the order of the lines is that of the collectives";
  static const std::map<Name, const char*> table = {
      {"psum",
       "`psum` is `all_reduce`: its pattern says what is unreduced, as in "
       "`all_reduce(\"B F {U_t} -> B F\", x)`"},
      {"pmax", "`pmax` is `all_reduce(\"B {Max_t} -> B\", x)` of a `max`"},
      {"pmean", "a mean is `all_reduce` of the sum, divided by the size, `|B|`"},
      {"reduce_scatter",
       "reduce_scatter is `psum_scatter`, as in `psum_scatter(\"B M {U_t} -> B M/t\", x)`"},
      {"mean", "a mean is a sum divided by the size: `sum(\"B M -> M\", x) / |B|`"},
      {"reduce",
       "a reduction is `sum(\"B M -> M\", x)` or `max(\"B M -> M\", x)`; a mean is a sum divided "
       "by the size, `|B|`"},
      {"matmul", product},
      {"dot", product},
      {"bmm", product},
      {"linear", product},
      {"transpose", places},
      {"permute", places},
      {"reshape", places},
      {"view", places},
      {"cat", parts},
      {"concatenate", parts},
      {"stack", parts},
      {"gather", looked_up},
      {"take", looked_up},
      {"scatter_add", "entries added at indices are `index_add(\"B, B M -> [V] M\", ids, x)`"},
      {"flip", "a dim backwards is `rev(\"B [L]\", x)`"},
      {"arange", "the numbers of a dim are `iota(\"L\")`"},
      {"len", sizes},
      {"size", sizes},
      {"numel", sizes},
      {"to", casts},
      {"astype", casts},
      {"unsqueeze", by_name},
      {"squeeze", by_name},
      {"expand_dims", by_name},
      {"zeros_like", "zeros of a type are `zeros(f32[B M])`"},
      {"ones_like", "ones of a type are `zeros(f32[B M]) + 1`"},
      {"ones", "ones of a type are `zeros(f32[B M]) + 1`"},
      {"clip", bounded},
      {"clamp", bounded},
      {"square", "a square is `x * x`"},
      {"logsumexp",
       "`log(sum(\"B V -> B\", exp(x - m))) + m`, m the maximum `max(\"B V -> B\", x)`"},
      {"repeat", repeated},
      {"tile", repeated},
      {"broadcast_to", repeated},
      {"take_along_axis", picked},
      {"var",
       "with `mean = sum(\"B M -> B\", x) / |M|` and `d = x - mean`: "
       "`sum(\"B M -> B\", d * d) / |M|`"},
      {"std",
       "with `mean = sum(\"B M -> B\", x) / |M|` and `d = x - mean`: "
       "`sqrt(sum(\"B M -> B\", d * d) / |M|)`"},
      {"norm", "the square of a norm is `sum(\"B M -> B\", x * x)`"},
      {"masked_fill", "a masked value is `where(mask, -1e10, x)`"},
      {"chunk", "entries in a row are `read(\"B [M] -> B K\", x, at=0)`, K a dim of their number"},
      {"split", "entries in a row are `read(\"B [M] -> B K\", x, at=0)`, K a dim of their number"},
      {"log_softmax",
       "`log(softmax(\"B V; V\", x))`; a loss is `cross_entropy(\"B V, B; V\", x, ids)`"},
      {"with_sharding_constraint", layouts},
      {"shard_map", layouts},
      {"PartitionSpec", layouts},
      {"NamedSharding", layouts},
      {"distribute_tensor", layouts},
      {"redistribute", layouts},
      {"device_put", layouts},
      {"P", layouts},
      {"None", "nothing stands for an axis that does not split a dim: `f32[B/d M]`"},
      {"broadcast", copies},
      {"replicate", copies},
      {"tree_map", each_field},
      {"axis_index", numbers_of_devices},
      {"get_rank", numbers_of_devices},
      {"tril", masks},
      {"triu", masks},
      {"print", no_output},
      {"barrier", no_barrier},
      {"synchronize", no_barrier},
      {"one_hot",
       "one-hot vectors are a comparison: `expand(\"B -> B V\", ids) == iota(\"B V; V\")`"},
      {"embedding", looked_up},
      {"Tensor", tensors},
      {"Array", tensors},
      {"ndarray", tensors},
      {"fp32", dtypes},
      {"fp16", dtypes},
      {"half", dtypes},
      {"double", dtypes},
      {"float64", dtypes},
      {"float32", dtypes},
      {"float16", dtypes},
      {"bfloat16", dtypes},
      {"int32", dtypes},
      {"int64", dtypes},
      {"float", dtypes},
      {"int", dtypes},
      {"inf", infinite},
      {"Inf", infinite},
      {"infinity", infinite},
      {"nan", "NaN does not exist here: mask entries without a value before they are used"}};
  const auto found = table.find(name);
  if (found == table.end()) return std::nullopt;
  return Fix{found->second, {}, false, ""};
}

Name same_word(const Name& name) {
  static const std::map<Name, const char*> table = {
      {"psum", "all_reduce"}, {"pmax", "all_reduce"}, {"reduce_scatter", "psum_scatter"},
      {"float64", "f64"},     {"double", "f64"},      {"float32", "f32"},
      {"fp32", "f32"},        {"float16", "f16"},     {"fp16", "f16"},
      {"half", "f16"},        {"bfloat16", "bf16"},   {"int32", "i32"},
      {"uint32", "u32"}};
  const auto found = table.find(name);
  return found == table.end() ? "" : found->second;
}

bool is_module(std::string_view word) {
  for (const char* each : {"jnp", "np", "numpy", "jax", "lax", "torch", "F", "nn", "math", "dist",
                           "functional", "distributed", "tf", "mx"})
    if (word == each) return true;
  return false;
}

}  // namespace shardproof::syntax
