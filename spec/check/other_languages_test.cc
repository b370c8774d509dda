// Calls as JAX, PyTorch and Python write them: the first fix is the call of the notation, with the
// types of this file.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace other_languages_test {

/// A plan p of f, with these bodies, types of x and w, and result.
std::string plan(const std::string& model, const std::string& result, const std::string& types,
                 const std::string& local, const std::string& body) {
  return "mesh d t\ndim B M F\nfn f(x: f32[B M], w: f32[M F]) -> f32[" + result + "] { return " +
         model + " }\nplan p implements f(" + types + ") -> f32[" + local + " {\n    " + body +
         "\n}\n";
}

const std::string rows = "x: f32[B/d M], w: f32[M F]", columns = "x: f32[B M], w: f32[M F/t]",
                  inner = "x: f32[B M/t], w: f32[M/t F]";

TEST(OtherLanguages, AReductionOverDevicesNamesWhatIsUnreduced) {
  const std::string model = "einsum(\"B M, M F -> B F\", x, w)",
                    product = "einsum(\"B M/t, M/t F -> B F {U_t}\", x, w)";
  const std::string fix = "all_reduce(\"B F {U_t} -> B F\", ";
  expect_fix(plan(model, "B F", inner, "B F]", "return psum(" + product + ", \"t\")"), "E0101",
             fix);
  expect_fix(plan(model, "B F", inner, "B F]",
                  "h = " + product + "\n    s = 2 * h / 2\n    return psum(s, axis_name=\"t\")"),
             "E0101", fix + "s)");
  expect_fix(plan(model, "B F", inner, "B F]", "return all_reduce(" + product + ")"), "E0103", fix);
  expect_fix(plan("max(\"M F -> M\", w)", "M", columns, "M]",
                  "return pmax(max(\"M F/t -> M {Max_t}\", w), \"t\")"),
             "E0101", "all_reduce(\"M {Max_t} -> M\", ");
}

TEST(OtherLanguages, AGatherOverDevicesNamesWhatEachHas) {
  const std::string model = "einsum(\"B M, M F -> B F\", x, w)";
  for (const std::string call : {"all_gather(w)", "all_gather(w, \"t\")", "all_gather(w, axis=t)"})
    expect_fix(plan(model, "B F", columns, "B F]",
                    "g = " + call + "\n    return einsum(\"B M, M F -> B F\", x, g)"),
               "E0103", "`all_gather(\"M F/t -> M F\", w)`");
  expect_fix(
      plan(model, "B F", inner, "B F/t]",
           "h = einsum(\"B M/t, M/t F -> B F {U_t}\", x, w)\n    return reduce_scatter(h, \"t\")"),
      "E0103", "`psum_scatter(\"B F {U_t} -> B F/t\", h)`");
}

TEST(OtherLanguages, TheSizeOfAnAxisIsBetweenBars) {
  expect_fix(plan("2 * x", "B M", rows, "B/d M]", "return 2 * x * d / |d|"), "E0109",
             "its size is `|d|`");
}

TEST(OtherLanguages, AScanGoesOverADim) {
  for (const std::string loop : {"scan n in range(B)", "scan n in 0..B", "scan n in 0 .. |B|",
                                 "for n in range(B)", "for n in B"})
    expect_fix(plan("sum(\"B M -> M\", x)", "M", "x: f32[B M], w: f32[M F]", "M]",
                    "s = " + loop +
                        ", c: f32[M] = 0 * sum(\"B M -> M\", x) { next c + x[n] }\n    return s"),
               "E0002", loop.starts_with("for") ? "a loop is" : "a scan goes over a dim");
}

/// A plan p that takes an entry as Python does, of a model with what it has.
std::string taken(const std::string& model, const std::string& result, const std::string& local,
                  const std::string& entry, const std::string& table = "V") {
  const std::string head =
      "mesh d t\ndim B L V M   # sizes\ndim S = |M| - 1\nfn f(x: f32[B M], e: f32[V M], ids: i32[B "
      "L], "
      "k: i32[]) -> f32[";
  return head + result + "] {\n    assume 0 <= ids < |V|\n    assume 0 <= k < |V|\n    return " +
         model + "\n}\nplan p implements f(x: f32[B/d M], e: f32[" + table +
         " M], ids: i32[B/d L], k: i32[]) -> f32[" + local + "] {\n    return " + entry + "\n}\n";
}

