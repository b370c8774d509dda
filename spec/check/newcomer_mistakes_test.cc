// Mistakes of people who begin: each has a fix that proves the plan.
#include "spec/check/expect_fix.h"

namespace shardproof {
namespace newcomer_mistakes_test {

const std::string head = "mesh d t\ndim N B L M F\ndim S T = L\n";

const std::string layers =
    "record Layer { a: f32[M F] b: f32[F M] }\n"
    "layout LayerT of Layer { a: f32[M F/t] b: f32[F/t M] }\n"
    "fn layer(x: f32[B M], w: Layer) -> f32[B M] {\n"
    "    return einsum(\"B F, F M -> B M\", einsum(\"B M, M F -> B F\", x, w.a), w.b)\n}\n"
    "fn net(x: f32[B M], ws: Layer[N]) -> f32[B M] {\n"
    "    return scan n in N, c: f32[B M] = x { next layer(c, ws[n]) }\n}\n"
    "plan layer_t implements layer(x: f32[B/d M], w: LayerT) -> f32[B/d M] {\n"
    "    h = einsum(\"B/d M, M F/t -> B/d F/t\", x, w.a)\n"
    "    return all_reduce(\"-> B/d M\", einsum(\"B/d F/t, F/t M -> B/d M {U_t}\", h, w.b))\n}\n"
    "plan net_t implements net(x: f32[B/d M], ws: LayerT[N]) -> f32[B/d M] {\n"
    "    return scan n in N, c: f32[B/d M] = x { ";

TEST(NewcomerMistakes, APlanCallsAPlanInPlaceOfItsModel) {
  expect_fix(head + layers + "next layer(c, ws[n]) }\n}\n", "E0109", "a plan of it, `layer_t`");
}

TEST(NewcomerMistakes, AnFnCallsTheModelOfAPlan) {
  expect_help(head +
                  "fn f(x: f32[B M]) -> f32[B M] { return 2 * x }\n"
                  "plan p implements f(x: f32[B/d M]) -> f32[B/d M] { return 2 * x }\n"
                  "fn g(x: f32[B M]) -> f32[B M] { return p(x) }\n",
              "E0109", "call its model, `f`");
}

TEST(NewcomerMistakes, AStepOfALoopTakesItsEntryOfAStack) {
  expect_fix(head + layers + "next layer_t(c, ws) }\n}\n", "E0303",
             "the entry of this step is `ws[n]`");
}

TEST(NewcomerMistakes, AReturnInALoopIsItsNext) {
  expect_fix(head + layers + "return layer_t(c, ws[n]) }\n}\n", "E0109", "write `next`");
}

TEST(NewcomerMistakes, ArgumentsStandInTheOrderOfThePattern) {
  expect_fix(head +
                 "fn f(x: f32[B M], w: f32[M F]) -> f32[B F] { return einsum(\"B M, M F -> B F\", "
                 "x, w) }\n"
                 "plan p implements f(x: f32[B/d M], w: f32[M F]) -> f32[B/d F] {\n"
                 "    return einsum(\"B/d M, M F -> B/d F\", w, x)\n}\n",
             "E0305", "in the order of the pattern");
}

TEST(NewcomerMistakes, AResultHasTheNamesOfItsType) {
  const std::string model =
      head +
      "fn f(x: f32[B L], y: f32[B L]) -> f32[B S T] { return einsum(\"B S, B T -> B S T\", x, y) "
      "}\n"
      "plan p implements f(x: f32[B/d L], y: f32[B/d L]) -> f32[B/d S T] {\n";
  expect_fix(model + "    return einsum(\"B/d S, B/d L -> B/d S L\", x, y)\n}\n", "E0302",
             "name the dims as its type does, `B S T`");
  expect_fix(model + "    z = einsum(\"B/d S, B/d L -> B/d S L\", x, y)\n    return z\n}\n",
             "E0302", "name the dims as its type does, `B S T`");
}

TEST(NewcomerMistakes, AStoredParameterHasItsLayoutAsItsType) {
  std::string text = head + layers + "next layer_t(c, ws[n]) }\n}\n";
  const std::string stated = "x: f32[B/d M], w: LayerT";
  text.replace(text.find(stated), stated.size(), "x: f32[B/d M], w: Layer");
  expect_first_fix(text, "E0301", "`w` is stored as `LayerT`");
}

TEST(NewcomerMistakes, ACollectiveOfAModuleHasItsNameHere) {
  expect_help(head +
                  "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                  "plan p implements f(x: f32[B M/t]) -> f32[B M] {\n"
                  "    return lax.psum(x, \"t\")\n}\n",
              "E0002", "`psum` is `all_reduce`");
  expect_help(head + "fn f(x: f32[B M], w: f32[M F]) -> f32[B F] { return jnp.matmul(x, w) }\n",
              "E0002", "`einsum(\"B M, M F -> B F\", x, w)`");
}

TEST(NewcomerMistakes, APlanHasTheParametersAndResultsOfItsModel) {
  const std::string model = head + "fn f(x: f32[B M]) -> f32[B M] { return x }\n";
  expect_help(model + "plan p implements f(x: f32[B/d M]) -> (y z: f32[B/d M]) { return x, x }\n",
              "E0108", "let the model return it too");
  expect_help(model + "plan p implements f(x y: f32[B/d M]) -> f32[B/d M] { return x }\n", "E0108",
              "parameters of the model too");
}

TEST(NewcomerMistakes, AnImportStandsBesideItsFile) {
  expect_help("import f from \"lib/b.shard\"\n", "E0107", "begins at the folder of this file");
}

TEST(NewcomerMistakes, PaddingIsLeftOut) {
  expect_help(head +
                  "dim V\ndim W pads V\n"
                  "fn f(x: f32[V M]) -> f32[M] { return sum(\"V M -> M\", x) }\n"
                  "plan p implements f(x: f32[W M/t]) -> f32[M/t] {\n"
                  "    return sum(\"W M/t -> M/t\", x)\n}\n",
              "E0401", "from |V| on are padding");
}

/// One of several results: the fix is at its own place.
TEST(NewcomerMistakes, AResultOfSeveralIsReduced) {
  expect_fix(head +
                 "fn f(x: f32[B M]) -> (l: f32[], y: f32[B M]) { return sum(\"B M -> \", x), x }\n"
                 "plan p implements f(x: f32[B/d M]) -> (l: f32[], y: f32[B/d M]) {\n"
                 "    l = sum(\"B/d M -> {U_d}\", x)\n    return l, x\n}\n",
             "E0302", "all_reduce first");
}

TEST(NewcomerMistakes, APlanImplementsTheModelOfAnotherPlan) {
  expect_help(head +
                  "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                  "plan p implements f(x: f32[B/d M]) -> f32[B/d M] { return x }\n"
                  "plan q implements p(x: f32[B M/t]) -> f32[B M/t] { return x }\n",
              "E0109", "it implements `f`");
}

TEST(NewcomerMistakes, ATotalIsOfNumbers) {
  expect_fix(head +
                 "record W { a: f32[M F] b: f32[M F] }\n"
                 "layout Wt of W { a b: f32[M F/t] }\n"
                 "fn n(g: W) -> f32[] { return total(each sumsq(g)) }\n"
                 "plan p implements n(g: Wt) -> f32[] { return all_reduce(\"{U_t} -> \", "
                 "total(\"{U_t}\", g)) }\n",
             "E0305", "make each field a scalar first, as `each sumsq(g)` does");
}

TEST(NewcomerMistakes, ALayoutHasTheFieldsOfItsRecord) {
  const std::string record = head +
                             "fn f(x: f32[M F]) -> f32[M F] { return x }\n"
                             "plan p implements f(x: f32[M/d F/t]) -> f32[M/d F/t] { return x }\n"
                             "record W { a: f32[M F] b: f32[M] }\n";
  expect_fix(record + "layout Wt of W { a: f32[M F/t] }\n", "E0105", "`b: f32[M]` is missing");
  expect_fix(record + "layout Wt of W { a: f32[M F/t] bias: f32[M] }\n", "E0105",
             "the record calls it `b`");
  expect_fix(record + "layout Wt of W { a: f32[F M/t] b: f32[M] }\n", "E0105",
             "write `a: f32[M/t F]`");
}

TEST(NewcomerMistakes, AxesOfATupleStandOneByOne) {
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                 "plan p implements f(x: f32[B/(d, t) M]) -> f32[B/d/t M] { return x }\n",
             "E0002", "write `/d/t`");
}

TEST(NewcomerMistakes, AWorkedDimIsNamedAlone) {
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return softmax(\"B M; M\", x) }\n"
                 "plan p implements f(x: f32[B M/t]) -> f32[B M/t] {\n"
                 "    y = softmax(\"B M; M/t\", all_gather(\"B M/t -> B M\", x))\n"
                 "    return slice(\"B M -> B M/t\", y)\n}\n",
             "E0305", "name it alone, `M`");
}

TEST(NewcomerMistakes, WordsThatHaveNoOneEdit) {
  expect_help(head + "fn f(x: [W]) -> f32[] { return 1 }\n", "E0002", "as in `W[N]`");
  expect_help(head + "fn f(x: f32[B M]) -> f32[M] { return sum(\"... M -> M\", x) }\n", "E0110",
              "name each dim");
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                 "plan p implements f(x: f32[B/d M]{U_d}) -> f32[B/d M] { return x }\n",
             "E0110", "leave out `{U_d}`");
}

TEST(NewcomerMistakes, ASumBesideACopyThatIsUsedAlikeIsReducedToOne) {
  expect_fix(head +
                 "fn f(x: f32[B M], y: f32[B M]) -> f32[B M] { return x + tanh(y) }\n"
                 "plan p implements f(x: f32[B M]{I_t}, y: f32[B M]{U_t}) -> f32[B M]{I_t} {\n"
                 "    return x + tanh(y)\n}\n",
             "E0207", "reduce before tanh, as {I_t}");
}

TEST(NewcomerMistakes, AScalarParameterBesideACopyThatIsUsedAlikeHasItsType) {
  expect_fix(head +
                 "fn f(x: f32[M], e: f32[]) -> f32[M] { return x * e }\n"
                 "plan p implements f(x: f32[M]{I_t}, e: f32[]) -> f32[M]{I_t} { return x * e }\n",
             "E0203", "give `e` the type `f32[]{I_t}`");
}

TEST(NewcomerMistakes, AResultThatIsNoCopyUsedAlikeHasItsOwnType) {
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return 2 * x }\n"
                 "plan p implements f(x: f32[B/d M]) -> f32[B/d M]{I_t} { return 2 * x }\n",
             "E0302", "state the value's type, `f32[B/d M]`");
}

