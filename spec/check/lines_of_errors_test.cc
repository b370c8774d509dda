// A wrong line of a sharded Llama layer is reported at itself, although plan and model give no
// value the same name.
#include <gtest/gtest.h>

#include "spec/check/check.h"

namespace shardproof {
namespace lines_of_errors_test {

const char* const layer = R"(
mesh d t
dim B L M F Q K D
dim kv = 2
dim S T = L

fn layer(x: f32[B L M], ln1 ln2: f32[M], w_q w_o: f32[M Q K D], w_kv: f32[kv M K D], w_gate w_up w_down: f32[M F], mask: bool[B S T])
        -> f32[B L M] {
    nx = rms_norm("B L M; M", x) * ln1
    q  = rope("B L Q K D; L D", einsum("B L M, M Q K D -> B L Q K D", nx, w_q), iota("L"))
    kv = einsum("B L M, kv M K D -> kv B L K D", nx, w_kv)
    k  = rope("B L K D; L D", read("[kv] B L K D -> B L K D", kv, at=0), iota("L"))
    v  = read("[kv] B L K D -> B L K D", kv, at=1)
    o  = attention("B S Q K D, B T K D, B T K D; S T Q D", q, k, v, mask, 1.0)
    h  = x + einsum("B L Q K D, M Q K D -> B L M", o, w_o)
    ny = rms_norm("B L M; M", h) * ln2
    gate = einsum("B L M, M F -> B L F", ny, w_gate)
    up   = einsum("B L M, M F -> B L F", ny, w_up)
    return h + einsum("B L F, M F -> B L M", silu(gate) * up, w_down)
}
plan layer_t implements layer(x: f32[B/d L/t M], ln1 ln2: f32[M], w_q w_o: f32[M Q K/t D], w_kv: f32[kv M K/t D],
                              w_gate w_up w_down: f32[M F/t], mask: bool[B/d S T]) -> f32[B/d L/t M] {
    a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1)
    q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q)
    kv = einsum("B/d L M, kv M K/t D -> kv B/d L K/t D", a, w_kv)
    k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0)
    vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1)
    qq = rope("B/d L Q K/t D; L D", q0, iota("L"))
    kk = rope("B/d L K/t D; L D", k0, iota("L"))
    s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk)
    p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10))
    ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, vv)
    po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o)
    r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po)
    b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2)
    g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate)
    u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up)
    hh = silu(g) * u
    y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down)
    return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y)
}
)";

/// The lines of the errors, as text.
std::vector<std::string> lines_of_errors(const std::string& text) {
  Sources sources;
  const FileReader reader = [&](const std::string& path) {
    return path == "a.shard" ? std::optional(text) : std::nullopt;
  };
  const CheckedProgram checked = check(sources, "a.shard", reader);
  std::vector<std::string> lines;
  for (const PlanReport& plan : checked.plans())
    for (const Diagnostic& each : plan.diagnostics) {
      if (each.severity != Severity::error || each.range.file < 0) continue;
      const size_t begin = text.rfind('\n', each.range.begin) + 1;
      lines.push_back(text.substr(begin, text.find('\n', begin) - begin));
    }
  return lines;
}

struct Change {
  std::string from, to;  ///< the last occurrence of `from`
};

/// The changed line is the one that is reported.
void expect_own_line(std::string text, const Change& change) {
  const size_t at = text.rfind(change.from);
  ASSERT_NE(at, std::string::npos) << change.from;
  text.replace(at, change.from.size(), change.to);
  const size_t begin = text.rfind('\n', at) + 1;
  const std::string own = text.substr(begin, text.find('\n', begin) - begin);
  EXPECT_EQ(lines_of_errors(text), std::vector<std::string>{own}) << change.from;
}

TEST(LinesOfErrors, ARightLayerHasNone) { EXPECT_TRUE(lines_of_errors(layer).empty()); }

const std::vector<Change> changes = {
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln2))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x)))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", x * ln1))"},
    {R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln1))",
     R"(a  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x * ln1)))"},
    {R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q))",
     R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_o))"},
    {R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", a, w_q))",
     R"(q0 = einsum("B/d L M, M Q K/t D -> B/d L Q K/t D", all_gather("B/d L/t M -> B/d L M", x), w_q))"},
    {R"(k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0))",
     R"(k0 = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1))"},
    {R"(vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=1))",
     R"(vv = read("[kv] B/d L K/t D -> B/d L K/t D", kv, at=0))"},
    {R"(qq = rope("B/d L Q K/t D; L D", q0, iota("L")))",
     R"(qq = rope("B/d L Q K/t D; L D", q0, iota("L") + 1))"},
    {R"(kk = rope("B/d L K/t D; L D", k0, iota("L")))",
     R"(kk = rope("B/d L K/t D; L D", vv, iota("L")))"},
    {R"(kk = rope("B/d L K/t D; L D", k0, iota("L")))",
     R"(kk = rope("B/d L K/t D; L D", k0, iota("L"), base=500000.0))"},
    {R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk))",
     R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk) * 0.125)"},
    {R"(s  = einsum("B/d S Q K/t D, B/d T K/t D -> B/d S T Q K/t", qq, kk))",
     R"(s  = einsum("B/d T Q K/t D, B/d S K/t D -> B/d S T Q K/t", qq, kk))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, 0)))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", s))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; T", where(mask, -1e10, s)))"},
    {R"(p  = softmax("B/d S T Q K/t; T", where(mask, s, -1e10)))",
     R"(p  = softmax("B/d S T Q K/t; S", where(mask, s, -1e10)))"},
    {R"(ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, vv))",
     R"(ao = einsum("B/d S T Q K/t, B/d T K/t D -> B/d S Q K/t D", p, kk))"},
    {R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o))",
     R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_q))"},
    {R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", ao, w_o))",
     R"(po = einsum("B/d L Q K/t D, M Q K/t D -> B/d L M {U_t}", qq, w_o))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = x - psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(r  = x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))",
     R"(r  = 2 * x + psum_scatter("B/d L M {U_t} -> B/d L/t M", po))"},
    {R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2))",
     R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", x) * ln2))"},
    {R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln2))",
     R"(b  = all_gather("B/d L/t M -> B/d L M", rms_norm("B/d L/t M; M", r) * ln1))"},
    {R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))",
     R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up))"},
    {R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))",
     R"(g  = einsum("B/d L M, M F/t -> B/d L F/t", a, w_gate))"},
    {R"(u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_up))",
     R"(u  = einsum("B/d L M, M F/t -> B/d L F/t", b, w_gate))"},
    {R"(hh = silu(g) * u)", R"(hh = g * u)"},
    {R"(hh = silu(g) * u)", R"(hh = silu(u) * g)"},
    {R"(hh = silu(g) * u)", R"(hh = silu(g * u))"},
    {R"(hh = silu(g) * u)", R"(hh = gelu(g) * u)"},
    {R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down))",
     R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_up))"},
    {R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down))",
     R"(y  = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", hh, w_down) / |t|)"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return psum_scatter("B/d L M {U_t} -> B/d L/t M", y))"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return x + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))"},
    {R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y))",
     R"(return r + psum_scatter("B/d L M {U_t} -> B/d L/t M", y) * 2)"},
};

class LinesOfErrorsOf : public testing::TestWithParam<Change> {};

TEST_P(LinesOfErrorsOf, AWrongLineOfALayerAreAtItself) { expect_own_line(layer, GetParam()); }

INSTANTIATE_TEST_SUITE_P(Changes, LinesOfErrorsOf, testing::ValuesIn(changes));

}  // namespace lines_of_errors_test
}  // namespace shardproof