TEST(OtherLanguages, AnEntryIsReadAlongADim) {
  const std::string last = "read(\"B [M] -> B\", x, at=|M| - 1)",
                    own = "`read(\"B/d [M] -> B/d\", x, at=";
  expect_fix(taken(last, "B", "B/d", "x[:, -1]"), "E0002", own + "|M| - 1)`");
  expect_fix(taken(last, "B", "B/d", "x[..., -1]"), "E0002", own + "|M| - 1)`");
  expect_fix(taken("read(\"B [M] -> B\", x, at=0)", "B", "B/d", "x[:, 0]"), "E0002", own + "0)`");
  expect_fix(taken("read(\"[V] M -> M\", e, at=k)", "M", "M", "e[k]"), "E0109",
             "`read(\"[V] M -> M\", e, at=k)`");
  expect_fix(taken("read(\"[M] -> \", read(\"[V] M -> M\", e, at=k), at=0)", "", "", "e[k, 0]"),
             "E0002", "`read(\"[M] -> \", read(\"[V] M -> M\", e, at=k), at=0)`");
  expect_help(taken("sum(\"B M -> M\", x)", "M", "M", "x[0]"), "E0002", "one entry is `read(");
}

TEST(OtherLanguages, EntriesInARowHaveADimOfTheirNumber) {
  const std::string tail = "read(\"B [M] -> B S\", x, at=1)",
                    own = "`read(\"B/d [M] -> B/d S\", x, at=";
  for (const std::string entry : {"x[:, 1:]", "x[..., 1:]"})
    expect_fix(taken(tail, "B S", "B/d S", entry), "E0002", own + "1)`");
  expect_fix(taken("read(\"B [M] -> B S\", x, at=0)", "B S", "B/d S", "x[:, :-1]"), "E0002",
             own + "0)`");
  expect_help(taken("sum(\"B M -> B\", x)", "B", "B/d", "x[:, 1:4]"), "E0002",
              "`read(\"B/d [M] -> B/d J\", x, at=1)`");
  for (const std::string entry : {"x[:, ::2]", "x[:, 4:2]", "x[:, -1:3]", "x[1:]", "x[:, :, 1:]"})
    expect_help(taken(tail, "B S", "B/d S", entry), "E0002", "entries in a row are `read(");
}

TEST(OtherLanguages, AnEntryForEachIdIsAnIndex) {
  const std::string model = "index(\"[V] M, B L -> B L M\", e, ids)";
  for (const std::string entry : {"e[ids]", "e[ids, :]"}) {
    const std::string code = entry == "e[ids]" ? "E0109" : "E0002";
    expect_fix(taken(model, "B L M", "B/d L M", entry), code,
               "`index(\"[V] M, B/d L -> B/d L M\", e, ids)`");
    expect_fix(taken(model, "B L M", "B/d L M", entry, "V/t"), code,
               "`all_reduce(\"B/d L M {U_t} -> B/d L M\", index_unreduced(");
  }
}

