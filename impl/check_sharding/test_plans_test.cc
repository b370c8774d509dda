// --test: a user's plans on random meshes beside the oracle.
#include <gtest/gtest.h>

#include <sstream>

#include "impl/check_sharding/run.h"
#include "impl/device/forwarding.h"

namespace shardproof::check_sharding {
namespace test_plans_test {

struct Tested {
  int code;
  std::string out, err;
  bool says(const std::string& text) const { return out.find(text) != std::string::npos; }
};

Tested test(const std::string& text, std::vector<std::string> args = {},
            Environment environment = {}) {
  args.insert(args.end(), {"-", "--test"});
  std::istringstream in(text);
  std::ostringstream out, err;
  environment.seconds = [] { return 0.0; };
  const int code = run(args, in, out, err, environment);
  return {code, out.str(), err.str()};
}

/// Lines 1 to 5, then the plans.
const char model[] =
    "mesh t\n"
    "dim B M F\n"
    "fn up(x: f32[B M], w: f32[M F]) -> f32[B F] {\n"
    "    return tanh(einsum(\"B M, M F -> B F\", relu(x), w))\n"
    "}\n";

const std::string right = std::string(model) +
                          "plan right implements up(x: f32[B M], w: f32[M F/t]) -> f32[B F/t] {\n"
                          "    r = relu(x)\n"
                          "    h = einsum(\"B M, M F/t -> B F/t\", r, w)\n"
                          "    return tanh(h)\n"
                          "}\n";

const std::string wrong = std::string(model) +
                          "plan wrong implements up(x: f32[B M/t], w: f32[M/t F]) -> f32[B F] {\n"
                          "    r = relu(x)\n"
                          "    h = einsum(\"B M/t, M/t F -> B F {U_t}\", r, w)\n"
                          "    y = tanh(h)\n"
                          "    return all_reduce(\"B F {U_t} -> B F\", y)\n"
                          "}\n";

TEST(TestPlans, ARightPlanAndItsDerivedBackwardAgree) {
  const Tested result = test(right, {"--cases", "7", "--seed", "3"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(
      result.out.ends_with("agrees   right implements up: 7 cases\n"
                           "agrees   the derived backward of right: 7 cases\n"
                           "random meshes and sizes, seed 3: 2 agree with the oracle "
                           "(0.00 s)\n"))
      << result.out;
}

/// `limit`: below which entries the step takes.
std::string padded_step(const std::string& limit) {
  return "mesh t\ndim M V\ndim P pads V\n"
         "fn step(w g: f32[V M]) -> (w1: f32[V M]) { return w - g }\n"
         "plan step_t implements step(w g: f32[P/t M]) -> (w1: f32[P/t M]) {\n"
         "    inside = expand(\"P/t -> P/t M\", iota(\"P/t\") < " +
         limit +
         ")\n"
         "    return where(inside, w - g, 7 * w)\n"
         "}\n";
}

TEST(TestPlans, OfAPaddedResultTheEntriesOfTheModelAreCompared) {
  const Tested right = test(padded_step("|V|")), wrong = test(padded_step("|V| - 1"));
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(right.says("agrees   step_t implements step: 20 cases\n")) << right.out;
  EXPECT_EQ(wrong.code, 1) << wrong.out << wrong.err;
  EXPECT_TRUE(wrong.says("differs  step_t implements step\n")) << wrong.out;
}

TEST(TestPlans, AWrongPlanIsShownAtItsSmallestCase) {
  const Tested result = test(wrong);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.says("differs  wrong implements up\n")) << result.out;
  EXPECT_TRUE(result.says("smallest case: t=2, B=1 F=1 M=2\n")) << result.out;
  EXPECT_TRUE(result.says("first op whose value differs: -:9: y = tanh(h)\n")) << result.out;
  EXPECT_TRUE(result.says("0 agree with the oracle, 1 differs")) << result.out;
}

/// A plan that is its model but for the factor of its result.
std::string twin(const std::string& body, const std::string& factor = "") {
  return "mesh t\ndim B\nfn f(x: f32[B]) -> f32[B] {\n" + body + "    return y\n}\n" +
         "plan f_t implements f(x: f32[B/t]) -> f32[B/t] {\n" + body + "    return " + factor +
         "y\n}\n";
}

// f32 has other numbers than the oracle: nearly equal ones cancel to 0, and tiny squares are 0. A
// wrong plan is still wrong, in doubles.
TEST(TestPlans, WhatIsZeroInF32AloneIsNoDifference) {
  for (const char* body : {"    d = (x + 3e7) - 3e7\n    y = d / sqrt(d * d + 1e-12)\n",
                           "    d = 1e-25 * x\n    y = sqrt(d * d)\n"}) {
    EXPECT_EQ(test(twin(body)).code, 0) << body;
    EXPECT_EQ(test(twin(body, "1.01 * ")).code, 1) << body;
  }
}

// Small integers whose sum is 0, each device's divided by 18 before they are added.
TEST(TestPlans, TermsThatCancelToZeroAreRounded) {
  const std::string mean =
      "mesh c\ndim B L M V\n"
      "fn mean(w: f32[M V], x: f32[B L M], targets: i32[B L]) -> f32[] {\n"
      "    z = einsum(\"B L M, M V -> B L V\", x, w)\n"
      "    return sum(\"B L -> \", cross_entropy(\"B L V, B L; V\", z, targets)) / (|B| * |L|)\n"
      "}\n"
      "plan mean_c implements mean(w: f32[M V], x: f32[B L/c M], targets: i32[B L/c])\n"
      "        -> f32[]{U_c} {\n"
      "    z = einsum(\"B L/c M, M V -> B L/c V\", x, w)\n"
      "    return sum(\"B L/c -> {U_c}\", cross_entropy(\"B L/c V, B L/c; V\", z, targets))\n"
      "        / (|B| * |L|)\n"
      "}\n";
  const Tested result = test(mean, {"--seed", "13", "--mesh", "c=3", "--set", "B=6,L=3,M=2,V=1"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
}

TEST(TestPlans, GivenSizesStay) {
  const Tested result = test(wrong, {"--mesh", "t=3", "--set", "F=4"});
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.says("smallest case: t=3, B=1 F=4 M=3\n")) << result.out;
}

/// Each op is right, and the plan computes something else.
TEST(TestPlans, OfAPlanOfOtherMathematicsTheFirstValueThatTheModelDoesNotHaveIsNamed) {
  const Tested result =
      test(std::string(model) +
           "plan other implements up(x: f32[B M], w: f32[M F/t]) -> f32[B F/t] {\n"
           "    size = abs(x)\n"
           "    h = einsum(\"B M, M F/t -> B F/t\", size, w)\n"
           "    return tanh(h)\n"
           "}\n");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.says("smallest case: t=1, B=1 F=1 M=1\n")) << result.out;
  EXPECT_TRUE(result.says("first op whose value the model does not have: -:7: size = abs(x)\n"))
      << result.out;
}

/// The number of devices is no part of a model, so the value is looked for on a mesh.
TEST(TestPlans, AValueThatReadsTheMeshIsNamed) {
  const Tested result = test(
      "mesh t\ndim B M\n"
      "fn mean(x: f32[B M]) -> f32[B] { return sum(\"B M -> B\", x) / |M| }\n"
      "plan mean_t implements mean(x: f32[B M/t]) -> f32[B] {\n"
      "    s = all_reduce(\"B {U_t} -> B\", sum(\"B M/t -> B {U_t}\", x))\n"
      "    n = f32(|M|) / |t|\n"
      "    return s / n\n"
      "}\n");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(
      result.says("first op whose value the model does not have: -:6: n = f32(|M|) / |t|\n"))
      << result.out;
}

/// A plan can be right while its gradient is not: the model stops one.
TEST(TestPlans, ADerivedBackwardIsTestedThoughItIsNotProved) {
  const Tested result = test(
      "mesh t\ndim B\n"
      "fn f(x: f32[B]) -> f32[B] { return x + stop_grad(round(x) - x) }\n"
      "plan f_t implements f(x: f32[B/t]) -> f32[B/t] { return round(x) }\n");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.says("agrees   f_t implements f: 20 cases\n")) << result.out;
  EXPECT_TRUE(result.says("differs  the derived backward of f_t\n")) << result.out;
  EXPECT_TRUE(result.says("in its text: return zeros(f32[B/t])\n")) << result.out;
}

TEST(TestPlans, CasesAreWhatTheScheduleOfALossRequires) {
  const Tested result = test(
      "mesh p\ndim A B N X\n"
      "fn loss(x: f32[A B], w: f32[X N]) -> f32[] {\n"
      "    s = scan a in A, s0: f32[] = 0 {\n"
      "        y = scan c in X, g: f32[B] = x[a] {\n"
      "            z = scan n in N, h: f32[B] = g { next tanh(h * w[c, n]) }\n"
      "            next z\n"
      "        }\n"
      "        next s0 + sum(\"B -> \", y)\n"
      "    }\n"
      "    return s\n"
      "}\n"
      "fn back(x: f32[A B], w: f32[X N]) -> f32[X N] { return grad(loss wrt w)(x, w, 1.0) }\n"
      "plan loss_p implements loss(x: f32[A B], w: f32[X N/p]) -> f32[]{U_p} {\n"
      "    per = pipeline a in A over p by interleaved(C = |X|) {\n"
      "        y = stages c, n in X, N, h: f32[B] = x[a] { next tanh(h * w[c, n]) }\n"
      "        emit sum(\"B -> \", y)\n"
      "    }\n"
      "    return sum(\"A {U_p} -> {U_p}\", per)\n"
      "}\n"
      "plan back_p implements back(x: f32[A B], w: f32[X N/p]) -> f32[X N/p] {\n"
      "    return grad(loss_p wrt w)(x, w, 1.0)\n"
      "}\n",
      {"--cases", "12"});
  EXPECT_EQ(result.code, 0) << result.out << result.err;
  EXPECT_TRUE(result.says("agrees   back_p implements back: 12 cases\n")) << result.out;
}

TEST(TestPlans, WhatCannotBeRunIsNoPass) {
  const Tested result = test(
      "mesh t\ndim M\nfn f(x: f32[M]) -> f32[M] { return silu(x) }\n"
      "trusted \"mine\" plan fused implements f(x: f32[M/t]) -> f32[M/t]\n"
      "plan twice implements f(x: f32[M/t]) -> f32[M/t] { return fused(x) }\n");
  EXPECT_EQ(result.code, 2) << result.out;
  EXPECT_TRUE(result.says("not run  twice implements f: ")) << result.out;
  EXPECT_TRUE(result.says("not run  fused implements f: it is trusted: --kernel fused=LIB.so"))
      << result.out;
  EXPECT_TRUE(result.says("0 agree with the oracle, 2 not run")) << result.out;
}

/// The clock moves on with each look at it.
TEST(TestPlans, WithoutANumberOfCasesTimeEndsThem) {
  Environment slow;
  slow.processor_seconds = [now = 0.0]() mutable { return now += 0.15; };
  const std::string name = "plan right ";
  std::string plans = right;
  for (const char* other : {"plan second ", "plan third ", "plan fourth "}) {
    std::string text = right.substr(right.find(name));
    plans += text.replace(0, name.size(), other);
  }
  const Tested ended = test(plans, {}, slow), one = test(right, {}, slow);
  EXPECT_EQ(ended.code, 2) << ended.out;
  EXPECT_TRUE(ended.says("agrees   right implements up: 4 cases\n")) << ended.out;
  EXPECT_TRUE(ended.says("not run  fourth implements up: the time ended\n")) << ended.out;
  EXPECT_TRUE(ended.says("the time of --test ended before all cases: --cases 20 runs them"))
      << ended.out;
  EXPECT_EQ(one.code, 0) << one.out;
  EXPECT_TRUE(one.says("the time of --test ended before all cases")) << one.out;
  const Tested all = test(plans, {"--cases", "3"}, slow);
  EXPECT_EQ(all.code, 0) << all.out;
  EXPECT_TRUE(all.says("8 agree with the oracle (")) << all.out;
  EXPECT_FALSE(all.says("the time of --test")) << all.out;
}

/// The time ends after the first case.
TEST(TestPlans, ADifferenceIsMadeSmallerAsLongAsThereIsTime) {
  Environment slow;
  slow.processor_seconds = [now = 0.0]() mutable { return now += 3; };
  const Tested result = test(wrong, {}, slow);
  EXPECT_EQ(result.code, 1) << result.out;
  EXPECT_FALSE(result.says("smallest case: t=2, B=1 F=1 M=2\n")) << result.out;
}

const char trusted[] =
    "mesh t\ndim B M\nfn scaled(x: bf16[B M], k: f32[M]) -> f32[B M] { return f32(x) * k }\n"
    "trusted \"mine\" plan NAME implements scaled(x: bf16[B M/t], k: f32[M/t]) -> f32[B M/t]\n"
    "trusted \"mine\" plan own_part implements part(x: f32[M]) -> f32[M/t]\n"
    "fn part(x: f32[M]) -> f32[M] { return x }\n";

Tested test_kernel(const std::string& name) {
  std::string text = trusted;
  text.replace(text.find("NAME"), 4, name);
  const std::string library = "=" SHARDPROOF_TEST_KERNELS;
  return test(text, {"--kernel", name + library, "--kernel", "own_part" + library});
}

TEST(TestPlans, KernelsOfTrustedPlansAreHeldToTheirModels) {
  const Tested right = test_kernel("scaled_rows");
  EXPECT_EQ(right.code, 0) << right.out << right.err;
  EXPECT_TRUE(right.says("agrees   scaled_rows implements scaled: 20 cases\n")) << right.out;
  EXPECT_TRUE(right.says("agrees   own_part implements part: 20 cases\n")) << right.out;
  for (const auto& [name, why] :
       {std::pair{"scaled_by_the_first", "result 0: entry 1 is "},
        std::pair{"forgets_the_last", "entry 0 is -nan, not "},
        std::pair{"writes_beside", "the kernel writes outside its output 0"},
        std::pair{"writes_far", "the kernel reads or writes memory beside its output 0"},
        std::pair{"reads_far", "the kernel reads or writes memory beside its input 1"},
        std::pair{"aborts", "the kernel is stopped: Aborted"},
        std::pair{"changes_its_input", "the kernel changes its input 0"},
        std::pair{"gives_up", "the kernel returns 7"}}) {
    const Tested wrong = test_kernel(name);
    EXPECT_EQ(wrong.code, 1) << name << wrong.out << wrong.err;
    EXPECT_TRUE(wrong.says(why)) << wrong.out;
    EXPECT_TRUE(wrong.says("smallest case: t=1, B=1 M=")) << wrong.out;
  }
  const Tested gone = test(trusted, {"--kernel", "no_such_name=" SHARDPROOF_TEST_KERNELS});
  EXPECT_EQ(gone.code, 3);
  EXPECT_NE(gone.err.find("has no function no_such_name"), std::string::npos) << gone.err;
  const Tested other = test(trusted, {"--kernel", "gives_up=" SHARDPROOF_TEST_KERNELS});
  EXPECT_EQ(other.code, 3);
  EXPECT_TRUE(other.says(
      "--kernel gives_up: no trusted plan has this name\n  = trusted are NAME, own_part\n"))
      << other.out;
  const Tested nameless = test(trusted, {"--kernel", "own_part"});
  EXPECT_EQ(nameless.code, 3);
  EXPECT_EQ(nameless.err,
            "error: --kernel own_part: write the kernel's shared object, PLAN=LIB.so\n");
}

/// At fewer than 9 positions both windows hold everything.
TEST(TestPlans, SizesReachTheNumbersOfTheFile) {
  const Tested window = test(
      "mesh t\ndim B L\n"
      "fn f(x: f32[B L]) -> f32[B] { return sum(\"B L -> B\", where(iota(\"L\") < 8, x, 0)) }\n"
      "plan p implements f(x: f32[B/t L]) -> f32[B/t] "
      "{ return sum(\"B/t L -> B/t\", where(iota(\"L\") <= 8, x, 0)) }\n");
  EXPECT_EQ(window.code, 1) << window.out;
  EXPECT_TRUE(window.says("smallest case: t=1, B=1 L=9\n")) << window.out;
}

TEST(TestPlans, SizesOfTheFileThatAreTooLargeAreDrawnOrSaid) {
  const std::string plan = "plan p implements f(x: f32[M/t]) -> f32[M/t] { return x * 2 }\n";
  const std::string fixed = "mesh t\ndim M = 1000000000\n";
  const Tested open = test(fixed + "fn f(x: f32[M]) -> f32[M] { return 2 * x }\n" + plan);
  EXPECT_EQ(open.code, 0) << open.out;
  const Tested read =
      test(fixed +
           "fn f(x: f32[M]) -> f32[M] { return 2 * x + |M| }\n"
           "plan p implements f(x: f32[M/t]) -> f32[M/t] { return x * 2 + |M| + 1 - "
           "1 }\n");
  EXPECT_EQ(read.code, 2) << read.out;
  EXPECT_TRUE(read.says("takes too long")) << read.out;
}

TEST(TestPlans, APlanThatIsTooLongIsNotRun) {
  std::string body = "    a0 = x\n";
  for (int i = 1; i <= 6000; ++i)
    body += "    a" + std::to_string(i) + " = tanh(a" + std::to_string(i - 1) + ")\n";
  body += "    return a6000\n}\n";
  const Tested result = test("mesh t\ndim B\nfn f(x: f32[B]) -> f32[B] {\n" + body +
                             "plan p implements f(x: f32[B/t]) -> f32[B/t] {\n" + body);
  EXPECT_EQ(result.code, 2);
  EXPECT_TRUE(result.says("not run  p implements f: the plan has more than 5,000 instructions"))
      << result.out.substr(0, 2000);
}

TEST(TestPlans, AFileWithoutPlansHasNothingToTest) {
  const Tested result = test("dim M\n");
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(result.says("nothing to test: no plan in the file\n")) << result.out;
}

TEST(TestPlans, AFileThatCannotBeReadIsInvalid) {
  const Tested result = test("mesh t\nfn f(");
  EXPECT_EQ(result.code, 3);
  EXPECT_FALSE(result.says("random meshes")) << result.out;
}

/// The processor with products that are wrong in one entry.
class WrongProducts : public ForwardingDevice {
 public:
  WrongProducts() : ForwardingDevice(cpu_device()) {}
  Launch prepare(const KernelOp& op) override {
    Launch launch = ForwardingDevice::prepare(op);
    const auto* matmul = std::get_if<Matmul>(&op);
    const auto* reduce = std::get_if<Reduce>(&op);
    const bool product = (matmul && matmul->elements[0] == Element::f64) ||
                         (reduce && reduce->inputs.size() == 2 && reduce->output == Element::f64);
    if (!product) return launch;
    return [launch](Queue& queue, std::span<void* const> outputs,
                    std::span<const void* const> inputs) {
      launch(queue, outputs, inputs);
      *static_cast<double*>(outputs[0]) += 1e-3;
    };
  }
};

TEST(TestPlans, AWrongKernelIsSeenAndItsOpIsNamed) {
  Environment environment;
  environment.device = std::make_shared<WrongProducts>();
  const Tested result = test(right, {}, environment);
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(result.says("proved   right implements up")) << result.out;
  EXPECT_TRUE(result.says("differs  right implements up\n")) << result.out;
  EXPECT_TRUE(result.says("smallest case: t=1, B=1 F=1 M=1\n")) << result.out;
  EXPECT_TRUE(result.says("first op whose value differs: -:8: h = einsum(")) << result.out;
  EXPECT_TRUE(result.says("differs  the derived backward of right\n")) << result.out;
  environment.device = cpu_device();
  EXPECT_EQ(test(right, {}, environment).code, 0);
}

TEST(TestPlans, OptionsThatSayNothingAreRefused) {
  for (const std::vector<std::string>& args : {std::vector<std::string>{"--cases", "0"},
                                               {"--device", "tpu"},
                                               {"--format", "json"},
                                               {"--annotate"}})
    EXPECT_EQ(test(right, args).code, 3);
  std::istringstream in(right);
  std::ostringstream out, err;
  EXPECT_EQ(run({"-", "--cases", "4"}, in, out, err), 3);
  EXPECT_NE(err.str().find("--cases: --test is required"), std::string::npos) << err.str();
}

TEST(TestPlans, WithoutAGpuItsDeviceIsAnError) {
  const Tested result = test(right, {"--device", "cuda"});
  if (result.code == 0) GTEST_SKIP() << "there is a GPU";
  EXPECT_EQ(result.code, 3);
  EXPECT_TRUE(result.err.starts_with("error: --device cuda: ")) << result.err;
  EXPECT_EQ(result.out, "");
}

}  // namespace test_plans_test
}  // namespace shardproof::check_sharding
