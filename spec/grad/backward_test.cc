// Derived backwards: of every op and state the text is proved; of every accepted plan it types.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>

#include "spec/check/derived.h"
#include "spec/check/typing.h"
#include "spec/cost/cost.h"
#include "spec/diag/render.h"
#include "spec/grad/backward.h"
#include "spec/ir/walk.h"
#include "spec/syntax/parser.h"

namespace shardproof {
namespace {

/// A file with the types of its plans.
struct Typed {
  Sources sources;
  std::vector<Diagnostic> diagnostics;
  Resolved resolved;
  std::vector<std::vector<Type>> types;
  std::vector<bool> accepted, steps;
  FileReader reader;
  std::string path;

  Typed(const std::string& file, const FileReader& read) : reader(read), path(file) {
    resolved = resolve(sources, path, reader, diagnostics);
    steps = find_steps(resolved.program);
    for (size_t f = 0; f < resolved.program.functions.size(); ++f) {
      types.emplace_back();
      accepted.push_back(diagnostics.empty());
      if (resolved.program.functions[f].kind != ir::Function::Kind::plan) continue;
      Typing typing = type_and_pick(resolved.program, f, steps[f]);
      accepted[f] = accepted[f] && typing.refused.empty();
      types[f] = std::move(typing.types);
    }
  }

  size_t plan(const Name& name) const {
    for (size_t f = 0; f < resolved.program.functions.size(); ++f)
      if (resolved.program.functions[f].name == name) return f;
    throw std::out_of_range(name);
  }