TEST(OtherLanguages, ACallOfAMethodOrModuleIsWrittenInTheNotation) {
  const auto of = [](const std::string& model, const std::string& result, const std::string& local,
                     const std::string& call, const std::string& fix, const char* code = "E0002") {
    expect_fix(taken(model, result, local, call), code, fix);
  };
  const std::string sum = "sum(\"B M -> B\", x)", own = "sum(\"B/d M -> B/d\", x)";
  for (const std::string call :
       {"x.sum(-1)", "x.sum(dim=1)", "jnp.sum(x, axis=-1)", "torch.sum(x, 1)"})
    of(sum, "B", "B/d", call, own);
  of(sum + " / |M|", "B", "B/d", "x.mean(-1)", own + " / |M|`");
  of("1 / (" + sum + " / |M|)", "B", "B/d", "1 / x.mean(-1)", "`(" + own + " / |M|)`");
  for (const std::string call :
       {"x.softmax(-1)", "F.softmax(x, dim=-1)", "jax.nn.softmax(x, axis=1)"})
    of("softmax(\"B M; M\", x)", "B M", "B/d M", call, "`softmax(\"B/d M; M\", x)`");
  of("softmax(\"B M; M\", x)", "B M", "B/d M", "softmax(x, -1)", "`softmax(\"B/d M; M\", x)`",
     "E0103");
  of("log(softmax(\"B M; M\", x))", "B M", "B/d M", "log_softmax(\"B/d M; M\", x)",
     "`log(softmax(\"B/d M; M\", x))`", "E0101");
  of("x + 1", "B M", "B/d M", "x + 1)", "remove it");
  of("cumsum(\"B M; M\", x)", "B M", "B/d M", "x.cumsum(-1)", "`cumsum(\"B/d M; M\", x)`");
  for (const std::string call :
       {"x.t()", "x.transpose(0, 1)", "x.permute(1, 0)", "jnp.transpose(x)"})
    of("rearrange(\"B M -> M B\", x)", "M B", "M B/d", call, "`rearrange(\"B/d M -> M B/d\", x)`");
  of("einsum(\"B M, V M -> B V\", x, e)", "B V", "B/d V", "torch.matmul(x, e)",
     "`einsum(\"B/d M, V M -> B/d V\", x, e)`");
  of("f32(bf16(x))", "B M", "B/d M", "f32(x.to(torch.bfloat16))", "`bf16(x)`");
  of("x * x", "B M", "B/d M", "x.square()", "`x * x`");
  of("1 / (x * x)", "B M", "B/d M", "1 / x.square()", "`(x * x)`");
  of("x", "B M", "B/d M", "x.unsqueeze(0)", "no dim of size 1");
  of("stop_grad(x)", "B M", "B/d M", "x.detach()", "`stop_grad(x)`");
  of("minimum(maximum(x, 0), 1)", "B M", "B/d M", "x.clamp(0, 1)", "`minimum(maximum(x, 0), 1)`");
  of("zeros(f32[B M])", "B M", "B/d M", "torch.zeros_like(x)", "`zeros(f32[B/d M])`");
  expect_help(taken(sum, "B", "B/d", "x.view(-1)"), "E0002", "`rearrange`");
}

TEST(OtherLanguages, ANameIsAssignedOnce) {
  for (const std::string line : {"y := 2 * x", "y <- 2 * x", "y == 2 * x", "y 2 * x"})
    expect_fix(plan("2 * x", "B M", rows, "B/d M]", line + "\n    return y"), "E0002",
               "to name a value, write `=`");
  expect_fix(plan("x * (2 + x)", "B M", rows, "B/d M]", "x *= 2 + x\n    return x"), "E0002",
             "a name of its own");
}

TEST(OtherLanguages, ADtypeHasOneName) {
  const std::string copy = "mesh t\ndim B\nfn f(x: f32[B]) -> f32[B] { return x }\n";
  expect_first_fix(copy + "plan p implements f(x: float32[B/t]) -> f32[B/t] { return x }\n",
                   "E0101", "");
  for (const char* name : {"logsumexp", "repeat", "take_along_axis", "var", "std", "norm"})
    EXPECT_FALSE(
        errors_of(copy + "fn g(x: f32[B]) -> f32[B] { return " + name + "(x) }\n")[0].fixes.empty())
        << name;
}

TEST(OtherLanguages, TheDimsOfATypeStandInBrackets) {
  for (const std::string type : {"f32(B/t)", "f32<B/t>", "f32{B/t}"})
    expect_fix("mesh t\ndim B\nfn f(x: f32[B]) -> f32[B] { return x }\nplan p implements f(x: " +
                   type + ") -> f32[B/t] { return x }\n",
               "E0002", "stand in brackets");
}

