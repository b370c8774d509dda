// Every function of the library, called through a small program: its gradient, and the library's
// own gradient functions against the oracle's.
#include "spec/resolve/library.h"

#include <regex>

#include "oracle/testing.h"

namespace shardproof::oracle {
namespace {

struct Call {
  const char* name;
  const char* signature;
  const char* result;
  const char* call;
};

const Call calls[] = {
    {"sigmoid", "x: f32[B M]", "f32[B M]", "sigmoid(x)"},
    {"relu", "x: f32[B M]", "f32[B M]", "relu(x)"},
    {"silu", "x: f32[B M]", "f32[B M]", "silu(x)"},
    {"gelu", "x: f32[B M]", "f32[B M]", "gelu(x)"},
    {"gelu_tanh", "x: f32[B M]", "f32[B M]", "gelu_tanh(x)"},
    {"relu_grad", "g x: f32[B M]", "f32[B M]", "relu_grad(g, x)"},
    {"silu_grad", "g x: f32[B M]", "f32[B M]", "silu_grad(g, x)"},
    {"gelu_grad", "g x: f32[B M]", "f32[B M]", "gelu_grad(g, x)"},
    {"dropout", "x: f32[B M], k: key[]", "f32[B M]", "dropout(\"B M\", x, k, p=0.3)"},
    {"rms_norm", "x: f32[B M]", "f32[B M]", "rms_norm(\"B M; M\", x)"},
    {"rms_norm_grad", "g x: f32[B M]", "f32[B M]", "rms_norm_grad(\"B M, B M; M\", g, x)"},
    {"layer_norm", "x: f32[M B]", "f32[M B]", "layer_norm(\"M B; M\", x)"},
    {"softmax", "x: f32[B M]", "f32[B M]", "softmax(\"B M; M\", x)"},
    {"softmax_grad", "g x: f32[B M]", "f32[B M]", "softmax_grad(\"B M, B M; M\", g, x)"},
    {"rope", "x: f32[B L D], pos: i32[L]", "f32[B L D]", "rope(\"B L D; L D\", x, pos)"},
    {"rope_inverse", "x: f32[B L D], pos: i32[L]", "f32[B L D]",
     "rope_inverse(\"B L D; L D\", x, pos, base=100.0)"},
    {"rope_pairs", "x: f32[B L J two], pos: i32[L]", "f32[B L J two]",
     "rope_pairs(\"B L J two; L J two\", x, pos)"},
    {"attention_probs", "q: f32[B S Q D], k: f32[B T D], mask: bool[S T]", "f32[B S T Q]",
     "attention_probs(\"B S Q D, B T D; S T Q D\", q, k, mask, 0.5)"},
    {"attention", "q: f32[B S Q D], k w: f32[B T D], mask: bool[B S T]", "f32[B S Q D]",
     "attention(\"B S Q D, B T D, B T D; S T Q D\", q, k, w, mask, 0.5)"},
    {"cross_entropy", "x: f32[B M], target: i32[B]", "f32[B]",
     "cross_entropy(\"B M, B; M\", x, target)"},
    {"gelu_tanh_grad", "g x: f32[B M]", "f32[B M]", "gelu_tanh_grad(g, x)"},
    {"dropout_grad", "g: f32[B M], k: key[]", "f32[B M]", "dropout_grad(\"B M\", g, k, p=0.3)"},
    {"layer_norm_grad", "g x: f32[B M]", "f32[B M]", "layer_norm_grad(\"B M, B M; M\", g, x)"},
    {"rope_grad", "g: f32[B L D], pos: i32[L]", "f32[B L D]", "rope_grad(\"B L D; L D\", g, pos)"},
    {"attention_grad", "g q: f32[B S Q D], k w: f32[B T D], mask: bool[B S T]",
     "(f32[B S Q D], f32[B T D], f32[B T D])",
     "attention_grad(\"B S Q D, B S Q D, B T D, B T D; S T Q D\", g, q, k, w, mask, 0.5)"},
    {"cross_entropy_grad", "g: f32[B], x: f32[B M], target: i32[B]", "f32[B M]",
     "cross_entropy_grad(\"B, B M, B; M\", g, x, target)"},
    {"sumsq", "x: f32[B M]", "f32[]", "sumsq(x)"},
    {"scale_by", "x: f32[B M], c: f32[]", "f32[B M]", "scale_by(x, c)"},
    {"add", "x y: f32[B M]", "f32[B M]", "add(x, y)"},
    {"sgd", "w g: f32[B M], lr: f32[]", "f32[B M]", "sgd(w, g, lr)"},
    {"clip_factor", "v: f32[]", "f32[]", "clip_factor(v, 0.3)"},
    {"adamw", "w g m v: f32[B M], step lr: f32[]", "(f32[B M], f32[B M], f32[B M])",
     "adamw(w, g, m, v, step, lr, 0.1)"},
    {"adamw_kept", "w g m v: bf16[B M], c step lr: f32[]", "(bf16[B M], bf16[B M], bf16[B M])",
     "adamw_kept(w, g, m, v, c, step, lr, 0.1)"},
    {"widened", "x: bf16[B M]", "f32[B M]", "widened(x)"},
    {"rounded", "x: f32[B M]", "bf16[B M]", "rounded(x)"},
};

const std::string dims = "dim B L M D J Q\ndim two = 2\ndim S T = L\n";

Sizes small(Random& random) {
  auto pick = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  return {{{"B", pick(3)},
           {"L", pick(3)},
           {"M", 1 + pick(3)},
           {"D", 2 * pick(2)},
           {"J", pick(2)},
           {"Q", pick(2)}},
          {}};
}

TEST(Library, gradient_of_every_function) {
  Random random(5);
  for (const Call& each : calls) {
    const auto loaded = load_text(dims + "fn f(" + each.signature + ") -> " + each.result +
                                  " {\n return " + each.call + "\n}\n");
    for (int round = 0; round < 3; ++round) {
      const Sizes sizes = small(random);
      const auto inputs = random_inputs(loaded->program(), 0, sizes, 2, random);
      EXPECT_LT(gradient_error(loaded->program(), 0, sizes, inputs, 1000, random), 1e-7)
          << each.name;
    }
  }
}

TEST(Library, every_function_is_above) {
  size_t count = 0;
  for (const auto& [file, text] : embedded_library()) {
    const std::regex declaration("(^|\n)fn ([a-z_]+)");
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      const bool called = std::any_of(std::begin(calls), std::end(calls),
                                      [&](const Call& call) { return call.name == (*at)[2]; });
      EXPECT_TRUE(called) << (*at)[2];
      ++count;
    }
  }
  EXPECT_EQ(count, std::size(calls));
}

// grad of `forward` by the oracle, and the library's own function for it.
void expect_same(const std::string& signature, const std::string& forward,
                 const std::string& backward) {
  Random random(9);
  const auto loaded = load_text(dims + "fn h(" + signature + ") -> f32[B M] { return " + forward +
                                " }\nfn f(" + signature +
                                ", g: f32[B M]) -> (f32[B M], f32[B M]) "
                                "{\n a = grad(h)(x, g)\n return a, " +
                                backward + "\n}\n");
  const Sizes sizes = small(random);
  const size_t f = loaded->find("f");
  const auto inputs = random_inputs(loaded->program(), f, sizes, 2, random);
  const auto got = evaluate(loaded->program(), f, sizes, inputs);
  EXPECT_LT(distance({got[0]}, {got[1]}), 1e-13) << backward;
}

TEST(Library, its_gradient_functions_are_the_gradients) {
  expect_same("x: f32[B M]", "relu(x)", "relu_grad(g, x)");
  expect_same("x: f32[B M]", "silu(x)", "silu_grad(g, x)");
  expect_same("x: f32[B M]", "gelu(x)", "gelu_grad(g, x)");
  expect_same("x: f32[B M]", "softmax(\"B M; M\", x)",
              "softmax_grad(\"B M, B M; M\", g, softmax(\"B M; M\", x))");
  expect_same("x: f32[B M]", "rms_norm(\"B M; M\", x)", "rms_norm_grad(\"B M, B M; M\", g, x)");
}

TEST(Library, values) {
  const Sizes sizes{{{"B", 1}, {"M", 3}}, {}};
  const Tensor x = tensor({1, 3}, {-1, 0.5, 2});
  auto f = [&](const std::string& call, const std::string& result) {
    return run(dims + "fn f(x: f32[B M]) -> " + result + " { return " + call + " }", sizes, {x})[0]
        .data;
  };
  const double e[] = {std::exp(-1.0), std::exp(0.5), std::exp(2.0)}, z = e[0] + e[1] + e[2];
  const auto soft = f("softmax(\"B M; M\", x)", "f32[B M]");
  const auto gelu = f("gelu(x)", "f32[B M]"), silu = f("silu(x)", "f32[B M]");
  const auto rms = f("rms_norm(\"B M; M\", x, eps=0.25)", "f32[B M]");
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(soft[i], e[i] / z, 1e-15);
    EXPECT_NEAR(gelu[i], x.data[i] * 0.5 * std::erfc(-x.data[i] / std::sqrt(2)), 1e-15);
    EXPECT_NEAR(silu[i], x.data[i] / (1 + std::exp(-x.data[i])), 1e-15);
    EXPECT_NEAR(rms[i], x.data[i] / std::sqrt((1 + 0.25 + 4) / 3 + 0.25), 1e-15);
  }
  EXPECT_NEAR(f("cross_entropy(\"B M, B; M\", x, i32(expand(\"-> B\", f32(1))))", "f32[B]")[0],
              std::log(z) - 0.5, 1e-15);
  EXPECT_NEAR(f("expand(\"-> B\", sumsq(x))", "f32[B]")[0], 5.25, 1e-15);
}

TEST(Library, rope_turns_halves) {
  const Tensor x = tensor({1, 2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Sizes sizes{{{"B", 1}, {"L", 2}, {"D", 4}}, {}};
  const auto got = run(dims +
                           "fn f(x: f32[B L D], pos: i32[L]) -> (f32[B L D], f32[B L D]) {\n"
                           "  y = rope(\"B L D; L D\", x, pos, base=100.0)\n"
                           "  return y, rope_inverse(\"B L D; L D\", y, pos, base=100.0)\n}",
                       sizes, {x, tensor({2}, {3, 5})});
  for (size_t l = 0; l < 2; ++l)
    for (size_t h = 0; h < 2; ++h) {
      const double angle = (l ? 5 : 3) * std::pow(100.0, -2.0 * h / 4), c = std::cos(angle),
                   s = std::sin(angle), a = x.data[4 * l + h], b = x.data[4 * l + h + 2];
      EXPECT_NEAR(got[0].data[4 * l + h], a * c - b * s, 1e-13);
      EXPECT_NEAR(got[0].data[4 * l + h + 2], b * c + a * s, 1e-13);
    }
  EXPECT_LT(distance({got[1]}, {x}), 1e-14);
}

}  // namespace
}  // namespace shardproof::oracle