const std::string training =
    "mesh d\ndim B M F\n"
    "record W { a: f32[M F] b: f32[M] }\n"
    "layout Shards of W { a: f32[M/d F] b: f32[M/d] }\n"
    "fn loss(w: W, x: f32[B M]) -> f32[] {\n"
    "    return sum(\"B F -> \", tanh(einsum(\"B M, M F -> B F\", x * w.b, w.a))) / |B|\n}\n"
    "fn step(w: W, x: f32[B M], lr: f32[]) -> (w1: W) {\n"
    "    _l, g = value_and_grad(loss wrt w)(w, x)\n    return each sgd(w, g, lr)\n}\n";
const std::string sharded_loss =
    "    a = all_gather(\"M/d F -> M F\", w.a)\n    b = all_gather(\"M/d -> M\", w.b)\n"
    "    return sum(\"B/d F -> {U_d}\", tanh(einsum(\"B/d M, M F -> B/d F\", x * b, a))) / "
    "|B|\n}\n";

TEST(NewcomerMistakes, ARecordHasTheLayoutThatTheCallExpects) {
  expect_first_fix(
      training + "plan loss_d implements loss(w: Shards, x: f32[B/d M]) -> f32[]{U_d} {\n" +
          sharded_loss +
          "plan step_d implements step(w: W, x: f32[B/d M], lr: f32[]) -> (w1: W) {\n"
          "    _l, g = value_and_grad(loss_d wrt w)(w, x)\n    return each sgd(w, g, lr)\n}\n",
      "E0303", "give `w` the layout that the call expects, `Shards`");
}

