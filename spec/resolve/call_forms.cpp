#include "spec/resolve/call_forms.h"

namespace shardproof::resolution {

const std::map<Name, std::string>& call_forms() {
  static const std::map<Name, std::string> forms = {
      {"all_gather", R"(all_gather("B M/t -> B M", x))"},
      {"all_reduce", R"(all_reduce("B M {U_t} -> B M", x))"},
      {"all_to_all", R"(all_to_all("B/t M -> B M/t", x))"},
      {"argmax", R"(argmax("B V -> B", x))"},
      {"argsort", R"(argsort("B V; V", x))"},
      {"concat", R"(concat("B, B -> [two] B", x, y))"},
      {"cumsum", R"(cumsum("B L; L", x))"},
      {"einsum", R"(einsum("B M, M F -> B F", x, w))"},
      {"expand", R"(expand("B -> B M", x))"},
      {"fan_out", R"(fan_out("B M {I_t} -> B M", x))"},
      {"fold", "fold(k, n)"},
      {"index", R"(index("[V] M, B -> B M", table, ids))"},
      {"index_add", R"(index_add("B, B M -> [V] M", ids, x))"},
      {"index_unreduced", R"(index_unreduced("[V/t] M, B -> B M {U_t}", table, ids))"},
      {"iota", R"(iota("L"))"},
      {"like", "like(x, y)"},
      {"normal", R"(normal("B M", k))"},
      {"ppermute", R"(ppermute("B [L/c] -> B [L/c]", x, by=1))"},
      {"psum_scatter", R"(psum_scatter("B M {U_t} -> B M/t", x))"},
      {"rearrange", R"(rearrange("B M -> M B", x))"},
      {"reduce_scatter", R"(psum_scatter("B M {U_t} -> B M/t", x))"},
      {"rev", R"(rev("B [L]", x))"},
      {"read", R"(read("B [G] D -> B Q D", x, at=0))"},
      {"roll", R"(roll("B [L]", x, by=1))"},
      {"save", "save(x)"},
      {"slice", R"(slice("B M -> B M/t", x))"},
      {"stop_grad", "stop_grad(x)"},
      {"sum", R"(sum("B M -> B", x))"},
      {"max", R"(max("B M -> B", x))"},
      {"min", R"(min("B M -> B", x))"},
      {"top_k", R"(top_k("B V -> B A", x))"},
      {"total", R"(total("{U_d}", x))"},
      {"uniform", R"(uniform("B M", k))"},
      {"where", "where(condition, x, y)"},
      {"write", R"(write("B [X] D, B L D -> B X D", cache, new, at=n))"},
      {"zero_nonroot", R"(zero_nonroot("B M -> B M {U_t}", x))"},
      {"zero_pad", R"(zero_pad("M/t -> M {U_t}", x))"}};
  return forms;
}

std::optional<Fix> call_form(const Name& name) {
  const auto found = call_forms().find(name);
  if (found == call_forms().end()) return std::nullopt;
  std::string text = "it is written as in `" + found->second + "`";
  if (name == "max" || name == "min") text += "; of two values it is `" + name + "imum(x, y)`";
  return Fix{text, {}, false, ""};
}

}  // namespace shardproof::resolution