  CheckedBackward backward(const Name& name) const {
    return check_backward(sources, path, {resolved.program, types}, plan(name), {}, reader);
  }
};

FileReader only(const std::string& text) {
  return [text](const std::string& path) -> std::optional<std::string> {
    if (path == "test.shard") return text;
    return std::nullopt;
  };
}

std::string doubts(const CheckedBackward& backward) {
  std::string text = backward.text;
  if (backward.refused) text += backward.refused->code + " " + backward.refused->message + "\n";
  if (!backward.checked) return text;
  for (const Diagnostic& each : backward.checked->diagnostics())
    text += render(each, *backward.sources);
  for (const PlanReport& plan : backward.checked->plans())
    for (const Diagnostic& each : plan.diagnostics) text += render(each, *backward.sources);
  return text;
}

struct Case {
  const char* name;
  const char* plan;  ///< of the plan p: what follows its name
};

constexpr char head[] =
    "mesh d t\ndim B L M F V X A G K D N\ndim S T P = L\ndim H = (K D)\ndim C = H\ndim kv = 2\n"
    "require |V| >= 1\nplan p";

// One op or state each; the plan has no model, so that its backward is that of its own erasure.
const Case cases[] = {
    {"add", "(x y: f32[B/d M]) -> f32[B/d M] { return x + y * 2 }"},
    {"sub_less_dims", "(x: f32[B/d M], y: f32[M]) -> f32[B/d M] { return x - y }"},
    {"mul_split_by_copy", "(x: f32[B/d M/t], y: f32[M/t]) -> f32[B/d M/t] { return y * x }"},
    {"mul_unreduced", "(x: f32[B M]{U_t}, y: f32[M]) -> f32[B M]{U_t} { return x * y }"},
    {"mul_invariant", "(x y: f32[B M]{I_t}) -> f32[B M]{I_t} { return x * y }"},
    {"div", "(x: f32[B/d M], y: f32[M]) -> f32[B/d M] { return x / y }"},
    {"exp", "(x: f32[B/d M]) -> f32[B/d M] { return exp(x) }"},
    {"log", "(x: f32[B/d M]) -> f32[B/d M] { return log(x * x + 1) }"},
    {"sqrt", "(x: f32[B/d M]) -> f32[B/d M] { return sqrt(x * x + 1) }"},
    {"rsqrt", "(x: f32[B/d M]) -> f32[B/d M] { return rsqrt(x * x + 1) }"},
    {"tanh", "(x: f32[B/d M]) -> f32[B/d M] { return tanh(x) }"},
    {"sin_cos", "(x: f32[B/d M]) -> f32[B/d M] { return sin(x) - cos(x) }"},
    {"maximum", "(x y: f32[B/d M]) -> f32[B/d M] { return maximum(x, y) }"},
    {"minimum", "(x: f32[B/d M]) -> f32[B/d M] { return minimum(x, 1) }"},
    {"power", "(x: f32[B/d M]) -> f32[B/d M] { return pow(x * x + 1, 3) }"},
    {"where", "(c: bool[B/d], x y: f32[B/d M]) -> f32[B/d M] { return where(c, x, y) }"},
    {"where_zero",
     "(c: bool[B/d], x: f32[B/d M]{U_t}) -> f32[B/d M]{U_t} { return where(c, x, 0) }"},
    {"guarded_log", "(x: f32[B/d M]) -> f32[B/d M] { return where(x > 0, log(x), 0) }"},
    {"guarded_product",
     "(c e: bool[B/d], x y: f32[B/d M]) -> f32[B/d M] "
     "{ return where(c, 0, 2 * where(e, exp(x) * y, 0)) }"},
    {"guarded_twice",
     "(c: bool[B/d], e: bool[M], x: f32[B/d M]) -> f32[B/d M] "
     "{ return where(c, where(x > 0, where(e, 0, where(c, log(x), 0)), 0), 0) }"},
    {"cast", "(x: f32[B/d M]) -> f32[B/d M] { return f32(bf16(x) * 2) }"},
    {"stop_grad", "(x: f32[B/d M]) -> f32[B/d M] { return x * stop_grad(x) }"},
    {"einsum_contracts",
     "(x: f32[B/d M/t], w: f32[M/t F]) -> f32[B/d F]{U_t} "
     "{ return einsum(\"B/d M/t, M/t F -> B/d F {U_t}\", x, w) }"},
    {"einsum_column",
     "(x: f32[B/d M], w: f32[M F/t]) -> f32[B/d F/t] "
     "{ return einsum(\"B/d M, M F/t -> B/d F/t\", x, w) }"},
    {"einsum_of_three",
     "(x: f32[B/d M], w: f32[M F/t], v: f32[M]) -> f32[B/d F/t] "
     "{ return einsum(\"B/d M, M F/t, M -> B/d F/t\", x, w, v) }"},
    {"einsum_lone_dim",
     "(x: f32[B/d M F/t], v: f32[M]) -> f32[B/d]{U_t} "
     "{ return einsum(\"B/d M F/t, M -> B/d {U_t}\", x, v) }"},
    {"einsum_twice",
     "(x: f32[B/d L M]) -> f32[B/d S T] { return einsum(\"B/d S M, B/d T M -> B/d S T\", x, x) }"},
    {"einsum_to",
     "(x: bf16[B/d M], w: bf16[M F]) -> f32[B/d F] "
     "{ return einsum(\"B/d M, M F -> B/d F\", x, w, to=f32) }"},
    {"sum", "(x: f32[B/d M/t]) -> f32[B/d]{U_t} { return sum(\"B/d M/t -> B/d {U_t}\", x) }"},
    {"max", "(x: f32[B/d V]) -> f32[B/d] { return max(\"B/d V -> B/d\", x) }"},
    {"max_over_an_axis",
     "(x: f32[B V/t]) -> f32[B]{I_t} { return all_reduce(\"B {Max_t} -> B {I_t}\", "
     "max(\"B V/t -> B {Max_t}\", x)) }"},
    {"min", "(x: f32[B/d V]) -> f32[B/d] { return min(\"B/d V -> B/d\", x) }"},
    {"expand", "(x: f32[B/d]) -> f32[B/d M/t] { return expand(\"B/d -> B/d M/t\", x) }"},
    {"rearrange",
     "(x: f32[B/d (K D)/t]) -> f32[K/t D B/d] { return rearrange(\"B/d (K D)/t -> K/t D B/d\", x) "
     "}"},
    {"read", "(x: f32[kv B/d M]) -> f32[B/d M] { return read(\"[kv] B/d M -> B/d M\", x, at=1) }"},
    {"write",
     "(x: f32[kv B/d M], y: f32[B/d M]) -> f32[kv B/d M] "
     "{ return write(\"[kv] B/d M, B/d M -> kv B/d M\", x, y, at=0) }"},
    {"concat",
     "(x y: f32[B/d M]) -> f32[kv B/d M] "
     "{ return concat(\"B/d M, B/d M -> [kv] B/d M\", x, y) }"},
    {"roll", "(x: f32[B/d L]) -> f32[B/d L] { return roll(\"B/d [L]\", x, by=1) }"},
    {"cumsum", "(x: f32[B/d L M]) -> f32[B/d L M] { return cumsum(\"B/d L M; L\", x) }"},
    {"rev", "(x: f32[B/d L]) -> f32[B/d L] { return rev(\"B/d [L]\", x) }"},
    {"index",
     "(w: f32[V M/t], ids: i32[B/d]) -> f32[B/d M/t] "
     "{ return index(\"[V] M/t, B/d -> B/d M/t\", w, ids) }"},
    {"index_paired",
     "(w: f32[B/d V], ids: i32[B/d]) -> f32[B/d] { return index(\"B/d [V], B/d -> B/d\", w, ids) "
     "}"},
    {"index_unreduced",
     "(w: f32[V/t M], ids: i32[B/d]) -> f32[B/d M]{U_t} "
     "{ return index_unreduced(\"[V/t] M, B/d -> B/d M {U_t}\", w, ids) }"},
    {"index_add",
     "(x: f32[B/d M], ids: i32[B/d]) -> f32[V/t M]{U_d} "
     "{ return index_add(\"B/d, B/d M -> [V/t] M {U_d}\", ids, x) }"},
    {"gather_to_copy", "(w: f32[M/t/d]) -> f32[M] { return all_gather(\"M/t/d -> M\", w) }"},
    {"gather_to_invariant",
     "(w: f32[M/t/d]) -> f32[M]{I_d I_t} { return all_gather(\"M/t/d -> M {I_d I_t}\", w) }"},
    {"gather_to_both",
     "(w: f32[M/t/d]) -> f32[M]{I_d} { return all_gather(\"M/t/d -> M {I_d}\", w) }"},
    {"reduce_to_copy",
     "(x: f32[M]{U_d U_t}) -> f32[M]{U_d} { return all_reduce(\"M {U_d U_t} -> M {U_d}\", x) }"},
    {"reduce_to_invariant",
     "(x: f32[M]{U_t}) -> f32[M]{I_t} { return all_reduce(\"M {U_t} -> M {I_t}\", x) }"},
    {"fan_out", "(x: f32[M]{I_t}) -> f32[M] { return fan_out(\"M {I_t} -> M\", x) * 2 }"},
    {"scatter",
     "(x: f32[B/d M]{U_t}) -> f32[B/d M/t] { return psum_scatter(\"B/d M {U_t} -> B/d M/t\", x) }"},
    {"slice_copy", "(x: f32[M]) -> f32[M/t/d] { return slice(\"M -> M/t/d\", x) }"},
    {"slice_invariant", "(x: f32[M]{I_t}) -> f32[M/t] { return slice(\"M {I_t} -> M/t\", x) }"},
    {"all_to_all", "(x: f32[L/t K]) -> f32[L K/t] { return all_to_all(\"L/t K -> L K/t\", x) }"},
    {"zero_nonroot_copy",
     "(x: f32[M]) -> f32[M]{U_t} { return zero_nonroot(\"M -> M {U_t}\", x) }"},
    {"zero_nonroot_invariant",
     "(x: f32[M]{I_t}) -> f32[M]{U_t} { return zero_nonroot(\"M {I_t} -> M {U_t}\", x) }"},
    {"zero_pad", "(x: f32[M/t]) -> f32[M]{U_t} { return zero_pad(\"M/t -> M {U_t}\", x) }"},
    {"random",
     "(x: f32[B/d M], k: key[]) -> f32[B/d M] { return x * uniform(\"B/d M\", fold(k, \"a\")) }"},
    {"library", "(x: f32[B/d M]) -> f32[B/d M] { return softmax(\"B/d M; M\", x) }"},
    {"library_unreduced_way_back",
     "(x: bf16[B/d M], w: bf16[M F/t]) -> bf16[B/d F/t] "
     "{ return einsum(\"B/d M, M F/t -> B/d F/t\", bf16(rms_norm(\"B/d M; M\", x)), w) }"},
    {"library_through_its_body", "(x: f32[B/d M]) -> f32[B/d M] { return sigmoid(x) }"},
    {"einsum_opens_a_group",
     "(x: f32[B/d H]) -> f32[B/d K] { return einsum(\"B/d K D -> B/d K\", x) }"},
    {"einsum_opens_an_alias",
     "(x: f32[B/d C]) -> f32[B/d D] { return einsum(\"B/d K D -> B/d D\", x) }"},
    {"einsum_merges",
     "(x: f32[B/d K/t D]) -> f32[(K D)/t B/d] { return einsum(\"B/d K/t D -> (K D)/t B/d\", x) }"},
    {"einsum_group_beside_its_factor",
     "(o: f32[B/d (K D)/t], s: f32[K/t]) -> f32[B/d (K D)/t] "
     "{ return einsum(\"B/d (K D)/t, K/t -> B/d (K D)/t\", o, s) }"},
    {"einsum_named_group_beside_its_factor",
     "(o: f32[B/d H/t], s: f32[D]) -> f32[B/d]{U_t} "
     "{ return einsum(\"B/d H/t, D -> B/d {U_t}\", o, s) }"},
    {"einsum_alias_beside_its_group",
     "(x: f32[B/d C], y: f32[B/d H]) -> f32[B/d C K] "
     "{ return einsum(\"B/d C, B/d K D -> B/d C K\", x, y) }"},
    {"einsum_crossing_names",
     "(x: f32[S T], y: f32[S/d]) -> f32[P T S/d] "
     "{ return einsum(\"P T, S/d -> P T S/d\", x, y) }"},
    {"einsum_names_of_others",
     "(x: f32[S T/d], y: f32[L]) -> f32[L T/d S] "
     "{ return einsum(\"L T/d, S -> L T/d S\", x, y) }"},
    {"sum_opens_a_group",
     "(x: f32[B/d H/t]) -> f32[B/d D]{U_t} { return sum(\"B/d K/t D -> B/d D {U_t}\", x) }"},
    {"sum_merges", "(x: f32[K/t D B]) -> f32[H/t] { return sum(\"K/t D B -> H/t\", x) }"},
    {"max_opens_a_group", "(x: f32[B/d H]) -> f32[B/d K] { return max(\"B/d K D -> B/d K\", x) }"},
    {"max_renames", "(x: f32[S/d T]) -> f32[P/d] { return max(\"P/d T -> P/d\", x) }"},
    {"expand_of_a_group", "(x: f32[B/d]) -> f32[B/d H/t] { return expand(\"B/d -> B/d H/t\", x) }"},
    {"rearrange_renames",
     "(x: f32[S/d T]) -> f32[T P/d] { return rearrange(\"S/d T -> T P/d\", x) }"},
    {"rearrange_renames_both",
     "(x: f32[S/d T]) -> f32[P/d L] { return rearrange(\"P/d L -> P/d L\", x) }"},
    {"rearrange_to_an_alias",
     "(x: f32[B/d K D]) -> f32[B/d C] { return rearrange(\"B/d K D -> B/d C\", x) }"},
    {"write_all",
     "(x y: f32[B/d L]) -> f32[B/d L] "
     "{ return write(\"B/d [L], B/d L -> B/d L\", x, y, at=0) }"},
    {"concat_of_equal_names",
     "(x y: f32[B/d K]) -> f32[B/d (kv K)] "
     "{ return rearrange(\"kv B/d K -> B/d (kv K)\", concat(\"B/d K, B/d K -> [kv] B/d K\", x, y)) "
     "}"},
    {"gather_renames", "(x: f32[S L/t]) -> f32[S T] { return all_gather(\"S T/t -> S T\", x) }"},
    {"top_k_of_a_group",
     "(x: f32[B/d V H]) -> f32[B/d A H] { v, _i = top_k(\"B/d V H -> B/d A H\", x)\n return v }"},
    {"pointwise_in_other_orders",
     "(x: f32[B/d H], y: f32[H B/d], z: f32[H]) -> f32[B/d H] { return x * y + z }"},
    {"library_opens_a_group",
     "(x: f32[B/d H]) -> f32[B/d K D] { return softmax(\"B/d K D; D\", x) }"},
    {"library_renames", "(x: f32[S/d L]) -> f32[S/d T] { return softmax(\"S/d T; T\", x) }"},
    {"nothing_flows", "(x y: f32[B/d M]) -> f32[B/d M] { return x * stop_grad(y) }"},
};

class Derived : public testing::TestWithParam<Case> {};

TEST_P(Derived, IsProved) {
  const Typed typed("test.shard", only(std::string(head) + GetParam().plan + "\n"));
  ASSERT_TRUE(typed.diagnostics.empty()) << render(typed.diagnostics[0], typed.sources);
  const CheckedBackward backward = typed.backward("p");
  EXPECT_EQ(backward.verdict(), Verdict::proved) << doubts(backward);
}

/// The declared text is the one form that the printer gives it.
TEST_P(Derived, IsCanonical) {
  const Typed typed("test.shard", only(std::string(head) + GetParam().plan + "\n"));
  const std::string text = typed.backward("p").text;
  Sources sources;
  std::vector<Diagnostic> errors;
  EXPECT_EQ(syntax::print(syntax::parse(sources, sources.add("d", text), errors)), text);
  EXPECT_TRUE(errors.empty());
}

/// What a text says of an op's indices: equal for equal ones, whatever their names and numbers.
std::string structure(const ir::Program& program, const ir::Indices& in) {
  std::map<ir::IndexId, size_t> numbers;
  std::string text;
  const auto add = [&](const std::vector<ir::Position>& side) {
    for (const ir::Position& position : side) {
      text += "(";
      for (ir::IndexId id : position) {
        const auto dim = program.dims.find(in.all[id].dim);
        const bool local = dim != program.dims.end() && dim->second.local;
        text += std::to_string(numbers.emplace(id, numbers.size()).first->second) +
                (local ? "" : in.all[id].dim) + " ";
      }
      text += ")";
    }
    text += ",";
  };
  for (const auto& left : in.left) add(left);
  add(in.right);
  return text;
}

std::multiset<std::string> structures(const ir::Program& program,
                                      const std::vector<ir::Indices>& all) {
  std::multiset<std::string> result;
  for (const ir::Indices& in : all)
    if (!in.all.empty()) result.insert(structure(program, in));
  return result;
}

/// Of a function's own patterns, those of library calls left out.
std::vector<ir::Indices> patterns_of(const ir::Function& function) {
  std::vector<ir::Indices> result;
  for_each_instr(function.body, [&](const ir::Instr& instr) {
    const ir::Pattern* pattern = ir::pattern_of(instr.op);
    if (pattern && !instr.library_call) result.push_back(pattern->indices);
  });
  return result;
}

/// The text of a backward is read as the indices that it was derived with.
TEST_P(Derived, IsReadAsItWasMeant) {
  const std::string file = std::string(head) + GetParam().plan + "\n";
  const Typed typed("test.shard", only(file));
  const DerivedBackward derived =
      derive_backward(typed.resolved.program, typed.types, typed.plan("p"));
  ASSERT_FALSE(derived.refused) << derived.refused->message;
  const Typed again("test.shard", only(file + derived.text));
  ASSERT_TRUE(again.diagnostics.empty())
      << render(again.diagnostics[0], again.sources) << derived.text;
  const ir::Program& program = again.resolved.program;
  EXPECT_EQ(structures(program, patterns_of(program.functions[again.plan(derived.name)])),
            structures(typed.resolved.program, derived.indices))
      << derived.text;
}

INSTANTIATE_TEST_SUITE_P(Ops, Derived, testing::ValuesIn(cases),
                         [](const auto& info) { return std::string(info.param.name); });

/// The length of the derived text of a plan of `n` maxima.
size_t length_of_maxima(size_t n) {
  std::string plan = "(y0 w: f32[B/d M]) -> f32[B/d M] {\n";
  for (size_t i = 0; i < n; ++i)
    plan += "y" + std::to_string(i + 1) + " = maximum(y" + std::to_string(i) + ", w * " +
            std::to_string(i) + ")\n";
  const Typed typed("test.shard", only(head + plan + "return y" + std::to_string(n) + "\n}\n"));
  return derive_backward(typed.resolved.program, typed.types, typed.plan("p")).text.size();
}

/// Names and masks do not repeat those before them.
TEST(Length, GrowsWithThePlans) {
  const size_t half = length_of_maxima(40), whole = length_of_maxima(80);
  EXPECT_GT(whole, 1.7 * half);
  EXPECT_LT(whole, 2.3 * half);
}

std::string refusal(const std::string& plan) {
  const Typed typed("test.shard", only(std::string(head) + plan + "\n"));
  const CheckedBackward backward = typed.backward("p");
  return backward.refused ? backward.refused->code : "none";
}

TEST(Refused, WhereNoGradientIsDefined) {
  EXPECT_EQ(refusal("(x: i32[B]) -> i32[B] { return x + 1 }"), "E0109");
}

const std::string models = SHARDPROOF_SOURCE_DIR "/spec/models/";

TEST(Loops, AScanGoesBackOverItsCarries) {
  const Typed typed(
      "test.shard",
      only("mesh d t\ndim B M F N\n"
           "plan p(x: f32[B/d M], w: f32[N M/t F], b: f32[M]) -> (y: f32[B/d M], z: f32[N B/d]) {\n"
           "  xN, es = scan n in N, c: f32[B/d M] = x {\n"
           "    wn = all_gather(\"M/t F -> M F\", w[n])\n"
           "    h  = save(tanh(einsum(\"B/d M, M F -> B/d F\", c, wn)))\n"
           "    next c + einsum(\"B/d F, M F -> B/d M\", h, wn) * b\n"
           "    emit sum(\"B/d M -> B/d\", c)\n"
           "  }\n  return xN, es\n}\n"));
  ASSERT_TRUE(typed.diagnostics.empty()) << render(typed.diagnostics[0], typed.sources);
  const CheckedBackward backward = typed.backward("p");
  ASSERT_TRUE(backward.report()) << doubts(backward);
  for (const Diagnostic& each : backward.report()->diagnostics)
    EXPECT_EQ(info(each.code).verdict, Verdict::unknown) << doubts(backward);
  EXPECT_NE(backward.text.find("scan n in N reverse"), std::string::npos) << backward.text;
  EXPECT_EQ(backward.gathers_again, "2*|N|") << backward.text;
}

std::map<std::string, cost::Amount> totals(const CheckedProgram& checked, size_t function,
                                           cost::Amount& bytes) {
  const cost::Cost cost = cost::cost(
      checked.program(), [&](size_t f) -> const std::vector<Type>& { return checked.types(f); },
      function);
  std::map<std::string, cost::Amount> counts;
  for (const auto& row : cost.totals()) {
    counts[row.kind] = row.count;
    bytes += row.bytes;
  }
  return counts;
}

/// A derived backward is no worse than the one written by hand: as few collectives of each kind,
/// and as few bytes.
TEST(Communication, IsNoMoreThanByHand) {
  Sources sources;
  const CheckedProgram by_hand = check(sources, models + "llama_backward.shard", disk_reader());
  const Typed typed(models + "llama3.shard", disk_reader());
  const std::pair<const char*, const char*> pairs[] = {{"ffn_sharded", "ffn_backward"},
                                                       {"attn_sharded", "attn_backward"},
                                                       {"head_sharded", "head_backward"},
                                                       {"embed_sharded", "embed_backward"}};
  const cost::Sizes sizes{{"B", 16}, {"L", 64},  {"M", 64}, {"F", 96}, {"Q", 2}, {"K", 4},
                          {"D", 8},  {"V", 128}, {"N", 3},  {"d", 8},  {"t", 4}};
  for (const auto& [plan, written] : pairs) {
    const CheckedBackward backward = typed.backward(plan);
    ASSERT_TRUE(backward.report()) << doubts(backward);
    size_t hand = 0;
    for (const PlanReport& report : by_hand.plans())
      if (report.name == written) hand = report.function;
    cost::Amount derived_bytes, hand_bytes;
    const auto derived = totals(*backward.checked, backward.report()->function, derived_bytes);
    const auto wanted = totals(by_hand, hand, hand_bytes);
    for (const auto& [kind, count] : derived) {
      ASSERT_TRUE(wanted.count(kind)) << plan << " has a " << kind;
      EXPECT_LE(count.evaluate(sizes), wanted.at(kind).evaluate(sizes)) << plan << " " << kind;
    }
    EXPECT_LE(derived_bytes.evaluate(sizes), hand_bytes.evaluate(sizes)) << plan;
  }
}

TEST(Printed, TheBackwardOfTheFeedForwardLayer) {
  const Typed typed(models + "ffn.shard", disk_reader());
  EXPECT_EQ("\n" + typed.backward("ffn_sharded").text, R"(
plan ffn_sharded_backward implements grad(ffn) after ffn_sharded(
        x: bf16[B/d L M/t], w: FfnShards, g: bf16[B/d L M/t]; gate: bf16[B/d L F/t],
        up: bf16[B/d L F/t], ln: f32[M])
        -> (g_x: bf16[B/d L M/t], g_w: FfnShards) {
    g_out = all_gather("B/d L M/t -> B/d L M", g)
    wd = all_gather("M/d F/t -> M F/t", bf16(w.w_down))
    einsum_g_out = einsum("B/d L M, M F/t -> B/d L F/t", g_out, wd)
    silu_gate = silu(gate)
    g_wd = einsum("B/d L F/t, B/d L M -> M F/t {U_d}", silu_gate * up, g_out)
    g_up = einsum_g_out * silu_gate
    g_gate = silu_grad("B/d L F/t, B/d L F/t", einsum_g_out * up, gate)
    g_w_w_down = f32(psum_scatter("M F/t {U_d} -> M/d F/t", g_wd))
    wu = all_gather("M/d F/t -> M F/t", bf16(w.w_up))
    gx = all_gather("B/d L M/t -> B/d L M", x)
    rms_norm_gx = rms_norm("B/d L M; M", gx)
    nx = bf16(rms_norm_gx * ln)
    g_wu = einsum("B/d L M, B/d L F/t -> M F/t {U_d}", nx, g_up)
    g_w_w_up = f32(psum_scatter("M F/t {U_d} -> M/d F/t", g_wu))
    wg = all_gather("M/d F/t -> M F/t", bf16(w.w_gate))
    g_wg = einsum("B/d L M, B/d L F/t -> M F/t {U_d}", nx, g_gate)
    g_w_w_gate = f32(psum_scatter("M F/t {U_d} -> M/d F/t", g_wg))
    g_nx_2 = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", g_gate, wg)
    g_nx = einsum("B/d L F/t, M F/t -> B/d L M {U_t}", g_up, wu) + g_nx_2
    f32_g_nx = f32(g_nx)
    g_ln = sum("B/d L M {U_t} -> M {U_d U_t}", f32_g_nx * rms_norm_gx)
    rms_norm_grad_gx = rms_norm_grad("B/d L M {U_t}, B/d L M; M", f32_g_nx * ln, gx)
    g_gx = bf16(rms_norm_grad_gx)
    g_w_ln = psum_scatter("M {U_d U_t} -> M/t/d", g_ln)
    g_x = g + psum_scatter("B/d L M {U_t} -> B/d L M/t", g_gx)
    return g_x, FfnShards(ln=g_w_ln, w_gate=g_w_w_gate, w_up=g_w_w_up, w_down=g_w_w_down)
}
)");
}

/// The text of the derivative of a plan of one line.
std::string derived(const std::string& plan) {
  return Typed("test.shard", only(std::string(head) + plan + "\n")).backward("p").text;
}

/// 0 times infinity is not a number: the mask is put on last.
TEST(Printed, AMaskIsAroundADerivativeThatMayOverflow) {
  EXPECT_THAT(derived("(c: bool[B], x: f32[B]) -> f32[B] { return where(c, log(x), 0) }"),
              testing::HasSubstr("where(c, g / x, 0)"));
  EXPECT_THAT(derived("(c: bool[B], x: f32[B]) -> f32[B] { return where(c, 2 * sqrt(x), 0) }"),
              testing::HasSubstr("where(c, g * 2 * (0.5 * rsqrt(x)), 0)"));
  EXPECT_THAT(derived("(c e: bool[B], x y: f32[B]) -> f32[B]"
                      " { return where(c, 0, where(e, exp(x) * y, 0)) }"),
              testing::AllOf(testing::HasSubstr("and_e = e and not c"),
                             testing::HasSubstr("where(and_e, g * y * exp_x, 0)")));
}

std::vector<std::string> files() {
  std::vector<std::string> paths;
  for (const char* folder : {"/spec/models", "/spec/tests"})
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(SHARDPROOF_SOURCE_DIR + std::string(folder)))
      if (entry.path().extension() == ".shard") paths.push_back(entry.path().string());
  return paths;
}

/// Printing a program and reading it back gives the same indices.
TEST(Printed, TextsAreReadAsTheyWere) {
  size_t patterns = 0;
  for (const std::string& path : files()) {
    const Typed typed(path, disk_reader());
    if (!typed.diagnostics.empty()) continue;
    Sources sources;
    std::vector<Diagnostic> errors;
    const std::string text =
        syntax::print(syntax::parse(sources, sources.add(path, *disk_reader()(path)), errors));
    const Typed again(path, [&](const std::string& file) -> std::optional<std::string> {
      return file == path ? text : disk_reader()(file);
    });
    const auto &before = typed.resolved.program.functions,
               &after = again.resolved.program.functions;
    ASSERT_EQ(before.size(), after.size()) << path;
    for (size_t f = 0; f < before.size(); ++f) {
      EXPECT_EQ(patterns_of(before[f]), patterns_of(after[f])) << path << " " << before[f].name;
      patterns += patterns_of(before[f]).size();
    }
  }
  EXPECT_GT(patterns, 1000u);
}

/// What has no derived backward, and says why: a gradient of `f32[H K]`, which no op makes; a
/// trusted plan without a gradient; pipelines, stages and rings; no
/// float parameter.
const std::set<std::string> reasons = {"E0217", "U0001", "E0109"};

TEST(AcceptedPlans, HaveABackwardThatTypes) {
  size_t derived = 0;
  for (const std::string& path : files()) {
    const Typed typed(path, disk_reader());
    for (size_t f : typed.resolved.plans) {
      const ir::Function& plan = typed.resolved.program.functions[f];
      if (plan.imported || plan.trusted || typed.steps[f] || !typed.accepted[f]) continue;
      const DerivedBackward backward = derive_backward(typed.resolved.program, typed.types, f);
      if (backward.refused) {
        const bool example = path.find("/codes/u0002_") != std::string::npos ||
                             path.find("/bracket_beside_its_factor") != std::string::npos;
        EXPECT_TRUE(example || reasons.count(backward.refused->code))
            << path << " " << plan.name << ": " << backward.refused->message;
        continue;
      }
      const std::string text = disk_reader()(path).value() + "\n" + backward.text;
      const Typed again(path, [&](const std::string& file) -> std::optional<std::string> {
        return file == path ? text : disk_reader()(file);
      });
      for (const Diagnostic& each : again.diagnostics)
        ADD_FAILURE() << render(each, again.sources) << backward.text;
      if (!again.diagnostics.empty()) continue;
      const size_t made = again.plan(backward.name);
      const ir::Program& program = again.resolved.program;
      EXPECT_EQ(structures(program, patterns_of(program.functions[made])),
                structures(typed.resolved.program, backward.indices))
          << backward.text;
      for (const RefusedOp& each : type_plan(again.resolved.program, made, true).refused)
        ADD_FAILURE() << render(each.diagnostic, again.sources) << backward.text;
      ++derived;
    }
  }
  EXPECT_GT(derived, 200u);
}

}  // namespace
}  // namespace shardproof