TEST(NewcomerMistakes, AFixOfARecordHasThePatternOfARecord) {
  expect_fix(head +
                 "record W { a: f32[M F] b: f32[M F] }\n"
                 "layout Shards of W { a b: f32[M/d F] }\n"
                 "fn f(w: W) -> f32[M F] { return w.a + w.b }\n"
                 "fn g(w: W) -> f32[M F] { return f(w) }\n"
                 "plan f_d implements f(w: W) -> f32[M F] { return w.a + w.b }\n"
                 "plan g_d implements g(w: Shards) -> f32[M F] { return f_d(w) }\n",
             "E0303", "all_gather first");
}

TEST(NewcomerMistakes, ALossWhoseGradientIsTakenStaysASum) {
  const std::string text =
      training + "plan loss_d implements loss(w: Shards, x: f32[B/d M]) -> f32[] {\n" +
      sharded_loss +
      "plan step_d implements step(w: Shards, x: f32[B/d M], lr: f32[]) -> (w1: Shards) {\n"
      "    _l, g = value_and_grad(loss_d wrt w)(w, x)\n    return each sgd(w, g, lr)\n}\n";
  expect_first_fix(text, "E0302", "the loss of a training step stays a sum");
  EXPECT_EQ(errors_of(text)[0].fixes.size(), 1u);
}

