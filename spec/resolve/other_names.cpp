// Names that users know from other frameworks.
#include "spec/resolve/other_names.h"

#include <algorithm>
#include <cctype>
#include <map>

namespace shardproof::resolution {

std::optional<Fix> other_name(const Name& name) {
  static const char* const product = "a product is `einsum(\"B M, M F -> B F\", x, w)`";
  static const char* const places = "other places of the same entries are `rearrange`";
  static const char* const parts = "parts put together are `concat`";
  static const char* const looked_up = "entries looked up are `index(\"[V] M, B -> B M\", x, ids)`";
  static const char* const infinite =
      "infinity does not exist here: mask after exp, `where(mask, exp(x - m), 0)`";
  static const char* const bounded = "a value between a and b is `minimum(maximum(x, a), b)`";
  static const char* const dtypes =
      "the dtypes are f64, f32, bf16, f16, f8, i32, u32, bool and key";
  static const std::map<Name, const char*> table = {
      {"psum",
       "`psum` is `all_reduce`: its pattern says what is unreduced, as in "
       "`all_reduce(\"B F {U_t} -> B F\", x)`"},
      {"pmax", "`pmax` is `all_reduce(\"B {Max_t} -> B\", x)` of a `max`"},
      {"pmean", "a mean is `all_reduce` of the sum, divided by the size, `|B|`"},
      {"reduce_scatter",
       "reduce_scatter is `psum_scatter`, as in `psum_scatter(\"B M {U_t} -> B M/t\", x)`"},
      {"mean", "a mean is a sum divided by the size: `sum(\"B M -> M\", x) / |B|`"},
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
      {"len", "the size of the dim B is `|B|`"},
      {"zeros_like", "zeros of a type are `zeros(f32[B M])`"},
      {"ones_like", "ones of a type are `zeros(f32[B M]) + 1`"},
      {"ones", "ones of a type are `zeros(f32[B M]) + 1`"},
      {"clip", bounded},
      {"clamp", bounded},
      {"square", "a square is `x * x`"},
      {"log_softmax",
       "`log(softmax(\"B V; V\", x))`; a loss is `cross_entropy(\"B V, B; V\", x, ids)`"},
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

Name same_function(const Name& name) {
  if (name == "psum" || name == "pmax") return "all_reduce";
  if (name == "reduce_scatter") return "psum_scatter";
  return "";
}

std::optional<Fix> dims_in_one_word(const Name& name, SourceRange range,
                                    const std::vector<Name>& known) {
  if (name.size() < 2) return std::nullopt;
  std::string words;
  for (const char letter : name) {
    Name dim(1, static_cast<char>(std::toupper(static_cast<unsigned char>(letter))));
    if (!std::count(known.begin(), known.end(), dim)) return std::nullopt;
    words += (words.empty() ? "" : " ") + dim;
  }
  return Fix{std::string(words_with_spaces) + " `" + words + "`", {{range, words}}, false, ""};
}

}  // namespace shardproof::resolution
