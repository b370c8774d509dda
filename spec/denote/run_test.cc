#include "spec/denote/run.h"

#include <gmock/gmock.h>

#include "spec/denote/evaluate.h"
#include "spec/denote/philox.h"
#include "spec/denote/testing.h"

namespace shardproof::denote {
namespace run_test {

using ::testing::ElementsAre;
using testing::pattern;
using testing::type;

using R = Rational;
const ir::Program program = testing::program({"d", "t"});

/// One device, or the mesh t=2, with given sizes.
struct Bench {
  Geometry geometry;
  explicit Bench(std::map<Name, int64_t> dims, int64_t t = 1)
      : geometry(program, {{{"t", t}}, std::move(dims)}) {}

  std::vector<Distributed<R>> run(const ir::Op& op, const std::vector<Type>& types,
                                  const std::vector<Distributed<R>>& values,
                                  const std::vector<Type>& results) const {
    std::vector<Held<R>> held;
    for (size_t i = 0; i < types.size(); ++i) held.push_back({types[i], values[i]});
    return denote::run(geometry, testing::elaborated(program, op, types), held, results);
  }
  /// On one device: the data of the first result.
  std::vector<R> one(const ir::Op& op, const std::vector<std::string>& dims,
                     const std::vector<std::vector<R>>& data, const std::string& result) const {
    std::vector<Type> types;
    std::vector<Distributed<R>> values;
    for (size_t i = 0; i < dims.size(); ++i) {
      types.push_back(type(dims[i]));
      values.push_back({{geometry.local_shape(types.back()), data[i]}});
    }
    return run(op, types, values, {type(result), type(result)})[0][0].data;
  }
};

TEST(Run, Pointwise) {
  const Bench bench({{"M", 2}, {"F", 2}});
  using enum ir::BinaryFn;
  EXPECT_THAT(bench.one(ir::Binary{sub}, {"M F", "F"}, {{1, 2, 3, 4}, {10, 20}}, "M F"),
              ElementsAre(-9, -18, -7, -16));
  EXPECT_THAT(bench.one(ir::Binary{add}, {"M", "M F"}, {{10, 20}, {1, 2, 3, 4}}, "M F"),
              ElementsAre(11, 12, 23, 24));
  EXPECT_THAT(bench.one(ir::Binary{div}, {"M", ""}, {{1, 2}, {3}}, "M"),
              ElementsAre(R(1, 3), R(2, 3)));
  EXPECT_THAT(bench.one(ir::Binary{mod}, {"M", ""}, {{-1, 5}, {3}}, "M"), ElementsAre(2, 2));
  EXPECT_THAT(bench.one(ir::Binary{floordiv}, {"M", ""}, {{-1, 5}, {3}}, "M"), ElementsAre(-1, 1));
  EXPECT_THAT(bench.one(ir::Where{}, {"M", "M", ""}, {{1, 0}, {5, 6}, {7}}, "M"),
              ElementsAre(5, 7));
  EXPECT_THAT(bench.one(ir::Cast{Dtype::i32, {}}, {"M"}, {{R(-3, 2), R(3, 2)}}, "M"),
              ElementsAre(-1, 1));
  EXPECT_THAT(bench.one(ir::Unary{ir::UnaryFn::floor}, {"M"}, {{R(-3, 2), R(3, 2)}}, "M"),
              ElementsAre(-2, 1));
  EXPECT_THROW(bench.one(ir::Unary{ir::UnaryFn::exp}, {"M"}, {{1, 2}}, "M"), Unsupported);
  EXPECT_THROW(bench.one(ir::Binary{mul}, {"M", "F"}, {{1, 2}, {3, 4}}, "M F"), Mismatch);
}

TEST(Run, Contractions) {
  const Bench bench({{"M", 2}, {"F", 3}});
  EXPECT_THAT(bench.one(ir::Einsum{pattern("M F, F -> M"), {}}, {"M F", "F"},
                        {{1, 2, 3, 4, 5, 6}, {1, 0, 2}}, "M"),
              ElementsAre(7, 16));
  EXPECT_THAT(
      bench.one(ir::Einsum{pattern("M, F -> F M"), {}}, {"M", "F"}, {{1, 2}, {3, 4, 5}}, "F M"),
      ElementsAre(3, 6, 4, 8, 5, 10));
  EXPECT_THAT(bench.one(ir::Reduce{ir::ReduceFn::sum, pattern("M F -> F"), {}}, {"M F"},
                        {{1, 2, 3, 4, 5, 6}}, "F"),
              ElementsAre(5, 7, 9));
  EXPECT_THAT(bench.one(ir::Reduce{ir::ReduceFn::max, pattern("M F -> M"), {}}, {"M F"},
                        {{-1, -2, -3, 4, 6, 5}}, "M"),
              ElementsAre(-1, 6));
  EXPECT_THAT(bench.one(ir::Reduce{ir::ReduceFn::min, pattern("M F -> "), {}}, {"M F"},
                        {{1, 2, 3, 4, 5, 6}}, ""),
              ElementsAre(1));
}

TEST(Run, Structure) {
  const Bench bench({{"M", 2}, {"K", 2}, {"D", 2}, {"G", 4}, {"Q", 2}, {"L", 3}});
  EXPECT_THAT(bench.one(ir::Expand{pattern("M -> M L")}, {"M"}, {{1, 2}}, "M L"),
              ElementsAre(1, 1, 1, 2, 2, 2));
  EXPECT_THAT(bench.one(ir::Rearrange{pattern("M H -> D M K")}, {"M H"}, {{0, 1, 2, 3, 4, 5, 6, 7}},
                        "D M K"),
              ElementsAre(0, 2, 4, 6, 1, 3, 5, 7));
  EXPECT_THAT(bench.one(ir::Rearrange{pattern("S T -> T S")}, {"S T"},
                        {{0, 1, 2, 3, 4, 5, 6, 7, 8}}, "T S"),
              ElementsAre(0, 3, 6, 1, 4, 7, 2, 5, 8));
  EXPECT_THAT(
      bench.one(ir::Read{pattern("[G] M -> M")}, {"G M", ""}, {{0, 1, 2, 3, 4, 5, 6, 7}, {2}}, "M"),
      ElementsAre(4, 5));
  EXPECT_THAT(bench.one(ir::Read{pattern("M [G] -> M Q")}, {"M G", ""},
                        {{0, 1, 2, 3, 4, 5, 6, 7}, {1}}, "M Q"),
              ElementsAre(1, 2, 5, 6));
  EXPECT_THROW(bench.one(ir::Read{pattern("[G] -> Q")}, {"G", ""}, {{0, 1, 2, 3}, {3}}, "Q"),
               OutOfRange);
  EXPECT_THAT(bench.one(ir::Write{pattern("M [G], M Q -> M G")}, {"M G", "M Q", ""},
                        {{0, 0, 0, 0, 0, 0, 0, 0}, {1, 2, 3, 4}, {1}}, "M G"),
              ElementsAre(0, 1, 2, 0, 0, 3, 4, 0));
  EXPECT_THAT(bench.one(ir::Concat{pattern("M, M -> M [2]")}, {"M", "M"}, {{1, 2}, {3, 4}}, "M 2"),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(bench.one(ir::Concat{pattern("K, K -> [G]")}, {"K", "K"}, {{1, 2}, {3, 4}}, "G"),
              ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(bench.one(ir::Roll{pattern("[G] -> G")}, {"G", ""}, {{0, 1, 2, 3}, {1}}, "G"),
              ElementsAre(3, 0, 1, 2));
  EXPECT_THAT(bench.one(ir::Entry{Dim{{"G"}}}, {"G M", ""}, {{0, 1, 2, 3, 4, 5, 6, 7}, {3}}, "M"),
              ElementsAre(6, 7));
}

TEST(Run, GroupsBesideTheirFactors) {  // H = (K D), |K| = |D| = 2
  const Bench bench({{"K", 2}, {"D", 2}, {"L", 2}, {"M", 2}});
  EXPECT_THAT(bench.one(ir::Einsum{pattern("(K D), K -> (K D)"), {}}, {"(K D)", "K"},
                        {{1, 2, 3, 4}, {1, 10}}, "(K D)"),
              ElementsAre(1, 2, 30, 40));
  EXPECT_THAT(
      bench.one(ir::Einsum{pattern("H, D -> K"), {}}, {"H", "D"}, {{1, 2, 3, 4}, {1, 10}}, "K"),
      ElementsAre(21, 43));
  EXPECT_THAT(
      bench.one(ir::Reduce{ir::ReduceFn::max, pattern("K D -> D"), {}}, {"H"}, {{1, 4, 3, 2}}, "D"),
      ElementsAre(3, 4));
  EXPECT_THAT(bench.one(ir::Expand{pattern("D -> (K D)")}, {"D"}, {{1, 2}}, "H"),
              ElementsAre(1, 2, 1, 2));
  EXPECT_THAT(bench.one(ir::Rearrange{pattern("S L -> (L T)")}, {"S L"}, {{1, 2, 3, 4}}, "(L T)"),
              ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(bench.one(ir::Index{pattern("[H] M, M -> M")}, {"H M", "M"},
                        {{0, 1, 2, 3, 4, 5, 6, 7}, {3, 1}}, "M"),
              ElementsAre(6, 3));
}

TEST(Run, WhatDoesNotFitIsNotRead) {
  const Bench bench({{"M", 2}, {"F", 2}});
  const Type f = type("F"), m = type("M");
  const Distributed<R> two{{{2}, {1, 2}}}, three{{{3}, {1, 2, 3}}};
  EXPECT_THROW((Distributed<R>{{{2}, {1}}}), Mismatch);
  EXPECT_THROW((Distributed<R>{{{2}, {1, 2}}, {{3}, {1, 2, 3}}}), Mismatch);
  const ir::Op sum = ir::Reduce{ir::ReduceFn::sum, pattern("F -> "), {}};
  EXPECT_THROW(bench.run(sum, {f}, {three}, {type("")}), Mismatch);
  EXPECT_THROW(run<R>(bench.geometry, sum, {{f, two}}, {type("")}), std::logic_error);
  const ir::Op read = testing::elaborated(program, sum, {f});
  EXPECT_THROW(run<R>(bench.geometry, read, {{type("F M"), two}}, {type("")}), Mismatch);
}

TEST(Run, Indexing) {
  const Bench bench({{"V", 3}, {"M", 2}, {"B", 2}});
  EXPECT_THAT(bench.one(ir::Index{pattern("[V] M, B -> B M")}, {"V M", "B"},
                        {{0, 1, 2, 3, 4, 5}, {2, 0}}, "B M"),
              ElementsAre(4, 5, 0, 1));
  EXPECT_THAT(bench.one(ir::Index{pattern("B [V], B -> B")}, {"B V", "B"},
                        {{0, 1, 2, 3, 4, 5}, {1, 2}}, "B"),
              ElementsAre(1, 5));
  EXPECT_THAT(bench.one(ir::IndexAdd{pattern("B, B M -> [V] M")}, {"B", "B M"},
                        {{2, 2}, {1, 2, 3, 4}}, "V M"),
              ElementsAre(0, 0, 0, 0, 4, 6));
  EXPECT_THROW(bench.one(ir::Index{pattern("[V] M, B -> B M")}, {"V M", "B"},
                         {{0, 1, 2, 3, 4, 5}, {3, 0}}, "B M"),
               OutOfRange);
}

TEST(Run, Order) {
  const Bench bench({{"L", 4}, {"A", 2}});
  const std::vector<R> x{3, 1, 3, 2};
  EXPECT_THAT(bench.one(ir::Ordered{ir::OrderedFn::cumsum, pattern("L -> L"), 0}, {"L"}, {x}, "L"),
              ElementsAre(3, 4, 7, 9));
  EXPECT_THAT(bench.one(ir::Ordered{ir::OrderedFn::argsort, pattern("L -> L"), 0}, {"L"}, {x}, "L"),
              ElementsAre(1, 3, 0, 2));
  EXPECT_THAT(bench.one(ir::Argmax{pattern("L -> ")}, {"L"}, {x}, ""), ElementsAre(0));
  const auto top =
      bench.run(ir::TopK{pattern("L -> A")}, {type("L")}, {{{{4}, x}}}, {type("A"), type("A")});
  EXPECT_THAT(top[0][0].data, ElementsAre(3, 3));
  EXPECT_THAT(top[1][0].data, ElementsAre(0, 2));
}

TEST(Run, Collectives) {
  const Bench bench({{"M", 4}}, 2);
  using enum ir::CollectiveFn;
  auto go = [&](ir::CollectiveFn fn, const std::string& text, std::vector<R> a, std::vector<R> b) {
    const ir::Pattern p = pattern(text);
    Type from, to;
    static_cast<Shape&>(from) = p.left[0];
    static_cast<Shape&>(to) = p.right;
    const auto n = static_cast<int64_t>(a.size());
    const auto got = bench.run(ir::Collective{fn, p}, {from}, {{{{n}, a}, {{n}, b}}}, {to})[0];
    return std::vector<R>(got.all().begin(), got.all().end());
  };
  EXPECT_THAT(go(all_gather, "M/t -> M", {1, 2}, {3, 4}), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(go(all_reduce, "M {U_t} -> M", {1, 2, 3, 4}, {1, 1, 1, 1}),
              ElementsAre(2, 3, 4, 5, 2, 3, 4, 5));
  EXPECT_THAT(go(all_reduce, "M {Max_t} -> M", {1, 2, 3, 4}, {2, 2, 2, 2}),
              ElementsAre(2, 2, 3, 4, 2, 2, 3, 4));
  EXPECT_THAT(go(psum_scatter, "M {U_t} -> M/t", {1, 2, 3, 4}, {1, 1, 1, 1}),
              ElementsAre(2, 3, 4, 5));
  EXPECT_THAT(go(slice, "M -> M/t", {1, 2, 3, 4}, {1, 2, 3, 4}), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(go(fan_out, "M {I_t} -> M", {1, 2, 3, 4}, {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(go(zero_nonroot, "M -> M {U_t}", {1, 2, 3, 4}, {1, 2, 3, 4}),
              ElementsAre(1, 2, 3, 4, 0, 0, 0, 0));
  EXPECT_THAT(go(zero_pad, "M/t -> M {U_t}", {1, 2}, {3, 4}), ElementsAre(1, 2, 0, 0, 0, 0, 3, 4));
}

TEST(Run, DevicesHaveTheirOwnBlocks) {
  const Bench bench({{"V", 4}, {"B", 2}}, 2);
  const auto rows = bench.run(
      ir::IndexUnreduced{pattern("[V/t], B -> B {U_t}")}, {type("V/t"), type("B", Dtype::i32)},
      {{{{2}, {5, 6}}, {{2}, {7, 8}}}, {{{2}, {1, 2}}, {{2}, {1, 2}}}}, {type("B {U_t}")})[0];
  EXPECT_THAT(rows[0].data, ElementsAre(6, 0));
  EXPECT_THAT(rows[1].data, ElementsAre(0, 7));
  const auto iota =
      bench.run(ir::Iota{{testing::shape("V/t"), false, {}}, 0}, {}, {}, {type("V/t")})[0];
  EXPECT_THAT(iota[1].data, ElementsAre(2, 3));
  const auto moved =
      bench.run(ir::Ppermute{pattern("[V/t] -> [V/t]")}, {type("V/t"), type("")},
                {{{{2}, {5, 6}}, {{2}, {7, 8}}}, {{{}, {1}}, {{}, {1}}}}, {type("V/t")})[0];
  EXPECT_THAT(moved[0].data, ElementsAre(7, 8));
  const auto total =
      bench.run(ir::Total{{{"t", Mark::U}}}, {type(""), type("{U_t}")},
                {{{{}, {1}}, {{}, {1}}}, {{{}, {2}}, {{}, {3}}}}, {type("{U_t}")})[0];
  EXPECT_THAT(total[0].data, ElementsAre(3));
  EXPECT_THAT(total[1].data, ElementsAre(3));
}

TEST(Run, RandomNumbersDoNotDependOnTheMesh) {
  const Type split = type("V/t B");
  const Geometry one(program, {{}, {{"V", 4}, {"B", 3}}}),
      two(program, {{{"t", 2}}, {{"V", 4}, {"B", 3}}});
  const double key = Scalar<double>::of_key(~0ull);
  const Distributed<double> on_one(1, {}, key), on_two(2, {}, key);
  for (auto fn : {ir::RandomFn::uniform, ir::RandomFn::normal}) {
    const ir::Random op{fn, {split, false, {}}};
    const Type key_type = type("", Dtype::key);
    const auto whole = run<double>(one, op, {{key_type, on_one}}, {split})[0];
    const auto parts = run<double>(two, op, {{key_type, on_two}}, {split})[0];
    EXPECT_EQ(represented(two, split, parts)->data, whole[0].data);
  }
}

TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox(0, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox(~0ull, ~0ull, ~0ull), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(fnv1a("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(philox_uniform(0, 0), (0x6627e8d5 >> 8) / 16777216.0);
}

TEST(Scalars, Rational) {
  EXPECT_EQ(R(2, 4) + R(1, -2), R(0));
  EXPECT_EQ(Scalar<R>::number("1e-5", 0), R(1, 100000));
  EXPECT_EQ(Scalar<R>::number("-2.50", 0), R(-5, 2));
  EXPECT_EQ(Scalar<R>::number("", 0.25), R(1, 4));
  EXPECT_THROW(R(INT64_MAX) * R(2), Overflow);
  EXPECT_THROW(R(1) / R(0), Overflow);
  EXPECT_TRUE(R(-1, 2) < R(-1, 3));
}

TEST(Scalars, Field) {
  const Field third = Field(1) / Field(3);
  EXPECT_EQ(third * Field(3), Field(1));
  EXPECT_EQ(Field(-1).nearest(), -1);
  EXPECT_EQ(Scalar<Field>::number("0.1", 0) * Field(10), Field(1));
  EXPECT_EQ(Scalar<Field>::apply(ir::UnaryFn::exp, third),
            Scalar<Field>::apply(ir::UnaryFn::exp, third));
  EXPECT_FALSE(Scalar<Field>::apply(ir::UnaryFn::exp, third) ==
               Scalar<Field>::apply(ir::UnaryFn::log, third));
}

/// scan n in L, x = x0 { next x * w[n] + n; emit x }, on one device and on t=2.
TEST(Evaluate, ScanWithEmit) {
  ir::Program p = program;
  ir::Function f;
  auto value = [&](const std::string& dims, Dtype dtype = Dtype::f32) {
    f.values.push_back({"", type(dims, dtype), {}, true});
    return static_cast<ir::ValueId>(f.values.size() - 1);
  };
  const auto x0 = value("M/t"), w = value("L"), n = value("", Dtype::i32), x = value("M/t"),
             wn = value(""), product = value("M/t"), cast = value(""), next = value("M/t"),
             last = value("M/t"), all = value("L M/t");
  auto body = std::make_shared<ir::Block>();
  body->params = {n, x};
  auto instr = [](ir::Op op, std::vector<ir::ValueId> operands, std::vector<ir::ValueId> results) {
    return ir::Instr{std::move(op), std::move(operands), std::move(results), {}, {}};
  };
  body->instrs = {instr(ir::Entry{Dim{{"L"}}}, {w, n}, {wn}),
                  instr(ir::Binary{ir::BinaryFn::mul}, {x, wn}, {product}),
                  instr(ir::Cast{Dtype::f32, {}}, {n}, {cast}),
                  instr(ir::Binary{ir::BinaryFn::add}, {product, cast}, {next})};
  body->next = {next};
  body->emit = {x};
  f.params = {x0, w};
  f.body.instrs = {instr(ir::Scan{Dim{{"L"}}, true, body}, {x0}, {last, all})};
  f.returned = {last, all};
  p.functions = {f};
  ir::Function caller = f;
  caller.body.instrs = {instr(ir::Call{0}, {x0, w}, {last, all})};
  p.functions.own().push_back(caller);
  const Sizes sizes{{{"t", 2}}, {{"L", 3}, {"M", 2}}};
  const auto got = evaluate<R>(p, 1, sizes, {{{2}, {1, 2}}, {{3}, {2, 3, 4}}});
  // n = 2: 4x + 2 = 6, 10; n = 1: 3x + 1 = 19, 31; n = 0: 2x = 38, 62
  EXPECT_THAT(got[0].data, ElementsAre(38, 62));
  EXPECT_THAT(got[1].data, ElementsAre(19, 31, 6, 10, 1, 2));
  const Array<R> scales{{3}, {2, 3, 4}};
  const Geometry geometry(p, sizes);
  const auto mesh =
      evaluate_on_mesh<R>(geometry, types_of(p), 1, {{{{1}, {1}}, {{1}, {2}}}, {scales, scales}});
  EXPECT_EQ(*represented(geometry, type("L M/t"), mesh[1]), got[1]);
}

}  // namespace run_test
}  // namespace shardproof::denote