TEST(NewcomerMistakes, ATotalCountsACopyOnce) {
  expect_fix(head +
                 "record W { a: f32[M F] b: f32[M] }\n"
                 "layout Wt of W { a: f32[M F/t] b: f32[M] }\n"
                 "fn n(g: W) -> f32[] { return total(each sumsq(g)) }\n"
                 "plan p implements n(g: Wt) -> f32[] {\n"
                 "    return all_reduce(\"{U_t} -> \", total(each sumsq(g)))\n}\n",
             "E0201", "count it once, `total(\"{U_t}\", ...)`");
}

TEST(NewcomerMistakes, AStoppedGradientIsShownWhereItStands) {
  const std::vector<Diagnostic> errors = errors_of(
      "mesh d\ndim B M\n"
      "fn loss(w: f32[M], x: f32[B M]) -> f32[] { return sum(\"B M ->\", tanh(x * w)) / |B| }\n"
      "fn step(w: f32[M], x: f32[B M]) -> f32[M] { return grad(loss wrt w)(w, x, 1.0) }\n"
      "plan lossd implements loss(w: f32[M], x: f32[B/d M]) -> f32[]{U_d} {\n"
      "    return sum(\"B/d M -> {U_d}\", tanh(x * stop_grad(w))) / |B|\n}\n"
      "plan stepd implements step(w: f32[M], x: f32[B/d M]) -> f32[M] {\n"
      "    return all_reduce(\"M {U_d} -> M\", grad(lossd wrt w)(w, x, 1.0))\n}\n");
  ASSERT_EQ(errors.size(), 1u);
  ASSERT_FALSE(errors[0].notes.empty());
  EXPECT_EQ(errors[0].notes[0].text, "the gradient is stopped here");
}

TEST(NewcomerMistakes, AnAxisOfADimStandsBehindASlash) {
  expect_fix(head +
                 "fn f(x: f32[B M]) -> f32[B M] { return x }\n"
                 "plan p implements f(x: f32[B M[d]]) -> f32[B M/d] { return x }\n",
             "E0002", "write `/d`");
}

TEST(NewcomerMistakes, AnAxisOfADimIsMendedAtAllItsPlaces) {
  expect_fix(
      head +
          "fn f(x y: f32[B M]) -> f32[B M] { return x + y }\n"
          "plan p implements f(x: f32[B M[d]], y: f32[B M[d]]) -> f32[B M[d]] { return x + y }\n",
      "E0002", "write `/d`");
  expect_fix(head +
                 "fn f(x y: f32[B M]) -> f32[B M] { return x + y }\n"
                 "plan p implements f(x: f32[B/(d, t) M], y: f32[B/(d, t) M]) -> f32[B/(d, t) M] { "
                 "return x + y }\n",
             "E0002", "write `/d/t`");
}

