// The tables of the rules, row by row: an op, its operands, and the result's type or the code.
#include "spec/rules/rule.h"

#include <gtest/gtest.h>

#include "spec/elaborate/elaborate.h"
#include "spec/rules/written.h"

namespace shardproof {
namespace {

using namespace ir;
using written::operands;
using written::pattern;
using written::type;

struct Row {
  Op op;
  std::string operands;
  std::string expected;  ///< types, `;` between them, or a code
};

RuleResult ruled(Op op, const std::vector<Operand>& operands) {
  std::vector<Shape> shapes;
  for (const Operand& operand : operands) shapes.push_back(operand.type);
  RuleResult result;
  if (const auto problem = elaborate::elaborate(written::program(), op, shapes)) {
    result.refusal = Refusal{.code = "E0305", .message = problem->message};
    return result;
  }
  return apply_rule(written::program(), op, operands);
}

std::string outcome(const Op& op, const std::vector<Operand>& operands) {
  const RuleResult result = ruled(op, operands);
  if (result.refusal) {
    EXPECT_FALSE(result.refusal->message.empty());
    return result.refusal->code;
  }
  std::string text;
  for (const Type& each : result.types) text += (text.empty() ? "" : "; ") + to_string(each);
  return text;
}

void check(const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    const Pattern* written = pattern_of(row.op);
    SCOPED_TRACE(std::string(name_of(row.op)) + " of " + row.operands +
                 (written ? " to " + to_string(written->right) : ""));
    EXPECT_EQ(outcome(row.op, operands(row.operands)), row.expected);
  }
}

Op einsum(const std::string& text) { return Einsum{pattern(text), {}}; }
Op sum(const std::string& text) { return Reduce{ReduceFn::sum, pattern(text), {}}; }
Op maximum(const std::string& text) { return Reduce{ReduceFn::max, pattern(text), {}}; }
Op minimum(const std::string& text) { return Reduce{ReduceFn::min, pattern(text), {}}; }
Op collective(CollectiveFn fn, const std::string& text) { return Collective{fn, pattern(text)}; }

const Op neg = Unary{UnaryFn::neg}, exp_ = Unary{UnaryFn::exp};
const Op add = Binary{BinaryFn::add}, mul = Binary{BinaryFn::mul}, div_ = Binary{BinaryFn::div};
const Op less = Binary{BinaryFn::lt}, larger = Binary{BinaryFn::maximum};

TEST(Rule, Unary) {
  check({{neg, "f32[B]", "f32[B]"},
         {neg, "f32[B]{I_t}", "f32[B]{I_t}"},
         {neg, "f32[B/t]", "f32[B/t]"},
         {neg, "f32[B]{U_t}", "f32[B]{U_t}"},
         {neg, "f32[B]{Max_t}", "E0210"},
         {exp_, "f32[B/d L]{I_t}", "f32[B/d L]{I_t}"},
         {exp_, "f32[B]{U_t}", "E0207"},
         {exp_, "f32[B]{Max_t}", "E0210"},
         {Cast{Dtype::bf16, {}}, "f32[B]{U_t}", "bf16[B]{U_t}"},
         {Cast{Dtype::bf16, {}}, "f32[B]{Max_t}", "bf16[B]{Max_t}"},
         {Cast{Dtype::i32, {}}, "f32[B]{U_t}", "E0207"},
         {Cast{Dtype::i32, {}}, "f32[B]{Max_t}", "E0210"},
         {Cast{Dtype::f32, {}}, "i32[B]{U_t}", "f32[B]{U_t}"},
         {StopGrad{}, "f32[B]{Max_t}", "f32[B]{Max_t}"},
         {Save{}, "f32[B]{Max_t}", "f32[B]{Max_t}"}});
}

TEST(Rule, Sums) {
  check({{add, "f32[B], f32[B]", "f32[B]"},
         {add, "f32[B/d L]{I_t}, f32[L]{I_t}", "f32[B/d L]{I_t}"},
         {add, "f32[B/d L], f32[L]{I_d}", "E0203"},
         {add, "f32[B/d L]!, f32[L]{I_d}", "E0203"},
         {add, "f32[B/d L]{I_t}, f32[L]", "E0203"},
         {add, "f32[B L]{I_t}, f32[L]{I_t}", "f32[B L]{I_t}"},
         {add, "f32[B L]{I_t}, f32[L]!", "f32[B L]{I_t}"},
         {add, "f32[B L]{I_t}!, f32[L]", "f32[B L]"},
         {add, "f32[B L]{I_t}, 1.0", "f32[B L]{I_t}"},
         {add, "f32[B/d L], f32[L]", "f32[B/d L]"},
         {add, "f32[L], f32[B/d L]", "f32[B/d L]"},
         {add, "f32[B/d L], f32[B L]", "E0204"},
         {add, "f32[M/t/d], f32[M/d/t]", "E0204"},
         {add, "f32[B]{U_t}, f32[B]{U_t}", "f32[B]{U_t}"},
         {add, "f32[B]{U_t}, f32[]", "E0201"},
         {add, "f32[B]{U_t}, f32[B]{I_t}", "E0201"},
         {add, "f32[B L/t], f32[B]{U_t}", "E0201"},
         {add, "f32[B]{U_t}, 1.0", "E0201"},
         {add, "f32[B]{U_t}, 0", "f32[B]{U_t}"},
         {add, "f32[B]{U_t}, i32[B]", "E0201"},
         {Where{}, "bool[B], f32[B]{U_t}, f32[B]{U_t}", "f32[B]{U_t}"},
         {Where{}, "bool[B], f32[B]{U_t}, 0", "f32[B]{U_t}"},
         {Where{}, "bool[B], f32[B]{U_t}, 1.0", "E0201"},
         {Where{}, "bool[B], f32[B]{I_t}, 0", "f32[B]{I_t}"},
         {Where{}, "bool[B/t], f32[]{U_t}, 0", "E0202"},
         {Where{}, "bool[B/t], f32[]{I_t}, 0", "E0203"},
         {Where{}, "bool[L], f32[B/t L], 0", "f32[B/t L]"}});
}

TEST(Rule, Products) {
  check({{mul, "f32[B]{U_t}, f32[B]", "f32[B]{U_t}"},
         {mul, "2.0, f32[B]{U_t}", "f32[B]{U_t}"},
         {mul, "f32[B]{U_t}, f32[B]{U_t}", "E0202"},
         {mul, "f32[B/t L], f32[L]{U_t}", "E0202"},
         {mul, "f32[B]{I_t}, f32[B]{U_t}", "E0203"},
         {mul, "f32[B]{I_t}, f32[B]{I_t}", "f32[B]{I_t}"},
         {mul, "f32[B]{I_t}, f32[B]", "E0203"},
         {mul, "f32[B]{I_t}, f32[B]!", "f32[B]{I_t}"},
         {mul, "f32[B]{I_t}!, f32[B]{U_t}", "f32[B]{U_t}"},
         {mul, "f32[B/t L], f32[L]", "f32[B/t L]"},
         {mul, "f32[B]{U_d}, f32[B]{U_t}", "f32[B]{U_d U_t}"},
         {div_, "f32[B]{U_t}, f32[B]", "f32[B]{U_t}"},
         {div_, "f32[B], f32[B]{U_t}", "E0213"},
         {div_, "f32[B]{U_t}, f32[B]{U_t}", "E0213"},
         {less, "f32[B]{U_t}, f32[B]{U_t}", "E0207"},
         {less, "f32[B]{I_t}, f32[B]", "bool[B]"},
         {less, "f32[B/t L], f32[L]", "bool[B/t L]"},
         {larger, "f32[B]{U_t}, 0", "E0207"},
         {larger, "f32[B], f32[B]{Max_t}", "E0210"}});
}

TEST(Rule, Einsum) {
  check(
      {{einsum("B/d L M, M F/t -> B/d L F/t"), "f32[B/d L M], f32[M F/t]", "f32[B/d L F/t]"},
       {einsum("B/d L F/t, M F/t -> B/d L M"), "f32[B/d L F/t], f32[M F/t]", "E0214"},
       {einsum("B/d L F/t, M F/t -> B/d L M {U_t}"), "f32[B/d L F/t], f32[M F/t]",
        "f32[B/d L M]{U_t}"},
       {einsum("B/x M, M F/x -> B/x F/x"), "f32[B/x M], f32[M F/x]", "E0209"},
       {einsum("B M/y, M/y F -> B F {U_x}"), "f32[B M/y], f32[M/y F]", "E0214"},
       {einsum("D, D F/y, D/x -> F/y {U_x}"), "f32[D], f32[D F/y], f32[D/x]", "E0204"},
       {einsum("D/x, D/x F/y, D/x -> F/y {U_x}"), "f32[D/x], f32[D/x F/y], f32[D/x]",
        "f32[F/y]{U_x}"},
       {einsum("B M {U_t}, M F -> B F {U_t}"), "f32[B M]{U_t}, f32[M F]", "f32[B F]{U_t}"},
       {einsum("B M {U_t}, M F {U_t} -> B F {U_t}"), "f32[B M]{U_t}, f32[M F]{U_t}", "E0202"},
       {einsum("B M {U_t}, M F/t -> B F/t"), "f32[B M]{U_t}, f32[M F/t]", "E0202"},
       {einsum("B M {I_t}, M F/t -> B F/t"), "f32[B M]{I_t}, f32[M F/t]", "E0203"},
       {einsum("B M {I_t}, M F {I_t} -> B F {I_t}"), "f32[B M]{I_t}, f32[M F]{I_t}",
        "f32[B F]{I_t}"},
       {einsum("B M {I_t}, M F {I_t} -> B F"), "f32[B M]{I_t}, f32[M F]{I_t}", "E0302"},
       {einsum("B M {I_t}, M F {I_t} -> B F"), "f32[B M]{I_t}!, f32[M F]{I_t}!", "f32[B F]"},
       {einsum("B/t M, N/t M -> M {U_t}"), "f32[B/t M], f32[N/t M]", "E0204"},
       {einsum("B/d L L, L -> B/d L"), "f32[B/d L L], f32[L]", "E0305"},
       {einsum("B/d S Q, B/d T Q -> B/d S T"), "f32[B/d L Q], f32[B/d L Q]", "f32[B/d S T]"},
       {einsum("B (K D)/t, K/t D M -> B M {U_t}"), "f32[B (K D)/t], f32[K/t D M]", "f32[B M]{U_t}"},
       {einsum("B, B -> B {U_t}"), "f32[B], f32[B]", "E0302"}});
}

TEST(Rule, LeftSides) {
  check({{einsum("B M, M F -> B F"), "f32[B M]{U_t}, f32[M F]", "E0306"},
         {einsum("B M {U_t}, M F -> B F {U_t}"), "f32[B M], f32[M F]", "E0306"},
         {einsum("B M {I_t}, M F -> B F {I_t}"), "f32[B M]{U_t}, f32[M F]", "E0301"},
         {einsum("B M/t, M/t F -> B F {U_t}"), "f32[B M], f32[M/t F]", "E0301"},
         {sum("M/t/d -> {U_t U_d}"), "f32[M/d/t]", "E0301"},
         {sum("M/t/one -> {U_t}"), "f32[M/t]", "f32[]{U_t}"},
         {sum("M/t -> {U_t U_one}"), "f32[M/t/one]", "f32[]{U_t}"},
         {sum("L M -> L"), "f32[S M]", "f32[L]"}});
}

TEST(Rule, Reductions) {
  check({{sum("B/d L M -> L {U_d}"), "f32[B/d L M]", "f32[L]{U_d}"},
         {sum("B/d L M -> L"), "f32[B/d L M]", "E0214"},
         {sum("B L {U_t} -> L {U_t}"), "f32[B L]{U_t}", "f32[L]{U_t}"},
         {sum("B/d L {U_t} -> L {U_d U_t}"), "f32[B/d L]{U_t}", "f32[L]{U_d U_t}"},
         {sum("B/d/x L -> L {U_d U_x}"), "f32[B/d/x L]", "f32[L]{U_d U_x}"},
         {sum("B L {I_t} -> L {I_t}"), "f32[B L]{I_t}", "f32[L]{I_t}"},
         {sum("B L {Max_t} -> L {Max_t}"), "f32[B L]{Max_t}", "E0210"},
         {maximum("B V/t -> B {Max_t}"), "f32[B V/t]", "f32[B]{Max_t}"},
         {maximum("B V/t -> B"), "f32[B V/t]", "E0214"},
         {maximum("B V -> B {I_t}"), "f32[B V]{I_t}", "E0306"},
         {maximum("B V {I_t} -> B {I_t}"), "f32[B V]{I_t}", "f32[B]{I_t}"},
         {maximum("B V {U_t} -> B {U_t}"), "f32[B V]{U_t}", "E0207"},
         {minimum("B V/t -> B"), "f32[B V/t]", "E0208"},
         {minimum("B/d V -> B/d"), "f32[B/d V]", "f32[B/d]"},
         {Argmax{pattern("B V/t -> B")}, "f32[B V/t]", "E0208"},
         {Argmax{pattern("B/d V -> B/d")}, "f32[B/d V]", "i32[B/d]"},
         {Argmax{pattern("B V {U_t} -> B")}, "f32[B V]{U_t}", "E0207"},
         {TopK{pattern("B/d V -> B/d Q")}, "f32[B/d V]", "f32[B/d Q]; i32[B/d Q]"},
         {TopK{pattern("B V/t -> B Q")}, "f32[B V/t]", "E0208"},
         {TopK{pattern("B V -> B Q/t")}, "f32[B V]", "E0302"},
         {Ordered{OrderedFn::cumsum, pattern("B/d L -> B/d L"), 1}, "f32[B/d L]", "f32[B/d L]"},
         {Ordered{OrderedFn::cumsum, pattern("B/d L -> B/d L"), 0}, "f32[B/d L]", "E0208"},
         {Ordered{OrderedFn::argsort, pattern("B L {U_t} -> B L {U_t}"), 1}, "f32[B L]{U_t}",
          "E0207"}});
}

TEST(Rule, AllGather) {
  using enum CollectiveFn;
  check({{collective(all_gather, "M/d/t -> M/d"), "f32[M/d/t]", "f32[M/d]"},
         {collective(all_gather, "M/d/t -> M"), "f32[M/d/t]", "f32[M]"},
         {collective(all_gather, "M/d/t -> M/d {I_t}"), "f32[M/d/t]", "f32[M/d]{I_t}"},
         {collective(all_gather, "B/d M/t -> B M"), "f32[B/d M/t]", "f32[B M]"},
         {collective(all_gather, "B/d {U_t} -> B {U_t}"), "f32[B/d]{U_t}", "f32[B]{U_t}"},
         {collective(all_gather, "B/d {U_t} -> B"), "f32[B/d]{U_t}", "E0214"},
         {collective(all_gather, "B/d {Max_t} -> B {Max_t}"), "f32[B/d]{Max_t}", "f32[B]{Max_t}"},
         {collective(all_gather, "M/t/d -> M"), "f32[M/d/t]", "E0301"},
         {collective(all_gather, "M/t/d -> M/d"), "f32[M/t/d]", "E0206"},
         {collective(all_gather, "M -> M"), "f32[M]", "E0206"},
         {collective(all_gather, "M/one -> M"), "f32[M]", "f32[M]"},
         {collective(all_gather, "M/d -> M {U_d}"), "f32[M/d]", "E0206"},
         {collective(all_gather, "M/d {I_t} -> M"), "f32[M/d]{I_t}", "E0302"},
         {collective(all_gather, "M -> M/d"), "f32[M]", "E0206"}});
}

TEST(Rule, AllReduce) {
  using enum CollectiveFn;
  check(
      {{collective(all_reduce, "B M {U_t} -> B M"), "f32[B M]{U_t}", "f32[B M]"},
       {collective(all_reduce, "B M {U_t} -> B M {I_t}"), "f32[B M]{U_t}", "f32[B M]{I_t}"},
       {collective(all_reduce, "B M {Max_t} -> B M"), "f32[B M]{Max_t}", "f32[B M]"},
       {collective(all_reduce, "B M {U_d U_t} -> B M {U_d}"), "f32[B M]{U_d U_t}", "f32[B M]{U_d}"},
       {collective(all_reduce, "B M {U_t} -> B M"), "f32[B M]", "E0205"},
       {collective(all_reduce, "B M {U_t} -> B M"), "f32[B M]{I_t}", "E0205"},
       {collective(all_reduce, "B M {U_t} -> B M"), "f32[B M/t]", "E0205"},
       {collective(all_reduce, "B M -> B M"), "f32[B M]", "E0205"},
       {collective(all_reduce, "B M {I_t} -> B M"), "f32[B M]{I_t}", "E0205"},
       {collective(all_reduce, "B M/t -> B M"), "f32[B M/t]", "E0205"},
       {collective(all_reduce, "B M {U_t} -> B M/t"), "f32[B M]{U_t}", "E0206"},
       {collective(all_reduce, "B M {U_one} -> B M"), "f32[B M]", "f32[B M]"}});
}

TEST(Rule, PsumScatter) {
  using enum CollectiveFn;
  check({{collective(psum_scatter, "B M {U_t} -> B M/t"), "f32[B M]{U_t}", "f32[B M/t]"},
         {collective(psum_scatter, "B/d M/x {U_t} -> B/d M/x/t"), "f32[B/d M/x]{U_t}",
          "f32[B/d M/x/t]"},
         {collective(psum_scatter, "M {U_t U_d} -> M/t/d"), "f32[M]{U_t U_d}", "f32[M/t/d]"},
         {collective(psum_scatter, "M {U_t U_d} -> M/t {U_d}"), "f32[M]{U_t U_d}", "f32[M/t]{U_d}"},
         {collective(psum_scatter, "M {U_t U_d} -> M/t"), "f32[M]{U_t U_d}", "E0214"},
         {collective(psum_scatter, "M -> M/t"), "f32[M]", "E0205"},
         {collective(psum_scatter, "M {U_t} -> M/t"), "f32[M]", "E0205"},
         {collective(psum_scatter, "M {I_t} -> M/t"), "f32[M]{I_t}", "E0205"},
         {collective(psum_scatter, "M {Max_t} -> M/t"), "f32[M]{Max_t}", "E0205"},
         {collective(psum_scatter, "M/x {U_t} -> M/t/x"), "f32[M/x]{U_t}", "E0206"},
         {collective(psum_scatter, "M {U_t} -> M {U_t}"), "f32[M]{U_t}", "E0206"}});
}

TEST(Rule, OtherCollectives) {
  using enum CollectiveFn;
  check(
      {{collective(all_to_all, "B L/t H -> B L H/t"), "f32[B L/t H]", "f32[B L H/t]"},
       {collective(all_to_all, "B/d/x F/t -> B/d F/t/x"), "f32[B/d/x F/t]", "f32[B/d F/t/x]"},
       {collective(all_to_all, "B/d/x F -> B/x F/d"), "f32[B/d/x F]", "E0206"},
       {collective(all_to_all, "B/d F -> B F/t"), "f32[B/d F]", "E0206"},
       {collective(all_to_all, "B/d F -> B/d F"), "f32[B/d F]", "E0206"},
       {collective(all_to_all, "B F {U_d} -> B F/d"), "f32[B F]{U_d}", "E0206"},
       {collective(all_to_all, "B/d F {U_t} -> B F/d {U_t}"), "f32[B/d F]{U_t}", "f32[B F/d]{U_t}"},
       {collective(slice, "M -> M/t"), "f32[M]", "f32[M/t]"},
       {collective(slice, "M/d {I_t} -> M/d/t"), "f32[M/d]{I_t}", "f32[M/d/t]"},
       {collective(slice, "M {U_t} -> M/t"), "f32[M]{U_t}", "E0215"},
       {collective(slice, "M/t B -> M/t B/t"), "f32[M/t B]", "E0209"},
       {collective(slice, "M/t -> M/t"), "f32[M/t]", "E0206"},
       {collective(fan_out, "B M {I_t} -> B M"), "f32[B M]{I_t}", "f32[B M]"},
       {collective(fan_out, "B M {I_t} -> B M"), "f32[B M]!", "f32[B M]"},
       {collective(fan_out, "B M -> B M"), "f32[B M]", "E0206"},
       {collective(fan_out, "B M {U_t} -> B M"), "f32[B M]{U_t}", "E0214"},
       {collective(zero_nonroot, "M -> M {U_t}"), "f32[M]", "f32[M]{U_t}"},
       {collective(zero_nonroot, "M {I_t} -> M {U_t}"), "f32[M]{I_t}", "f32[M]{U_t}"},
       {collective(zero_nonroot, "M/t -> M/t {U_t}"), "f32[M/t]", "E0209"},
       {collective(zero_nonroot, "M {U_t} -> M {U_t}"), "f32[M]{U_t}", "E0206"},
       {collective(zero_nonroot, "-> {U_t}"), "f32[]", "f32[]{U_t}"},
       {collective(zero_nonroot, "M {Max_d} -> M {Max_d U_t}"), "f32[M]{Max_d}", "E0110"},
       {collective(zero_pad, "M/t -> M {U_t}"), "f32[M/t]", "f32[M]{U_t}"},
       {collective(zero_pad, "M/d/t -> M/d {U_t}"), "f32[M/d/t]", "f32[M/d]{U_t}"},
       {collective(zero_pad, "M/d/t -> M/t {U_d}"), "f32[M/d/t]", "E0206"},
       {collective(zero_pad, "M/t -> M"), "f32[M/t]", "E0206"},
       {Ppermute{pattern("B [L/x] -> B [L/x]")}, "f32[B L/x], 1", "f32[B L/x]"},
       {Ppermute{pattern("B [L/x/y] {U_t} -> B [L/x/y] {U_t}")}, "f32[B L/x/y]{U_t}, 1",
        "f32[B L/x/y]{U_t}"},
       {Ppermute{pattern("B/one [L] -> B/one [L]")}, "f32[B L], 1", "E0206"},
       {Ppermute{pattern("B [L/one] -> B [L/one]")}, "f32[B L], 1", "f32[B L]"},
       {Ppermute{pattern("[L/t/one] -> [L/t/one]")}, "f32[L/t], 1", "f32[L/t]"},
       {Ppermute{pattern("[L/one/t] -> [L/one/t]")}, "f32[L/t], 1", "E0206"},
       {Ppermute{pattern("B/x [L] -> B/x [L]")}, "f32[B/x L], 1", "E0206"},
       {Ppermute{pattern("[L/x] -> [L/x]")}, "f32[L/x], i32[]{U_t}", "E0216"}});
}

TEST(Rule, Indexing) {
  check({{Index{pattern("[V] M, B/d L -> B/d L M")}, "f32[V M], i32[B/d L]", "f32[B/d L M]"},
         {Index{pattern("[V] M/t, B -> B M/t")}, "f32[V M/t], i32[B]", "f32[B M/t]"},
         {Index{pattern("[V] M {I_t}, B -> B M {I_t}")}, "f32[V M]{I_t}, i32[B]", "f32[B M]{I_t}"},
         {Index{pattern("[V] M {U_t}, B -> B M {U_t}")}, "f32[V M]{U_t}, i32[B]", "f32[B M]{U_t}"},
         {Index{pattern("[V] M {U_t}, B/t -> B/t M")}, "f32[V M]{U_t}, i32[B/t]", "E0202"},
         {Index{pattern("[V] M {I_t}, B/t -> B/t M")}, "f32[V M]{I_t}, i32[B/t]", "E0203"},
         {Index{pattern("[V/t] M, B -> B M")}, "f32[V/t M], i32[B]", "E0211"},
         {Index{pattern("[V/t] M, B/t -> B/t M")}, "f32[V/t M], i32[B/t]", "E0211"},
         {Index{pattern("[V] M/t, B/t -> B/t M/t")}, "f32[V M/t], i32[B/t]", "E0209"},
         {Index{pattern("B/d L [V], B/d L -> B/d L")}, "f32[B/d L V], i32[B/d L]", "f32[B/d L]"},
         {Index{pattern("B/d L [V], B L -> B/d L")}, "f32[B/d L V], i32[B L]", "E0204"},
         {Index{pattern("[V] M, B {U_t} -> B M")}, "f32[V M], i32[B]{U_t}", "E0207"},
         {IndexUnreduced{pattern("[V/t] M, B/d -> B/d M {U_t}")}, "f32[V/t M], i32[B/d]",
          "f32[B/d M]{U_t}"},
         {IndexUnreduced{pattern("[V/t] M, B/d -> B/d M")}, "f32[V/t M], i32[B/d]", "E0214"},
         {IndexUnreduced{pattern("[V/t] M, B/t -> B/t M")}, "f32[V/t M], i32[B/t]", "E0204"},
         {Index{pattern("[V] M, V/d -> V/d M")}, "f32[V M], i32[V/d]", "f32[V/d M]"},
         {IndexUnreduced{pattern("[V/t] M, V/d -> V/d M {U_t}")}, "f32[V/t M], i32[V/d]",
          "f32[V/d M]{U_t}"},
         {IndexAdd{pattern("V/d, V/d M -> [V] M {U_d}")}, "i32[V/d], f32[V/d M]", "f32[V M]{U_d}"},
         {IndexAdd{pattern("B/d L, B/d L M -> [V] M {U_d}")}, "i32[B/d L], f32[B/d L M]",
          "f32[V M]{U_d}"},
         {IndexAdd{pattern("B/d L, B/d L M -> [V/t] M {U_d}")}, "i32[B/d L], f32[B/d L M]",
          "f32[V/t M]{U_d}"},
         {IndexAdd{pattern("B L, B L M {U_t} -> [V/t] M")}, "i32[B L], f32[B L M]{U_t}", "E0215"},
         {IndexAdd{pattern("B L, B L M {I_t} -> [V/t] M")}, "i32[B L], f32[B L M]{I_t}", "E0203"},
         {IndexAdd{pattern("B L, B L M/t -> [V] M/t")}, "i32[B L], f32[B L M/t]", "f32[V M/t]"},
         {IndexAdd{pattern("B L, B L M {U_t} -> [V] M {U_t}")}, "i32[B L], f32[B L M]{U_t}",
          "f32[V M]{U_t}"},
         {IndexAdd{pattern("B/t, B/t M -> [V/t] M")}, "i32[B/t], f32[B/t M]", "E0209"},
         {IndexAdd{pattern("B, B/t M -> [V] M {U_t}")}, "i32[B], f32[B/t M]", "E0204"}});
}

TEST(Rule, Structure) {
  check({{Expand{pattern("B L -> B L V")}, "f32[B L]", "f32[B L V]"},
         {Expand{pattern("B/d L -> B/d V/t L")}, "f32[B/d L]", "f32[B/d V/t L]"},
         {Expand{pattern("B L {I_t} -> B L V/t")}, "f32[B L]{I_t}", "E0203"},
         {Expand{pattern("B L {U_t} -> B L V/t")}, "f32[B L]{U_t}", "E0215"},
         {Expand{pattern("B/t L -> B/t L V/t")}, "f32[B/t L]", "E0209"},
         {Expand{pattern("B L {U_t} -> B L V {U_t}")}, "f32[B L]{U_t}", "f32[B L V]{U_t}"},
         {Expand{pattern("K/t -> (K G)/t")}, "f32[K/t]", "f32[(K G)/t]"},
         {Expand{pattern("K/t -> (G K)")}, "f32[K/t]", "E0212"},
         {Rearrange{pattern("B/d L -> (B L)/d")}, "f32[B/d L]", "f32[(B L)/d]"},
         {Rearrange{pattern("(K G)/t -> K/t G")}, "f32[(K G)/t]", "f32[K/t G]"},
         {Rearrange{pattern("(K G)/t -> K G/t")}, "f32[(K G)/t]", "E0212"},
         {Rearrange{pattern("(J G)/t -> J G/t")}, "f32[(J G)/t]", "f32[J G/t]"},
         {Rearrange{pattern("B L/d -> (B L)/d")}, "f32[B L/d]", "E0212"},
         {Rearrange{pattern("L/d B -> B L/d")}, "f32[L/d B]", "f32[B L/d]"},
         {Rearrange{pattern("H/t B -> B K/t D")}, "f32[H/t B]", "f32[B K/t D]"},
         {Rearrange{pattern("S/t T -> T S/t")}, "f32[S/t T]", "f32[T S/t]"},
         {Rearrange{pattern("L/t B -> B S/t")}, "f32[L/t B]", "f32[B S/t]"},
         {Rearrange{pattern("B L {U_t} -> L B {U_t}")}, "f32[B L]{U_t}", "f32[L B]{U_t}"},
         {Rearrange{pattern("B L {Max_t} -> L B {Max_t}")}, "f32[B L]{Max_t}", "E0210"},
         {Read{pattern("[2] B/d L -> B/d L")}, "f32[2 B/d L], 1", "f32[B/d L]"},
         {Read{pattern("B [G] D {U_t} -> B Q D {U_t}")}, "f32[B G D]{U_t}, 0", "f32[B Q D]{U_t}"},
         {Read{pattern("B [G/t] D -> B Q D")}, "f32[B G/t D], 0", "E0211"},
         {Read{pattern("B [G] D -> B Q/t D")}, "f32[B G D], 0", "E0302"},
         {Read{pattern("B [G] D -> B Q D")}, "f32[B G D], i32[]{U_t}", "E0216"},
         {Write{pattern("B/d [V] D, B/d L D -> B/d V D")}, "f32[B/d V D], f32[B/d L D], i32[]",
          "f32[B/d V D]"},
         {Write{pattern("B [V] {U_t}, B L {U_t} -> B V {U_t}")}, "f32[B V]{U_t}, f32[B L]{U_t}, 0",
          "f32[B V]{U_t}"},
         {Write{pattern("B [V], B L {U_t} -> B V {U_t}")}, "f32[B V], f32[B L]{U_t}, 0", "E0201"},
         {Write{pattern("B/d [V], B L -> B/d V")}, "f32[B/d V], f32[B L], 0", "E0204"},
         {Write{pattern("B [V/t], B L -> B V/t")}, "f32[B V/t], f32[B L], 0", "E0211"},
         {Concat{pattern("B/d L, B/d L -> [2] B/d L")}, "f32[B/d L], f32[B/d L]", "f32[2 B/d L]"},
         {Concat{pattern("B L {U_t}, B L -> [2] B L {U_t}")}, "f32[B L]{U_t}, f32[B L]", "E0201"},
         {Concat{pattern("B L/t, B L/t -> B [D]")}, "f32[B L/t], f32[B L/t]", "E0208"},
         {Concat{pattern("B/d L, B L -> B/d [D]")}, "f32[B/d L], f32[B L]", "E0204"},
         {Roll{pattern("B/d [L] -> B/d L")}, "f32[B/d L], 1", "f32[B/d L]"},
         {Roll{pattern("B [L/t] -> B L/t")}, "f32[B L/t], 1", "E0208"},
         {Rev{pattern("B/d [L] {U_t} -> B/d L {U_t}")}, "f32[B/d L]{U_t}", "f32[B/d L]{U_t}"},
         {Rev{pattern("B [L/t] -> B L/t")}, "f32[B L/t]", "E0208"},
         {Entry{Dim{{"N"}}}, "f32[N B/d]{U_t}, i32[]", "f32[B/d]{U_t}"},
         {Entry{Dim{{"N"}}}, "f32[N/t B], i32[]", "E0211"}});
}

Created created(const std::string& text) { return {written::shape(text), false, {}}; }

TEST(Rule, Created) {
  check({{Iota{created("S/d T"), 1}, "", "i32[S/d T]"},
         {Iota{created("S {U_t}"), 0}, "", "E0302"},
         {Iota{created("S/t T/t"), 0}, "", "E0209"},
         {Random{RandomFn::uniform, created("B/d L {I_t}")}, "key[]", "f32[B/d L]{I_t}"},
         {Random{RandomFn::uniform, created("B {U_t}")}, "key[]", "E0302"},
         {Zeros{created("B/d L {U_t}"), Dtype::bf16}, "", "bf16[B/d L]{U_t}"},
         {Zeros{created("B {Max_t}"), Dtype::f32}, "", "E0302"},
         {Fold{"hidden"}, "key[]", "key[]"},
         {Number{"2", 2}, "", "number[]"}});
  Created library{written::shape("S D"), true, {7, no_value}};
  check({{Iota{library, 0}, "f32[B/d S/t D]", "i32[S/t D]"},
         {Random{RandomFn::normal, library}, "key[], f32[B/d S/t D]", "f32[S/t D]"}});
}

TEST(Rule, Totals) {
  const Marks both = written::marks("U_d U_t");
  check({{Total{}, "f32[]{U_d}, f32[]{U_d}", "f32[]{U_d}"},
         {Total{}, "f32[]{U_d}, f32[]", "E0201"},
         {Total{}, "f32[]{I_d}, f32[]", "E0203"},
         {Total{}, "f32[]{Max_d}, f32[]{Max_d}", "E0210"},
         {Total{both}, "f32[]{U_d}, f32[]{I_d U_t}, f32[]", "f32[]{U_d U_t}"},
         {Total{written::marks("U_d")}, "f32[]{U_d}, f32[]{U_t}", "E0201"},
         {Total{written::marks("I_d")}, "f32[]{U_d}", "E0110"}});
}

TEST(Rule, StatedTypes) {
  auto stated = [](const std::string& text, bool library = false) -> Op {
    return Ascribe{type(text), library};
  };
  check({{stated("f32[B/d]"), "f32[B/d]", "f32[B/d]"},
         {stated("f32[B]"), "f32[B]{U_t}", "E0302"},
         {stated("f32[B]{I_t}"), "f32[B]", "E0302"},
         {stated("f32[B]{I_t}"), "f32[B]!", "f32[B]{I_t}"},
         {stated("f32[B/one]"), "f32[B]", "f32[B]"},
         {stated("f32[M/t/d]"), "f32[M/d/t]", "E0302"},
         {stated("f32[]{U_t}"), "0", "f32[]{U_t}"},
         {stated("f32[]{U_t}"), "1", "E0302"},
         {stated("f32[]"), "1", "f32[]"},
         {stated("bf16[B]"), "f32[B]", "E0302"},
         {stated("f32[S]"), "f32[L]", "E0302"},
         {stated("f32[S]", true), "bf16[L]", "bf16[S]"},
         {stated("f32[B]", true), "f32[B]{U_t}", "E0306"},
         {stated("f32[B/d]", true), "f32[B]", "E0301"},
         {stated("f32[B/d B/d]"), "f32[B]", "E0209"}});
}

TEST(Rule, LibraryPatterns) {
  Pattern softmax = pattern("B L V -> B L");
  softmax.inferred = true;
  softmax.whole = {Dim{{"V"}}};
  Pattern turned = pattern("L B V -> L B");
  turned.inferred = true;
  Pattern norm = pattern("B M -> ");
  norm.inferred = true;
  check({{Reduce{ReduceFn::max, softmax, {}}, "f32[B/d L V]", "f32[B/d L]"},
         {Reduce{ReduceFn::max, softmax, {}}, "f32[B/d L V/t]", "E0208"},
         {Reduce{ReduceFn::sum, softmax, {}}, "f32[B/d L V/t]", "E0214"},
         {Reduce{ReduceFn::sum, turned, {}}, "f32[L B/d V]{U_t}", "f32[L B/d]{U_t}"},
         {Reduce{ReduceFn::sum, norm, {}}, "f32[B/d M/t]", "f32[]{U_d U_t}"}});
  const RuleResult result = ruled(Reduce{ReduceFn::sum, norm, {}}, operands("f32[B/d M/t]"));
  EXPECT_EQ(to_string(result.completed.left.at(0)), "B/d M/t");
  EXPECT_EQ(to_string(result.completed.right), "{U_d U_t}");
}

RuleResult refused(const Op& op, const std::string& text) {
  const RuleResult result = ruled(op, operands(text));
  EXPECT_TRUE(result.refusal);
  return result;
}

TEST(Rule, FixesAreConcrete) {
  const Refusal bias = *refused(add, "f32[B/d M]{U_t}, f32[M]").refusal;
  EXPECT_EQ(bias.label,
            "each of the |t| devices of t would add the right operand, so it is counted |t| times");
  ASSERT_EQ(bias.fixes.size(), 2u);
  EXPECT_EQ(bias.fixes[0].text, "zero_nonroot(\"M -> M {U_t}\", $)");
  EXPECT_EQ(bias.fixes[0].operand, 1u);
  EXPECT_EQ(bias.fixes[1].text, "all_reduce(\"B/d M {U_t} -> B/d M\", $)");
  const Refusal residual = *refused(add, "f32[B M/t], f32[B M]{U_t}").refusal;
  EXPECT_EQ(residual.fixes.at(0).text, "psum_scatter(\"B M {U_t} -> B M/t\", $)");
  const Refusal wrong_order =
      *refused(collective(CollectiveFn::all_gather, "M/t/d -> M"), "f32[M/d/t]").refusal;
  EXPECT_EQ(wrong_order.label.substr(0, 20), "M/t/d is not M/d/t: ");
  EXPECT_EQ(wrong_order.fixes.at(0).text, "M/d/t -> M");
  const Op argsort = Ordered{OrderedFn::argsort, pattern("B L -> B L"), 1};
  EXPECT_EQ(refused(argsort, "f32[B/d L]").refusal->fixes.at(0).text, "B/d L; L");
}

TEST(Rule, DroppedSumIsWrittenThenReduced) {
  const RuleResult result = refused(einsum("B F/t, M F/t -> B M"), "f32[B F/t], f32[M F/t]");
  EXPECT_EQ(to_string(result.types.at(0)), "f32[B M]");
  ASSERT_EQ(result.refusal->fixes.size(), 2u);
  EXPECT_EQ(result.refusal->fixes[0].text, "B F/t, M F/t -> B M {U_t}");
  EXPECT_EQ(result.refusal->fixes[1].text, "all_reduce(\"B M {U_t} -> B M\", $)");
  EXPECT_EQ(result.refusal->fixes[1].pattern, "B F/t, M F/t -> B M {U_t}");
}

TEST(Rule, OnlyTheGradientIsWrong) {
  EXPECT_TRUE(refused(mul, "f32[B]{I_t}, f32[B]").refusal->gradient_only);
  EXPECT_TRUE(refused(mul, "f32[L]{I_t}, f32[B/t L]").refusal->gradient_only);
  EXPECT_FALSE(refused(add, "f32[B]{I_t}, f32[B]{U_t}").refusal->gradient_only);
  EXPECT_FALSE(refused(mul, "f32[B]{U_t}, f32[B]{U_t}").refusal->gradient_only);
}

TEST(Rule, TypesThatCannotBe) {
  EXPECT_EQ(check_type(type("f32[B/x M/x]"))->code, "E0209");
  EXPECT_EQ(check_type(type("f32[M/t]{U_t}"))->code, "E0209");
  EXPECT_EQ(check_type(type("f32[M]{U_t Max_d}"))->code, "E0110");
  EXPECT_FALSE(check_type(type("f32[M/t]{Max_d I_x}")));
  const Program program = written::program();
  EXPECT_EQ(to_string(without_unit_axes(program, type("f32[M/one/d]{U_one}"))), "f32[M/d]");
  EXPECT_TRUE(same_type(program, type("f32[M]{U_d U_t}"), type("f32[M]{U_t U_d}")));
  EXPECT_TRUE(same_type(program, type("f32[M/one]"), type("f32[M]")));
  EXPECT_FALSE(same_type(program, type("f32[M/d/t]"), type("f32[M/t/d]")));
}

}  // namespace
}  // namespace shardproof