TEST(OtherLanguages, ACommentBeginsWithAHash) {
  const std::string copy = "mesh t\ndim B\nfn f(x: f32[B]) -> f32[B] { return x }\n";
  expect_first_fix(
      copy + "plan p implements f(x: f32[B/t]) -> f32[B/t] {\n    return x // reduce\n}\n", "E0101",
      "a comment begins with `#`");
}

TEST(OtherLanguages, ASumNamesItsDims) {
  const std::string all = "sum(\"B M ->\", x)";
  expect_fix(plan(all, "", rows, "]{U_d}", "return sum(x)"), "E0103", "sum(\"B/d M -> {U_d}\", x)");
  expect_fix(plan("sum(\"B M -> M\", x) / |B|", "M", rows, "M]{U_d}", "return mean(x, axis=0)"),
             "E0101", "sum(\"B/d M -> M {U_d}\", x) / |B|");
  expect_fix(
      plan("sum(\"B M -> B\", x) / |M|", "B", rows, "B/d]", "return mean(\"B/d M -> B/d\", x)"),
      "E0101", "/ |M|");
  expect_fix(plan("max(\"B M -> B\", x)", "B", rows, "B/d]", "return max(x, axis=-1)"), "E0103",
             "max(\"B/d M -> B/d\", x)");
  // The minimum of each device's part has no mark.
  expect_help(plan("min(\"B M -> M\", x)", "M", rows, "M]", "return min(x, axis=0)"), "E0103",
              "name the dims in a pattern");
}

TEST(OtherLanguages, SizesAreThoseOfDims) {
  const std::string model = "x / (|B| * |M|)";
  for (const std::string size : {"len(B) * |M|", "len(x) * |M|", "x.shape[0] * |M|",
                                 "|B| * x.size(1)", "|B| * x.shape[-1]", "numel(x)"})
    expect_first_fix(plan(model, "B M", rows, "B/d M]", "return x / (" + size + ")"),
                     size.find(".s") == size.npos ? "E0101" : "E0002", "the size of a dim");
  expect_help(plan(model, "B M", rows, "B/d M]", "return x / x.shape[5]"), "E0002",
              "the size of the dim B");
}

TEST(OtherLanguages, AProductOfMatricesIsAnEinsum) {
  const std::string model = "einsum(\"B M, M F -> B F\", x, w)";
  expect_fix(plan(model, "B F", columns, "B F/t]", "return x @ w"), "E0005", "is an `einsum`");
  expect_fix(plan(model, "B F", inner, "B F]{U_t}", "return x @ w"), "E0005", "is an `einsum`");
  expect_fix(plan("einsum(\"B F, M F -> B M\", " + model + ", w)", "B M", columns, "B M]{U_t}",
                  "h = einsum(\"B M, M F/t -> B F/t\", x, w)\n    return einsum(\"B F/t, F/t M -> "
                  "B M {U_t}\", h, w.T)"),
             "E0109", "rearrange(\"M F/t -> F/t M\", w)");
  expect_fix(plan("einsum(\"B F, M F -> B M\", " + model + ", w)", "B M", columns, "B M]{U_t}",
                  "h = einsum(\"B M, M F/t -> B F/t\", x, w)\n    return einsum(\"B F/t, M F/t -> "
                  "B M {U_t}\", h, w.T)"),
             "E0109", "leave out `.T`");
  expect_fix(plan("einsum(\"B F, M F -> B M\", relu(" + model + "), w)", "B M", columns,
                  "B M]{U_t}", "return relu(x @ w) @ w"),
             "E0005", "relu(einsum(\"B M, M F/t -> B F/t\", x, w)), w)`");
  expect_fix(
      "mesh t\ndim B M F\nrecord R { w: f32[M F] }\nlayout L of R { w: f32[M F/t] }\n"
      "fn f(x: f32[B M], r: R) -> f32[B F] { return einsum(\"B M, M F -> B F\", x, r.w) }\n"
      "plan p implements f(x: f32[B M], r: L) -> f32[B F/t] { return x @ r.w }\n",
      "E0005", "is an `einsum`");
  expect_help(plan(model, "B F", rows, "B/d F]", "return w @ x"), "E0005", "is an `einsum`");
}

