// The ops that the laws of rules go through.
#include "spec/denote/law.h"
#include "spec/rules/rule.h"

namespace shardproof::denote::law {

RuleResult apply(const World& world, const ir::Op& op, const std::vector<Type>& types,
                 bool gradient, std::optional<size_t> constant) {
  std::vector<Operand> operands;
  for (const Type& type : types)
    operands.push_back(
        {type, gradient && is_float(type.dtype) && constant != operands.size(), std::nullopt});
  return apply_rule(world.program, op, operands);
}

std::vector<OpCase> linear_cases() {
  using enum ir::BinaryFn;
  using P = const ir::Pattern&;
  auto einsum = [](P p) { return ir::Einsum{p, {}}; };
  auto f = Dtype::f32, i = Dtype::i32, b = Dtype::boolean;
  std::vector<OpCase> cases{
      pointwise("neg", ir::Unary{ir::UnaryFn::neg}, {bare("M F")}),
      pointwise("cast", ir::Cast{Dtype::bf16, {}}, {bare("M F")}),
      pointwise("add", ir::Binary{add}, {bare("M F"), bare("M F")}),
      pointwise("add", ir::Binary{add}, {bare("M F"), bare("F")}),
      pointwise("sub", ir::Binary{sub}, {bare("M F"), bare("M")}, false),
      pointwise("mul", ir::Binary{mul}, {bare("M F"), bare("F")}),
      pointwise("mul", ir::Binary{mul}, {bare("M"), bare("")}),
      pointwise("where", ir::Where{}, {bare("M", b), bare("M"), bare("M")}),
      patterned("einsum", "B M, M F -> B F", einsum, {}, true),
      patterned("einsum", "M, M -> ", einsum, {}, true),
      patterned("einsum", "M, F -> M F", einsum, {}, true),
      patterned("einsum", "M, M -> M", einsum, {}, true),
      patterned("einsum", "M, M, M -> ", einsum),
      patterned(
          "sum", "M F -> F",
          [](P p) {
            return ir::Reduce{ir::ReduceFn::sum, p, {}};
          },
          {}, true),
      patterned(
          "expand", "M -> M F", [](P p) { return ir::Expand{p}; }, {}, true),
      patterned(
          "rearrange", "M F -> F M", [](P p) { return ir::Rearrange{p}; }, {}, true),
      patterned("rearrange", "(K D) F -> K D F", [](P p) { return ir::Rearrange{p}; }),
      patterned(
          "rearrange", "K D -> H", [](P p) { return ir::Rearrange{p}; }, {}, true),
      patterned("read", "[G] M -> M", [](P p) { return ir::Read{p}; }, {f, i}),
      patterned("read", "M [G] -> M A", [](P p) { return ir::Read{p}; }, {f, i}),
      patterned("write", "M [G], M A -> M G", [](P p) { return ir::Write{p}; }, {f, f, i}),
      patterned("concat", "M, M -> [2] M", [](P p) { return ir::Concat{p}; }),
      patterned("roll", "M [L] -> M L", [](P p) { return ir::Roll{p}; }, {f, i}),
      patterned("rev", "M [L] -> M L", [](P p) { return ir::Rev{p}; }),
      patterned("index", "[V] M, B -> B M", [](P p) { return ir::Index{p}; }, {f, i}),
      patterned("index", "B [V], B -> B", [](P p) { return ir::Index{p}; }, {f, i}),
      patterned("index_unreduced", "[V] M, B -> B M", [](P p) { return ir::IndexUnreduced{p}; },
                {f, i}),
      patterned("index_add", "B, B M -> [V] M", [](P p) { return ir::IndexAdd{p}; }, {i, f}),
      patterned("index_add", "B L, B L -> B [V]", [](P p) { return ir::IndexAdd{p}; }, {i, f}),
      pointwise("total", ir::Total{{}}, {bare(""), bare("")}),
      pointwise("total d", ir::Total{{{"d", Mark::U}}}, {bare(""), bare("")}),
  };
  return cases;
}

std::vector<OpCase> other_cases() {
  using enum ir::BinaryFn;
  using P = const ir::Pattern&;
  auto f = Dtype::f32;
  return {
      pointwise("div", ir::Binary{div}, {bare("M F"), bare("F")}),
      pointwise("maximum", ir::Binary{maximum}, {bare("M"), bare("M")}, false),
      pointwise("lt", ir::Binary{lt}, {bare("M"), bare("M")}, false),
      pointwise("abs", ir::Unary{ir::UnaryFn::abs}, {bare("M F")}),
      pointwise("floor", ir::Unary{ir::UnaryFn::floor},
                {
                    bare("M"),
                },
                false),
      pointwise("i32", ir::Cast{Dtype::i32, {}}, {bare("M")}, false),
      patterned("max", "M F -> F",
                [](P p) {
                  return ir::Reduce{ir::ReduceFn::max, p, {}};
                }),
      patterned("min", "M F -> F",
                [](P p) {
                  return ir::Reduce{ir::ReduceFn::min, p, {}};
                }),
      patterned("cumsum", "M L -> M L",
                [](P p) {
                  return ir::Ordered{ir::OrderedFn::cumsum, p, 1};
                }),
      patterned("argsort", "M L -> M L",
                [](P p) {
                  return ir::Ordered{ir::OrderedFn::argsort, p, 1};
                }),
      patterned("argmax", "M F -> M", [](P p) { return ir::Argmax{p}; }),
      patterned("top_k", "M F -> M A", [](P p) { return ir::TopK{p}; }),
      patterned("ppermute", "M [L] -> M [L]", [](P p) { return ir::Ppermute{p}; }, {f, Dtype::i32}),
  };
}

std::vector<OpCase> collective_cases() {
  std::vector<OpCase> cases;
  for (auto fn :
       {ir::CollectiveFn::all_gather, ir::CollectiveFn::all_reduce, ir::CollectiveFn::psum_scatter,
        ir::CollectiveFn::all_to_all, ir::CollectiveFn::slice, ir::CollectiveFn::fan_out,
        ir::CollectiveFn::zero_nonroot, ir::CollectiveFn::zero_pad})
    cases.push_back(patterned(
        ir::name_of(ir::Collective{fn, {}}), "M F -> M F",
        [fn](const ir::Pattern& p) {
          return ir::Collective{fn, p};
        },
        {}, true));
  return cases;
}

}  // namespace shardproof::denote::law
