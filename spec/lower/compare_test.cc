// Plans and models built by hand: what must be equal, and what must not.
#include <gtest/gtest.h>

#include "spec/lower/builder.h"
#include "spec/lower/lower.h"

namespace shardproof::lower {
namespace {

using ir::BinaryFn;
using ir::CollectiveFn;
using ir::UnaryFn;
using ir::ValueId;
using F = FunctionBuilder;

struct Compare : testing::Test {
  ir::Program p = test_program();

  size_t add(ir::Function f) {
    return p.functions.own().push_back(std::move(f)), p.functions.size() - 1;
  }
  Comparison compare(ir::Function plan, ir::Function model) {
    const size_t m = add(std::move(model)), n = add(std::move(plan));
    return compare_functions(p, n, m, {});
  }
  static std::string why(const Comparison& c) {
    return c.unsupported.value_or("") + (c.difference ? c.difference->text : "") + "\n" + c.residue;
  }
};

ValueId rms_norm(F& f, ValueId x, const std::string& dims, const std::string& without) {
  ValueId ms = f.div(f.sum(dims + " -> " + without, f.mul(x, x)), f.size("M"));
  return f.mul(x, f.unary(UnaryFn::rsqrt, f.add(ms, f.number("1e-6"))));
}
ValueId silu(F& f, ValueId x) {
  ValueId e = f.unary(UnaryFn::exp, f.unary(UnaryFn::neg, x));
  return f.mul(x, f.div(f.number("1"), f.add(f.number("1"), e)));
}

ir::Function ffn(bool plan, const char* wrong = "") {
  const std::string bug = wrong;
  F f("ffn");
  ValueId x = f.param("x", plan ? "B/d L M/t" : "B L M"),
          ln = f.param("w.ln", plan ? "M/t/d" : "M");
  const char* in = plan ? "M/d F/t" : "M F";
  ValueId wg = f.param("w.w_gate", in), wu = f.param("w.w_up", in), wd = f.param("w.w_down", in);
  ValueId gx = plan ? f.collective(CollectiveFn::all_gather, "B/d L M/t -> B/d L M", x) : x;
  ValueId l = plan ? f.collective(CollectiveFn::all_gather, "M/t/d -> M", ln) : ln;
  const std::string b = plan ? "B/d" : "B", t = plan ? "/t" : "";
  ValueId nx = f.name(f.mul(rms_norm(f, gx, b + " L M", b + " L"), l), "nx");
  if (plan) nx = f.cast(Dtype::bf16, nx);
  auto project = [&](ValueId w) {
    if (plan)
      w = f.collective(CollectiveFn::all_gather, "M/d F/t -> M F/t", f.cast(Dtype::bf16, w));
    return f.einsum(b + " L M, M F" + t + " -> " + b + " L F" + t, {nx, w});
  };
  ValueId gate = f.name(project(bug == "gate" ? wu : wg), "gate");
  ValueId up = f.name(project(wu), "up");
  ValueId h = f.mul(silu(f, gate), up);
  ValueId out = f.einsum(b + " L F" + t + ", M F" + t + " -> " + b + " L M {U_t}", {h, wd});
  if (bug == "scale") out = f.div(out, f.axis("t"));
  if (plan) out = f.collective(CollectiveFn::psum_scatter, "B/d L M {U_t} -> B/d L M/t", out);
  return f.returns({bug == "residual" ? out : f.add(x, out)});
}

TEST_F(Compare, FeedForward) {
  Comparison c = compare(ffn(true), ffn(false));
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_EQ(c.closed_by, "algebra, limit 1");
  EXPECT_TRUE(c.assumptions.empty()) << c.assumptions[0];
}

TEST_F(Compare, FeedForwardWrong) {
  Comparison c = compare(ffn(true, "gate"), ffn(false));
  EXPECT_FALSE(c.equal);
  ASSERT_TRUE(c.origin && c.difference);
  EXPECT_EQ(p.functions.back().values.at(*c.origin).name, "gate");
  EXPECT_EQ(c.difference->plan_part, "w.w_up") << c.difference->text;
  c = compare(ffn(true, "scale"), ffn(false));
  ASSERT_TRUE(c.difference);
  EXPECT_NE(c.difference->text.find("|t|"), std::string::npos) << c.difference->text;
  c = compare(ffn(true, "residual"), ffn(false));
  ASSERT_TRUE(c.difference);
  EXPECT_EQ(c.difference->kind, algebra::Difference::missing_summand) << c.difference->text;
}

TEST_F(Compare, VocabularyParallelEmbedding) {
  auto build = [&](bool plan) {
    F f("embed");
    ValueId table = f.param("table", plan ? "V/t M" : "V M"),
            ids = f.param("ids", plan ? "B/d L" : "B L", Dtype::i32);
    if (!plan) return f.returns({f.op<ir::Index>("[V] M, B L -> B L M", {table, ids})});
    ValueId e = f.op<ir::IndexUnreduced>("[V/t] M, B/d L -> B/d L M {U_t}", {table, ids});
    return f.returns({f.collective(CollectiveFn::psum_scatter, "B/d L M {U_t} -> B/d L M/t", e)});
  };
  Comparison c = compare(build(true), build(false));
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_EQ(c.assumptions, std::vector<std::string>{"0 <= ids < |V|"});
}

TEST_F(Compare, GatherIsOneHotProduct) {
  F f("gather"), g("one_hot");
  ValueId table = f.param("table", "V M"), ids = f.param("ids", "B L", Dtype::i32);
  ir::Function model = f.returns({f.op<ir::Index>("[V] M, B L -> B L M", {table, ids})});
  table = g.param("table", "V M"), ids = g.param("ids", "B L", Dtype::i32);
  ValueId hot = g.binary(BinaryFn::eq, g.iota("B L V", 2), g.expand("B L -> B L V", ids));
  ir::Function plan =
      g.returns({g.einsum("B L V, V M -> B L M", {g.cast(Dtype::f32, hot), table})});
  Comparison c = compare(plan, model);
  EXPECT_TRUE(c.equal) << why(c);
}

ValueId rope(F& f, ValueId x, const std::string& before) {
  ValueId base = f.unary(UnaryFn::log, f.number("10000.0"));
  ValueId rate = f.div(f.mul(f.number("-2.0"), base), f.size("D"));
  ValueId power = f.unary(UnaryFn::exp, f.mul(f.cast(Dtype::f32, f.iota("h", 0)), rate));
  ValueId a = f.mul(f.expand("L -> L h", f.cast(Dtype::f32, f.iota("L", 0))), power);
  ValueId c = f.unary(UnaryFn::cos, a), s = f.unary(UnaryFn::sin, a);
  ValueId x1 = f.op<ir::Read>(before + " [D] -> " + before + " h", {x, f.number("0")});
  ValueId x2 = f.op<ir::Read>(before + " [D] -> " + before + " h", {x, f.size("h")});
  return f.op<ir::Concat>(before + " h, " + before + " h -> " + before + " [D]",
                          {f.sub(f.mul(x1, c), f.mul(x2, s)), f.add(f.mul(x2, c), f.mul(x1, s))});
}

ir::Function attention(bool plan, bool wrong = false) {
  F f("attn");
  const std::string b = plan ? "B/d " : "B ", k = plan ? "K/t" : "K";
  ValueId q = f.param("q", b + "L Q " + k + " D"), kv = f.param("kv", "kv " + b + "L " + k + " D");
  ValueId mask = f.param("mask", b + "S T", Dtype::boolean);
  auto part = [&](const char* at) {
    return f.op<ir::Read>("[kv] " + b + "L " + k + " D -> " + b + "L " + k + " D",
                          {kv, f.number(at)});
  };
  ValueId key = rope(f, part("0"), b + "L " + k), query = rope(f, q, b + "L Q " + k);
  ValueId lg =
      f.einsum(b + "S Q " + k + " D, " + b + "T " + k + " D -> " + b + "S T Q " + k, {query, key});
  ValueId masked = f.where(f.expand(b + "S T -> " + b + "S T Q " + k, mask), lg,
                           f.number(wrong ? "-1e9" : "-1e10"));
  if (plan && !wrong) masked = f.add(masked, f.number("3"));  // softmax does not see a shift
  ValueId top = f.max(b + "S T Q " + k + " -> " + b + "S Q " + k, masked);
  ValueId e = f.unary(UnaryFn::exp, f.sub(masked, top));
  ValueId pr = f.div(e, f.sum(b + "S T Q " + k + " -> " + b + "S Q " + k, e));
  return f.returns({f.einsum(
      b + "S T Q " + k + ", " + b + "T " + k + " D -> " + b + "S Q " + k + " D", {pr, part("1")})});
}

TEST_F(Compare, Attention) {
  Comparison c = compare(attention(true), attention(false));
  EXPECT_TRUE(c.equal) << why(c);
  c = compare(attention(true, true), attention(false));
  EXPECT_FALSE(c.equal);
}

/// A chain of layers x + x w[n], with an emit that follows the carry and one that does not.
ir::Function layers(bool plan, bool wrong) {
  F f("layers");
  ValueId x = f.param("x", "B M"), w = f.param("w", "N M M2");
  Values r = f.scan("N", {x}, [&](ValueId n, Values carry) {
    ValueId v = f.op<ir::Rearrange>("B M2 -> B M",
                                    {f.einsum("B M, M M2 -> B M2", {carry[0], f.entry(w, n)})});
    ValueId next = plan ? f.add(v, carry[0]) : f.add(carry[0], v);
    if (wrong) next = f.mul(next, f.number("2"));
    return std::make_pair(Values{next}, Values{v, f.sum("M M2 -> M", f.entry(w, n))});
  });
  return f.returns(r);
}

TEST_F(Compare, Scan) {
  Comparison c = compare(layers(true, false), layers(false, false));
  EXPECT_TRUE(c.equal) << why(c);
  c = compare(layers(true, true), layers(false, false));
  EXPECT_FALSE(c.equal);
  ASSERT_TRUE(c.difference);
  EXPECT_EQ(c.difference->text, "body of the scan over N: equal up to the factor 2");
  // What is emitted without the carry is an ordinary tensor.
  F f("sums");
  f.param("x", "B M");
  ir::Function sums = f.returns({f.sum("N M M2 -> N M", f.param("w", "N M M2"))});
  ir::Function all = layers(true, false);
  all.returned = {all.returned[2]};
  c = compare(all, sums);
  EXPECT_TRUE(c.equal) << why(c);
}

TEST_F(Compare, GroupsAreDigits) {
  F f("f"), g("g");
  ValueId x = f.param("x", "B K D");
  ir::Function model = f.returns({f.sum("B K D -> B", f.mul(x, x))});
  x = g.param("x", "B K D");
  ValueId flat = g.op<ir::Rearrange>("B K D -> B (K D)", {x});
  ValueId h = g.op<ir::Rearrange>("B (K D) -> B H", {flat});
  ir::Function plan = g.returns({g.einsum("B H, B H -> B", {h, h})});
  Comparison c = compare(plan, model);
  EXPECT_TRUE(c.equal) << why(c);
}

TEST_F(Compare, PpermuteIsRoll) {
  F f("f"), g("g");
  ValueId x = f.param("x", "B L");
  ValueId by = f.div(f.size("L"), f.axis("t"));
  ir::Function model = f.returns({f.op<ir::Roll>("B [L] -> B [L]", {x, by})});
  x = g.param("x", "B L/t");
  ir::Function plan = g.returns({g.op<ir::Ppermute>("B [L/t] -> B [L/t]", {x, g.number("1")})});
  Comparison c = compare(plan, model);
  EXPECT_TRUE(c.equal) << why(c);
  F back("f");
  x = back.param("x", "B L/t");
  c = compare(back.returns({back.op<ir::Ppermute>("B [L/t] -> B [L/t]", {x, back.number("-1")})}),
              model);
  EXPECT_FALSE(c.equal);
}

TEST_F(Compare, CallOfAProvedPlanIsItsModel) {
  const size_t model = add(ffn(false)), plan = add(ffn(true));
  p.functions.own()[plan].model = model, p.functions.own()[plan].kind = ir::Function::Kind::plan;
  auto caller = [&](size_t callee) {
    F f("twice");
    Values arguments;
    for (ValueId v : p.functions[callee].params) {
      const ir::Value& value = p.functions[callee].values[v];
      arguments.push_back(f.f.params.emplace_back(f.value(value.type, value.name)));
    }
    arguments[0] = f.call(callee, p, arguments)[0];
    return f.returns(f.call(callee, p, arguments));
  };
  const size_t whole = add(caller(model)), twice = add(caller(plan));
  std::vector<bool> proved(p.functions.size(), false);
  proved[plan] = true;
  for (bool use : {false, true}) {
    Comparison c = compare_functions(p, twice, whole, {{}, use, &proved});
    EXPECT_TRUE(c.equal) << why(c);
  }
}

TEST_F(Compare, NoLowering) {
  F f("f"), g("g");
  ValueId x = f.param("x", "B");
  ir::Function model = f.returns({x});
  x = g.param("x", "B");
  ir::Function plan = g.returns({g.emit(ir::Stages{{Dim{{"L"}}}, nullptr}, {x}, g.type_of(x))});
  Comparison c = compare(plan, model);
  EXPECT_FALSE(c.equal);
  EXPECT_EQ(c.unsupported, "stages");
}

TEST_F(Compare, RequiredPositivity) {
  auto build = [&](bool root_of_square) {
    F f("f");
    ValueId x = f.param("x", "B"), eps = f.param("eps", "");
    using Kind = ir::Arith::Kind;
    f.f.body.requirements.push_back(
        {{Kind::op,
          ">",
          ir::no_value,
          {{Kind::value, "", eps, {}}, {Kind::number, "0", ir::no_value, {}}}},
         {}});
    ValueId root = root_of_square ? f.unary(UnaryFn::sqrt, f.mul(eps, eps)) : eps;
    return f.returns({f.mul(x, root)});
  };
  Comparison c = compare(build(true), build(false));
  EXPECT_TRUE(c.equal) << why(c);
  EXPECT_EQ(c.assumptions, std::vector<std::string>{"eps > 0"});
}

/// `require x > 0` on one loop's carry implies nothing for another loop's.
TEST_F(Compare, AFactOfACarryStaysInItsLoop) {
  auto build = [&](bool root) {
    F f("f");
    ValueId s = f.param("s", ""), t = f.param("t", "");
    using Kind = ir::Arith::Kind;
    ValueId first = f.scan("N", {s}, [&](ValueId, Values c) {
      f.open.back()->requirements.push_back(
          {{Kind::op,
            ">",
            ir::no_value,
            {{Kind::value, "", c[0], {}}, {Kind::number, "0", ir::no_value, {}}}},
           {}});
      return std::make_pair(Values{f.mul(c[0], c[0])}, Values{});
    })[0];
    ValueId second = f.scan("N", {t}, [&](ValueId, Values c) {
      ValueId x = root ? f.unary(UnaryFn::sqrt, f.mul(c[0], c[0])) : c[0];
      return std::make_pair(Values{f.sub(x, f.number("1"))}, Values{});
    })[0];
    return f.returns({f.add(first, second)});
  };
  EXPECT_FALSE(compare(build(true), build(false)).equal);
}

}  // namespace
}  // namespace shardproof::lower