TEST(NewcomerMistakes, WordsOfPythonHaveTheirWordsHere) {
  expect_help(head + "fn f(x: f32[B M]) -> f32[B M] { return rearrange(\"b m -> b m\", x) }\n",
              "E0101", "dims are called as they are declared: `B`");
  expect_help(head + "fn f(x y: f32[B M]) -> f32[B M] { return concat([x, y]) }\n", "E0002",
              "there are no lists");
  expect_help(head + "fn f(x: f32[B M]) -> f32[B M] { return x[:, 0:4] }\n", "E0002",
              "entries along a dim are `read(\"B [M] -> B J\", x, at=0)`");
  expect_help(head + "fn f(x: f32[B M]) -> f32[B M] {\n    for n in N { x = x }\n    return x\n}\n",
              "E0002", "a loop is `scan n in N");
  expect_help(head + "fn f(x: P(d, t)) -> f32[B M] { return x }\n", "E0002",
              "the axes that split them");
  expect_help(head + "fn f(x: f32[B M]) -> f32[B M] { return softmax(x, axis=1) }\n", "E0103",
              "`softmax(\"B M; M\", x)`");
  expect_help(head + "fn f(x: f32[B M]) -> f32[B] { return reduce(\"B M -> B\", x) }\n", "E0101",
              "a reduction is `sum(");
  expect_help(head +
                  "fn lin(x: f32[B M]) -> f32[B M] { return x }\n"
                  "plan p implements linear(x: f32[B/d M]) -> f32[B/d M] { return x }\n",
              "E0101", "the functions of this file are `lin`");
}

TEST(NewcomerMistakes, APlanThatIsItsOwnModelHasNone) {
  expect_help(head + "plan p implements p(x: f32[B/d M]) -> f32[B/d M] { return x }\n", "E0112",
              "a model is a fn on whole tensors");
}

TEST(NewcomerMistakes, ALongPatternIsNotPrintedToItsEnd) {
  std::string many;
  for (int i = 0; i < 100000; ++i) many += "B ";
  const std::vector<Diagnostic> errors = errors_of(
      head + "fn f(x: f32[B M]) -> f32[B M] { return einsum(\"" + many + "-> B M\", x) }\n");
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_LT(errors[0].message.size(), 3000u);
  EXPECT_THAT(errors[0].message, testing::EndsWith("the operand has the dims `B M`"));
}

}  // namespace newcomer_mistakes_test
TEST(NewcomerMistakes, WordsOfPipelinesAndLoopsHaveTheirWordsHere) {
  const auto pipeline = [](const std::string& schedule, const std::string& dim) {
    return "mesh p\ndim A B M N\nfn net(w: f32[N M], x: f32[A B M]) -> f32[A B M] {\n    return "
           "scan a in A {\n"
           "        z = scan n in N, h: f32[B M] = x[a] { next tanh(h * w[n]) }\n        emit z\n  "
           "  }\n}\n"
           "plan net_p implements net(w: f32[N/p M], x: f32[A B M]) -> f32[A B M]{U_p} {\n    y = "
           "pipeline a in A "
           "over p by " +
           schedule + " {\n        z = stages n in " + dim +
           ", h: f32[B M] = x[a] { next tanh(h * w[n]) }\n        emit z\n    }\n    return y\n}\n";
  };
  expect_fix(pipeline("1f1b", "N"), "E0003", "`one_f_one_b`");
  expect_fix(pipeline("gpipe", "N/p"), "E0002", "leave the axis out");
  const auto sum = [](const std::string& start) {
    return "mesh d\ndim N B\nfn f(x: f32[N B]) -> f32[B] { return sum(\"N B -> B\", x) }\nplan p "
           "implements f(x: "
           "f32[N B/d]) -> f32[B/d] { return scan n in N, s: f32[B/d] = " +
           start + " { next s + x[n] } }\n";
  };
  expect_fix(sum("0"), "E0304", "`zeros(f32[B/d])`");
  expect_help(sum("2"), "E0304", "`zeros(f32[B/d]) + 2`");
  expect_help(
      "mesh c\ndim T\nfn f(k: f32[T]) -> f32[] { return sum(\"T -> \", k) }\nplan p implements "
      "f(k: "
      "f32[T/c]) -> f32[] { return ring b over T/c as W, s: f32[] = 0 { next s + sum(\"W -> \", "
      "k[b]) } }\n",
      "E0002", "y = ring b over T/c as W");
  expect_help("mesh d\ndim B\nfn f(x: f32[B]) -> (from to: f32[B]) { return x, x }\n", "E0008",
              "`from_`");
}

