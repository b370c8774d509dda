// The whole program over a real file: what a user sees.
#include <gtest/gtest.h>

#include <sstream>

#include "impl/check_sharding/run.h"
#include "spec/cli/json.h"

namespace shardproof::check_sharding {

using namespace cli;

namespace {

const std::string models = std::string(SHARDPROOF_SOURCE_DIR) + "/spec/models/";

struct Result {
  int code;
  std::string out;
};

Result run_with(std::vector<std::string> args, const std::string& in = "") {
  std::istringstream input(in);
  std::ostringstream out, err;
  Environment environment;
  environment.seconds = [] { return 0.0; };
  const int code = run(args, input, out, err, environment);
  return {code, out.str()};
}

TEST(EndToEnd, BackwardPrintsWhatIsDerivedAndProved) {
  const Result result = run_with({models + "ffn.shard", "--backward", "--mesh", "d=8,t=4"});
  EXPECT_EQ(result.code, 0) << result.out;
  for (const char* line : {"backward derived and proved: 5 all_gather, 5 psum_scatter\n",
                           "# the backward of ffn_sharded, derived: proved\n",
                           "# all_gathers of the forward pass that are repeated: 4; saved for it: ",
                           "plan ffn_sharded_backward implements grad(ffn) after ffn_sharded("})
    EXPECT_NE(result.out.find(line), std::string::npos) << result.out;
  EXPECT_EQ(run_with({models + "ffn.shard", "--backward=no_such_plan"}).code, 3);
  EXPECT_EQ(run_with({models + "llama3.shard", "--backward=head_sharded", "--latex"}).code, 0);
}

TEST(EndToEnd, BackwardPrintsWhatItAssumes) {
  const std::string text =
      "mesh d\ndim B\nfn f(x: f32[B]) -> f32[] { return sum(\"B ->\", abs(x)) }\n"
      "plan p implements f(x: f32[B/d]) -> f32[]{U_d} { return sum(\"B/d -> {U_d}\", sqrt(x * x)) "
      "}\n";
  const Result result = run_with({"-", "--backward"}, text);
  EXPECT_NE(result.out.find("\n# assuming x[B]^2 != 0\n"), std::string::npos) << result.out;
}

TEST(EndToEnd, StatisticsOfABillionRanksEnd) {
  const std::string text =
      "mesh d\ndim B\nfn f(x: f32[B]) -> f32[] { return sum(\"B -> \", x) }\n"
      "plan p implements f(x: f32[B/d]) -> f32[] {\n"
      "    return all_reduce(\"{U_d} -> \", sum(\"B/d -> {U_d}\", x))\n}\n";
  const auto at = [&](const std::string& size) {
    return run_with({"-", "--stats", "--mesh", "d=" + size, "--set", "B=" + size}, text);
  };
  for (const char* size : {"1048576", "1000000000", "1000000000000"}) {
    const Result result = at(size);
    EXPECT_EQ(result.code, 0) << result.out;
    EXPECT_NE(result.out.find("every dim splits evenly"), std::string::npos) << result.out;
  }
  EXPECT_NE(at("1000000000").out.find("a group of more than 1048576 ranks is not planned"),
            std::string::npos);
}

TEST(EndToEnd, AnUnknownBackwardIsNoSuccess) {
  const std::string text =
      "mesh t\ndim B\nfn f(x: f32[B]) -> f32[] { return sum(\"B -> \", tanh(x)) }\n"
      "plan p implements f(x: f32[B/t]) -> f32[]{U_t} {\n"
      "  return sum(\"B/t -> {U_t}\", stop_grad(tanh(x)) + 0 * x) }\n";
  EXPECT_EQ(run_with({"-"}, text).code, 0);
  EXPECT_EQ(run_with({"-", "--backward"}, text).code, 2);
}

TEST(EndToEnd, WhatIsAssumedOfSizesIsEvaluatedAtThem) {
  const std::string text =
      "mesh t\ndim A B\nfn f(x: f32[B]) -> f32[B] { return x }\n"
      "plan p implements f(x: f32[B/t]) -> f32[B/t] { return x * (|A| - 3) / (|A| - 3) }\n";
  const auto at = [&](const std::string& sizes) {
    return run_with({"-", "--set", sizes}, text).code;
  };
  EXPECT_EQ(at("A=4,B=2"), 0);
  EXPECT_EQ(at("A=3,B=2"), 3);
}

TEST(EndToEnd, TheFeedForwardLayerIsProved) {
  const Result result = run_with({models + "ffn.shard"});
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ("\n" + result.out, R"(
proved   ffn_sharded implements ffn     for every mesh with  d | B,  d*t | M,  t | F
         forward: 5 all_gather, 1 psum_scatter
1 proved (0.00 s)
tested, not proved: the plan compiler, kernels, and fused kernels that replace library functions
outside every proof: rounding, overflow, the order of sums, timing, communication and vendor libraries
)");
}

TEST(EndToEnd, StatisticsTellTheMemoryOfARank) {
  const std::vector<std::string> command{models + "ffn.shard", "--stats", "--set",
                                         "B=4,L=64,M=64,F=128"};
  const auto on = [&](const std::string& mesh, bool json) {
    std::vector<std::string> args = command;
    args.insert(args.end(), {"--mesh", mesh});
    if (json) args.insert(args.end(), {"--format", "json"});
    return run_with(args).out;
  };
  // x: 2 4/d 64 64/t bytes; w: 4 (64 + 3*64*128)/(d t); the result as x.
  for (int d : {1, 2})
    for (int t : {1, 4}) {
      const std::string mesh = "d=" + std::to_string(d) + ",t=" + std::to_string(t);
      const Json memory = Json::parse(on(mesh, true))["plans"][0]["memory"];
      EXPECT_EQ(memory["results"], 2 * 4 * 64 * 64 / (d * t)) << mesh;
      EXPECT_EQ(memory["parameters"], (2 * 4 * 64 * 64 + 4 * (64 + 3 * 64 * 128)) / (d * t));
      EXPECT_GE(memory["between"], 2 * 2 * (4 / d) * 64 * 128 / t) << mesh;  // gate and up
      EXPECT_EQ(memory["bytes"].get<int>(), memory["parameters"].get<int>() +
                                                memory["results"].get<int>() +
                                                memory["between"].get<int>());
    }
  EXPECT_NE(on("d=2,t=4", false).find("KiB parameters, 4.00 KiB results, "), std::string::npos);
  EXPECT_EQ(on("d=2", true).find("\"between\""), std::string::npos);  // |t| has no size
}

TEST(EndToEnd, SizesThatDoNotDivide) {
  const Result result = run_with({models + "ffn.shard", "--mesh", "d=8,t=4", "--set", "M=4100"});
  EXPECT_EQ(result.code, 3);
  EXPECT_NE(result.out.find("error[E0501]: |d|*|t| = 32 does not divide |M| = 4100"),
            std::string::npos);
  EXPECT_NE(result.out.find("= the nearest sizes that divide: M=4096, M=4128\n"),
            std::string::npos);
  EXPECT_NE(result.out.find("1 proved, but this run is invalid (0.00 s)\n"), std::string::npos);
}

const char* pipeline_by = R"(mesh p
dim N A B M
fn f(x: f32[A B M], w: f32[N M]) -> f32[A B M] {
    ys = scan a in A {
        xN = scan n in N, h: f32[B M] = x[a] { next tanh(h * w[n]) }
        emit xN
    }
    return ys
}
plan f_p implements f(x: f32[A B M], w: f32[N/p M]) -> f32[A B M]{U_p} {
    ys = pipeline a in A over p by mine {
        xN = stages n in N, h: f32[B M] = x[a] { next tanh(h * w[n]) }
        emit xN
    }
    return ys
}
)";

/// A user's schedule is checked up to the sizes that were simulated; the verdict names them.
TEST(EndToEnd, ASchedulesSizesAreAConditionOfTheVerdict) {
  const std::string text =
      std::string(pipeline_by) +
      "schedule mine { for m in 0 .. min(A, 64) { F(m) } for m in 0 .. min(A, 64) { B(m) } }\n";
  const Result any = run_with({"-"}, text);
  EXPECT_EQ(any.code, 0) << any.out;
  EXPECT_NE(any.out.find("with  p | N,  |A| <= 64 and |p| <= 16 (schedule mine)\n"),
            std::string::npos)
      << any.out;
  EXPECT_NE(run_with({"-", "--format", "json"}, text).out.find("|A| <= 64 and |p| <= 16"),
            std::string::npos);
  const auto at = [&](const std::string& mesh, const std::string& sizes) {
    return run_with({"-", "--mesh", mesh, "--set", sizes}, text);
  };
  EXPECT_EQ(at("p=2", "N=2,A=64").code, 0);
  EXPECT_EQ(at("p=32", "N=32,A=64").code, 0);
  const Result missing = at("p=2", "N=2,A=65");
  EXPECT_EQ(missing.code, 3);
  EXPECT_NE(missing.out.find("error[E0502]: schedule `mine`: stage 0 of 2, A = 65: F(64) is"),
            std::string::npos)
      << missing.out;
  EXPECT_NE(at("p=32", "N=32").out.find("note[E0501]"), std::string::npos);
  EXPECT_NE(at("p=1024", "N=1024,A=4096").out.find("too many to be run"), std::string::npos);
}

/// With stated times the solver decides for all sizes; wrong times prove nothing.
TEST(EndToEnd, AScheduleThatSaysWhenIsProvedForAllSizes) {
  const auto with = [](const std::string& backward) {
    return run_with({"-"}, std::string(pipeline_by) +
                               "schedule mine { let time_F(k) = s + k let time_B(k) = " + backward +
                               " for m in 0 .. A { F(m) } for m in 0 .. A { B(m) } }\n");
  };
  const Result right = with("A + 2 * p - 2 - s + k"), wrong = with("7");
  EXPECT_EQ(right.code, 0) << right.out;
  EXPECT_NE(right.out.find("for every mesh with  p | N\n"), std::string::npos) << right.out;
  EXPECT_NE(wrong.out.find("p | N,  |A| <= 64"), std::string::npos) << wrong.out;
}

TEST(EndToEnd, AnnotatedTextIsTheSameProgram) {
  const Result annotated = run_with({models + "ffn.shard", "--annotate"});
  EXPECT_NE(annotated.out.find("  #: bf16[B/d L M]{U_t}\n"), std::string::npos) << annotated.out;
  EXPECT_EQ(run_with({"-"}, annotated.out).code, 0);
  EXPECT_EQ(run_with({"-", "--annotate"}, annotated.out).out, annotated.out);
}

TEST(EndToEnd, EquationsNameLibraryFunctions) {
  const Result result = run_with({models + "ffn.shard", "--latex", "--backward=ffn_sharded"});
  for (const char* equation :
       {R"($gx[B_d,L,M] = \text{AllGather}_{[B_d,L,M_t] \to [B_d,L,M]}(x)$)",
        R"($nx[B_d,L,M] = \text{bf16}(\text{rms\_norm}_{[B_d,L,M];\ [M]}(gx) \odot ln)$)",
        R"($out[B_d,L,M]\{U_t\} = \sum_{F} (\text{silu}(gate) \odot up)[B_d,L,F_t]\,wd[M,F_t]$)",
        R"(- return $x + \text{ReduceScatter}_{[B_d,L,M]\{U_t\} \to [B_d,L,M_t]}(out)$)",
        R"($g\_wu[M,F_t]\{U_d\} = \sum_{B,L} nx[B_d,L,M]\,g\_up[B_d,L,F_t]$)"})
    EXPECT_NE(result.out.find(equation), std::string::npos) << equation << "\n" << result.out;
}

const char refused[] =
    "mesh t\n"
    "dim M\n"
    "const eps = 1e-6\n"
    "plan p(x: f32[M]{U_t}) -> f32[M] {\n"
    "    return all_reduce(\"M {U_t} -> M\", gelu(x))\n"
    "}\n";

TEST(EndToEnd, ARefusalHasAPlaceNumbersAndAFix) {
  const Result result = run_with({"-"}, refused);
  EXPECT_EQ(result.code, 1);
  for (const char* text : {"error[E0207]: ", " of a value that is unreduced over t\n --> -:5:39\n",
                           "= smallest counterexample: t=2", "= fix: ", "1 refuted (0.00 s)\n"})
    EXPECT_NE(result.out.find(text), std::string::npos) << text << "\n" << result.out;
  const Json json = Json::parse(run_with({"-", "--format", "json"}, refused).out);
  EXPECT_EQ(json["exit"], 1);
  EXPECT_EQ(json["plans"][0]["diagnostics"][0]["code"], "E0207");
  const Json sarif = Json::parse(run_with({"-", "--format", "sarif"}, refused).out);
  EXPECT_EQ(sarif["runs"][0]["results"][0]["ruleId"], "E0207");
}

TEST(EndToEnd, AConstThatWasNotCheckedIsNeverAPass) {
  const std::string program =
      "dim M\nconst eps = 1e-6\nfn f(x: f32[M]) -> f32[M] { return x + eps }\n"
      "plan p implements f(x: f32[M]) -> f32[M] { return x + eps }\n";
  EXPECT_EQ(run_with({"-", "--set", "eps=1e-6"}, program).code, 0);
  const Result other = run_with({"-", "--set", "eps=1e-5"}, program);
  EXPECT_NE(other.out.find("a new claim: eps = 1e-05 instead of the file's 1e-06\n"),
            std::string::npos)
      << other.out;
  const bool ignored = other.out.find("not decided") != std::string::npos;
  EXPECT_EQ(other.code, ignored ? 2 : 0);
}

TEST(EndToEnd, WhatIsNotDecidedExits2AndIsNoError) {
  const Result result = run_with({"-"},
                                 "mesh d\ndim B\n"
                                 "fn same(x: f32[B]) -> f32[B] { return x }\n"
                                 "plan five_angles implements same(x: f32[B/d]) -> f32[B/d] {\n"
                                 "    c = cos(x)\n"
                                 "    five = c * (16 * pow(c, 4) - 20 * pow(c, 2) + 5)\n"
                                 "    return x + cos(5 * x) - five\n}\n");
  EXPECT_EQ(result.code, 2);
  EXPECT_NE(result.out.find("unknown[U0003]"), std::string::npos);
}

}  // namespace
}  // namespace shardproof::check_sharding