TEST(OtherLanguages, SizesHaveNoProductOfMatrices) {
  for (const std::string line : {"dim K = |M| @ 2", "require |B| @ 2 == 0", "const c = 2 @ 3"}) {
    const std::vector<Diagnostic> errors =
        errors_of("mesh d\ndim B M\n" + line + "\nfn f(x: f32[B]) -> f32[B] { return x }\n" +
                  "plan p implements f(x: f32[B/d]) -> f32[B/d] { return x }\n");
    ASSERT_FALSE(errors.empty()) << line;
    EXPECT_EQ(info(errors[0].code).verdict, Verdict::invalid) << line;
  }
}

TEST(OtherLanguages, APowerBindsItsOperandAlone) {
  expect_fix(plan("3 * x * x + 1", "B M", rows, "B/d M]", "return 3 * x ** 2 + 1"), "E0002",
             "pow(x, 2)");
  expect_help(plan(
                  "x", "B M", rows, "B/d M]",
                  "return x" +
                      [] {
                        std::string powers;
                        for (int i = 0; i < 50000; ++i) powers += " ** x";
                        return powers;
                      }()),
              "E0002", "pow(x, ");
}

TEST(OtherLanguages, WhatIsNotDeclaredIsAddedToItsLine) {
  expect_first_fix(
      "mesh d\ndim B\nfn f(x: f32[B K]) -> f32[B K] { return 2 * x }\n"
      "plan p implements f(x: f32[B/d K]) -> f32[B/d K] { return 2 * x }\n",
      "E0101", "declare it: `dim K`");
  expect_first_fix(
      "mesh d\ndim B K\nfn f(x: f32[B K]) -> f32[B K] { return 2 * x }\n"
      "plan p implements f(x: f32[B/d K/t]) -> f32[B/d K/t] { return 2 * x }\n",
      "E0101", "declare it: `mesh .. t`");
}

TEST(OtherLanguages, DimsInTheModelsOrder) {
  expect_first_fix(
      "mesh d\ndim B M\nfn f(x: f32[B M]) -> f32[B M] { return 2 * x }\n"
      "plan p implements f(x: f32[B/d M]) -> f32[M B/d] { return 2 * x }\n",
      "E0108", "those of the model in another order");
}

TEST(OtherLanguages, ArgumentsThatAreExchanged) {
  expect_fix(
      "mesh d\ndim M\nfn f(w g: f32[M], lr: f32[]) -> f32[M] { return sgd(w, g, lr) }\n"
      "plan p implements f(w g: f32[M/d], lr: f32[]) -> f32[M/d] { return sgd(w, lr, g) }\n",
      "E0305", "in the order `w, g, lr`");
}

TEST(OtherLanguages, AnArgumentThatIsACall) {
  expect_fix(
      "mesh t\ndim M\nfn n(g: f32[M]) -> f32[] { return sum(\"M ->\", g * g) }\n"
      "fn f(g: f32[M]) -> f32[M] { return g * clip_factor(n(g), 1) }\n"
      "plan n_t implements n(g: f32[M/t]) -> f32[]{U_t} { return sum(\"M/t -> {U_t}\", g * g) }\n"
      "plan p implements f(g: f32[M/t]) -> f32[M/t] { return g * clip_factor(n_t(g), 1) }\n",
      "E0207", "before clip_factor");
}

/// The text of a value is followed through names once each.
TEST(OtherLanguages, LongChainsOfNamesEnd) {
  std::string body = "y0 = x\n";
  for (int i = 1; i < 100; ++i) {
    const std::string last = "y" + std::to_string(i - 1);
    body += "    y" + std::to_string(i) + " = " + last + " * " + last + " + " + last + "\n";
  }
  expect_help(plan("x", "B M", rows, "B/d M]", body + "    return psum(y99)"), "E0101",
              "`psum` is `all_reduce`");
}

}  // namespace other_languages_test
}  // namespace shardproof