TEST(NewcomerMistakes, GradientsMayBeInAnotherOrder) {
  const std::string head =
                        "mesh d\ndim B M F\nfn f(x: f32[B M], w: f32[M F]) -> f32[B F] { return "
                        "einsum(\"B M, M F -> B F\", x, w) }\n"
                        "plan q implements f(x: f32[B/d M], w: f32[M F]) -> f32[B/d F] { return "
                        "einsum(\"B/d M, M F -> B/d F\", x, w) "
                        "}\nplan p implements ",
                    tail =
                        " after q(x: f32[B/d M], w: f32[M F], g: f32[B/d F]) -> (g_w: f32[M "
                        "F]{U_d}, g_x: f32[B/d M]) {\n    "
                        "return einsum(\"B/d M, B/d F -> M F {U_d}\", x, g), einsum(\"B/d F, M F "
                        "-> B/d M\", g, w)\n}\n";
  expect_fix(head + "grad(f)" + tail, "E0108", "`grad(f wrt w, x)`");
  EXPECT_TRUE(errors_of(head + "grad(f wrt w, x)" + tail).empty());
}

TEST(NewcomerMistakes, AMaskOfTwoIotasIsOverBothDims) {
  const std::string text =
      "mesh d\ndim L\ndim S T = L\nfn f(x: f32[S T]) -> f32[S T] { return where(iota(\"S T; S\") "
      ">= iota(\"S T; T\"), "
      "x, 0) }\nplan p implements f(x: f32[S/d T]) -> f32[S/d T] { return where(iota(\"S/d\") >= "
      "iota(\"T\"), x, 0) "
      "}\n";
  expect_fix(text, "E0305", "`iota(\"S/d T; S\")`");
}

TEST(NewcomerMistakes, TheDimOfAnOrderStandsAfterASemicolon) {
  for (const std::string call : {"argsort(\"N\", a)", "argsort(\"[N]\", a)"})
    expect_fix(
        "mesh d\ndim N\nfn f(a: f32[N]) -> i32[N] { return argsort(\"N; N\", a) }\n"
        "plan p implements f(a: f32[N]) -> i32[N] { return " +
            call + " }\n",
        "E0305", "`N; N`");
}

TEST(NewcomerMistakes, AnUnknownDimOfAnOrderIsCorrected) {
  expect_fix(
      "mesh d\ndim Batch L\nfn f(x: f32[Batch L]) -> f32[Batch L] { return cumsum(\"Batch L; L\", "
      "x) "
      "}\nplan p implements f(x: f32[Batch L]) -> f32[Batch L] { return cumsum(\"Bathc L; L\", x) "
      "}\n",
      "E0101", "`Batch`");
}

TEST(NewcomerMistakes, AnOrderWithoutAPatternIsToldSo) {
  for (const std::string call : {"cumsum(x * x)", "argsort(exp(x))"}) {
    const auto errors =
        errors_of("mesh d\ndim B L\nfn f(x: f32[B L]) -> f32[B L] { return " + call + " }\n");
    ASSERT_FALSE(errors.empty()) << call;
    EXPECT_EQ(errors[0].code, "E0103") << call;
  }
}

TEST(NewcomerMistakes, TheGreaterOfTwoValuesIsNoReduction) {
  for (const std::string name : {"max", "min"})
    expect_fix("mesh d\ndim B\nfn f(x: f32[B]) -> f32[B] { return " + name +
                   "imum(x, 0) }\n"
                   "plan p implements f(x: f32[B/d]) -> f32[B/d] { return " +
                   name + "(x, 0) }\n",
               "E0103", "`" + name + "imum(x, 0)`");
}

TEST(NewcomerMistakes, ALiteralThatIsOffByAFactorIsWritten) {
  expect_fix(
      "mesh t\ndim B M\nfn f(x: f32[B M]) -> f32[B M] { return rms_norm(\"B M; M\", x) }\n"
      "plan p implements f(x: f32[B M/t]) -> f32[B M/t] {\n    ms = all_reduce(\"B {U_t} -> "
      "B\", sum(\"B M/t -> B {U_t}\", x * x)) / |M|\n    return x * rsqrt(ms + 1e-5)\n}\n",
      "E0401", "`1e-06`");
}

}  // namespace shardproof
